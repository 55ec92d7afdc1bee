// sinter tokenize: tokens of texts and texts of tokens, with a tokenizer from a file of its own.
#include "cli/cli_test.h"

namespace sinter {
namespace {

class Tokenize : public CliTest {
protected:
  const std::string file_ = SINTER_TEST_DIR "/data/tokenizer/small/llama2.json";
};

TEST_F(Tokenize, PrintsNumberAndTextOfEachToken) {
  const Outcome outcome = sinter({"tokenize", file_, "-p", "aé"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("1\t\"<s>\"\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\"é\"\n"));
}

TEST_F(Tokenize, TakesTokensThatItPrintedBack) {
  const Outcome ids = sinter({"tokenize", file_, "-p", "one two", "--bare", "--json"});
  std::string list = ids.out.substr(ids.out.find('[') + 1);
  list.resize(list.find(']'));
  EXPECT_EQ(sinter({"tokenize", file_, "--ids", list}).out, "one two\n");
}

TEST_F(Tokenize, TakesAFileOfTextsAndNamesTheLineThatIsNone) {
  const std::string lines = write("texts.jsonl", "{\"text\": \"a\"}\n\n{\"text\": \"b\"}\n");
  const Outcome outcome = sinter({"tokenize", file_, "--lines", lines});
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 2);
  const std::string broken = write("broken.jsonl", "{\"text\": \"a\"}\n{\"txt\": 1}\n");
  const Outcome refused = sinter({"tokenize", file_, "--lines", broken});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("broken.jsonl:2: found an object"));
}

TEST_F(Tokenize, SaysWhatIsWrongWithTheFileOrTheCommandLine) {
  EXPECT_THAT(sinter({"tokenize", write("x.json", "{}"), "-p", "a"}).err,
              HasSubstr("'model' is nothing"));
  EXPECT_THAT(sinter({"tokenize", file_, "-p", "a", "--ids", "1"}).err,
              HasSubstr("exclude one another"));
  EXPECT_THAT(sinter({"tokenize", file_, "--ids", "1,x"}).err, HasSubstr("--ids has 'x'"));
  EXPECT_THAT(sinter({"tokenize", file_, "--ids", "99999"}).err, HasSubstr("token id is 99999"));
}

} // namespace
} // namespace sinter
