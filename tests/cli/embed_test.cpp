// The commands embed and rerank.
#include "cli/cli_test.h"

#include <cmath>

namespace sinter {
namespace {

class Embed : public CliTest {
protected:
  static std::vector<double> numbers(const std::string &text) {
    std::istringstream words(text);
    std::vector<double> values;
    for (double value; words >> value;)
      values.push_back(value);
    return values;
  }
  Outcome embed(std::vector<std::string> more) {
    more.insert(more.begin(), {"embed", model_, "--device", "cpu"});
    return sinter(more);
  }
};

TEST_F(Embed, PrintsAVectorOfLengthOneForEachLine) {
  const std::string file = write("texts", "one\n\ntwo words\r\n");
  const Outcome both = embed({"--lines", file}), second = embed({"-p", "two words"});
  EXPECT_THAT(both, EndedWith(0));
  EXPECT_EQ(std::count(both.out.begin(), both.out.end(), '\n'), 2);
  EXPECT_EQ(both.out.substr(both.out.find('\n') + 1), second.out);
  double squares = 0;
  for (const double value : numbers(second.out))
    squares += value * value;
  EXPECT_NEAR(squares, 1, 1e-5);
}

TEST_F(Embed, WithoutPoolingEachTokenHasAVectorAndTheLastOneIsThatOfTheText) {
  const Outcome last = embed({"--tokens", "5,6,7"}),
                all = embed({"--tokens", "5,6,7", "--pooling", "none"}),
                json = embed({"--tokens", "5,6,7", "--json"});
  EXPECT_THAT(all, EndedWith(0));
  EXPECT_EQ(std::count(all.out.begin(), all.out.end(), '\n'), 3);
  EXPECT_TRUE(all.out.ends_with("\n" + last.out));
  EXPECT_THAT(json.out, testing::StartsWith(R"({"embeddings":[[)"));
}

TEST_F(Embed, OddOptionsAndTextsAreRefused) {
  EXPECT_THAT(embed({"-p", "a", "--pooling", "max"}),
              RefusedSaying("--pooling is 'max', expected one of none, mean, cls, last"));
  EXPECT_THAT(embed({"-p", "a", "--normalize", "2"}), RefusedSaying("expected on or off"));
  EXPECT_THAT(embed({"-p", "a", "--tokens", "1"}), RefusedSaying("exclude one another"));
  EXPECT_THAT(embed({"--lines", write("blank", "\n \n")}), FailedSaying("has no line with a text"));
  EXPECT_THAT(embed({"--tokens", "1,2,3", "--context", "2"}),
              FailedSaying("text 1 has 3 tokens, expected at most 2"));
}

TEST_F(Embed, OnlyModelsWithAHeadRank) {
  const std::string file = write("documents", "one\n");
  EXPECT_THAT(sinter({"rerank", model_, "--query", "a", "--documents", file}),
              FailedSaying("the model cannot rank: it has no tensor 'cls.weight'"));
  EXPECT_THAT(sinter({"rerank", model_, "--query", "a"}),
              RefusedSaying("--documents is not given"));
}

} // namespace
} // namespace sinter
