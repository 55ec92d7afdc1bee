// Busy time of the machine, from /proc/stat, less what this process used.
#include "disturbance.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

namespace sinter::bench {

static double secondsOf(const timeval &time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Disturbance::Disturbance() : start_(now()) {}

Disturbance::Seconds Disturbance::now() {
  Seconds seconds;
  std::ifstream stat("/proc/stat");
  std::string cpu;
  // user nice system idle iowait irq softirq steal
  double ticks[8] = {};
  stat >> cpu;
  for (double &count : ticks)
    stat >> count;
  if (!stat)
    return seconds;
  const double perSecond = static_cast<double>(sysconf(_SC_CLK_TCK));
  for (int i : {0, 1, 2, 5, 6})
    seconds.busy += ticks[i] / perSecond;
  for (double count : ticks)
    seconds.total += count / perSecond;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  seconds.own = secondsOf(usage.ru_utime) + secondsOf(usage.ru_stime);
  return seconds;
}

double Disturbance::share() const {
  const Seconds end = now();
  const double total = end.total - start_.total;
  if (total <= 0)
    return 0;
  return std::max(0.0, (end.busy - start_.busy - (end.own - start_.own)) / total);
}

} // namespace sinter::bench
