// Whatever a bundle of kernels or a kernel's text holds, the program that reads it ends by itself
// and says why. A sample; the entry cli.mutations of ctest tries many more (label full).
#include "cli/cli_test.h"
#include "cli/mutations.h"

#include "hal/kernel_case.h"

namespace sinter {
namespace {

const std::string kCompiler = SINTER_BIN_DIR "/sinter-compiler";

class Mutations : public CliTest {
protected:
  void SetUp() override {
    CliTest::SetUp();
    options_.environment["TMPDIR"] = folder_;
  }
  Outcome compiler(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), kCompiler);
    return runChild(arguments, options_);
  }
  // The bytes of a bundle of three cases for this processor.
  std::string bundle() const {
    const std::string list = write("list", "run add --size 9\n"
                                           "run rms_norm --size 9\n"
                                           "run embed --size 9\n");
    const Outcome packed =
        compiler({"kernel", "pack", list, "--target", "host", "-o", path("seed.bundle")});
    EXPECT_EQ(packed.code, 0) << packed;
    return read(path("seed.bundle"));
  }
  Outcome runBundle(const std::string &bytes) const {
    return sinter({"kernel", "run", write("mutated.bundle", bytes)});
  }
};

TEST_F(Mutations, OfABundleAreFoundByItsChecksum) {
  const std::string seed = bundle();
  ASSERT_EQ(runBundle(seed).code, 0);
  limitReader(options_, 10);
  MutationRandom random(1);
  for (int left = mutationRounds(20); left > 0; --left) {
    const std::string bytes = mutatedBytes(seed, random);
    if (bytes == seed)
      continue;
    const Outcome outcome = runBundle(bytes);
    EXPECT_TRUE(isHeld(outcome) && outcome.code == 1) << left << ": " << outcome;
  }
}

// Which bytes of a bundle are native code, which is trusted.
std::vector<bool> codeOf(const std::string &bytes) {
  std::vector<bool> isCode(bytes.size());
  const auto cases =
      hal::readBundle({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  EXPECT_TRUE(cases.has_value());
  for (size_t from = 0; const hal::KernelCase &kernel : *cases) {
    const std::string code(kernel.code.begin(), kernel.code.end());
    from = bytes.find(code, from);
    std::fill_n(isCode.begin() + static_cast<ptrdiff_t>(from), code.size(), true);
  }
  return isCode;
}

TEST_F(Mutations, OfABundleUnderARightChecksumAreRefusedOrRun) {
  const std::string seed = bundle();
  const std::vector<bool> isCode = codeOf(seed);
  limitReader(options_, 10);
  MutationRandom random(2);
  for (int left = mutationRounds(20); left > 0; --left) {
    std::string bytes = seed;
    changeBytes(bytes, random,
                [&](size_t at) { return at >= hal::kBundleHeaderBytes && !isCode[at]; });
    hal::sealBundle({reinterpret_cast<uint8_t *>(bytes.data()), bytes.size()});
    const Outcome outcome = runBundle(bytes);
    // A grid may be said to be of billions of programs, which takes its time.
    EXPECT_TRUE(isHeld(outcome) || outcome.signal == SIGXCPU) << left << ": " << outcome;
  }
}

TEST_F(Mutations, OfAKernelsTextAreRefusedOrRun) {
  const std::vector<std::vector<std::string>> kernels = {
      {"add"},
      {"softmax", "--set", "columns=16"},
      {"gemm", "--set", "block_m=8", "--set", "block_n=16", "--set", "block_k=16"},
      {"embed"},
      {"kv_append", "--set", "kv_heads=2", "--set", "head_dim=8", "--set", "page_rows=4"},
      {"quantize_rows"}};
  std::vector<std::string> seeds;
  for (std::vector<std::string> arguments : kernels) {
    arguments.insert(arguments.begin(), {"kernel", "emit"});
    const Outcome text = compiler(arguments);
    ASSERT_EQ(text.code, 0) << text;
    seeds.push_back(text.out);
  }
  limitReader(options_, 30);
  MutationRandom random(3);
  for (int left = mutationRounds(12); left > 0; --left) {
    const std::string text = mutatedText(seeds[random() % seeds.size()], random);
    const Outcome outcome =
        compiler({"kernel", "run", write("mutated.tile", text), "--size", "5", "--threads", "2"});
    EXPECT_TRUE(isHeld(outcome)) << left << ": " << outcome << "\n" << text;
  }
}

} // namespace
} // namespace sinter
