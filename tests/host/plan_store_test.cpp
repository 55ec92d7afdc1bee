// Plans from the cache or the compiler, and whole models, without a terminal: progress, notes and
// errors come by the observer and by results, and nothing is written to a stream.
#include "host/host_test.h"
#include "host/open_model.h"
#include "host/plan_file.h"
#include "llm/ragged.h"
#include "llm/session.h"

#include <thread>

namespace sinter::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Both standard streams lead to a file while it lives.
class CapturedStreams {
public:
  explicit CapturedStreams(std::string path) : path_(std::move(path)) {
    const int file = open(path_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    for (int fd = 1; fd <= 2; ++fd) {
      former_[fd] = dup(fd);
      dup2(file, fd);
    }
    close(file);
  }
  ~CapturedStreams() { end(); }
  // What was written.
  std::string end() {
    for (int fd = 1; fd <= 2; ++fd)
      if (former_[fd] >= 0) {
        dup2(former_[fd], fd);
        close(std::exchange(former_[fd], -1));
      }
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

private:
  const std::string path_ = modelFile();
  int former_[3] = {-1, -1, -1};
};

class PlanStore : public HostTest {
protected:
  void SetUp() override {
    if (!haveCompiler())
      GTEST_SKIP() << compilerPath() << " was not built";
    HostTest::SetUp();
    ASSERT_FALSE(keptPlan().empty());
    useCompiler("echo progress 1 1 copying; cat '" + keptPlan() + "' >\"$4\"");
  }
  // The file of the plan that the compiler made once for all tests.
  static const std::string &keptPlan() {
    static const std::string path =
        planByCompiler(modelFile()) ? sharedPlanPath(modelFile(), {}) : "";
    return path;
  }
  Result<ObtainedPlan> obtain() {
    SINTER_ASSIGN(const ModelFile file, ModelFile::open(path_));
    return obtainPlan(file, device_->info(), {}, recorder_);
  }
  Result<std::vector<TokenId>> answer(Model &model) {
    SINTER_ASSIGN(const auto prompt, model.file().encodeRaw("a"));
    Session session(model.runner(), model.pages(), model.tokenizer());
    SINTER_ASSIGN(const Generation generation,
                  session.generate(prompt, {.maxTokens = 3, .ignoreEndTokens = true},
                                   [](TokenId) -> Result<void> { return {}; }));
    return generation.tokens;
  }

  const std::string path_ = modelFile();
  Recorder recorder_;
  const std::unique_ptr<hal::Device> device_ = openCpu(1);
};

TEST_F(PlanStore, BuildsAPlanOnceAndFindsItAgain) {
  const auto built = obtain();
  ASSERT_TRUE(built) << built.error().toString();
  EXPECT_GT(built->buildSeconds, 0);
  EXPECT_EQ(recorder_.begun, 1);
  EXPECT_EQ(recorder_.ended, 1);
  EXPECT_THAT(recorder_.shown, ElementsAre("copying"));
  const auto found = obtain();
  ASSERT_TRUE(found) << found.error().toString();
  EXPECT_EQ(found->buildSeconds, 0);
  EXPECT_EQ(recorder_.begun, 1);
  EXPECT_THAT(recorder_.notes, IsEmpty());
}

TEST_F(PlanStore, ACompilerThatFailsIsAnErrorThatNamesTheModel) {
  useCompiler("echo 'sinter-compiler: too odd' >&2; exit 1");
  const auto built = obtain();
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().message, "cannot build the plan of '" + path_ + "': too odd");
  EXPECT_EQ(recorder_.ended, 1);
}

TEST_F(PlanStore, ABuildEndsWhenItIsCancelled) {
  recorder_.cancelsAtProgress = true;
  useCompiler("echo progress 0 1 begun; sleep 100");
  const auto built = obtain();
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, Code::Cancelled);
  EXPECT_EQ(recorder_.ended, 1);
}

TEST_F(PlanStore, WaitingForAnotherBuildEndsWhenItIsCancelled) {
  useCompiler("echo progress 0 1 begun; sleep 100");
  const auto file = ModelFile::open(path_);
  ASSERT_TRUE(file);
  Recorder builder;
  std::atomic<bool> isBuilding = false;
  builder.whenBuildBegins = [&] { isBuilding = true; };
  std::thread other([&] { EXPECT_FALSE(obtainPlan(*file, device_->info(), {}, builder)); });
  while (!isBuilding)
    std::this_thread::yield();
  recorder_.cancelsAtNote = true; // that another one builds
  const auto waited = obtain();
  builder.cancelled = true;
  other.join();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, Code::Cancelled);
  EXPECT_EQ(recorder_.begun, 0);
}

TEST_F(PlanStore, WithoutAPlaceForItAPlanIsBuiltAndNotKept) {
  setVariable("XDG_CACHE_HOME", std::nullopt);
  setVariable("HOME", std::nullopt);
  EXPECT_TRUE(obtain());
  EXPECT_THAT(recorder_.notes, ElementsAre(HasSubstr("plans are not kept: no place")));
}

TEST_F(PlanStore, TargetsThatFailAreNotedAndTheOthersWritten) {
  useCompiler("[ \"$6\" = bad ] && { echo no >&2; exit 1; }; printf %s \"$6\" >\"$4\"");
  const auto file = ModelFile::open(path_);
  ASSERT_TRUE(file);
  const std::string output = folder_.file("all.plan");
  CompileRequest request{{"a", "bad", "b"}, {}, output, true};
  EXPECT_EQ(compileTo(*file, request, recorder_).value_or(99), 1u);
  EXPECT_THAT(recorder_.notes, ElementsAre(HasSubstr("target 'bad': ")));
  std::filesystem::remove(output);
  request.keepGoing = false;
  const auto stopped = compileTo(*file, request, recorder_);
  ASSERT_FALSE(stopped);
  EXPECT_THAT(stopped.error().message, HasSubstr("nothing was written"));
  EXPECT_FALSE(std::filesystem::exists(output));
}

TEST_F(PlanStore, AModelIsOpenedAndAnswersAndNothingIsWrittenToAStream) {
  CapturedStreams streams(folder_.file("streams"));
  const auto open = [&]() -> Result<OpenedModel> {
    SINTER_ASSIGN(ModelFile file, ModelFile::open(path_));
    return openModel(std::move(file), openCpu(1), {.context = 64}, recorder_);
  };
  const auto first = open();
  const auto tokens = first ? answer(*first->model) : Fail(first.error());
  const auto second = open();
  const auto again = second ? answer(*second->model) : Fail(second.error());
  setVariable("XDG_CACHE_HOME", modelFile()); // no folder: a note
  const bool third = open().has_value();
  const std::string written = streams.end();
  EXPECT_EQ(written, "");
  ASSERT_TRUE(tokens) << tokens.error().toString();
  ASSERT_TRUE(again) << again.error().toString();
  EXPECT_EQ(tokens->size(), 3u);
  EXPECT_EQ(*tokens, *again);
  EXPECT_GT(first->buildSeconds, 0);
  EXPECT_EQ(second->buildSeconds, 0);
  EXPECT_TRUE(third);
  EXPECT_THAT(recorder_.notes, ElementsAre(HasSubstr("plans are not kept")));
}

TEST_F(PlanStore, APlanFileOfAnotherPrecisionIsRefused) {
  const auto read = [&](const Precision &precision) {
    return readPlanFile(keptPlan(), *device_, precision);
  };
  EXPECT_TRUE(read({}));
  const auto other = read({"", "f32"});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message,
              HasSubstr("the plan was built for activations fastest, asked for is f32"));
}

} // namespace
} // namespace sinter::host
