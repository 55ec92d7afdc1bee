// Models that are being fetched, each by one thread, for whoever asks for it.
#pragma once

#include "base/joining_thread.h"
#include "store/pull.h"

#include <list>
#include <map>
#include <memory>
#include <mutex>

namespace sinter::serve {

// What a pull is at: a step, or a blob's bytes.
struct PullProgress {
  std::string step;             // "pulling manifest"; "pulling 0123456789ab" of a blob
  std::string digest = {};      // of a blob; empty: a step
  uint64_t total = 0, done = 0; // bytes of the blob, or parts of a step; 0: not known
};

// Who waits for a pull. Called from the pull's threads, one at a time.
class PullListener {
public:
  virtual ~PullListener() = default;
  // False: nobody is there any more.
  virtual bool onProgress(const PullProgress &progress) = 0;
  virtual void onEnd(const Result<void> &end) = 0;
};

// All calls are safe from any thread; none waits for a pull but the destructor, which ends them.
class Pulls {
public:
  // host::pullModel, or what stands in for it.
  using Fetch = std::function<Result<void>(const std::string &name, store::PullObserver &observer,
                                           const std::atomic<bool> &cancel)>;
  explicit Pulls(Fetch fetch, uint32_t mostAtOnce = 4)
      : fetch_(std::move(fetch)), mostAtOnce_(mostAtOnce) {}
  ~Pulls();

  // Listens to the pull of a model, which is started unless it runs. InvalidArgument: no model can
  // have that name; Exhausted: as many run as may.
  Result<void> start(const std::string &name, std::shared_ptr<PullListener> listener);
  // The same for other work that makes the model of that name: once at a time, so Exhausted too
  // where it is made or pulled already.
  Result<void> startMaking(const std::string &name, Fetch make,
                           std::shared_ptr<PullListener> listener);
  // The listener hears nothing more. A pull that nobody listens to ends; what came of it is kept.
  void leave(const std::shared_ptr<PullListener> &listener);

private:
  class Pull;

  void removeEnded();
  Result<void> run(const std::string &key, const std::string &name, const Fetch &fetch,
                   std::shared_ptr<PullListener> listener);

  const Fetch fetch_;
  const uint32_t mostAtOnce_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Pull>> running_; // and those that ended, until they are met
};

} // namespace sinter::serve
