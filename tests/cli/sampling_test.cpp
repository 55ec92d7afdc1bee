// sinter run's options for choosing tokens: what they do, and what is refused.
#include "cli/cli_test.h"

namespace sinter {
namespace {

class Sampling : public CliTest {
protected:
  Outcome run(std::vector<std::string> options) const {
    std::vector<std::string> arguments = {"run", model_, "-p", "the cat", "-n", "24"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return sinter(arguments);
  }
};

struct Refusal {
  const char *name;
  std::vector<std::string> options;
  const char *message;
};
std::ostream &operator<<(std::ostream &stream, const Refusal &refusal) {
  return stream << refusal.name;
}
class SamplingError : public Sampling, public testing::WithParamInterface<Refusal> {};

TEST_P(SamplingError, IsOneSentenceAndExitCode2) {
  EXPECT_THAT(run(GetParam().options), RefusedSaying(GetParam().message));
}

const Refusal kRefusals[] = {
    {"TemperatureBelow0", {"--temp", "-1"}, "--temp is '-1', expected a number from 0 to 100"},
    {"TemperatureTooHigh", {"--temp", "1e3"}, "--temp is '1e3', expected a number from 0 to 100"},
    {"TemperatureThatIsNoNumber", {"--temp", "hot"}, "--temp is 'hot', expected a number"},
    {"TemperatureNan", {"--temp", "nan"}, "--temp is 'nan', expected a number from 0 to 100"},
    {"TemperatureInf", {"--temp", "inf"}, "--temp is 'inf', expected a number from 0 to 100"},
    {"TemperatureEmpty", {"--temp", ""}, "--temp is '', expected a number from 0 to 100"},
    {"TemperatureWithARest", {"--temp", "1x"}, "--temp is '1x', expected a number"},
    {"TemperatureTwice", {"--temp", "1", "--temp", "1"}, "--temp"},
    {"TopKBelow0", {"--temp", "1", "--top-k", "-1"}, "--top-k is '-1', expected a whole number"},
    {"TopKFraction", {"--temp", "1", "--top-k", "1.5"}, "--top-k is '1.5', expected a whole"},
    {"TopKOf64Bits", {"--temp", "1", "--top-k", "99999999999999999999"}, "from 0 to 2147483647"},
    {"TopP", {"--temp", "1", "--top-p", "1.5"}, "--top-p is '1.5', expected a number from 0 to 1"},
    {"MinP", {"--temp", "1", "--min-p", "-0.1"}, "--min-p is '-0.1', expected a number from 0"},
    {"Typical", {"--temp", "1", "--typical", "2"}, "--typical is '2', expected a number from 0"},
    {"XtcProbability", {"--temp", "1", "--xtc-probability", "7"}, "--xtc-probability is '7'"},
    {"XtcThreshold",
     {"--temp", "1", "--xtc-probability", "1", "--xtc-threshold", "0.6"},
     "--xtc-threshold is '0.6', expected a number from 0 to 0.5"},
    {"RepeatPenalty0",
     {"--repeat-penalty", "0"},
     "--repeat-penalty is '0', expected a number from"},
    {"PresencePenalty", {"--presence-penalty", "1e9"}, "--presence-penalty is '1e9'"},
    {"FrequencyPenalty", {"--frequency-penalty", "-1e9"}, "--frequency-penalty is '-1e9'"},
    {"RepeatLastN", {"--repeat-penalty", "1.1", "--repeat-last-n", "-2"}, "from -1 to 2147483647"},
    {"DryMultiplier", {"--dry-multiplier", "-1"}, "--dry-multiplier is '-1'"},
    {"DryBase", {"--dry-multiplier", "1", "--dry-base", "0.5"}, "--dry-base is '0.5'"},
    {"DryLength",
     {"--dry-multiplier", "1", "--dry-allowed-length", "0"},
     "is '0', expected a whole"},
    {"DryLastN", {"--dry-multiplier", "1", "--dry-penalty-last-n", "-9"}, "is '-9'"},
    {"EmptyBreaker",
     {"--dry-multiplier", "1", "--dry-sequence-breaker", ""},
     "a DRY sequence breaker has 0 bytes, expected 1 to 64"},
    {"LongBreaker",
     {"--dry-multiplier", "1", "--dry-sequence-breaker", std::string(65, 'x')},
     "a DRY sequence breaker has 65 bytes"},
    {"BreakerEscape",
     {"--dry-multiplier", "1", "--dry-sequence-breaker", "a\\x"},
     "expected n, t or \\ after its backslash"},
    {"BreakerBackslash", {"--dry-multiplier", "1", "--dry-sequence-breaker", "\\"}, "backslash"},
    {"Mirostat1", {"--temp", "1", "--mirostat", "1"}, "--mirostat is '1', expected 0 or 2"},
    {"MirostatTau", {"--temp", "1", "--mirostat", "2", "--mirostat-ent", "-1"}, "is '-1'"},
    {"MirostatEta", {"--temp", "1", "--mirostat", "2", "--mirostat-lr", "5"}, "is '5'"},
    {"MirostatAndTopK",
     {"--temp", "1", "--mirostat", "2", "--top-k", "40"},
     "mirostat 2 decides itself which candidates stay, expected no top-k beside it"},
    {"MirostatAtTemperature0", {"--temp", "0", "--mirostat", "2"}, "no effect at --temp 0"},
    {"TopKAtTemperature0", {"--temp", "0", "--top-k", "40"}, "--top-k has no effect at --temp 0"},
    {"SeedAtTemperature0", {"--temp", "0.0", "--seed", "7"}, "no effect at --temp 0.0"},
    {"ThresholdAtProbability0",
     {"--temp", "1", "--xtc-probability", "0", "--xtc-threshold", "0.2"},
     "--xtc-threshold has no effect at --xtc-probability 0"},
    {"WindowAtPenalty1",
     {"--repeat-penalty", "1", "--repeat-last-n", "5"},
     "--repeat-last-n has no effect at --repeat-penalty 1"},
    {"SeedBelow0", {"--seed", "-1"}, "--seed is '-1', expected a whole number from 0 to 184467440"},
    {"SeedOf65Bits", {"--seed", "18446744073709551616"}, "--seed is '18446744073709551616'"},
    {"SeedThatIsNoNumber", {"--seed", "x"}, "--seed is 'x'"},
    {"BiasWithoutSign", {"--logit-bias", "5"}, "--logit-bias is '5', expected a token's id"},
    {"BiasWithoutNumber", {"--logit-bias", "5+"}, "--logit-bias is '5+'"},
    {"BiasWithTwoSigns", {"--logit-bias", "5+-1"}, "--logit-bias is '5+-1'"},
    {"BiasWithoutId", {"--logit-bias", "+1"}, "--logit-bias is '+1'"},
    {"BiasOfNegativeId", {"--logit-bias", "-5+1"}, "--logit-bias is '-5+1'"},
    {"BiasOfAHugeId", {"--logit-bias", "99999999999+1"}, "--logit-bias is '99999999999+1'"},
    {"BiasNan", {"--logit-bias", "5+nan"}, "--logit-bias is '5+nan'"},
    {"BiasInfinite", {"--logit-bias", "5+inf"}, "the logit bias of token 5 is inf, expected"},
    {"BiasTooLarge", {"--logit-bias", "5-1e30"}, "the logit bias of token 5 is -"},
    {"BiasEmpty", {"--logit-bias", ""}, "--logit-bias is ''"},
    {"BiasList", {"--logit-bias", "[5+1,6+1]"}, "--logit-bias is '[5+1,6+1]'"},
    {"BiasTwice", {"--logit-bias", "5+1", "--logit-bias", "5+2"}, "two logit biases name token 5"},
    {"ThresholdAlone", {"--temp", "1", "--xtc-threshold", "0.1"}, "without --xtc-probability"},
    {"WindowAlone", {"--repeat-last-n", "5"}, "no effect without a penalty such as --repeat-pen"},
    {"DryBaseAlone", {"--dry-base", "2"}, "--dry-base has no effect without --dry-multiplier"},
    {"BreakerAlone", {"--dry-sequence-breaker", "x"}, "has no effect without --dry-multiplier"},
};
INSTANTIATE_TEST_SUITE_P(Refusals, SamplingError, testing::ValuesIn(kRefusals),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_F(Sampling, DrawsByTheDefaultsUnlessOptionsSayOtherwise) {
  const Outcome plain = run({"--seed", "5"});
  EXPECT_EQ(
      run({"--seed", "5", "--temp", "0.8", "--top-k", "40", "--top-p", "0.95", "--min-p", "0.05"})
          .out,
      plain.out);
  EXPECT_THAT(run({}).err, HasSubstr(", seed "));
}

TEST_F(Sampling, ATemperatureOf0IsGreedyWhateverTheDefaultsAre) {
  const Outcome greedy = run({"--temp", "0"});
  EXPECT_EQ(run({"--top-k", "1", "--seed", "3"}).out, greedy.out);
  EXPECT_THAT(greedy.err, Not(HasSubstr("seed")));
}

TEST_F(Sampling, AFilesProposalHoldsUnlessAnOptionSaysOtherwise) {
  const Outcome plain = run({"--temp", "0"});
  model_ = writeModel("proposes.gguf", {.oddKey = "general.sampling.penalty_repeat"}); // 7
  EXPECT_NE(run({"--temp", "0"}).out, plain.out);
  EXPECT_EQ(run({"--temp", "0", "--repeat-penalty", "7"}).out, run({"--temp", "0"}).out);
  EXPECT_EQ(run({"--temp", "0", "--repeat-penalty", "1"}).out, plain.out);
}

TEST_F(Sampling, AProposalThatMakesNoSenseIsSaidInOneLine) {
  model_ = writeModel("proposes.gguf", {.oddKey = "general.sampling.top_p"}); // 7
  const Outcome outcome = run({"--logit-bias", "259+1"}); // refused before anything is built
  EXPECT_THAT(outcome, EndedWith(1));
  EXPECT_THAT(outcome.err, HasSubstr("'general.sampling.top_p' is '7', expected a number from 0"));
}

TEST_F(Sampling, MirostatTakesThePlaceOfDefaultSteps) {
  EXPECT_THAT(run({"--mirostat", "2"}), EndedWith(0));
}

TEST_F(Sampling, ASeedRepeatsAnAnswerAndAnotherOneDoesNot) {
  const Outcome once = run({"--temp", "1", "--seed", "18446744073709551615"});
  EXPECT_THAT(once, EndedWith(0));
  EXPECT_THAT(once.err, HasSubstr("seed 18446744073709551615"));
  EXPECT_EQ(run({"--temp", "1", "--seed", "18446744073709551615"}).out, once.out);
  EXPECT_NE(run({"--temp", "1", "--seed", "0"}).out, once.out);
}

TEST_F(Sampling, TheSeedThatWasDrawnRepeatsTheAnswer) {
  const Outcome once = run({"--temp", "1"});
  const size_t at = once.err.find("seed ");
  ASSERT_NE(at, std::string::npos) << once;
  const std::string seed =
      once.err.substr(at + 5, once.err.find_first_not_of("0123456789", at + 5) - at - 5);
  EXPECT_EQ(run({"--temp", "1", "--seed", seed}).out, once.out);
  EXPECT_NE(run({"--temp", "1"}).out, once.out) << "two runs drew one seed";
}

TEST_F(Sampling, EveryOptionIsTaken) {
  EXPECT_THAT(run({"--temp",
                   "0.8",
                   "--top-k",
                   "40",
                   "--typical",
                   "0.9",
                   "--top-p",
                   "0.9",
                   "--min-p",
                   "0.01",
                   "--xtc-probability",
                   "0.5",
                   "--xtc-threshold",
                   "0.1",
                   "--repeat-penalty",
                   "1.1",
                   "--presence-penalty",
                   "0.1",
                   "--frequency-penalty",
                   "-0.1",
                   "--repeat-last-n",
                   "-1",
                   "--dry-multiplier",
                   "0.8",
                   "--dry-base",
                   "2",
                   "--dry-allowed-length",
                   "1",
                   "--dry-penalty-last-n",
                   "-1",
                   "--dry-sequence-breaker",
                   "\\n",
                   "--dry-sequence-breaker",
                   "[a,b]",
                   "--logit-bias",
                   "5+1.5",
                   "--logit-bias",
                   "6-inf",
                   "--seed",
                   "1"}),
              EndedWith(0));
  EXPECT_THAT(run({"--temp", "1", "--mirostat", "2", "--mirostat-ent", "3", "--mirostat-lr", "0.2",
                   "--dry-multiplier", "1", "--dry-sequence-breaker", "none"}),
              EndedWith(0));
}

TEST_F(Sampling, APenaltyChangesAGreedyAnswer) {
  EXPECT_NE(run({"--temp", "0", "--repeat-penalty", "100", "--repeat-last-n", "-1"}).out,
            run({"--temp", "0"}).out);
}

TEST_F(Sampling, ABiasForcesAToken) {
  const Outcome outcome = run({"--logit-bias", "65+1000"}); // the tiny model's token of the byte A
  EXPECT_EQ(outcome.out, std::string(24, 'A') + "\n") << outcome;
}

TEST_F(Sampling, ABiasOfAnUnknownTokenIsRefusedBeforeAnythingIsBuilt) {
  useOwnCache();
  EXPECT_THAT(run({"--logit-bias", "259+1"}),
              FailedSaying("a logit bias names token 259, the model has tokens 0 to 258"));
  EXPECT_FALSE(std::filesystem::exists(cache_));
}

TEST_F(Sampling, BiasesThatExcludeEveryTokenAreOneError) {
  std::vector<std::string> options;
  for (int token = 0; token < 259; ++token) {
    options.push_back("--logit-bias");
    options.push_back(std::to_string(token) + "-inf");
  }
  EXPECT_THAT(run(options), FailedSaying("logit biases of -inf leave no token to choose"));
}

TEST_F(Sampling, AChatDrawsItsAnswersToo) {
  ASSERT_THAT(answer(), EndedWith(0)); // so that the plan is there
  options_.in = options_.out = options_.err = Stream::Terminal;
  Child child(command({"run", model_, "-n", "8", "--temp", "1", "--seed", "12345"}), options_);
  for (int message = 0; message < 2; ++message) {
    ASSERT_TRUE(child.sees("> "));
    child.type("hello\n");
    ASSERT_TRUE(child.sees("seed 12345")) << child.output();
  }
  child.type("/quit\n");
  EXPECT_THAT(child.wait(20), EndedWith(0));
}

} // namespace
} // namespace sinter
