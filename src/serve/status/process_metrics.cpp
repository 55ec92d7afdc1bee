// From /proc and getrusage().
#include "serve/status/process_metrics.h"

#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace sinter::serve {
namespace {

double secondsOf(const timeval &time) {
  constexpr double kMicro = 1e-6;
  return static_cast<double>(time.tv_sec) + kMicro * static_cast<double>(time.tv_usec);
}

double entriesOf(const char *folder) {
  std::error_code failed;
  double count = 0;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed))
    ++count;
  return count;
}

void writeOne(MetricsText &text, const char *name, const char *type, const char *help,
              double value) {
  text.family(name, type, help);
  text.sample({}, value);
}

} // namespace

void writeProcessMetrics(MetricsText &text) {
  uint64_t virtualPages = 0, residentPages = 0;
  std::ifstream("/proc/self/statm") >> virtualPages >> residentPages;
  const auto pageBytes = static_cast<double>(sysconf(_SC_PAGESIZE));
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  rlimit descriptors = {};
  getrlimit(RLIMIT_NOFILE, &descriptors);
  writeOne(text, "process_resident_memory_bytes", "gauge", "Resident memory.",
           static_cast<double>(residentPages) * pageBytes);
  writeOne(text, "process_virtual_memory_bytes", "gauge", "Virtual memory.",
           static_cast<double>(virtualPages) * pageBytes);
  writeOne(text, "process_cpu_seconds_total", "counter", "Processor time, user and system.",
           secondsOf(used.ru_utime) + secondsOf(used.ru_stime));
  writeOne(text, "process_open_fds", "gauge", "Open descriptors.", entriesOf("/proc/self/fd"));
  writeOne(text, "process_max_fds", "gauge", "Descriptors at most.",
           static_cast<double>(descriptors.rlim_cur));
  writeOne(text, "process_threads", "gauge", "Threads.", entriesOf("/proc/self/task"));
}

void writeServerMetrics(const ServerState &state, MetricsText &text) {
  writeOne(text, "sinter_http_connections", "gauge", "Open connections.",
           static_cast<double>(state.connections));
  writeOne(text, "sinter_http_connections_accepted_total", "counter", "Connections accepted.",
           static_cast<double>(state.accepted));
  writeOne(text, "sinter_http_connections_evicted_total", "counter",
           "Idle connections closed to make room.", static_cast<double>(state.evicted));
}

} // namespace sinter::serve
