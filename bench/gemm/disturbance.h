// Whether other processes worked while something was measured.
#pragma once

namespace sinter::bench {

// Starts counting where it is made.
class Disturbance {
public:
  Disturbance();
  // The share of all processors' time since then that processes other than this one took; 0 where
  // the system does not say.
  double share() const;

private:
  struct Seconds {
    double busy = 0, total = 0, own = 0;
  };
  static Seconds now();
  Seconds start_;
};

} // namespace sinter::bench
