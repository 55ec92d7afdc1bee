// How many sequences are worth running at once, as decode steps were measured.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sinter {

// A decode step takes a time of its own and a time a sequence. Where the latter is most of it, more
// sequences make no more tokens a second: they only make each token later. So twice as many run
// only where the last doubling gave `kPays` times the tokens a second.
class BatchLimit {
public:
  static constexpr double kPays = 1.15;

  // `least` sequences run in any case, `most` at most; both at least 1.
  BatchLimit(uint32_t least, uint32_t most);

  // From `least` to `most`: the first number at which doubling did not pay, or was not measured
  // yet.
  uint32_t sequences() const;
  void addDecode(uint32_t sequences, double seconds);

private:
  struct Rate {                 // of steps with about as many sequences
    double tokensPerSecond = 0; // moving average
    uint64_t step = 0;          // the last one that was measured; 0: none
  };
  static constexpr size_t kSizes = 32; // powers of two

  bool isKnown(const Rate &rate) const;
  bool pays(uint32_t power) const;

  uint32_t least_, most_;
  uint64_t steps_ = 0;
  std::array<Rate, kSizes> rates_{}; // by power of two
};

} // namespace sinter
