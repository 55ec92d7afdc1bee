// What a pool loads, shares, keeps and gives up, with models that are made up.
#include "base/check.h"
#include "serve/worker/model_loader.h"

#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <set>

namespace sinter::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Got = Result<std::shared_ptr<ModelWorker>>;

constexpr uint32_t kMadeFor = 1000; // tokens of context

// What the loader of a test does, and what it was asked for.
struct Shelf {
  std::mutex mutex;
  std::condition_variable changed;
  bool isOpen = true;                    // loads wait for that
  std::map<std::string, uint64_t> bytes; // of each model
  uint64_t budget = 100;
  std::atomic<bool> isLost = false; // what workers say of their device
  std::vector<std::string> loads;
  std::multiset<std::string> living;

  void setOpen(bool open) {
    const std::lock_guard lock(mutex);
    isOpen = open;
    changed.notify_all();
  }
  std::vector<std::string> loadsSoFar() {
    const std::lock_guard lock(mutex);
    return loads;
  }
  // Waits until exactly these live.
  bool waitFor(const std::multiset<std::string> &expected) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(60), [&] { return living == expected; });
  }
};

class MadeUpWorker : public ModelWorker {
public:
  MadeUpWorker(Shelf &shelf, std::string name, uint32_t context)
      : shelf_(shelf), name_(std::move(name)), context_(context) {
    const std::lock_guard lock(shelf_.mutex);
    shelf_.living.insert(name_);
    shelf_.changed.notify_all();
  }
  ~MadeUpWorker() override {
    const std::lock_guard lock(shelf_.mutex);
    shelf_.living.erase(shelf_.living.find(name_));
    shelf_.changed.notify_all();
  }
  const ModelFile &file() const override { checkFailed("no file", __FILE__, __LINE__); }
  uint32_t contextTokens() const override { return context_; }
  Result<JobId> submit(GenerationJob) override { return JobId{}; }
  void cancel(JobId) override {}
  WorkerState state() const override { return {}; }
  bool isLost() const override { return shelf_.isLost; }
  Result<void> checkContext(uint32_t asked) const override {
    if (asked <= kMadeFor)
      return {};
    return fail(Code::InvalidArgument, "the model was made for less");
  }

private:
  Shelf &shelf_;
  const std::string name_;
  const uint32_t context_;
};

class MadeUpLoader : public ModelLoader {
public:
  explicit MadeUpLoader(Shelf &shelf) : shelf_(shelf) {}

  std::vector<std::string> names() const override { return {"a", "b"}; }
  Result<std::string> find(const std::string &name) const override {
    if (name == "alias")
      return std::string("a");
    if (!shelf_.bytes.contains(name))
      return fail(Code::NotFound, "no model '" + name + "'");
    return name;
  }
  Result<std::unique_ptr<ModelWorker>> load(const LoadOrder &order, const TakeMemory &take,
                                            const std::atomic<bool> &cancel) override {
    {
      std::unique_lock lock(shelf_.mutex);
      shelf_.loads.push_back(order.path + (order.embeddings ? "*" : ""));
      shelf_.changed.notify_all();
      while (!shelf_.isOpen && !cancel)
        shelf_.changed.wait_for(lock, std::chrono::milliseconds(5));
    }
    if (cancel)
      return fail(Code::Cancelled, "cancelled");
    SINTER_TRY(take(shelf_.bytes.at(order.path), shelf_.budget));
    shelf_.isLost = false;
    if (order.path == "broken")
      return fail(Code::Corrupt, "the file is broken");
    return std::make_unique<MadeUpWorker>(shelf_, order.path, order.context ? order.context : 100);
  }

private:
  Shelf &shelf_;
};

class ModelPoolTest : public testing::Test {
protected:
  ModelPoolTest() {
    shelf_.bytes = {{"a", 40}, {"b", 40}, {"c", 40}, {"huge", 101}, {"broken", 40}};
  }

  void start(PoolOptions options = {}) {
    auto made = makeModelPool(std::make_unique<MadeUpLoader>(shelf_), options);
    ASSERT_TRUE(made.has_value());
    pool_ = std::move(*made);
  }
  // A future get(); the callback notes once.
  std::shared_ptr<std::promise<Got>> ask(const std::string &name, LoadWishes wishes = {}) {
    auto promise = std::make_shared<std::promise<Got>>();
    pool_->get(name, wishes, [promise](Got got) { promise->set_value(std::move(got)); });
    return promise;
  }
  static Got answer(const std::shared_ptr<std::promise<Got>> &promise) {
    auto future = promise->get_future();
    if (future.wait_for(std::chrono::seconds(60)) != std::future_status::ready)
      return fail(Code::Timeout, "no answer");
    return future.get();
  }
  Got get(const std::string &name, LoadWishes wishes = {}) { return answer(ask(name, wishes)); }
  std::vector<std::string> loadedNames() const {
    std::vector<std::string> names;
    for (const LoadedModel &model : pool_->loaded())
      names.push_back(model.name);
    return names;
  }

  Shelf shelf_;
  std::unique_ptr<ModelPool> pool_;
};

TEST_F(ModelPoolTest, RequestsForOneModelShareALoadAndAWorker) {
  start();
  shelf_.setOpen(false);
  std::vector<std::shared_ptr<std::promise<Got>>> asked;
  for (int i = 0; i < 5; ++i)
    asked.push_back(ask(i % 2 ? "alias" : "a"));
  shelf_.setOpen(true);
  std::set<ModelWorker *> workers;
  for (const auto &promise : asked) {
    const Got got = answer(promise);
    ASSERT_TRUE(got.has_value()) << got.error().toString();
    workers.insert(got->get());
  }
  workers.insert(get("a")->get());
  EXPECT_EQ(workers.size(), 1u);
  EXPECT_THAT(shelf_.loadsSoFar(), ElementsAre("a"));
}

TEST_F(ModelPoolTest, AnErrorOfLoadingReachesEveryWaiterAndIsNotRemembered) {
  start();
  shelf_.setOpen(false);
  std::vector<std::shared_ptr<std::promise<Got>>> asked;
  for (int i = 0; i < 4; ++i)
    asked.push_back(ask("broken"));
  asked.push_back(ask("a"));
  shelf_.setOpen(true);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(answer(asked[static_cast<size_t>(i)]).error().message, "the file is broken");
  EXPECT_TRUE(answer(asked[4]).has_value());
  EXPECT_EQ(get("broken").error().code, Code::Corrupt);
  EXPECT_THAT(shelf_.loadsSoFar(), ElementsAre("broken", "a", "broken"));
  EXPECT_EQ(get("nobody").error().code, Code::NotFound);
}

TEST_F(ModelPoolTest, TheModelThatWasUsedLeastRecentlyMakesRoom) {
  start();
  (void)get("a");
  (void)get("b");
  (void)get("a");
  const Got c = get("c");
  ASSERT_TRUE(c.has_value());
  EXPECT_THAT(loadedNames(), ElementsAre("a", "c"));
  EXPECT_TRUE(shelf_.waitFor({"a", "c"}));
}

TEST_F(ModelPoolTest, AModelInUseIsNotGivenUpAndSomeoneWaitsForIt) {
  start();
  Got a = get("a");
  Got b = get("b");
  const auto c = ask("c");
  EXPECT_TRUE(shelf_.waitFor({"a", "b"}));
  *b = nullptr;
  EXPECT_TRUE(answer(c).has_value());
  EXPECT_TRUE(shelf_.waitFor({"a", "c"}));
}

TEST_F(ModelPoolTest, WaitingForModelsInUseHasAnEndThatHasTheNumbers) {
  start({.patience = std::chrono::seconds(0)});
  const Got a = get("a"), b = get("b"), c = get("c");
  ASSERT_FALSE(c.has_value());
  EXPECT_EQ(c.error().code, Code::Exhausted);
  EXPECT_THAT(c.error().message, HasSubstr("takes 40 bytes"));
  EXPECT_THAT(c.error().message, HasSubstr("models in use hold 80 of the 100 bytes"));
}

TEST_F(ModelPoolTest, AModelBeyondTheBudgetIsRefusedAndGivesNobodyUp) {
  start();
  (void)get("a");
  const Got huge = get("huge");
  ASSERT_FALSE(huge.has_value());
  EXPECT_EQ(huge.error().code, Code::InvalidArgument) << "trying again would not help";
  EXPECT_THAT(huge.error().message, HasSubstr("101 bytes"));
  EXPECT_THAT(loadedNames(), ElementsAre("a"));
}

TEST_F(ModelPoolTest, MemoryOfALoadThatFailedIsFreeAgain) {
  start({.patience = std::chrono::seconds(0)});
  const Got a = get("a");
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(get("broken").error().code, Code::Corrupt);
  EXPECT_TRUE(get("b").has_value());
}

TEST_F(ModelPoolTest, AnIdleModelGoesWhenItsTimeIsOver) {
  start({.keepAlive = std::chrono::seconds(-1)});
  (void)get("a");
  EXPECT_FALSE(pool_->loaded()[0].expires.has_value());
  Got b = get("b", {.keepAlive = std::chrono::seconds(0)});
  EXPECT_TRUE(shelf_.waitFor({"a", "b"}));
  *b = nullptr;
  EXPECT_TRUE(shelf_.waitFor({"a"}));
  EXPECT_THAT(loadedNames(), ElementsAre("a"));
}

TEST_F(ModelPoolTest, KeepAliveThatNoClockHoldsIsForever) {
  start();
  (void)get("a", {.keepAlive = std::chrono::seconds::max()});
  EXPECT_FALSE(pool_->loaded()[0].expires.has_value());
  (void)get("a", {.keepAlive = std::chrono::hours(1)});
  EXPECT_TRUE(pool_->loaded()[0].expires.has_value());
}

TEST_F(ModelPoolTest, NotesNameTheModelAsItWasAskedFor) {
  std::promise<std::string> noted;
  start({.note = [&](const std::string &line) { noted.set_value(line); }});
  EXPECT_TRUE(get("alias").has_value()); // of the file 'a'
  EXPECT_TRUE(pool_->unload("alias"));
  EXPECT_EQ(noted.get_future().get(), "giving up 'alias'");
}

TEST_F(ModelPoolTest, UnloadingWaitsForWhoeverUsesTheModel) {
  start();
  EXPECT_FALSE(pool_->unload("a"));
  Got a = get("a");
  EXPECT_TRUE(pool_->unload("a"));
  EXPECT_TRUE(shelf_.waitFor({"a"}));
  *a = nullptr;
  EXPECT_TRUE(shelf_.waitFor({}));
  EXPECT_THAT(loadedNames(), IsEmpty());
}

TEST_F(ModelPoolTest, LessContextThanLoadedIsServedAndMoreIsLoadedWhenNobodyUsesTheModel) {
  start();
  Got first = get("a");
  EXPECT_EQ(get("a", {.context = 50})->get(), first->get());
  const auto longer = ask("a", {.context = 200});
  const auto later = ask("a");
  EXPECT_THAT(shelf_.loadsSoFar(), ElementsAre("a"));
  *first = nullptr;
  const Got got = answer(longer), after = answer(later);
  ASSERT_TRUE(got.has_value()) << got.error().toString();
  EXPECT_EQ((*got)->contextTokens(), 200u);
  EXPECT_EQ(after->get(), got->get());
  EXPECT_THAT(shelf_.loadsSoFar(), ElementsAre("a", "a"));
}

TEST_F(ModelPoolTest, AContextThatTheModelWasNotMadeForGivesNothingUp) {
  start();
  const Got first = get("a");
  EXPECT_EQ(get("a", {.context = 2000}).error().code, Code::InvalidArgument);
  EXPECT_TRUE(get("a").has_value());
}

TEST_F(ModelPoolTest, AModelWhoseDeviceIsLostIsLoadedAnew) {
  start();
  Got first = get("a");
  shelf_.isLost = true;
  const auto asked = ask("a");
  *first = nullptr;
  EXPECT_TRUE(answer(asked).has_value());
  EXPECT_THAT(shelf_.loadsSoFar(), ElementsAre("a", "a"));
}

TEST_F(ModelPoolTest, VectorsAndTextAreTwoWorkersOfOneModel) {
  start();
  const Got text = get("a"), vectors = get("a", {.embeddings = true});
  ASSERT_TRUE(vectors.has_value());
  EXPECT_NE(text->get(), vectors->get());
  EXPECT_THAT(shelf_.loadsSoFar(), ElementsAre("a", "a*"));
}

TEST_F(ModelPoolTest, ADyingPoolEndsLoadsAndAnswersWhoWaits) {
  start();
  shelf_.setOpen(false);
  const auto first = ask("a"), second = ask("b");
  pool_.reset();
  EXPECT_EQ(answer(first).error().code, Code::Cancelled);
  EXPECT_EQ(answer(second).error().code, Code::Cancelled);
  EXPECT_TRUE(shelf_.waitFor({}));
}

} // namespace
} // namespace sinter::serve
