// Model files that are missing, odd or broken, and models that the program has no form for.
#include "cli/cli_test.h"
#include "sampling.h"

#include <random>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace sinter {
namespace {

class BadModel : public CliTest {
protected:
  Outcome runFile(const std::string &path) const {
    return sinter({"run", path, "-p", "hi", "-n", "2"});
  }
};

TEST_F(BadModel, EveryCommandRefusesAMissingFile) {
  const std::string missing = path("missing.gguf");
  const std::string text = write("text", "some text");
  EXPECT_THAT(runFile(missing), FailedSaying("missing.gguf"));
  EXPECT_THAT(sinter({"bench", missing}), FailedSaying("missing.gguf"));
  EXPECT_THAT(sinter({"explain", missing}), FailedSaying("missing.gguf"));
  EXPECT_THAT(sinter({"perplexity", missing, text}), FailedSaying("missing.gguf"));
}

TEST_F(BadModel, TheKnownModelThatWasNotFetchedSaysHowTo) {
  useOwnCache();
  EXPECT_THAT(runFile("smollm2"), FailedSaying("run ./demo once"));
}

TEST_F(BadModel, WithoutAnyHomeTheKnownModelHasNoPlace) {
  options_.environment["HOME"] = options_.environment["XDG_CACHE_HOME"] = std::nullopt;
  EXPECT_THAT(runFile("smollm2"), FailedSaying("neither XDG_CACHE_HOME nor HOME"));
}

TEST_F(BadModel, FoldersPipesDevicesAndSocketsAreRefusedAtOnce) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  sockaddr_un address = {AF_UNIX, {}};
  ASSERT_LT(path("socket").size(), sizeof address.sun_path);
  std::copy_n(path("socket").c_str(), path("socket").size() + 1, address.sun_path);
  const int socketFd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(socketFd, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  for (const std::string &odd : {folder_, path("fifo"), path("socket"), std::string("/dev/null"),
                                 std::string("/dev/zero"), std::string("/proc/self/mem")})
    EXPECT_THAT(runFile(odd), FailedSaying(odd));
  close(socketFd);
}

TEST_F(BadModel, PipeAtDevStdinIsRefused) {
  EXPECT_THAT(sinter({"run", "/dev/stdin", "-p", "hi"}, "GGUF"), FailedSaying("/dev/stdin"));
}

TEST_F(BadModel, SymbolicLinksAreFollowedAndLoopsRefused) {
  ASSERT_EQ(symlink("tiny.gguf", path("link").c_str()), 0);
  ASSERT_EQ(symlink("loop", path("loop").c_str()), 0);
  EXPECT_THAT(runFile(path("link")), EndedWith(0));
  EXPECT_THAT(runFile(path("loop")), FailedSaying("loop"));
}

TEST_F(BadModel, NamesOfAnyBytesWork) {
  for (const char *name :
       {"a b.gguf", "new\nline.gguf", "\xff\xfe.gguf", "-dash.gguf", "'\"$x`.gguf", "ünï😀.gguf"}) {
    std::filesystem::copy_file(model_, path(name));
    EXPECT_THAT(runFile(path(name)), EndedWith(0)) << name;
  }
}

TEST_F(BadModel, NameThatLooksLikeAnOptionWorksAfterTwoDashes) {
  useOwnCache();
  useRealCompiler(); // which is given the name too
  std::filesystem::copy_file(model_, path("-dash.gguf"));
  options_.folder = folder_;
  EXPECT_THAT(sinter({"run", "-p", "hi", "-n", "2", "--", "-dash.gguf"}), EndedWith(0));
}

TEST_F(BadModel, NamesInMessagesCannotSteerATerminal) {
  const Outcome outcome = runFile(path("\x1b[31m\n.gguf"));
  EXPECT_THAT(outcome, FailedSaying("\\x1b[31m\\x0a.gguf"));
}

TEST_F(BadModel, UnreadableFileIsRefused) {
  loseRights();
  ASSERT_EQ(chmod(model_.c_str(), 0), 0);
  EXPECT_THAT(runFile(model_), FailedSaying("Permission denied"));
}

TEST_F(BadModel, UnknownArchitectureIsNamed) {
  const std::string model = writeModel("a.gguf", {.architecture = "mamba"});
  EXPECT_THAT(runFile(model), FailedSaying("'mamba'"));
}

TEST_F(BadModel, MissingTokenizerIsNamed) {
  const std::string model = writeModel("a.gguf", {.tokenizer = ""});
  EXPECT_THAT(runFile(model), FailedSaying("tokenizer.ggml.model"));
}

TEST_F(BadModel, UnknownTokenizerIsNamed) {
  const std::string model = writeModel("a.gguf", {.tokenizer = "klingon"});
  EXPECT_THAT(runFile(model), FailedSaying("'klingon'"));
}

// Said before the plan is built, which this model does not come to.
TEST_F(BadModel, MetadataThatNobodyKnowsIsNamedInOneLine) {
  const std::string model =
      writeModel("odd.gguf", {.chatTemplate = "", .oddKey = "llama.attention.new_idea"});
  const Outcome outcome = runFile(model);
  EXPECT_THAT(outcome, FailedSaying("template"));
  EXPECT_THAT(outcome.err, HasSubstr("odd.gguf' holds what is not known here and goes unused: "
                                     "key 'llama.attention.new_idea'\n"));
  EXPECT_THAT(runFile(writeModel("even.gguf", {.chatTemplate = ""})).err,
              Not(HasSubstr("not known here")));
}

TEST_F(BadModel, BrokenTemplatesAreRefusedInOneSentenceButRawPromptsWork) {
  const std::string model = writeModel("a.gguf", {.chatTemplate = "{% include 'x' %}"});
  EXPECT_THAT(runFile(model), FailedSaying("--raw"));
  EXPECT_THAT(sinter({"run", model, "-p", "hi", "-n", "2", "--raw"}), EndedWith(0));
}

TEST_F(BadModel, MissingTemplateIsSaid) {
  const std::string model = writeModel("a.gguf", {.chatTemplate = ""});
  EXPECT_THAT(runFile(model), FailedSaying("template"));
}

TEST_F(BadModel, TruncatedFilesAreOneErrorEach) {
  const std::string whole = read(model_);
  for (const double part : {0.0, 0.0001, 0.01, 0.1, 0.3, 0.5, 0.9, 0.9999}) {
    const auto bytes = static_cast<size_t>(part * static_cast<double>(whole.size()));
    const std::string cut = write("cut.gguf", std::string_view(whole).substr(0, bytes));
    const Outcome outcome = runFile(cut);
    EXPECT_THAT(outcome, FailedSaying("cut.gguf")) << bytes;
  }
}

// A bit of a weight changes the answer, one before the weights may be harmless too (a letter of the
// tokenizer); none may crash or hang.
TEST_F(BadModel, FlippedBitsEndInAnAnswerOrOneError) {
  useOwnCache();
  const std::string whole = read(model_);
  std::minstd_rand random(7);
  size_t refused = 0;
  const int flips = inFullOr(24, 4);
  for (int i = 0; i < flips; ++i) {
    std::string bytes = whole;
    const size_t at = random() % std::min<size_t>(whole.size(), i < flips / 2 ? 600 : 12'000);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    const Outcome outcome = runFile(write("flipped.gguf", bytes));
    refused += outcome.code == 1;
    EXPECT_TRUE(!outcome.late && outcome.signal == 0 &&
                (outcome.code == 0 || isOneError(outcome, "")))
        << "byte " << at << ": " << outcome;
  }
  EXPECT_GT(refused, 0u);
}

TEST_F(BadModel, WeightsThatAreNoNumbersAreSaid) {
  const std::string model = writeModel("nan.gguf", {.scale = 0x7e00});
  const std::string text = write("text", std::string(100, 'a'));
  EXPECT_THAT(sinter({"run", model, "-p", "hi"}), FailedSaying("not numbers"));
  const Outcome scored = sinter({"perplexity", model, text, "--window", "8"});
  EXPECT_THAT(scored, EndedWith(1));
  EXPECT_THAT(scored.out, IsEmpty());
  EXPECT_THAT(scored.err, HasSubstr("not numbers"));
}

TEST_F(BadModel, FileThatIsCutWhileItIsReadIsOneError) {
  Child child(
      command({"run", model_, "-p", "hi", "-n", "131072", "--temp", "0", "--context", "131072"}),
      options_);
  ASSERT_TRUE(child.hasOutput());
  ASSERT_EQ(truncate(model_.c_str(), 100), 0);
  const Outcome outcome = child.wait();
  EXPECT_EQ(outcome.signal, 0) << outcome;
  EXPECT_EQ(outcome.code, 1) << outcome;
  EXPECT_THAT(messages(outcome).back(),
              testing::AnyOf(HasSubstr("cut short"), HasSubstr("changed")));
}

TEST_F(BadModel, FileThatVanishesWhileItIsReadDoesNoHarm) {
  Child child(command({"run", model_, "-p", "hi", "-n", "3000", "--temp", "0"}), options_);
  ASSERT_TRUE(child.hasOutput());
  ASSERT_EQ(unlink(model_.c_str()), 0);
  EXPECT_THAT(child.wait(), EndedWith(0));
}

} // namespace
} // namespace sinter
