// Command lines: those that make no sense, and the help for those that do.
#include "cli/cli_test.h"

namespace sinter {
namespace {

struct Misuse {
  const char *name;
  std::vector<std::string> arguments; // MODEL stands for the model's path
  const char *message;
};
std::ostream &operator<<(std::ostream &stream, const Misuse &misuse) {
  return stream << misuse.name;
}

class Usage : public CliTest {};
class UsageError : public CliTest, public testing::WithParamInterface<Misuse> {};

TEST_P(UsageError, IsOneSentenceAndExitCode2) {
  std::vector<std::string> arguments = GetParam().arguments;
  std::replace(arguments.begin(), arguments.end(), std::string("MODEL"), model_);
  const Outcome outcome = sinter(arguments);
  EXPECT_THAT(outcome, RefusedSaying(GetParam().message));
}

const std::string kHuge(400, '9');
const Misuse kMisuses[] = {
    {"UnknownCommand", {"foo"}, "no command 'foo'; see sinter --help"},
    {"MistypedCommand", {"rnu"}, "no command 'rnu' (did you mean 'run'?); see sinter --help"},
    {"MistypedOption",
     {"run", "MODEL", "--sytem=x"},
     "'--sytem=x' was not expected (did you mean '--system'?); see sinter run --help"},
    {"MistypedDevice", {"run", "MODEL", "--device", "vulcan:1"}, "(did you mean 'vulkan'?)"},
    {"EmptyCommand", {""}, "no command ''"},
    {"UnknownGlobalOption", {"--foo"}, "'--foo' was not expected"},
    {"NoModel", {"run"}, "MODEL is required"},
    {"EmptyModel", {"run", ""}, "MODEL is empty"},
    {"UnknownOption", {"run", "MODEL", "--foo"}, "'--foo' was not expected"},
    {"UnknownOptionWithoutModel", {"run", "--foo"}, "'--foo' was not expected"},
    {"OptionOfAnotherCommand", {"run", "MODEL", "--json"}, "'--json' was not expected"},
    {"TwoModels", {"run", "MODEL", "other"}, "'other' was not expected"},
    {"OptionTwice", {"run", "MODEL", "-n", "1", "-n", "2"}, "--tokens"},
    {"OptionWithoutValue", {"run", "MODEL", "-n"}, "--tokens"},
    {"EmptyPrompt", {"run", "MODEL", "-p", ""}, "--prompt is empty"},
    {"EmptySystem", {"run", "MODEL", "--system", ""}, "--system is empty, expected some text"},
    {"SystemOfARawPrompt",
     {"run", "MODEL", "-p", "x", "--raw", "--system", "y"},
     "--system has no effect with --raw"},
    {"ThinkOfARawPrompt",
     {"run", "MODEL", "-p", "x", "--raw", "--think", "on"},
     "--think has no effect with --raw"},
    {"UnknownThink", {"run", "MODEL", "--think", "yes"}, "--think is 'yes', expected on or off"},
    {"UnknownEffort",
     {"run", "MODEL", "--reasoning-effort", "max"},
     "--reasoning-effort is 'max', expected low, medium or high"},
    {"TemplateArgumentWithoutValue",
     {"run", "MODEL", "--template-arg", "x"},
     "--template-arg is 'x', expected KEY=JSON"},
    {"ZeroTokens", {"run", "MODEL", "-n", "0"}, "-n is '0', expected a whole number from 1"},
    {"NegativeTokens", {"run", "MODEL", "-n", "-5"}, "-n is '-5'"},
    {"HugeTokens", {"run", "MODEL", "-n", kHuge}, "expected a whole number"},
    {"TokensThatAreNoNumber", {"run", "MODEL", "-n", "many"}, "-n is 'many'"},
    {"TokensWithARest", {"run", "MODEL", "-n", "5x"}, "-n is '5x'"},
    {"FractionOfATokens", {"run", "MODEL", "-n", "1.5"}, "-n is '1.5'"},
    {"HexadecimalTokens", {"run", "MODEL", "-n", "0x10"}, "-n is '0x10'"},
    {"SpaceBeforeTokens", {"run", "MODEL", "-n", " 5"}, "-n is ' 5'"},
    {"EmptyTokens", {"run", "MODEL", "-n", ""}, "-n is ''"},
    {"ZeroContext", {"run", "MODEL", "--context", "0"}, "--context is '0'"},
    {"ContextOf64Bits", {"run", "MODEL", "--context", "18446744073709551616"}, "--context"},
    {"ZeroThreads", {"run", "MODEL", "--threads", "0"}, "--threads is '0'"},
    {"TooManyThreads", {"run", "MODEL", "--threads", "4097"}, "from 1 to 4096"},
    {"UnknownKvType",
     {"run", "MODEL", "--kv-type", "q7"},
     "--kv-type is 'q7', expected one of auto, f16, q8_0, bf16, fp8"},
    {"UnknownActivations",
     {"run", "MODEL", "--activations", "bf16"},
     "--activations is 'bf16', expected one of fastest, f32"},
    {"CompileUnknownActivations",
     {"compile", "MODEL", "--target", "cpu", "-o", "f", "--activations", ""},
     "--activations is '', expected one of fastest, f32"},
    {"CompileUnknownKvType",
     {"compile", "MODEL", "--target", "cpu", "-o", "f", "--kv-type", ""},
     "--kv-type is '', expected one of auto, f16, q8_0, bf16, fp8"},
    {"ExplainNegativeDepth", {"explain", "MODEL", "--depth", "-1"}, "--depth is '-1'"},
    {"BenchZeroPrompt", {"bench", "MODEL", "--prompt", "0"}, "--prompt is '0'"},
    {"BenchHugeGen", {"bench", "MODEL", "--gen", "4294967296"}, "--gen is '4294967296'"},
    {"BenchZeroRepeat", {"bench", "MODEL", "--repeat", "0"}, "--repeat is '0'"},
    {"BenchZeroParallel", {"bench", "MODEL", "--parallel", "0"}, "--parallel is '0'"},
    {"BenchHugeParallel",
     {"bench", "MODEL", "--parallel", "65537"},
     "--parallel is '65537', expected a whole number from 1 to 65536"},
    {"ExplainZeroPrompt", {"explain", "MODEL", "--prompt", "0"}, "--prompt is '0'"},
    {"ExplainEmptySvg", {"explain", "MODEL", "--svg", ""}, "--svg is empty, expected a file"},
    {"TuneZeroBudget", {"tune", "MODEL", "--budget", "0"}, "--budget is '0'"},
    {"TuneBudgetOfDays", {"tune", "MODEL", "--budget", "86401"}, "from 1 to 86400"},
    {"UnknownOverlap",
     {"bench", "MODEL", "--overlap", "auto"},
     "--overlap is 'auto', expected on or off"},
    {"TuneWithAPlan", {"tune", "MODEL", "--plan", "f"}, "'--plan' was not expected"},
    {"PerplexityWithoutFile", {"perplexity", "MODEL"}, "FILE is required"},
    {"PerplexitySmallWindow", {"perplexity", "MODEL", "f", "--window", "1"}, "--window is '1'"},
    {"LogitsOfNothing",
     {"logits", "MODEL"},
     "neither --tokens nor --prompt is given, expected one of them"},
    {"LogitsOfBoth",
     {"logits", "MODEL", "--tokens", "1", "-p", "Hi"},
     "--tokens and --prompt are both given, expected one of them"},
    {"LogitsOfNoNumbers",
     {"logits", "MODEL", "--tokens", "1,,2"},
     "--tokens has '', expected token numbers with commas between them, as in 1,5,9"},
    {"LogitsOfANegativeToken", {"logits", "MODEL", "--tokens", "-1"}, "--tokens has '-1'"},
    {"LogitsTopZero", {"logits", "MODEL", "--tokens", "1", "--top", "0"}, "--top is '0'"},
    {"ServeHugePort",
     {"serve", "--port", "65536"},
     "--port is '65536', expected a whole number from 0 to 65535"},
    {"ServeEmptyHost", {"serve", "--host", ""}, "--host is empty, expected an address or a name"},
    {"ServeEmptySocket", {"serve", "--unix", ""}, "--unix is empty, expected the path of a socket"},
    {"ServeCertificateAlone",
     {"serve", "--tls-cert", "f"},
     "--tls-cert and --tls-key are expected together"},
    {"ServeTlsOfASocket",
     {"serve", "--unix", "s", "--ssl-certfile", "f", "--ssl-keyfile", "f"},
     "--tls-cert has no effect on a Unix socket"},
    {"ServeEmptyKey", {"serve", "--api-key", ""}, "expected to name a key and a file"},
    {"ServeEmptyOrigin", {"serve", "--cors-origin", ""}, "expected to name a host and an origin"},
    {"ServePooling", {"serve", "--pooling", "sum"}, "--pooling is 'sum', expected one of"},
    {"ServeZeroRunning", {"serve", "--max-running", "0"}, "--max-running is '0'"},
    {"ServeEndlessWait", {"serve", "--max-wait", "31536001"}, "--max-wait is '31536001'"},
    {"ServeZeroWaiting", {"serve", "--max-waiting", "0"}, "--max-waiting is '0'"},
    {"ServeZeroRate", {"serve", "--rate", "0"}, "--rate is '0'"},
    {"ServeHugeBody", {"serve", "--max-body", "4097"}, "--max-body is '4097'"},
    {"ServeZeroTimeout", {"serve", "--timeout", "0"}, "--timeout is '0'"},
    {"ServeEmptyLog", {"serve", "--access-log", ""}, "--access-log is empty"},
    {"QuantizeWithoutType", {"quantize", "MODEL", "-o", "f"}, "--type is required"},
    {"QuantizeWithoutOutput", {"quantize", "MODEL", "--type", "Q8_0"}, "--output is required"},
    {"QuantizeEmptyOutput", {"quantize", "MODEL", "--type", "Q8_0", "-o", ""}, "-o is empty"},
    {"QuantizeUnknownType",
     {"quantize", "MODEL", "--type", "Q3_K_L", "-o", "f"},
     "--type is 'Q3_K_L', expected one of F32, F16"},
    {"QuantizeTypeOfGrids",
     {"quantize", "MODEL", "--type", "IQ2_XXS", "-o", "f"},
     "--type is 'IQ2_XXS', expected one of"},
    {"QuantizeMixAsOutputType",
     {"quantize", "MODEL", "--type", "Q8_0", "-o", "f", "--output-type", "Q4_K_M"},
     "--output-type is 'Q4_K_M', expected one of F32"},
    {"QuantizeZeroThreads",
     {"quantize", "MODEL", "--type", "Q8_0", "-o", "f", "--threads", "0"},
     "--threads is '0'"},
    {"DevicesWithArgument", {"devices", "all"}, "'all' was not expected"},
    {"ControlsInAnOption", {"run", "MODEL", "--\x1b[2J"}, "'--\\x1b[2J' was not expected"},
};
INSTANTIATE_TEST_SUITE_P(Misuses, UsageError, testing::ValuesIn(kMisuses),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_F(Usage, HelpNamesEveryCommandAndEveryExitCode) {
  const Outcome outcome = sinter({"--help"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, IsEmpty());
  for (const char *word : {"run",
                           "bench",
                           "explain",
                           "perplexity",
                           "logits",
                           "quantize",
                           "devices",
                           "doctor",
                           "kernel",
                           "smollm2",
                           "Exit codes",
                           "\n  0 ",
                           "\n  1 ",
                           "\n  2 ",
                           "\n  3 ",
                           "\n  130 ",
                           "SINTER_COMPILER",
                           "SINTER_COMPILE_SECONDS",
                           "XDG_CACHE_HOME",
                           "XDG_STATE_HOME",
                           "141"})
    EXPECT_THAT(outcome.out, HasSubstr(word));
}

TEST_F(Usage, HelpOfACommandShowsItsOptionsAndFitsATerminal) {
  for (const char *command :
       {"run", "bench", "show", "explain", "logits", "embed", "rerank", "perplexity", "quantize",
        "tokenize", "chat-template", "devices", "doctor"}) {
    const Outcome outcome = sinter({command, "--help"});
    EXPECT_THAT(outcome, EndedWith(0));
    EXPECT_THAT(outcome.out, HasSubstr("Usage: sinter " + std::string(command) + " "));
    std::istringstream lines(outcome.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), 120u) << line;
  }
}

TEST_F(Usage, WithoutACommandItSaysWhatToTryFirst) {
  const Outcome outcome = sinter({});
  EXPECT_THAT(outcome, EndedWith(2));
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("sinter run smollm2"), HasSubstr("sinter doctor"),
                                 HasSubstr("sinter --help")));
  EXPECT_LE(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 6);
}

TEST_F(Usage, AMistypedModelSuggestsTheNearestFile) {
  options_.folder = folder_;
  EXPECT_THAT(sinter({"run", "smolm2", "-p", "hi"}), FailedSaying("(did you mean 'smollm2'?)"));
  EXPECT_THAT(sinter({"run", path("tinny.gguf"), "-p", "hi"}),
              FailedSaying("(did you mean '" + model_ + "'?)"));
  EXPECT_THAT(sinter({"run", "tiny", "-p", "hi"}), FailedSaying("(did you mean 'tiny.gguf'?)"));
  EXPECT_THAT(sinter({"quantize", "smolm2", "--type", "Q8_0", "-o", "out.gguf"}),
              FailedSaying("(did you mean 'smollm2'?)"));
  EXPECT_THAT(sinter({"run", "elsewhere", "-p", "hi"}), FailedSaying("No such file or directory"));
}

TEST_F(Usage, VersionIsOneLine) {
  const Outcome outcome = sinter({"--version"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
  EXPECT_TRUE(outcome.out.starts_with("sinter ")) << outcome.out;
}

TEST_F(Usage, HelpToAFullDiskIsAnError) {
  options_.out = Stream::Full;
  EXPECT_THAT(sinter({"--help"}), FailedSaying("cannot write to standard output"));
}

TEST_F(Usage, DevicesListsTheProcessor) {
  const Outcome outcome = sinter({"devices"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.out, HasSubstr("cpu:0"));
}

TEST_F(Usage, KernelPassesItsWordsAndExitCodeOn) {
  EXPECT_THAT(sinter({"kernel", "list"}), EndedWith(0));
  EXPECT_THAT(sinter({"kernel", "nonsense"}), EndedWith(2));
}

} // namespace
} // namespace sinter
