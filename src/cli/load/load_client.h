// Sends the requests of a workload to a server and measures its answers. One thread.
#pragma once

#include "cli/load/load_figures.h"
#include "cli/load/workload.h"

#include <atomic>
#include <functional>
#include <memory>

namespace sinter::cli {

struct LoadRun {
  LoadShape shape;
  double burstiness = 1;
  uint64_t requests = 1;
  double seconds = 0; // none begins later; 0: no limit
  uint32_t mostConcurrency = 1;
  uint64_t seed = 1, number = 0; // of the run
  uint64_t firstRequest = 0;     // its number in the workload
  GoodputLimits goodput = {};
};

class LoadClient {
public:
  // NotFound: the host has no address; errors of the certificates' file.
  static Result<std::unique_ptr<LoadClient>> open(const LoadTarget &target);
  ~LoadClient();
  LoadClient(const LoadClient &) = delete;
  LoadClient &operator=(const LoadClient &) = delete;

  // The body of an answer of 200. NotFound: nobody listens; Internal: another answer.
  Result<std::string> get(const std::string &path);

  // Returns when all of its requests have ended; once `stop` is set, soon. `progress` is told how
  // many have ended.
  RunFigures run(const LoadRun &run, const Workload &workload, const std::atomic<bool> &stop,
                 const std::function<void(uint64_t ended)> &progress);

private:
  LoadClient();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace sinter::cli
