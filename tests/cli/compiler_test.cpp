// The compiler as a child that fails in every way that it can.
#include "cli/cli_test.h"

#include <sys/prctl.h>

namespace sinter {
namespace {

class Compiler : public CliTest {
protected:
  void SetUp() override {
    CliTest::SetUp();
    useOwnCache();
  }
  // What a compiler of that script makes of an answer; no plan may be kept.
  Outcome answerWith(const std::string &script) {
    useCompiler(script);
    const Outcome outcome = answer();
    if (std::filesystem::exists(cache_))
      for (const auto &entry : std::filesystem::directory_iterator(cache_))
        EXPECT_NE(entry.path().extension(), ".plan");
    return outcome;
  }
};

TEST_F(Compiler, ThatIsMissingIsNamed) {
  options_.environment["SINTER_COMPILER"] = path("nowhere");
  EXPECT_THAT(answer(), FailedSaying("cannot start the compiler '" + path("nowhere") + "'"));
}

TEST_F(Compiler, ThatMayNotBeRunIsNamed) {
  options_.environment["SINTER_COMPILER"] = write("text", "no program");
  EXPECT_THAT(answer(), FailedSaying("Permission denied"));
  std::filesystem::permissions(path("text"), std::filesystem::perms::owner_all);
  EXPECT_THAT(answer(), FailedSaying("Exec format error"));
}

TEST_F(Compiler, ThatIsAFolderIsNamed) {
  options_.environment["SINTER_COMPILER"] = folder_;
  EXPECT_THAT(answer(), FailedSaying("cannot start the compiler"));
}

TEST_F(Compiler, ThatFailsIsQuotedByItsLastLine) {
  const Outcome outcome =
      answerWith("echo first >&2; echo 'sinter-compiler: the second' >&2; exit 1");
  EXPECT_THAT(outcome, FailedSaying("tiny.gguf': the second"));
}

// A stand-in that writes the name of its target, but of bad ones a complaint.
constexpr const char *kPickyCompiler =
    "case \"$6\" in\n"
    "bad1) echo 'sinter-compiler: no such thing' >&2; exit 1 ;;\n"
    "bad3) echo 'sinter-compiler: no such target' >&2; exit 2 ;;\n"
    "bad2) kill -KILL $$ ;;\n"
    "*) printf %s \"$6\" >\"$4\" ;;\n"
    "esac";

TEST_F(Compiler, ThatFailsForOneTargetLeavesNoFileAndNamesTheTarget) {
  useCompiler(kPickyCompiler);
  const std::string plan = path("all.plan");
  EXPECT_THAT(sinter({"compile", model_, "--target", "a,bad1,b", "-o", plan}),
              FailedSaying("target 'bad1': cannot build the plan of '" + model_ +
                           "': no such thing; nothing was written"));
  EXPECT_FALSE(std::filesystem::exists(plan));
}

TEST_F(Compiler, ThatFailsForSomeTargetsKeepsTheOthersWhenAsked) {
  useCompiler(kPickyCompiler);
  const std::string plan = path("some.plan");
  const Outcome outcome =
      sinter({"compile", model_, "--target", "a,bad1,bad2,bad3,b", "--keep-going", "-o", plan});
  EXPECT_THAT(outcome, EndedWith(3));
  EXPECT_THAT(messages(outcome),
              testing::ElementsAre(HasSubstr("target 'bad1': "), HasSubstr("target 'bad2': "),
                                   HasSubstr("target 'bad3': "),
                                   HasSubstr("some.plan' has 2 of 5 targets' plans")));
  EXPECT_EQ(read(plan), "ab");
  EXPECT_THAT(sinter({"compile", model_, "--target", "a,b", "--keep-going", "-o", plan}),
              EndedWith(0));
}

TEST_F(Compiler, ThatFailsForEveryTargetLeavesNoFile) {
  useCompiler(kPickyCompiler);
  const std::string plan = path("none.plan");
  const Outcome outcome =
      sinter({"compile", model_, "--target", "bad1,bad2", "--keep-going", "-o", plan});
  EXPECT_THAT(outcome, EndedWith(1));
  EXPECT_THAT(outcome.err, HasSubstr("no target has a plan; nothing was written"));
  EXPECT_FALSE(std::filesystem::exists(plan));
}

TEST_F(Compiler, ThatSteersTerminalsIsQuotedAsText) {
  EXPECT_THAT(answerWith("printf 'a\\033[31mb\\n' >&2; exit 1"), FailedSaying("a\\x1b[31mb"));
}

TEST_F(Compiler, ThatPrintsGarbageAndNoPlanIsSaid) {
  EXPECT_THAT(answerWith("head -c 100000 /dev/urandom"), FailedSaying("wrote no plan"));
  EXPECT_THAT(answerWith("echo progress 18446744073709551615 18446744073709551615 x; "
                         "echo progress -1 99999999999999999999; echo progress; echo progress 9 1"),
              FailedSaying("wrote no plan"));
}

TEST_F(Compiler, ThatWritesABrokenPlanIsSaid) {
  EXPECT_THAT(answerWith("echo nonsense > \"$4\""), FailedSaying("wrote a damaged plan"));
  EXPECT_THAT(answerWith("head -c 5000000 /dev/zero > \"$4\""),
              FailedSaying("wrote a damaged plan"));
}

// Fields of /proc/PID/stat from the state on; empty where there is no such process.
std::vector<std::string> fieldsOf(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream rest(text.substr(std::min(text.rfind(')') + 1, text.size())));
  return {std::istream_iterator<std::string>(rest), {}};
}
bool hasEnded(pid_t process) {
  const std::vector<std::string> fields = fieldsOf(process);
  return fields.empty() || fields[0] == "Z";
}
double cpuSecondsOf(pid_t process) {
  const std::vector<std::string> fields = fieldsOf(process);
  double user = 0, system = 0;
  if (fields.size() > 12)
    std::istringstream(fields[11] + " " + fields[12]) >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}
// Whether it holds within the half minute that a busy machine may take.
template <class Condition> bool comes(const Condition &condition) {
  const Deadline deadline = secondsFromNow(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline)
      return false;
    usleep(1000);
  }
  return true;
}
// The process whose number a script writes to a file.
pid_t processIn(const std::string &path) {
  pid_t process = 0;
  EXPECT_TRUE(comes([&] { return bool(std::ifstream(path) >> process); }));
  return process;
}

TEST_F(Compiler, InterruptStopsItWithAllThatItStarted) {
  useCompiler("sleep 100 & echo $! > '" + path("part") + "'; mv '" + path("part") + "' '" +
              path("pid") + "'; sleep 100");
  Child child(command({"run", model_, "-p", "hi"}), options_);
  ASSERT_TRUE(child.sees("building the plan"));
  const pid_t started = processIn(path("pid"));
  child.send(SIGINT);
  EXPECT_THAT(child.wait(10), EndedWith(130));
  EXPECT_TRUE(comes([&] { return hasEnded(started); }));
}

// A stopped compiler would wait for ever, and ends by nothing but a signal.
TEST_F(Compiler, EndsWithAParentThatWasKilled) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const std::string pidFile = path("pid");
  useCompiler("echo $$ > '" + pidFile + "'; exec '" SINTER_BIN_DIR "/sinter-compiler' \"$@\"");
  Child child(command({"run", model_, "-p", "hi"}), options_);
  ASSERT_TRUE(child.sees("building the plan"));
  const pid_t compiler = processIn(pidFile);
  ASSERT_TRUE(comes([&] { return cpuSecondsOf(compiler) > 0.2; })) << "past its own start";
  ASSERT_EQ(kill(compiler, SIGSTOP), 0);
  child.send(SIGKILL);
  child.wait(10);
  int status = 0;
  EXPECT_TRUE(comes([&] { return waitpid(compiler, &status, WNOHANG) != 0; }));
  EXPECT_TRUE(WIFSIGNALED(status)) << "the compiler lives on";
  kill(compiler, SIGKILL);
}

} // namespace
} // namespace sinter
