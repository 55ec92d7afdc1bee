// A compiler that ends in every way that it can: its code, its words and what it leaves.
#include "host/host_test.h"

namespace sinter::host {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CompilerProcess : public HostTest {
protected:
  Result<void> run(const std::string &script) {
    const std::string program = useCompiler(script);
    const int output = open(folder_.file("output").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    const auto done =
        host::runCompiler(program, std::vector<std::string>{"plan", "m", "-o", kCompilerOutput},
                          output, limits_, recorder_.cancel(),
                          [&](const CompilerProgress &progress) { recorder_.showBuild(progress); });
    close(output);
    return done;
  }
  // Of a script that is to fail: the code's name and the message.
  std::string failure(const std::string &script) {
    const auto done = run(script);
    return done ? "it succeeded" : codeName(done.error().code) + (": " + done.error().message);
  }

  CompilerLimits limits_;
  Recorder recorder_;
};

TEST_F(CompilerProcess, WritesItsOutputAndTellsItsProgress) {
  ASSERT_TRUE(
      run("echo progress 1 2 half; echo other words; echo progress 2 2; echo -n ok >\"$4\""));
  EXPECT_THAT(recorder_.shown, ElementsAre("half", ""));
  std::ifstream output(folder_.file("output"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(output), {}), "ok");
}

TEST_F(CompilerProcess, ThatFailsIsQuotedByItsLastLine) {
  EXPECT_EQ(failure("echo first >&2; echo 'sinter-compiler: the second' >&2; exit 1"),
            "unsupported: the second");
  EXPECT_EQ(failure("echo 'no such option' >&2; exit 2"), "invalid-argument: no such option");
  EXPECT_EQ(failure("echo odd >&2; exit 3"), "internal: odd");
}

TEST_F(CompilerProcess, ThatFailsSilentlyIsSaidWithItsStatus) {
  EXPECT_THAT(failure("exit 1"), HasSubstr("ended with status 1 and said nothing"));
  EXPECT_THAT(failure("exit 77"), HasSubstr("ended with status 77 and said nothing"));
}

TEST_F(CompilerProcess, ThatIsKilledIsSaidWithTheSignalAndTheWorkAtHand) {
  EXPECT_THAT(failure("kill -KILL $$"), HasSubstr("signal 9 (SIGKILL)"));
  EXPECT_THAT(failure("echo progress 1 2 thinking; sleep 0.2; kill -SEGV $$"),
              HasSubstr("signal 11 (SIGSEGV) during 'thinking'"));
}

TEST_F(CompilerProcess, ThatHangsInAnyWayIsStoppedAtItsLimit) {
  limits_.timeoutMs = 300;
  for (const char *script :
       {"sleep 100", "exec >&- 2>&-; sleep 100", "yes >&2 & exec yes 'progress 1 2 x'"})
    EXPECT_THAT(failure(script), HasSubstr("timeout: the compiler did not end within")) << script;
}

TEST_F(CompilerProcess, ThatLeavesAProcessBehindWithItsPipesIsNotWaitedFor) {
  EXPECT_THAT(failure("sleep 30 & exit 3"), HasSubstr("status 3"));
}

TEST_F(CompilerProcess, IsStoppedWhenTheCallerCancels) {
  recorder_.cancelsAtProgress = true;
  EXPECT_THAT(failure("echo progress 0 1 begun; sleep 100"), HasSubstr("cancelled: "));
}

TEST_F(CompilerProcess, IsNamedByTheEnvironment) {
  setVariable("SINTER_COMPILER", folder_.file("nowhere"));
  const auto missing = findCompiler();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::NotFound);
  const std::string program = useCompiler("exit 0");
  EXPECT_EQ(findCompiler().value_or(""), program);
}

TEST_F(CompilerProcess, TakesItsTimeFromTheEnvironment) {
  setVariable("SINTER_COMPILE_SECONDS", "7");
  EXPECT_EQ(compilerLimits()->timeoutMs, 7000u);
  for (const char *text : {"0", "-1", "x", "1.5", "86401", "99999999999999999999"}) {
    setVariable("SINTER_COMPILE_SECONDS", text);
    ASSERT_FALSE(compilerLimits()) << text;
    EXPECT_THAT(compilerLimits().error().message,
                HasSubstr("SINTER_COMPILE_SECONDS is '" + std::string(text) + "'"));
  }
}

TEST(Progress, LinesAreReadWithTheirText) {
  const auto progress = parseProgress("progress 3 10 compiling kernels");
  ASSERT_TRUE(progress.has_value());
  EXPECT_EQ(progress->done, 3u);
  EXPECT_EQ(progress->total, 10u);
  EXPECT_EQ(progress->text, "compiling kernels");
}

TEST(Progress, OtherLinesAreNone) {
  for (const char *line :
       {"", "progress", "progress ", "progress 1", "progress x 2", "progress 3 2", "progress -1 2",
        "progress 1 99999999999999999999", "note 1 2 x"})
    EXPECT_FALSE(parseProgress(line).has_value()) << line;
}

} // namespace
} // namespace sinter::host
