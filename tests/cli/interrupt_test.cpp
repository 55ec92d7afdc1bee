// Signals while the program works: Ctrl-C, and being told to end.
#include "cli/cli_test.h"

namespace sinter {
namespace {

class Interrupt : public CliTest {
protected:
  // An answer of several seconds.
  std::vector<std::string> longAnswer() const {
    return command(
        {"run", model_, "-p", "hi", "-n", "131072", "--temp", "0", "--context", "131072"});
  }
};

TEST_F(Interrupt, DuringAnAnswerEndsItWithItsFiguresAnd130) {
  Child child(longAnswer(), options_);
  ASSERT_TRUE(child.hasOutput(1000)); // many tokens, so that there is a rate
  child.send(SIGINT);
  const Outcome outcome = child.wait(20);
  EXPECT_THAT(outcome, EndedWith(130));
  EXPECT_TRUE(outcome.out.ends_with("\n"));
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("tokens per second"), HasSubstr("stopped: interrupted")));
}

TEST_F(Interrupt, DuringCompilationEndsWith130AndKeepsNothing) {
  useOwnCache();
  useCompiler("sleep 100");
  Child child(command({"run", model_, "-p", "hi"}), options_);
  ASSERT_TRUE(child.sees("building the plan"));
  child.send(SIGINT);
  const Outcome outcome = child.wait(20);
  EXPECT_THAT(outcome, EndedWith(130));
  EXPECT_THAT(messages(outcome), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(cache_));
}

TEST_F(Interrupt, WhileAnotherProcessBuildsEndsTheWaiting) {
  useOwnCache();
  useCompiler("sleep 100");
  Child builder(command({"run", model_, "-p", "hi"}), options_);
  ASSERT_TRUE(builder.sees("building the plan"));
  Child waiting(command({"run", model_, "-p", "hi"}), options_);
  ASSERT_TRUE(waiting.takesSignals());
  waiting.send(SIGINT);
  EXPECT_THAT(waiting.wait(20), EndedWith(130));
}

TEST_F(Interrupt, DuringBenchExplainAndPerplexityEndsWith130) {
  const std::string text = write("text", std::string(400'000, 'x'));
  const std::vector<std::string> commands[] = {{"bench", model_, "--repeat", "1000"},
                                               {"explain", model_, "--prompt", "512"},
                                               {"perplexity", model_, text, "--window", "4096"}};
  for (const auto &words : commands) {
    ASSERT_THAT(answer(), EndedWith(0)); // so that the plan is there
    Child child(command(words), options_);
    ASSERT_TRUE(child.sees(words[0] == "perplexity" ? "scoring" : "measuring"));
    child.send(SIGINT);
    const Outcome outcome = child.wait(20);
    // explain may have been quicker.
    EXPECT_TRUE(outcome.code == 130 || (words[0] == "explain" && outcome.code == 0)) << outcome;
  }
}

TEST_F(Interrupt, BeingToldToEndEndsWith128AndTheSignal) {
  for (const int signal : {SIGTERM, SIGHUP}) {
    Child child(longAnswer(), options_);
    ASSERT_TRUE(child.hasOutput());
    child.send(signal);
    EXPECT_THAT(child.wait(20), EndedWith(128 + signal));
  }
}

TEST_F(Interrupt, HangUpIsIgnoredUnderNohup) {
  options_.before = [] { std::signal(SIGHUP, SIG_IGN); };
  Child child(command({"run", model_, "-p", "hi", "-n", "2000", "--temp", "0"}), options_);
  ASSERT_TRUE(child.hasOutput());
  child.send(SIGHUP);
  EXPECT_THAT(child.wait(), EndedWith(0));
}

TEST_F(Interrupt, WhileThePromptIsReadEndsWith130) {
  options_.in = Stream::Pipe;
  Child child(command({"run", model_}), options_);
  ASSERT_TRUE(child.takesSignals());
  child.send(SIGINT);
  EXPECT_THAT(child.wait(20), EndedWith(130));
}

} // namespace
} // namespace sinter
