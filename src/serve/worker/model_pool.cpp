// Loads one model at a time, on a thread of its own; a second thread gives up what is idle for too
// long.
#include "serve/worker/model_pool.h"

#include "base/check.h"
#include "base/joining_thread.h"
#include "serve/worker/model_loader.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>

namespace sinter::serve {
namespace {

using Clock = std::chrono::steady_clock;

Status endingError() {
  return {Code::Cancelled, "the server is ending"};
}

// A loaded model.
struct Entry {
  std::string path, firstName;
  std::set<std::string> names;
  bool embeddings = false;
  uint32_t context = 0;
  uint64_t bytes = 0;
  std::unique_ptr<ModelWorker> worker;
  uint64_t users = 0;
  std::chrono::seconds keepAlive{};
  Clock::time_point lastUsed;
  bool unwanted = false;  // goes as soon as nobody uses it
  bool replacing = false; // is to be loaded with more context: nobody new uses it

  bool isFor(const std::string &name, const LoadWishes &wishes) const {
    return embeddings == wishes.embeddings && names.contains(name);
  }
  bool serves(const LoadWishes &wishes) const {
    return wishes.context <= context && !worker->isLost();
  }
  std::optional<Clock::time_point> expires() const {
    if (unwanted || worker->isLost())
      return lastUsed;
    if (keepAlive < std::chrono::seconds(0))
      return std::nullopt;
    // What a time point cannot hold is forever.
    const auto most =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::time_point::max() - lastUsed);
    return keepAlive >= most ? std::nullopt : std::optional(lastUsed + keepAlive);
  }
};

struct Waiter {
  std::string name;
  LoadWishes wishes;
  ModelPool::OnModel then;

  bool isLike(const Waiter &other) const {
    return name == other.name && wishes.embeddings == other.wishes.embeddings &&
           wishes.context == other.wishes.context;
  }
};

class Pool : public ModelPool {
public:
  Pool(std::unique_ptr<ModelLoader> loader, PoolOptions options)
      : loader_(std::move(loader)), options_(std::move(options)) {}
  Result<void> start();
  ~Pool() override;

  void get(const std::string &name, const LoadWishes &wishes, OnModel then) override;
  std::vector<std::string> names() const override { return loader_->names(); }
  std::vector<LoadedModel> loaded() const override;
  bool unload(const std::string &name) override;
  void forget(const std::string &name) override;

private:
  using EntryPtr = std::shared_ptr<Entry>;
  using Lock = std::unique_lock<std::mutex>;
  using Lease = std::shared_ptr<ModelWorker>;

  // With the lock held, as all that take it.
  EntryPtr findReady(const std::string &name, const LoadWishes &wishes, Lock &) const;
  bool isToGrow(const Entry &entry) const;
  Lease lease(const EntryPtr &entry, const LoadWishes &wishes, Lock &);
  void giveUp(const EntryPtr &entry, Lock &lock);
  std::vector<Waiter> takeWaiters(const Waiter &like, Lock &);

  void release(Entry &entry);
  void loadAll();
  Result<Lease> serve(const Waiter &waiter);
  Result<Lease> serveFrom(const EntryPtr &entry, const Waiter &waiter, Lock &lock);
  Result<void> waitForItsUsers(const EntryPtr &entry, Lock &lock);
  Result<EntryPtr> load(const Waiter &waiter, const std::string &path);
  Result<void> takeMemory(uint64_t bytes, uint64_t budget);
  void giveUpIdle();
  void note(const std::string &line) const;

  const std::unique_ptr<ModelLoader> loader_;
  const PoolOptions options_;
  std::atomic<bool> ending_ = false; // set under the lock

  mutable std::mutex mutex_;
  std::condition_variable changed_; // users, entries, waiters, `ending_`
  std::vector<EntryPtr> entries_;
  std::deque<Waiter> waiters_;
  std::optional<Waiter> serving_; // the one that the loading thread is at, without its callback
  uint64_t takenBytes_ = 0;   // by entries, by those that are dying, and by the one being loaded
  uint64_t loadingBytes_ = 0; // the last one's; the loading thread's
  JoiningThread loading_, keeping_;
};

Result<void> Pool::start() {
  SINTER_ASSIGN(loading_, JoiningThread::start("sinter-load", [this] { loadAll(); }));
  SINTER_ASSIGN(keeping_, JoiningThread::start("sinter-keep", [this] { giveUpIdle(); }));
  return {};
}

Pool::~Pool() {
  std::deque<Waiter> left;
  {
    const Lock lock(mutex_);
    ending_ = true;
    left.swap(waiters_);
    changed_.notify_all();
  }
  for (const Waiter &waiter : left)
    waiter.then(Fail(endingError()));
  loading_.join();
  keeping_.join();
  for (const EntryPtr &entry : entries_)
    entry->worker->stop();
  Lock lock(mutex_);
  changed_.wait(lock, [&] {
    return std::ranges::all_of(entries_, [](const EntryPtr &entry) { return entry->users == 0; });
  });
}

void Pool::note(const std::string &line) const {
  if (options_.note)
    options_.note(line);
}

// ---- any thread ----

Pool::EntryPtr Pool::findReady(const std::string &name, const LoadWishes &wishes, Lock &) const {
  for (const EntryPtr &entry : entries_)
    if (entry->isFor(name, wishes) && !isToGrow(*entry) && entry->serves(wishes))
      return entry;
  return nullptr;
}

// Whether someone waits for it with more context, whom nobody new is to keep waiting.
bool Pool::isToGrow(const Entry &entry) const {
  const auto wantsMore = [&](const Waiter &waiter) {
    return entry.isFor(waiter.name, waiter.wishes) && waiter.wishes.context > entry.context;
  };
  return entry.replacing || (serving_ && wantsMore(*serving_)) ||
         std::ranges::any_of(waiters_, wantsMore);
}

Pool::Lease Pool::lease(const EntryPtr &entry, const LoadWishes &wishes, Lock &) {
  ++entry->users;
  entry->keepAlive = wishes.keepAlive.value_or(options_.keepAlive);
  entry->unwanted = false;
  // Never the owner: the last one who holds it may be a thread of the worker.
  return Lease(entry->worker.get(), [this, raw = entry.get()](ModelWorker *) { release(*raw); });
}

// The pool may be gone as soon as the lock is.
void Pool::release(Entry &entry) {
  const Lock lock(mutex_);
  SINTER_CHECK(entry.users > 0);
  --entry.users;
  entry.lastUsed = Clock::now();
  changed_.notify_all();
}

void Pool::get(const std::string &name, const LoadWishes &wishes, OnModel then) {
  Result<Lease> found = nullptr;
  {
    Lock lock(mutex_);
    if (ending_)
      found = Fail(endingError());
    else if (const EntryPtr entry = findReady(name, wishes, lock))
      found = lease(entry, wishes, lock);
    else {
      waiters_.push_back({name, wishes, std::move(then)});
      changed_.notify_all();
      return;
    }
  }
  then(std::move(found));
}

std::vector<LoadedModel> Pool::loaded() const {
  const Lock lock(mutex_);
  std::vector<LoadedModel> found;
  const auto now = Clock::now();
  for (const EntryPtr &entry : entries_) {
    LoadedModel &model = found.emplace_back();
    model.name = entry->firstName;
    model.bytes = entry->bytes;
    model.state = entry->worker->state();
    model.path = entry->path;
    model.context = entry->context;
    model.embeddings = entry->embeddings;
    model.users = entry->users;
    if (const auto expires = entry->expires()) {
      const auto left = entry->users ? *expires - entry->lastUsed : *expires - now;
      model.expires = std::chrono::system_clock::now() +
                      std::chrono::duration_cast<std::chrono::system_clock::duration>(left);
    }
  }
  return found;
}

bool Pool::unload(const std::string &name) {
  const Lock lock(mutex_);
  bool any = false;
  for (const EntryPtr &entry : entries_)
    if (entry->names.contains(name))
      any = entry->unwanted = true;
  changed_.notify_all();
  return any;
}

void Pool::forget(const std::string &name) {
  const Lock lock(mutex_);
  for (const EntryPtr &entry : entries_)
    if (entry->names.erase(name) > 0 && entry->names.empty())
      entry->unwanted = true;
  changed_.notify_all();
}

// ---- the threads of the pool ----

// Nobody uses it. The lock is open while the model goes.
void Pool::giveUp(const EntryPtr &entry, Lock &lock) {
  SINTER_CHECK(entry->users == 0);
  std::erase(entries_, entry);
  lock.unlock();
  note("giving up '" + entry->firstName + "'");
  entry->worker.reset();
  lock.lock();
  takenBytes_ -= entry->bytes;
  changed_.notify_all();
}

void Pool::giveUpIdle() {
  Lock lock(mutex_);
  while (!ending_) {
    const auto now = Clock::now();
    auto next = Clock::time_point::max();
    EntryPtr expired;
    for (const EntryPtr &entry : entries_)
      if (const auto expires = entry->expires(); expires && entry->users == 0) {
        next = std::min(next, *expires);
        if (*expires <= now)
          expired = entry;
      }
    if (expired)
      giveUp(expired, lock);
    else if (next == Clock::time_point::max())
      changed_.wait(lock);
    else
      changed_.wait_until(lock, next);
  }
}

std::vector<Waiter> Pool::takeWaiters(const Waiter &like, Lock &) {
  std::vector<Waiter> taken;
  std::deque<Waiter> left;
  for (Waiter &waiter : waiters_)
    if (waiter.isLike(like))
      taken.push_back(std::move(waiter));
    else
      left.push_back(std::move(waiter));
  waiters_ = std::move(left);
  return taken;
}

// One waiter after the other, in their order; those that ask for the same share what comes of it.
void Pool::loadAll() {
  while (true) {
    Waiter first;
    {
      Lock lock(mutex_);
      changed_.wait(lock, [&] { return ending_ || !waiters_.empty(); });
      if (ending_)
        return;
      first = std::move(waiters_.front());
      waiters_.pop_front();
      serving_ = Waiter{first.name, first.wishes, nullptr};
    }
    auto served = serve(first);
    const auto error = served ? std::nullopt : std::optional(served.error());
    std::vector<Waiter> others;
    {
      Lock lock(mutex_);
      serving_.reset();
      if (error)
        others = takeWaiters(first, lock);
    }
    first.then(std::move(served));
    for (const Waiter &other : others)
      other.then(Fail(*error));
  }
}

Result<Pool::Lease> Pool::serve(const Waiter &waiter) {
  SINTER_ASSIGN(const std::string path, loader_->find(waiter.name));
  {
    Lock lock(mutex_);
    const auto found = std::ranges::find_if(entries_, [&](const EntryPtr &entry) {
      return entry->path == path && entry->embeddings == waiter.wishes.embeddings;
    });
    if (found != entries_.end()) {
      const EntryPtr entry = *found;
      SINTER_ASSIGN(Lease lease, serveFrom(entry, waiter, lock));
      if (lease)
        return lease;
    }
  }
  SINTER_ASSIGN(const EntryPtr made, load(waiter, path));
  Lock lock(mutex_);
  entries_.push_back(made);
  changed_.notify_all();
  return lease(made, waiter.wishes, lock);
}

// Null: the model was given up, to be loaded anew: with more context, or after its device was lost.
Result<Pool::Lease> Pool::serveFrom(const EntryPtr &entry, const Waiter &waiter, Lock &lock) {
  if (entry->serves(waiter.wishes)) {
    entry->names.insert(waiter.name);
    return lease(entry, waiter.wishes, lock);
  }
  SINTER_TRY(entry->worker->checkContext(waiter.wishes.context));
  entry->replacing = true;
  auto free = waitForItsUsers(entry, lock);
  entry->replacing = false;
  SINTER_TRY(free);
  // The keeping thread may have given it up meanwhile.
  if (std::ranges::find(entries_, entry) != entries_.end())
    giveUp(entry, lock);
  return Lease();
}

Result<void> Pool::waitForItsUsers(const EntryPtr &entry, Lock &lock) {
  const bool free =
      changed_.wait_for(lock, options_.patience, [&] { return ending_ || entry->users == 0; });
  if (ending_)
    return Fail(endingError());
  if (free)
    return {};
  return fail(Code::Exhausted, "the model runs with a context of " +
                                   std::to_string(entry->context) + " tokens, and " +
                                   std::to_string(entry->users) + " requests still use it after " +
                                   std::to_string(options_.patience.count()) + " s");
}

Result<Pool::EntryPtr> Pool::load(const Waiter &waiter, const std::string &path) {
  loadingBytes_ = 0;
  auto worker = loader_->load(
      {waiter.name, path, waiter.wishes.context, waiter.wishes.embeddings},
      [this](uint64_t bytes, uint64_t budget) { return takeMemory(bytes, budget); }, ending_);
  if (!worker) {
    const Lock lock(mutex_);
    takenBytes_ -= loadingBytes_;
    return Fail(std::move(worker).error());
  }
  auto entry = std::make_shared<Entry>();
  entry->path = path;
  entry->firstName = waiter.name;
  entry->names = {waiter.name};
  entry->embeddings = waiter.wishes.embeddings;
  entry->context = (*worker)->contextTokens();
  entry->bytes = loadingBytes_;
  entry->worker = std::move(*worker);
  entry->lastUsed = Clock::now();
  return entry;
}

// Gives up the models that were used least recently, then waits for those that are in use.
Result<void> Pool::takeMemory(uint64_t bytes, uint64_t budget) {
  const auto refused = [&](Code code, const std::string &why) {
    return fail(code, "the model takes " + std::to_string(bytes) + " bytes at most, " + why +
                          " of the " + std::to_string(budget) +
                          " bytes for models; a smaller context or fewer contexts "
                          "(--parallel) take less");
  };
  if (bytes > budget)
    return refused(Code::InvalidArgument, "which is more than all"); // for good
  const auto until = Clock::now() + options_.patience;
  Lock lock(mutex_);
  while (takenBytes_ + bytes > budget) {
    EntryPtr oldest;
    for (const EntryPtr &entry : entries_)
      if (entry->users == 0 && (!oldest || entry->lastUsed < oldest->lastUsed))
        oldest = entry;
    if (oldest) {
      giveUp(oldest, lock);
      continue;
    }
    if (changed_.wait_until(lock, until) == std::cv_status::timeout)
      return refused(Code::Exhausted, "and models in use hold " + std::to_string(takenBytes_));
    if (ending_)
      return Fail(endingError());
  }
  takenBytes_ += loadingBytes_ = bytes;
  return {};
}

} // namespace

Result<std::unique_ptr<ModelPool>> makeModelPool(std::unique_ptr<ModelLoader> loader,
                                                 const PoolOptions &options) {
  auto pool = std::make_unique<Pool>(std::move(loader), options);
  SINTER_TRY(pool->start());
  return std::unique_ptr<ModelPool>(std::move(pool));
}

} // namespace sinter::serve
