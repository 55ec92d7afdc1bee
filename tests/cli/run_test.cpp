// sinter run with a prompt: answers, prompts of every kind, and streams that fail.
#include "cli/cli_test.h"

namespace sinter {
namespace {

class Run : public CliTest {};

TEST_F(Run, AnswersAPromptAndSaysItsFigures) {
  const Outcome outcome = sinter({"run", model_, "-p", "hi", "-n", "64", "--temp", "0"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_EQ(outcome.out.size(), 65u) << outcome; // a byte a token, and the newline
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("time to first token"), HasSubstr("tokens per second"),
                    HasSubstr("peak memory"), HasSubstr("; stopped: -n 64 reached\n")));
}

TEST_F(Run, GivesTheSameAnswerToAPromptFromAPipe) {
  const Outcome given = sinter({"run", model_, "-p", "the cat", "-n", "20", "--temp", "0"});
  const Outcome piped = sinter({"run", model_, "-n", "20", "--temp", "0"}, "the cat\n");
  EXPECT_THAT(piped, EndedWith(0));
  EXPECT_EQ(piped.out, given.out);
}

TEST_F(Run, RawPromptsDifferFromChatPrompts) {
  const Outcome chat = sinter({"run", model_, "-p", "the cat", "-n", "20", "--temp", "0"});
  const Outcome raw = sinter({"run", model_, "-p", "the cat", "-n", "20", "--temp", "0", "--raw"});
  EXPECT_THAT(raw, EndedWith(0));
  EXPECT_NE(raw.out, chat.out);
}

TEST_F(Run, ModelsOfFloatsAnswerToo) {
  const std::string model = writeModel("f32.gguf", {.matrices = TensorType::F32});
  EXPECT_THAT(sinter({"run", model, "-p", "hi", "-n", "4"}), EndedWith(0));
}

TEST_F(Run, AnswersStopWhereTheContextIsFullAndSaySo) {
  const Outcome outcome =
      sinter({"run", model_, "-p", "hi", "--raw", "--context", "20", "--temp", "0"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, HasSubstr("; stopped: context full\n"));
}

TEST_F(Run, PromptLongerThanTheContextIsRefusedWithTheNumbers) {
  const std::string prompt(100, 'x');
  useOwnCache();
  EXPECT_THAT(sinter({"run", model_, "-p", prompt, "--raw", "--context", "64"}),
              FailedSaying("the prompt has 100 tokens, the context holds 64"));
  EXPECT_FALSE(std::filesystem::exists(cache_)) << "a plan was built first";
}

TEST_F(Run, ContextBeyondTheModelsIsRefusedWithTheNumbersBeforeAnythingIsBuilt) {
  useOwnCache();
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--context", "131073"}), FailedSaying("131072"));
  EXPECT_THAT(sinter({"bench", model_, "--context", "131073"}), FailedSaying("131072"));
  EXPECT_FALSE(std::filesystem::exists(cache_));
}

TEST_F(Run, LongPromptsShowTheirProgressOnATerminalAndNoFirstTokenWhereNoneCame) {
  ASSERT_THAT(answer(), EndedWith(0)); // so that the plan is there
  options_.err = Stream::Terminal;
  const std::string prompt(100'000, 'x');
  Child child(command({"run", model_, "--raw", "--context", "131072", "-p", prompt}), options_);
  ASSERT_TRUE(child.sees("/100000 tokens, ")) << child.output();
  child.send(SIGINT);
  ASSERT_TRUE(child.sees(" of 100000 tokens of the prompt")) << child.output();
  const Outcome outcome = child.wait(20);
  EXPECT_THAT(outcome, EndedWith(130));
  EXPECT_THAT(outcome.out, Not(HasSubstr("time to first token")));
}

TEST_F(Run, ProgressOfAPromptIsNothingForAFile) {
  const Outcome outcome = sinter({"run", model_, "-n", "2"}, std::string(1500, 'x'));
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, Not(HasSubstr("prefill")));
  EXPECT_EQ(messages(outcome).size(), 1u) << outcome;
}

TEST_F(Run, ASystemMessageChangesTheAnswer) {
  const Outcome plain = sinter({"run", model_, "-p", "the cat", "-n", "20", "--temp", "0"});
  const Outcome led =
      sinter({"run", model_, "-p", "the cat", "-n", "20", "--temp", "0", "--system", "Be brief."});
  EXPECT_THAT(led, EndedWith(0));
  EXPECT_NE(led.out, plain.out);
}

TEST_F(Run, ModelsWithoutATemplatePointToRawPrompts) {
  const std::string model = writeModel("bare.gguf", {.chatTemplate = ""});
  EXPECT_THAT(sinter({"run", model, "-p", "hi"}),
              FailedSaying("no chat template; --raw -p TEXT gives"));
}

TEST_F(Run, EmptyPromptFromAPipeIsRefused) {
  EXPECT_THAT(sinter({"run", model_}, ""), FailedSaying("prompt on standard input is empty"));
  EXPECT_THAT(sinter({"run", model_}, "\n"), FailedSaying("prompt on standard input is empty"));
}

TEST_F(Run, PromptsOfOddBytesAreAnswered) {
  const std::string prompts[] = {std::string("a\0b\0", 4), "\x1b]0;title\x07",
                                 std::string(3000, '\n')};
  for (const std::string &prompt : prompts)
    EXPECT_THAT(sinter({"run", model_, "-n", "3"}, prompt), EndedWith(0)) << prompt;
}

TEST_F(Run, PromptsThatAreNotUtf8AreRefusedWithTheByte) {
  EXPECT_THAT(sinter({"run", model_, "-n", "3"}, "caf\xc3\xa9 \xff\xfe"),
              FailedSaying("not UTF-8: found byte 0xff, expected a whole character (at byte 6)"));
  EXPECT_THAT(sinter({"run", model_, "-n", "3", "--raw", "-p", "cut \xe2\x82"}),
              FailedSaying("ends inside a character, expected a whole character (at byte 4)"));
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--system", "\xff"}),
              FailedSaying("the system message is not UTF-8"));
}

TEST_F(Run, PromptsThatLookLikeMarkupOrOptionsAreText) {
  for (const char *prompt : {"--raw", "-n", "{}", "[]", "[a,b]", "<|im_end|>", "@file", "%%"}) {
    const Outcome outcome = sinter({"run", model_, "-n", "3", "-p", prompt});
    EXPECT_THAT(outcome, EndedWith(0)) << prompt;
  }
}

TEST_F(Run, ControlTokensInAPromptAreNotMarkup) {
  const std::string text = "<|im_end|>";
  const Outcome chat = sinter({"run", model_, "-n", "20", "--temp", "0", "-p", text});
  const Outcome raw = sinter({"run", model_, "-n", "20", "--temp", "0", "--raw", "-p",
                              "<|im_start|>user\n" + text + "<|im_end|>\n<|im_start|>assistant\n"});
  EXPECT_THAT(raw, EndedWith(0));
  EXPECT_NE(chat.out, raw.out);
}

TEST_F(Run, ClosedStdinIsNotMistakenForAFile) {
  options_.in = Stream::Closed;
  EXPECT_THAT(sinter({"run", model_}), FailedSaying("cannot read standard input"));
  EXPECT_THAT(answer(), EndedWith(0));
}

TEST_F(Run, ClosedStdoutIsAnError) {
  options_.out = Stream::Closed;
  EXPECT_THAT(answer(), FailedSaying("cannot write to standard output"));
}

TEST_F(Run, ClosedStderrDoesNotSpoilTheAnswer) {
  const Outcome loud = answer();
  options_.err = Stream::Closed;
  const Outcome quiet = answer();
  EXPECT_THAT(quiet, EndedWith(0));
  EXPECT_EQ(quiet.out, loud.out);
}

TEST_F(Run, AllStreamsClosedIsAnErrorAndNoHarm) {
  options_.in = options_.out = options_.err = Stream::Closed;
  const std::string before = read(model_);
  EXPECT_THAT(answer(), EndedWith(1));
  EXPECT_EQ(read(model_), before);
}

TEST_F(Run, FullDiskAtStdoutIsAnError) {
  options_.out = Stream::Full;
  EXPECT_THAT(answer(), FailedSaying("No space left"));
}

TEST_F(Run, ReaderThatLeavesEndsTheAnswerQuietly) {
  Child child(
      command({"run", model_, "-p", "hi", "-n", "131072", "--temp", "0", "--context", "131072"}),
      options_);
  ASSERT_TRUE(child.hasOutput()) << child.output();
  child.closeStdout();
  const Outcome outcome = child.wait();
  EXPECT_THAT(outcome, EndedWith(128 + SIGPIPE));
  EXPECT_THAT(messages(outcome), IsEmpty());
}

TEST_F(Run, AnswersToATerminalCannotSteerIt) {
  const std::string prompt = "hi";
  options_.out = Stream::Terminal;
  const Outcome outcome = sinter({"run", model_, "-p", prompt, "-n", "50"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
}

} // namespace
} // namespace sinter
