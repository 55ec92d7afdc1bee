// sinter logits: its JSON, its table, files without a tokenizer, and what it refuses; whole models
// of other families against llama.cpp.
#include "cli/cli_test.h"
#include "golden_model.h"
#include "sampling.h"

#include <nlohmann/json.hpp>

namespace sinter {
namespace {

class Logits : public CliTest {
protected:
  nlohmann::json positionsOf(const std::vector<std::string> &arguments) {
    const Outcome outcome = sinter(arguments);
    EXPECT_THAT(outcome, EndedWith(0));
    const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(json.is_object() && json.contains("positions")) << outcome;
    return json.is_object() ? json["positions"] : nlohmann::json::array();
  }
};

TEST_F(Logits, EachPositionHasItsTokenAndTheBestInOrder) {
  const auto positions =
      positionsOf({"logits", model_, "--tokens", "65,66,67", "--top", "5", "--json"});
  ASSERT_EQ(positions.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(positions[i]["token"], 65 + i);
    const auto &top = positions[i]["top"];
    ASSERT_EQ(top.size(), 5u);
    for (size_t j = 1; j < 5; ++j)
      EXPECT_GE(top[j - 1]["logit"], top[j]["logit"]);
  }
}

TEST_F(Logits, ProbabilitiesOfTheWholeVocabularyAreOneInAll) {
  const auto positions =
      positionsOf({"logits", model_, "--tokens", "65", "--top", "1000000", "--json"});
  ASSERT_EQ(positions.size(), 1u);
  double sum = 0;
  for (const auto &candidate : positions[0]["top"])
    sum += std::exp(candidate["logprob"].get<double>());
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST_F(Logits, ATextHasThePositionsOfItsTokensAndATableTheirTexts) {
  const Outcome outcome = sinter({"logits", model_, "-p", "AB", "--top", "2"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("65 'A'"), HasSubstr("66 'B'"), HasSubstr("logprob")));
}

TEST_F(Logits, DecodedTokensSeeThoseBefore) {
  const auto whole =
      positionsOf({"logits", model_, "--tokens", "65,66,67,68", "--top", "1", "--json"});
  const auto parts = positionsOf(
      {"logits", model_, "--tokens", "65,66,67,68", "--top", "1", "--json", "--decode", "2"});
  ASSERT_EQ(parts.size(), whole.size());
  for (size_t i = 0; i < whole.size(); ++i)
    EXPECT_NEAR(parts[i]["top"][0]["logit"].get<double>(),
                whole[i]["top"][0]["logit"].get<double>(), 1e-2);
}

TEST_F(Logits, TokensNeedNoTokenizerAndTextsDo) {
  for (const char *tokenizer : {"", "no_vocab", "test"}) {
    const std::string file = writeModel("bare.gguf", {.tokenizer = tokenizer});
    EXPECT_THAT(sinter({"logits", file, "--tokens", "65", "--json"}), EndedWith(0)) << tokenizer;
    EXPECT_THAT(sinter({"logits", file, "-p", "A"}), FailedSaying("token")) << tokenizer;
  }
}

TEST_F(Logits, TokensBeyondTheVocabularyAndTheContextAreRefused) {
  EXPECT_THAT(sinter({"logits", model_, "--tokens", "65,259"}),
              FailedSaying("--tokens has 259, the model's vocabulary is 0 to 258"));
  EXPECT_THAT(sinter({"logits", model_, "--tokens", "65,66,67", "--context", "2"}),
              FailedSaying("the prompt has 3 tokens, the context holds 2"));
}

// Compiled and run, prefill and decode: the sample has a kernel of each kind, and in full it is
// all.
class Families : public CliTest, public testing::WithParamInterface<std::filesystem::path> {};

std::vector<std::filesystem::path> families() {
  std::vector<std::filesystem::path> all = goldenModels(SINTER_TEST_DIR "/data");
  if (!testsInFull())
    std::erase_if(all, [](const std::filesystem::path &path) {
      const std::string name = path.stem();
      return name != "gemma2" && name != "stablelm-12b" && name != "qwen3";
    });
  return all;
}
INSTANTIATE_TEST_SUITE_P(Goldens, Families, testing::ValuesIn(families()), [](const auto &info) {
  std::string name = info.param.stem().string();
  std::ranges::replace_if(name, [](char c) { return !std::isalnum(c); }, '_');
  return name;
});

TEST_P(Families, AgreeWithTheReferenceImplementation) {
  const GoldenModel golden = GoldenModel::read(GetParam());
  const std::vector<uint8_t> bytes = golden.bytes();
  const std::string file =
      write("golden.gguf", {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  std::string tokens;
  for (const int32_t token : golden.tokens)
    tokens += (tokens.empty() ? "" : ",") + std::to_string(token);
  constexpr int kSeconds = 300; // of a compiler that others slow down
  const Outcome outcome =
      runChild(command({"logits", file, "--tokens", tokens, "--decode", "24", "--top", "100000",
                        "--activations", "f32", "--json", "--device", "cpu"}),
               options_, {}, kSeconds);
  ASSERT_THAT(outcome, EndedWith(0));
  const auto positions = nlohmann::json::parse(outcome.out)["positions"];
  for (const auto &[position, expected] : golden.logits) {
    std::map<int32_t, double> found;
    for (const auto &candidate : positions[position]["top"])
      found[candidate["id"]] = candidate["logit"];
    EXPECT_LT(GoldenModel::divergence(expected, [&](int32_t token) { return found[token]; }), 1e-4)
        << "at position " << position;
  }
}

} // namespace
} // namespace sinter
