// The commands that measure: bench, explain, perplexity.
#include "cli/cli_test.h"
#include "golden_model.h"

#include <nlohmann/json.hpp>

namespace sinter {
namespace {

class Figures : public CliTest {
protected:
  std::string writeGolden(const std::string &name) {
    const std::vector<uint8_t> bytes =
        GoldenModel::read(SINTER_TEST_DIR "/data/" + name + ".txt").bytes();
    return write("golden.gguf", {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  }
  // A plan that is in no cache takes long where others slow the compiler down.
  Outcome compiling(const std::vector<std::string> &arguments) {
    constexpr int kSeconds = 300;
    return runChild(command(arguments), options_, {}, kSeconds);
  }
};

TEST_F(Figures, BenchPrintsOneJsonObject) {
  const Outcome outcome = sinter({"bench", model_, "--prompt", "32", "--gen", "8", "--threads", "2",
                                  "--repeat", "2", "--json"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome;
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome;
  for (const char *name : {"prefill_tokens_per_second", "decode_tokens_per_second",
                           "first_token_seconds", "peak_bytes"}) {
    ASSERT_TRUE(json.contains(name) && json[name].is_number()) << name;
    EXPECT_GT(json[name].get<double>(), 0) << name;
  }
  EXPECT_EQ(json["prompt"], 32);
  EXPECT_EQ(json["threads"], 2);
}

TEST_F(Figures, BenchJsonHoldsModelNamesOfAnyBytes) {
  const std::string odd = path("a\"\\\n\x01\xff.gguf");
  std::filesystem::copy_file(model_, odd);
  const Outcome outcome =
      sinter({"bench", odd, "--prompt", "4", "--gen", "2", "--repeat", "1", "--json"});
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome;
  EXPECT_THAT(json["model"].get<std::string>(), HasSubstr("a\"\\\n\x01"));
}

TEST_F(Figures, BenchPrintsATableWithProgress) {
  const Outcome outcome = sinter({"bench", model_, "--prompt", "8", "--gen", "4"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("prefill 8"), HasSubstr("decode 4 after 8"),
                                 HasSubstr("first token"), HasSubstr("peak memory")));
  EXPECT_THAT(outcome.err, HasSubstr("measuring"));
}

TEST_F(Figures, BenchOfMoreThanTheContextIsRefusedWithTheNumbers) {
  EXPECT_THAT(sinter({"bench", model_, "--prompt", "100", "--gen", "100", "--context", "150"}),
              FailedSaying("--prompt and --gen take 200 tokens, --context is 150"));
  EXPECT_THAT(sinter({"bench", model_, "--prompt", "1000000"}), FailedSaying("131072"));
}

TEST_F(Figures, BenchOfSeveralSequencesPrintsTheirNumberAndTheirSums) {
  const Outcome outcome = sinter({"bench", model_, "--prompt", "20", "--gen", "6", "--parallel",
                                  "5", "--repeat", "1", "--json"});
  EXPECT_THAT(outcome, EndedWith(0));
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome;
  EXPECT_EQ(json["parallel"], 5);
  EXPECT_GT(json["decode_tokens_per_second"].get<double>(), 0);
  const Outcome table =
      sinter({"bench", model_, "--prompt", "20", "--gen", "6", "--parallel", "5", "--repeat", "1"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("prefill 5 x 20"), HasSubstr("decode 5 x 6 after 20"),
                               HasSubstr("tokens per second in all")));
}

TEST_F(Figures, BenchOfMoreSequencesThanAStepOrTheMemoryTakesIsRefusedWithTheNumbers) {
  EXPECT_THAT(sinter({"bench", model_, "--prompt", "4", "--gen", "2", "--parallel", "600"}),
              FailedSaying("--parallel is 600, one step takes at most 512 sequences"));
  EXPECT_THAT(sinter({"bench", model_, "--parallel", "65536", "--context", "131072"}),
              FailedSaying("KV cache for 65536 sequences of 131072 tokens was asked for, expected "
                           "at most 2147483647 tokens in all"));
  EXPECT_THAT(sinter({"bench", model_, "--parallel", "16000", "--context", "131072"}),
              FailedSaying("of KV cache for 2097152000 tokens and "));
}

TEST_F(Figures, ExplainShowsTheKernelsOfBothStepsInOneWidth) {
  const Outcome outcome = sinter({"explain", model_, "--prompt", "40"});
  EXPECT_THAT(outcome, EndedWith(0));
  for (const char *word : {"step of 40 tokens", "step of 1 token", "floor", "gemm", "attention",
                           "rms_norm", "launches", "bound", "the step as it runs", "fusion",
                           "tiling", "precision", "graph capture", "autotuning"})
    EXPECT_THAT(outcome.out, HasSubstr(word));
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 120u) << line;
}

// A model with states of sequences, of a golden, which has no tokenizer.
GoldenModel modelWithStates() {
  GoldenModel model = GoldenModel::read(SINTER_TEST_DIR "/data/architectures/lfm2.txt");
  std::erase_if(model.keys,
                [](const GoldenModel::Key &key) { return key.name == "tokenizer.ggml.model"; });
  GoldenModel::Key tokens{"tokenizer.ggml.tokens", "arr", {"str"}},
      scores{"tokenizer.ggml.scores", "arr", {"f32"}},
      types{"tokenizer.ggml.token_type", "arr", {"i32"}};
  for (int i = 0; i < 128; ++i) {
    tokens.words.push_back("x" + std::to_string(i));
    scores.words.push_back(std::to_string(-i));
    types.words.push_back(i == 0 ? "2" : "1");
  }
  model.keys.push_back({"tokenizer.ggml.model", "str", {"llama"}});
  for (GoldenModel::Key *key : {&tokens, &scores, &types})
    model.keys.push_back(std::move(*key));
  return model;
}

// A session ends a step before the end of such a prompt, to keep a checkpoint there.
TEST_F(Figures, ExplainTakesAPromptOfAModelWithStatesInOneStep) {
  const std::vector<uint8_t> bytes = modelWithStates().bytes();
  const std::string model =
      write("states.gguf", {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  constexpr int kSeconds = 300; // of a compiler that others slow down
  const Outcome outcome =
      runChild(command({"explain", model, "--prompt", "40"}), options_, {}, kSeconds);
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("step of 40 tokens"), HasSubstr("causal_conv")));
}

TEST_F(Figures, ExplainVerboselyNamesEveryParameter) {
  const Outcome brief = sinter({"explain", model_, "--prompt", "4"});
  const Outcome verbose = sinter({"explain", model_, "--prompt", "4", "--verbose"});
  EXPECT_THAT(verbose, EndedWith(0));
  EXPECT_THAT(verbose.out, HasSubstr("transpose_b=true"));
  EXPECT_THAT(brief.out, Not(HasSubstr("transpose_b=true")));
}

TEST_F(Figures, ExplainPrintsOneJsonObject) {
  const Outcome outcome = sinter({"explain", model_, "--prompt", "40", "--json"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome;
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome;
  EXPECT_EQ(json["model"], model_);
  EXPECT_GT(json["roofs"]["bytes_per_second"].get<double>(), 0);
  ASSERT_EQ(json["steps"].size(), 2u);
  EXPECT_EQ(json["steps"][0]["tokens"], 40);
  EXPECT_EQ(json["steps"][1]["tokens"], 1);
  for (const auto &step : json["steps"]) {
    double seconds = 0;
    uint64_t launches = 0;
    for (const auto &kernel : step["kernels"]) {
      EXPECT_GT(kernel["floor_seconds"].get<double>(), 0) << kernel;
      EXPECT_LE(kernel["low_seconds"], kernel["seconds"]) << kernel;
      EXPECT_LE(kernel["seconds"], kernel["high_seconds"]) << kernel;
      for (const char *lever : {"fusion", "tiling", "precision"})
        EXPECT_NE(kernel["levers"][lever], "") << kernel;
      seconds += kernel["seconds"].get<double>();
      launches += kernel["launches"].get<uint64_t>();
    }
    EXPECT_DOUBLE_EQ(step["kernel_seconds"].get<double>(), seconds);
    EXPECT_EQ(step["launches"], launches);
  }
}

// Two layers of four heads of 16; a row at position p sees p + 1 keys, and the last row alone
// attends in the last layer.
TEST_F(Figures, ExplainCountsTheKeysThatRowsSeeAndNotWholePages) {
  const auto json =
      nlohmann::json::parse(sinter({"explain", model_, "--prompt", "40", "--json"}).out);
  const auto attention = [&](size_t step) {
    double operations = 0;
    for (const auto &kernel : json["steps"][step]["kernels"])
      if (kernel["kernel"].get<std::string>().starts_with("attention"))
        operations += kernel["operations"].get<double>();
    return operations;
  };
  EXPECT_EQ(attention(0), 4 * 64 * (40 * 41 / 2 + 40));
  EXPECT_EQ(attention(1), 2 * 4 * 64 * 41);
}

TEST_F(Figures, ExplainAtADepthCountsTheKeysBeforeIt) {
  const auto json = nlohmann::json::parse(
      sinter({"explain", model_, "--prompt", "4", "--depth", "40", "--json"}).out);
  std::vector<double> operations;
  for (const auto &step : json["steps"])
    for (const auto &kernel : step["kernels"])
      if (kernel["kernel"].get<std::string>().starts_with("attention"))
        operations.push_back(kernel["operations"].get<double>());
  EXPECT_THAT(operations,
              testing::ElementsAre(4 * 64 * (41 + 42 + 43 + 44), 4 * 64 * 44, 2 * 4 * 64 * 45));
}

TEST_F(Figures, ExplainSaysAfterHowManyTokensAStepRan) {
  const std::vector<std::string> arguments = {"explain", model_, "--prompt", "4", "--depth", "40"};
  std::vector<std::string> asJson = arguments;
  asJson.push_back("--json");
  const Outcome text = sinter(arguments);
  EXPECT_THAT(text.out, AllOf(HasSubstr("step of 4 tokens after 40, in order"),
                              HasSubstr("step of 1 token after 44, in order")));
  const auto json = nlohmann::json::parse(sinter(asJson).out);
  EXPECT_EQ(json["steps"][0]["depth"], 40);
  EXPECT_EQ(json["steps"][1]["depth"], 44);
}

TEST_F(Figures, ExplainOfParallelSequencesDecodesATokenOfEach) {
  const auto json = nlohmann::json::parse(
      sinter({"explain", model_, "--prompt", "4", "--parallel", "3", "--json"}).out);
  EXPECT_EQ(json["steps"][0]["tokens"], 4);
  EXPECT_EQ(json["steps"][1]["tokens"], 3);
  double operations = 0;
  for (const auto &kernel : json["steps"][1]["kernels"])
    if (kernel["kernel"].get<std::string>().starts_with("attention"))
      operations += kernel["operations"].get<double>();
  EXPECT_EQ(operations, 3 * 2 * 4 * 64 * 5);
}

TEST_F(Figures, ExplainBeyondTheContextIsRefusedWithTheNumbers) {
  EXPECT_THAT(
      sinter({"explain", model_, "--depth", "131000", "--prompt", "100"}),
      FailedSaying("--depth 131000 and --prompt 100 need 131109 tokens, the model holds 131072"));
}

TEST_F(Figures, ExplainDrawsToAFileThatIsThereInFullOrNotAtAll) {
  const std::string svg = path("roofs.svg");
  const Outcome outcome = sinter({"explain", model_, "--prompt", "4", "--svg", svg});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(read(svg), AllOf(testing::StartsWith("<svg "), testing::EndsWith("</svg>\n")));
  EXPECT_THAT(
      sinter({"explain", model_, "--svg", path("no/folder.svg")}),
      FailedSaying("cannot write '" + path("no/folder.svg") + "': No such file or directory"));
  EXPECT_THAT(sinter({"explain", path("missing"), "--svg", path("left.svg")}),
              FailedSaying("missing"));
  EXPECT_FALSE(std::filesystem::exists(path("left.svg")));
}

TEST_F(Figures, ExplainOfMoreThanAStepIsRefusedWithTheNumbers) {
  EXPECT_THAT(sinter({"explain", model_, "--prompt", "100000"}),
              FailedSaying("--prompt is 100000, one step takes at most"));
  EXPECT_THAT(sinter({"explain", model_, "--parallel", "5000"}),
              FailedSaying("--parallel is 5000, one step takes at most"));
}

TEST_F(Figures, PerplexityScoresAText) {
  const std::string text = write("text", std::string(300, 'a'));
  const Outcome outcome = sinter({"perplexity", model_, text, "--window", "64"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.out, HasSubstr("in 4 windows of 64"));
}

TEST_F(Figures, PerplexitySaysHowFarRoundedActivationsMoveThePredictions) {
  const std::string text = write("text", std::string(150, 'a'));
  const std::vector<std::string> scored = {"perplexity", model_, text, "--window", "64", "--kl"};
  const Outcome rounded = sinter(scored);
  EXPECT_THAT(rounded, EndedWith(0));
  EXPECT_THAT(rounded.out, HasSubstr("\nKL 0.0"));
  std::vector<std::string> exact = scored, decoded = scored;
  exact.insert(exact.end(), {"--activations", "f32"});
  EXPECT_THAT(sinter(exact).out,
              HasSubstr("KL 0.000000 +- 0.000000, median 0.000000, largest 0.000000 nats; the same "
                        "best token at 100.00 % of positions"));
  decoded.push_back("--decode");
  EXPECT_THAT(sinter(decoded).out, HasSubstr("in 2 windows of 64, decoded one by one"));
}

TEST_F(Figures, ShowSaysWhatAFileHoldsAndWhatItTakes) {
  const Outcome outcome = sinter({"show", model_, "--context", "4096", "--kv-type", "f16"});
  EXPECT_THAT(outcome, EndedWith(0));
  for (const char *line :
       {"\narchitecture        llama\n", "\nlayers              2\n",
        "\nnot used            nothing: every tensor is used\n", "\nruns on             cpu, "})
    EXPECT_THAT(outcome.out, HasSubstr(line));
  // Two layers of two heads of 16 numbers, keys and values in two bytes each.
  EXPECT_THAT(outcome.out, HasSubstr("KV cache            1.0 MiB in f16 for 4096 tokens, 256 B"));
}

TEST_F(Figures, ShowNamesTheStatesOfSequencesBesideTheKvCache) {
  const std::string file = writeGolden("architectures/lfm2");
  const Outcome text = compiling({"show", file, "--context", "64", "--kv-type", "f16"});
  // One layer's last two rows of 256 numbers; of one sequence and its three checkpoints.
  EXPECT_THAT(text.out, AllOf(HasSubstr("\nKV cache            64.0 KiB in f16 for 64 tokens"),
                              HasSubstr("\nstates              2.0 KiB of a sequence, 4 of")));
  const auto json = nlohmann::json::parse(
      compiling({"show", file, "--context", "64", "--kv-type", "f16", "--json"}).out, nullptr,
      false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["device"]["state_bytes"], 2048);
  EXPECT_EQ(json["device"]["kv_cache_bytes"], 65536);
}

TEST_F(Figures, ExplainNeedsNoTokenizerAndShowsEncodersWithoutDecode) {
  const std::string encoder = writeGolden("encoders/bert");
  const Outcome outcome = compiling({"explain", encoder, "--prompt", "16", "--json"});
  EXPECT_THAT(outcome, EndedWith(0));
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome;
  ASSERT_EQ(json["steps"].size(), 1u);
  EXPECT_EQ(json["steps"][0]["tokens"], 16);
  EXPECT_THAT(sinter({"explain", encoder, "--prompt", "16", "--depth", "4"}),
              FailedSaying("--depth is 4, expected 0"));
  const std::string decoder = writeGolden("architectures/lfm2");
  const Outcome deep = compiling({"explain", decoder, "--prompt", "16", "--depth", "20", "--json"});
  EXPECT_THAT(deep, EndedWith(0));
  EXPECT_EQ(nlohmann::json::parse(deep.out)["steps"].size(), 2u);
}

TEST_F(Figures, ShowOfAModelThatCannotRunSaysWhy) {
  const std::string odd = writeModel("odd.gguf", {.architecture = "mystery"});
  const Outcome outcome = sinter({"show", odd, "--json"});
  EXPECT_THAT(outcome, EndedWith(0));
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(json.is_object()) << outcome;
  EXPECT_EQ(json["architecture"], "mystery");
  EXPECT_EQ(json["runs"], false);
  EXPECT_THAT(json["reason"].get<std::string>(), HasSubstr("architecture is 'mystery'"));
  EXPECT_THAT(sinter({"show", path("missing")}), FailedSaying("missing"));
}

TEST_F(Figures, PerplexityRefusesATextShorterThanAWindow) {
  const std::string text = write("text", "short");
  EXPECT_THAT(sinter({"perplexity", model_, text}), FailedSaying("has 5 tokens"));
  EXPECT_THAT(sinter({"perplexity", model_, write("none", "")}), FailedSaying("none"));
  EXPECT_THAT(sinter({"perplexity", model_, folder_}), FailedSaying(folder_));
  EXPECT_THAT(sinter({"perplexity", model_, path("missing")}), FailedSaying("missing"));
}

} // namespace
} // namespace sinter
