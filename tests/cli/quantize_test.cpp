// sinter quantize: what it writes, what it says, and what it refuses without leaving anything.
#include "cli/cli_test.h"

#include "format/gguf.h"
#include "sampling.h"

#include <cstring>
#include <sys/resource.h>

namespace sinter {
namespace {

class Quantize : public CliTest {
protected:
  void SetUp() override {
    CliTest::SetUp();
    plain_ = writeModel("plain.gguf", {.matrices = TensorType::F32});
  }

  Outcome quantize(const std::string &type, std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"quantize", plain_, "--type", type, "-o", path("out.gguf")};
    words.insert(words.end(), more.begin(), more.end());
    return sinter(words);
  }
  GgufFile output() const { return *GgufFile::open(path("out.gguf")); }
  std::string_view typeOf(const GgufFile &file, std::string_view tensor) const {
    return file.findTensor(tensor)->format->name;
  }
  // Changes the value of `column` of `row` in the plain model.
  void poke(std::string_view tensor, uint64_t row, uint64_t column, float value) const {
    std::string bytes = read(plain_);
    const GgufFile file = *GgufFile::open(plain_);
    const GgufTensor &found = *file.findTensor(tensor);
    std::memcpy(bytes.data() + found.byteOffset + (row * found.dims[0] + column) * 4, &value, 4);
    write("plain.gguf", bytes);
  }
  // Whether the folder holds no file but the models and those named.
  testing::AssertionResult leftNothing() const {
    for (const auto &entry : std::filesystem::directory_iterator(folder_))
      if (entry.is_regular_file() && entry.path().extension() != ".gguf")
        return testing::AssertionFailure() << entry.path();
    if (std::filesystem::exists(path("out.gguf")))
      return testing::AssertionFailure() << "out.gguf";
    return testing::AssertionSuccess();
  }
  void limitFileBytes(rlim_t bytes) {
    options_.before = [bytes] {
      const rlimit both = {bytes, bytes};
      setrlimit(RLIMIT_FSIZE, &both);
    };
  }

  std::string plain_; // a model of F32
};

// A sample has blocks by number, with minima and by table, and numbers.
TEST_F(Quantize, WritesAModelThatAnswers) {
  for (const std::string &type : inFullOr<std::vector<std::string>>(
           {"Q8_0", "Q4_0", "Q5_1", "IQ4_NL", "MXFP4", "F16"}, {"Q8_0", "Q5_1", "IQ4_NL", "F16"})) {
    ASSERT_THAT(quantize(type), EndedWith(0)) << type;
    EXPECT_THAT(sinter({"run", path("out.gguf"), "-p", "hi", "-n", "4"}), EndedWith(0)) << type;
  }
}

TEST_F(Quantize, PredictsWithEightBitsAsTheModelDoes) {
  ASSERT_THAT(quantize("Q8_0"), EndedWith(0));
  const Outcome whole = sinter({"perplexity", plain_, write("text", std::string(2000, 'x'))});
  const Outcome eight = sinter({"perplexity", path("out.gguf"), path("text")});
  ASSERT_THAT(eight, EndedWith(0));
  constexpr size_t kWord = std::string_view("perplexity ").size();
  EXPECT_NEAR(std::strtod(eight.out.c_str() + kWord, nullptr) /
                  std::strtod(whole.out.c_str() + kWord, nullptr),
              1, 0.05);
}

TEST_F(Quantize, KeepsVectorsMetadataAndNames) {
  ASSERT_THAT(quantize("Q5_0"), EndedWith(0));
  const GgufFile before = *GgufFile::open(plain_), after = output();
  ASSERT_EQ(after.tensors().size(), before.tensors().size());
  for (size_t i = 0; i < after.tensors().size(); ++i) {
    const GgufTensor &tensor = after.tensors()[i];
    EXPECT_EQ(tensor.name, before.tensors()[i].name);
    EXPECT_EQ(tensor.dims, before.tensors()[i].dims);
    EXPECT_EQ(tensor.format->name, tensor.rank == 1 ? "F32" : "Q5_0");
  }
  for (const GgufValue &value : before.values())
    EXPECT_TRUE(after.find(value.key) &&
                std::ranges::equal(after.find(value.key)->bytes, value.bytes));
  EXPECT_EQ(after.getU64("general.file_type"), 8u);
  EXPECT_EQ(after.getU64("general.quantization_version"), 2u);
}

TEST_F(Quantize, SaysWhereRowsFitNoBlocksAndWhatStandsIn) {
  const Outcome outcome = quantize("q4_k");
  ASSERT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, HasSubstr("13 tensors with rows of 64 ('token_embd.weight' first) as "
                                     "Q5_0: Q4_K has blocks of 256"));
  EXPECT_THAT(outcome.err,
              HasSubstr("2 tensors with rows of 96 ('blk.0.ffn_down.weight' first) as Q5_0"));
  EXPECT_THAT(outcome.out, HasSubstr("5 F32, 15 Q5_0"));
}

TEST_F(Quantize, GivesOutputAndEmbeddingTheTypesAskedFor) {
  ASSERT_THAT(quantize("Q4_0", {"--output-type", "Q8_0"}), EndedWith(0));
  EXPECT_EQ(typeOf(output(), "token_embd.weight"), "Q8_0"); // which is the output matrix too
  ASSERT_THAT(quantize("Q4_0", {"--output-type", "Q8_0", "--embedding-type", "bf16"}),
              EndedWith(0));
  EXPECT_EQ(typeOf(output(), "token_embd.weight"), "BF16");
  EXPECT_EQ(typeOf(output(), "blk.0.attn_q.weight"), "Q4_0");
}

TEST_F(Quantize, GivesTheSameFileOnAnyNumberOfThreads) {
  ASSERT_THAT(quantize("Q4_1", {"--threads", "1"}), EndedWith(0));
  const std::string one = read(path("out.gguf"));
  ASSERT_THAT(quantize("Q4_1", {"--threads", "5"}), EndedWith(0));
  EXPECT_EQ(read(path("out.gguf")), one);
}

TEST_F(Quantize, WarnsThatWhatIsQuantisedLosesMore) {
  const Outcome outcome = sinter({"quantize", model_, "--type", "Q4_0", "-o", path("out.gguf")});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, HasSubstr("15 tensors of the model are quantised already"));
}

TEST_F(Quantize, CopiesTensorsThatHaveTheTypeAlready) {
  const Outcome outcome = sinter({"quantize", model_, "--type", "Q8_0", "-o", path("out.gguf")});
  ASSERT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, Not(HasSubstr("already")));
  const GgufFile before = *GgufFile::open(model_), after = output();
  for (size_t i = 0; i < after.tensors().size(); ++i)
    EXPECT_TRUE(std::ranges::equal(after.tensors()[i].bytes, before.tensors()[i].bytes));
}

TEST_F(Quantize, NamesTensorAndPlaceOfWhatIsNoNumber) {
  poke("blk.1.ffn_down.weight", 5, 17, std::nanf(""));
  EXPECT_THAT(quantize("Q8_0"),
              FailedSaying("tensor 'blk.1.ffn_down.weight', row 5, column 17: found nan, expected "
                           "a finite number"));
  EXPECT_TRUE(leftNothing());
}

TEST_F(Quantize, NamesTheTensorThatIsBeyondTheType) {
  poke("blk.0.attn_q.weight", 2, 3, 1e30f);
  EXPECT_THAT(quantize("Q4_0"),
              FailedSaying("tensor 'blk.0.attn_q.weight', row 2, from column 0 on: a "
                           "block needs a scale or minimum of -1.25e+29, "
                           "beyond the largest F16, 65504"));
  EXPECT_THAT(quantize("F16"), FailedSaying("value 3 of the row is 1e+30, beyond the largest F16"));
  EXPECT_TRUE(leftNothing());
}

TEST_F(Quantize, RefusesToWriteOverTheModel) {
  const std::string before = read(plain_);
  std::filesystem::create_hard_link(plain_, path("hard.gguf"));
  std::filesystem::create_symlink("plain.gguf", path("soft.gguf"));
  for (const char *name : {"plain.gguf", "hard.gguf", "soft.gguf"})
    EXPECT_THAT(sinter({"quantize", plain_, "--type", "Q8_0", "-o", path(name)}),
                FailedSaying("is the model itself, expected another file"));
  EXPECT_EQ(read(plain_), before);
}

TEST_F(Quantize, AFullDiskIsOneErrorAndKeepsTheOldFile) {
  limitFileBytes(20'000);
  EXPECT_THAT(quantize("Q8_0"), FailedSaying("no room for the"));
  EXPECT_TRUE(leftNothing());
  write("out.gguf", "old");
  EXPECT_THAT(quantize("Q8_0"), FailedSaying("no room for the"));
  EXPECT_EQ(read(path("out.gguf")), "old");
}

TEST_F(Quantize, PlacesThatTakeNoFileAreOneError) {
  for (const std::string &place : {folder_, std::string("/dev/full"), path("nowhere/out.gguf")})
    EXPECT_THAT(sinter({"quantize", plain_, "--type", "Q8_0", "-o", place}), FailedSaying(place));
  EXPECT_TRUE(leftNothing());
}

TEST_F(Quantize, ModelsThatAreMissingOrDamagedAreOneError) {
  const std::string whole = read(plain_);
  for (const size_t bytes : {size_t{0}, size_t{3}, size_t{100}, whole.size() / 2})
    EXPECT_THAT(sinter({"quantize", write("cut.gguf", whole.substr(0, bytes)), "--type", "Q8_0",
                        "-o", path("out.gguf")}),
                FailedSaying("cut.gguf"));
  EXPECT_THAT(sinter({"quantize", path("missing"), "--type", "Q8_0", "-o", path("out.gguf")}),
              FailedSaying("missing"));
  EXPECT_TRUE(leftNothing());
}

// Zeros without end take a while and no disk.
TEST_F(Quantize, InterruptsEndItWith130AndLeaveNothing) {
  GgufWriter big;
  constexpr uint64_t kRow = 1 << 14, kRows = 1 << 14;
  big.header(1, 0).tensor("big.weight", {kRow, kRows}, TensorType::F32, 0).pad();
  const std::string file =
      write("big.gguf", {reinterpret_cast<const char *>(big.bytes().data()), big.bytes().size()});
  std::filesystem::resize_file(file, big.size() + kRow * kRows * 4);
  for (const int signal : {SIGINT, SIGTERM}) {
    Child child(command({"quantize", file, "--type", "Q4_K", "-o", path("out.gguf")}), options_);
    ASSERT_TRUE(child.sees("quantising to Q4_K"));
    child.send(signal);
    EXPECT_THAT(child.wait(20), EndedWith(128 + signal));
    EXPECT_TRUE(leftNothing());
  }
}

} // namespace
} // namespace sinter
