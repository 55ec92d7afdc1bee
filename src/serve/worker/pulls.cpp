// One thread a pull; its listeners hear of steps at once and of bytes a few times a second.
#include "serve/worker/pulls.h"

#include "host/model_store.h"

#include <algorithm>
#include <chrono>

namespace sinter::serve {

class Pulls::Pull final : public store::PullObserver {
public:
  explicit Pull(std::string name) : name_(std::move(name)) {}

  Result<void> run(const Fetch &fetch) {
    SINTER_ASSIGN(thread_, JoiningThread::start("sinter-pull", [this, fetch] {
                    end(fetch(name_, *this, cancel_));
                  }));
    return {};
  }
  void cancel() { cancel_ = true; }
  bool hasEnded() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }
  // False: it has ended, or is about to.
  bool add(std::shared_ptr<PullListener> listener) {
    const std::lock_guard lock(mutex_);
    if (ended_ || cancel_)
      return false;
    if (!last_.step.empty())
      listener->onProgress(last_);
    listeners_.push_back(std::move(listener));
    return true;
  }
  void remove(const std::shared_ptr<PullListener> &listener) {
    const std::lock_guard lock(mutex_);
    if (std::erase(listeners_, listener) > 0 && listeners_.empty())
      cancel_ = true;
  }

  void onStep(const std::string &step) override {
    const std::lock_guard lock(mutex_);
    tell({step});
  }
  void onBlob(const store::Layer &layer, uint64_t done) override {
    tellSometimes({"pulling " + layer.digest.hex().substr(0, 12), store::digestText(layer.digest),
                   layer.bytes, done});
  }
  void onPart(const std::string &step, uint64_t done, uint64_t total) override {
    tellSometimes({step, "", total, done});
  }

private:
  // The end of a step at once, what lies between a few times a second.
  void tellSometimes(PullProgress progress) {
    constexpr auto kInterval = std::chrono::milliseconds(100);
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (progress.step == last_.step && progress.done < progress.total && now - told_ < kInterval)
      return;
    told_ = now;
    tell(std::move(progress));
  }
  // With the lock held.
  void tell(PullProgress progress) {
    last_ = std::move(progress);
    std::erase_if(listeners_, [&](const auto &each) { return !each->onProgress(last_); });
    if (listeners_.empty())
      cancel_ = true;
  }
  void end(const Result<void> &result) {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    for (const auto &listener : listeners_)
      listener->onEnd(result);
    listeners_.clear();
  }

  const std::string name_;
  std::atomic<bool> cancel_ = false;
  std::mutex mutex_;
  std::vector<std::shared_ptr<PullListener>> listeners_;
  PullProgress last_;
  std::chrono::steady_clock::time_point told_;
  bool ended_ = false;
  JoiningThread thread_; // last: it uses the others
};

Pulls::~Pulls() {
  const std::lock_guard lock(mutex_);
  for (const auto &[name, pull] : running_)
    pull->cancel();
  running_.clear(); // joins
}

// With the lock held. A thread that has ended is joined at once.
void Pulls::removeEnded() {
  std::erase_if(running_, [](const auto &entry) { return entry.second->hasEnded(); });
}

static Result<std::string> keyOf(const std::string &name) {
  if (name == host::kKnownModel)
    return name;
  SINTER_ASSIGN(const store::ModelName parsed, store::ModelName::parse(name));
  return parsed.text();
}

Result<void> Pulls::start(const std::string &name, std::shared_ptr<PullListener> listener) {
  SINTER_ASSIGN(const std::string key, keyOf(name));
  const std::lock_guard lock(mutex_);
  removeEnded();
  if (const auto found = running_.find(key); found != running_.end()) {
    if (found->second->add(listener))
      return {};
    running_.erase(found); // joins: it was cancelled
  }
  return run(key, name, fetch_, std::move(listener));
}

Result<void> Pulls::startMaking(const std::string &name, Fetch make,
                                std::shared_ptr<PullListener> listener) {
  SINTER_ASSIGN(const std::string key, keyOf(name));
  const std::lock_guard lock(mutex_);
  removeEnded();
  if (running_.contains(key))
    return fail(Code::Exhausted, "model '" + key + "' is being made already, try again later");
  return run(key, name, make, std::move(listener));
}

// With the lock held.
Result<void> Pulls::run(const std::string &key, const std::string &name, const Fetch &fetch,
                        std::shared_ptr<PullListener> listener) {
  if (running_.size() >= mostAtOnce_)
    return fail(Code::Exhausted, std::to_string(running_.size()) +
                                     " models are being fetched already, try again later");
  auto pull = std::make_shared<Pull>(name);
  pull->add(std::move(listener));
  SINTER_TRY(pull->run(fetch));
  running_.emplace(key, std::move(pull));
  return {};
}

void Pulls::leave(const std::shared_ptr<PullListener> &listener) {
  const std::lock_guard lock(mutex_);
  for (const auto &[name, pull] : running_)
    pull->remove(listener);
}

} // namespace sinter::serve
