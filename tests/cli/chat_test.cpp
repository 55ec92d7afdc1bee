// The chat, at a terminal of its own.
#include "cli/cli_test.h"

#include <termios.h>

namespace sinter {
namespace {

class ChatTest : public CliTest {
protected:
  void SetUp() override {
    CliTest::SetUp();
    ASSERT_THAT(answer(), EndedWith(0)); // so that the plan is there
    options_.in = options_.out = options_.err = Stream::Terminal;
  }
  std::vector<std::string> chat(const std::string &tokens = "8") const {
    return command({"run", model_, "-n", tokens, "--temp", "0", "--context", "131072"});
  }
};

constexpr const char *kFigures = "peak memory";
constexpr const char *kInterruptKey = "\x03", *kEndKey = "\x04";

TEST_F(ChatTest, AnswersMessagesUntilTheEndOfInput) {
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("/help lists the commands"));
  for (const char *message : {"hello\n", "and again\n"}) {
    ASSERT_TRUE(child.sees("> "));
    child.type(message);
    ASSERT_TRUE(child.sees(kFigures)) << child.output();
  }
  ASSERT_TRUE(child.sees("> "));
  child.type(kEndKey);
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(ChatTest, HelpListsTheCommandsAndUnknownOnesAreNamed) {
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("/help\n");
  EXPECT_TRUE(child.sees("/clear")) << child.output();
  EXPECT_TRUE(child.sees("/quit"));
  child.type("/nonsense\n");
  EXPECT_TRUE(child.sees("no command '/nonsense'; /help lists them"));
  child.type("/claer\n");
  EXPECT_TRUE(child.sees("no command '/claer' (did you mean '/clear'?)"));
  child.type("/quit  \n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(ChatTest, InterruptKeyStopsTheAnswerAndNotTheProgram) {
  Child child(chat("100000"), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("hello\n");
  ASSERT_TRUE(child.sees("hello\r\n"));
  ASSERT_TRUE(child.hasOutput(child.output().size() + 100)); // of the answer
  child.type(kInterruptKey);
  ASSERT_TRUE(child.sees("stopped: interrupted")) << child.output();
  ASSERT_TRUE(child.sees("> "));
  child.type("/quit\n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(ChatTest, InterruptKeyAtThePromptClearsTheLine) {
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("/quit");
  child.type(kInterruptKey);
  ASSERT_TRUE(child.sees("> "));
  child.type("/help\n");
  EXPECT_TRUE(child.sees("/clear")) << child.output();
  child.type("/quit\n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(ChatTest, InterruptKeyDuringCompilationEndsTheProgram) {
  useOwnCache();
  useCompiler("echo progress 0 1 x; sleep 100");
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("building the plan"));
  child.type(kInterruptKey);
  EXPECT_THAT(child.wait(20), EndedWith(130));
}

TEST_F(ChatTest, ConversationThatFillsTheContextLosesItsOldestMessagesAndSaysSo) {
  Child child(command({"run", model_, "-n", "8", "--temp", "0", "--context", "100"}), options_);
  const std::string message(40, 'x');
  ASSERT_TRUE(child.sees("> "));
  child.type(message + "\n");
  ASSERT_TRUE(child.sees(kFigures)) << child.output();
  child.type(message + "\n");
  ASSERT_TRUE(child.sees("the context holds 100: the oldest exchanges are dropped (1 of 1)"))
      << child.output();
  ASSERT_TRUE(child.sees(kFigures)) << child.output();
  child.type(std::string(101, 'x') + "\n");
  ASSERT_TRUE(child.sees("the context holds 100")) << child.output();
  child.type("/clear\n");
  ASSERT_TRUE(child.sees("a new conversation"));
  child.type(message + "\n");
  EXPECT_TRUE(child.sees(kFigures)) << child.output();
  child.type("/quit\n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(ChatTest, InterruptKeyDropsLinesThatGoOn) {
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("one\\\n");
  ASSERT_TRUE(child.sees(". ")) << child.output();
  child.type(kInterruptKey);
  ASSERT_TRUE(child.sees("> ")) << child.output();
  child.type("/quit\n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
  EXPECT_THAT(child.output(), Not(HasSubstr(kFigures)));
}

TEST_F(ChatTest, LinesThatEndInABackslashGoOn) {
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("one\\\n");
  ASSERT_TRUE(child.sees(". ")) << child.output();
  child.type("two\n");
  EXPECT_TRUE(child.sees(kFigures)) << child.output();
  child.type("/quit\n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(ChatTest, BlankMessagesAreNotSent) {
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("  \n \\\n \n/quit\n");
  const Outcome outcome = child.wait(20);
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.out, Not(HasSubstr(kFigures)));
}

TEST_F(ChatTest, WhatIsTypedDuringAnAnswerIsTheNextMessage) {
  Child child(chat("3000"), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("hello\n");
  ASSERT_TRUE(child.sees("hello\r\n"));
  ASSERT_TRUE(child.hasOutput(child.output().size() + 100)); // of the answer
  child.type("/help\n/set temp 0.25\n/se");
  ASSERT_TRUE(child.sees(kFigures)) << child.output();
  EXPECT_TRUE(child.sees("/clear ")) << child.output();
  child.type("t\n");
  EXPECT_TRUE(child.sees(" 0.25 ")) << child.output();
  child.type("/quit\n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(ChatTest, APageTypedDuringAnAnswerIsKeptWhole) {
  Child child(chat("3000"), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("hello\n");
  ASSERT_TRUE(child.sees("hello\r\n"));
  ASSERT_TRUE(child.hasOutput(child.output().size() + 100)); // of the answer
  child.type("/set nothing" + std::string(20'000, 'y') + "end\n");
  ASSERT_TRUE(child.sees("no setting 'nothing" + std::string(20'000, 'y') + "end'"));
  child.type("/quit\n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(ChatTest, PromptIsDrawnAgainWhenTheProgramGoesOnAfterAPause) {
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("/help");
  ASSERT_TRUE(child.sees("/help"));
  // One that goes on just before it waits for a key draws nothing until there is one.
  bool isDrawn = false;
  for (int tries = 0; tries < 10 && !isDrawn; ++tries) {
    child.pause();
    child.goOn();
    isDrawn = child.sees("> /help", secondsFromNow(2));
  }
  ASSERT_TRUE(isDrawn) << child.output();
  child.type("x\x7f\n"); // edited, not read by lines
  EXPECT_TRUE(child.sees("/clear ")) << child.output();
  child.type("/quit\n");
  const Outcome outcome = child.wait(20);
  EXPECT_EQ(outcome.code, 0) << outcome; // a try above may have been too late
  EXPECT_EQ(outcome.signal, 0) << outcome;
}

TEST_F(ChatTest, LinesAreRecalledInTheNextChat) {
  for (const bool first : {true, false}) {
    Child child(chat(), options_);
    ASSERT_TRUE(child.sees("> "));
    child.type(first ? "/nonsense\n" : "\x10\x10\n"); // Ctrl-P: /quit, then the line before it
    EXPECT_TRUE(child.sees("no command '/nonsense'")) << child.output();
    child.type("/quit\n");
    EXPECT_THAT(child.wait(20), EndedWith(0));
  }
}

TEST_F(ChatTest, SettingsAreRefusedAsOptionsAreAndSystemMessagesChecked) {
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("/set top_k 40\n");
  EXPECT_TRUE(child.sees("top-k has no effect at temp 0")) << child.output();
  child.type("/set temperature 0.5\n/set top_k 40\n/set seed 77\nhello\n");
  EXPECT_TRUE(child.sees("seed 77")) << child.output();
  child.type("/set system \xff\n");
  EXPECT_TRUE(child.sees("the system message is not UTF-8")) << child.output();
  child.type("/quit\n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(ChatTest, HangUpEndsIt) {
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("> "));
  child.send(SIGHUP);
  EXPECT_THAT(child.wait(20), EndedWith(128 + SIGHUP));
}

TEST_F(ChatTest, BrokenTemplatesAreRefusedBeforeAnythingIsBuilt) {
  const std::string model = writeModel("a.gguf", {.chatTemplate = "{% include 'x' %}"});
  Child child(command({"run", model}), options_);
  EXPECT_TRUE(child.sees("--raw -p TEXT"));
  const Outcome outcome = child.wait(20);
  EXPECT_THAT(outcome, EndedWith(1));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome;
}

TEST_F(ChatTest, ContextThatHoldsNoMessageIsRefusedBeforeAnythingIsBuilt) {
  useOwnCache();
  Child child(command({"run", model_, "--context", "1"}), options_);
  EXPECT_TRUE(child.sees("tokens with its template, the context holds 1"));
  EXPECT_THAT(child.wait(20), EndedWith(1));
  EXPECT_FALSE(std::filesystem::exists(cache_));
}

TEST_F(ChatTest, RawNeedsAPrompt) {
  Child child(command({"run", model_, "--raw"}), options_);
  EXPECT_TRUE(child.sees("--raw needs a prompt"));
  EXPECT_THAT(child.wait(20), EndedWith(2));
}

TEST_F(ChatTest, OddKeysAndBytesDoNoHarm) {
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("\x1b[A\x1b[B\x1b[999;999H\x1bOP\t caf\xc3\xa9\n");
  EXPECT_TRUE(child.sees(kFigures)) << child.output();
  child.type("caf\xc3\xa9 \xff\xfe\n");
  EXPECT_TRUE(child.sees("not UTF-8: found byte 0xff, expected a whole character (at byte 6)"))
      << child.output();
  child.type("/quit\n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

TEST_F(ChatTest, WorksInATerminalWithoutSizeOrType) {
  options_.environment["TERM"] = std::nullopt;
  options_.before = [] {
    const winsize none = {0, 0, 0, 0};
    ioctl(0, TIOCSWINSZ, &none);
  };
  Child child(chat(), options_);
  ASSERT_TRUE(child.sees("> "));
  child.type("hello\n");
  EXPECT_TRUE(child.sees(kFigures)) << child.output();
  child.type("/quit\n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

} // namespace
} // namespace sinter
