// Reading of SPIR-V modules: what is found in good ones, and that bad ones are errors.
#include "hal/vulkan/spirv_code.h"

#include "hal/vulkan_cases.h"

#include <cstring>
#include <gmock/gmock.h>

namespace sinter::hal::vulkan {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::vector<uint8_t> bytesOf(const std::vector<uint32_t> &words) {
  std::vector<uint8_t> bytes(words.size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

// A module of one empty kernel "k", in which `change` may spoil something.
std::vector<uint8_t> moduleWith(std::size_t at, uint32_t word) {
  std::vector<uint32_t> words = {
      0x07230203,     0x00010300, 0,  6,   0,    // header: magic, version, generator, bound, schema
      2u << 16 | 17,  1,                         // 5: OpCapability Shader
      3u << 16 | 14,  0,          1,             // 7: OpMemoryModel Logical GLSL450
      4u << 16 | 15,  5,          1,  'k',       // 10: OpEntryPoint GLCompute %1 "k"
      6u << 16 | 16,  1,          17, 4,   2, 1, // 14: OpExecutionMode %1 LocalSize 4 2 1
      2u << 16 | 19,  2,                         // 20: %2 = OpTypeVoid
      3u << 16 | 33,  3,          2,             // 22: %3 = OpTypeFunction %2
      5u << 16 | 54,  2,          1,  0,   3,    // 25: %1 = OpFunction %2 None %3
      2u << 16 | 248, 4,                         // 30: %4 = OpLabel
      1u << 16 | 253,                            // 32: OpReturn
      1u << 16 | 56,                             // 33: OpFunctionEnd
  };
  words.at(at) = word;
  return bytesOf(words);
}

Status refusal(const std::vector<uint8_t> &code) {
  auto read = readSpirv(code);
  EXPECT_FALSE(read.has_value());
  return read ? Status{Code::Cancelled, "it was read"} : read.error();
}

TEST(Spirv, AKernelIsFoundWithItsWorkgroup) {
  auto code = readSpirv(moduleWith(2, 0));
  ASSERT_TRUE(code.has_value()) << code.error().toString();
  ASSERT_EQ(code->entryPoints.size(), 1u);
  EXPECT_EQ(code->entryPoints[0].name, "k");
  EXPECT_EQ(code->entryPoints[0].localSize, (std::array<uint32_t, 3>{4, 2, 1}));
  EXPECT_EQ(code->capabilities, std::vector<uint32_t>{1});
}

// The module with a string after its execution mode.
std::vector<uint8_t> moduleWithString(std::string text) {
  constexpr std::size_t kAfterModes = 20 * sizeof(uint32_t);
  text.resize((text.size() / sizeof(uint32_t) + 1) * sizeof(uint32_t));
  std::vector<uint32_t> words(2 + text.size() / sizeof(uint32_t));
  words[0] = static_cast<uint32_t>(words.size()) << 16 | 7; // OpString
  words[1] = 5;
  std::memcpy(words.data() + 2, text.data(), text.size());
  std::vector<uint8_t> code = moduleWith(2, 0), string = bytesOf(words);
  code.insert(code.begin() + kAfterModes, string.begin(), string.end());
  return code;
}

TEST(Spirv, ConstantsOfAKernelAreFoundInAString) {
  auto code = readSpirv(moduleWithString("sinter.constants k 00000001deadbeef"));
  ASSERT_TRUE(code.has_value()) << code.error().toString();
  ASSERT_TRUE(code->constants.contains("k"));
  EXPECT_EQ(code->constants["k"], (std::vector<uint32_t>{1, 0xdeadbeef}));
  code = readSpirv(moduleWithString("another string"));
  ASSERT_TRUE(code.has_value()) << code.error().toString();
  EXPECT_TRUE(code->constants.empty());
}

TEST(Spirv, ConstantsThatAreNoWordsAreCorrupt) {
  for (const char *text : {"sinter.constants ", "sinter.constants k", "sinter.constants k ",
                           "sinter.constants k 0000000", "sinter.constants k 0000000g",
                           "sinter.constants k 00000001 0000002", "sinter.constants k -0000001"})
    EXPECT_THAT(refusal(moduleWithString(text)).message,
                HasSubstr("OpString of constants is malformed"))
        << text;
}

TEST(Spirv, EveryKernelOfTheTestModuleIsFound) {
  auto code = readSpirv(vulkanKernels());
  ASSERT_TRUE(code.has_value()) << code.error().toString();
  EXPECT_EQ(code->entryPoints.size(), 7u);
  EXPECT_THAT(code->capabilities, Contains(5347u)); // PhysicalStorageBufferAddresses
}

TEST(Spirv, SpoiltModulesAreCorrupt) {
  const struct {
    std::size_t at;
    uint32_t word;
    const char *said;
  } kCases[] = {
      {0, 0x464c457f, "does not begin as SPIR-V does"},
      {0, 0x03022307, "big-endian"},
      {3, 0, "an id bound of 0"},
      {3, 0xffffffff, "an id bound of 4294967295"},
      {3, 4, "defines id 4, expected 1 to the bound of 4 less 1"},
      {21, 0, "defines id 0"},
      {5, 0, "has 0 words"},
      {5, 0xffff0011, "has 65535 words"},
      {11, 4, "no entry point of execution model GLCompute"},
      {12, 9, "names id 9"},
      {13, 0x6b6b6b6b, "OpEntryPoint is malformed"},
      {33, 1u << 16 | 253, "ends within a function"},
      {32, 1u << 16 | 56, "OpFunctionEnd is malformed or out of place"},
  };
  for (const auto &spoilt : kCases) {
    const Status status = refusal(moduleWith(spoilt.at, spoilt.word));
    EXPECT_EQ(status.code, Code::Corrupt) << spoilt.said;
    EXPECT_THAT(status.message, HasSubstr(spoilt.said));
  }
}

TEST(Spirv, EveryTruncationIsCorrupt) {
  const auto whole = moduleWith(2, 0);
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_EQ(refusal({whole.begin(), whole.begin() + std::ptrdiff_t(bytes)}).code, Code::Corrupt)
        << bytes;
}

// Whatever a word becomes, reading ends without touching memory that is not the module's.
TEST(Spirv, EverySpoiltWordIsReadOrRefused) {
  const auto whole = vulkanKernels();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); at += sizeof(uint32_t))
    for (uint32_t word : {0u, 0xffffffffu, 0x00010000u, 0x0003000fu, 0x00050036u, 0x00010038u}) {
      auto spoilt = whole;
      std::memcpy(spoilt.data() + at, &word, sizeof word);
      refused += !readSpirv(spoilt).has_value();
    }
  EXPECT_GT(refused, whole.size() / sizeof(uint32_t));
}

} // namespace
} // namespace sinter::hal::vulkan
