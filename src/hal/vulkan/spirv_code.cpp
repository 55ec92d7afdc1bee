// One pass over the instructions of a SPIR-V module.
#include "hal/vulkan/spirv_code.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <unordered_set>

namespace sinter::hal::vulkan {
namespace {

constexpr uint32_t kMagic = 0x07230203;
constexpr std::size_t kHeaderWords = 5;
constexpr uint32_t kMaxBound = 0x3fffff; // the specification's universal limit

constexpr std::string_view kConstantsPrefix = "sinter.constants ";

enum Op : uint32_t {
  kOpString = 7,
  kOpEntryPoint = 15,
  kOpExecutionMode = 16,
  kOpCapability = 17,
  kOpFunction = 54,
  kOpFunctionEnd = 56,
};
constexpr uint32_t kGlCompute = 5;
constexpr uint32_t kLocalSize = 17;

// Instructions that define an id, and the word that it is in. Not all: a driver sizes its tables by
// the bound, and what is here is most of what any kernel consists of.
struct Definer {
  uint32_t first, last; // opcodes
  std::size_t word;
};
constexpr Definer kDefiners[] = {
    {19, 38, 1},   // types
    {41, 46, 2},   // constants
    {48, 52, 2},   // specialisation constants
    {54, 55, 2},   // functions and their parameters
    {57, 57, 2},   // calls
    {59, 61, 2},   // variables, loads
    {65, 68, 2},   // access chains
    {77, 84, 2},   // composites
    {109, 205, 2}, // conversions, arithmetic, comparison, bits
    {245, 245, 2}, // phis
    {248, 248, 1}, // labels
};

class Reader {
public:
  explicit Reader(SpirvCode &code) : code_(code) {}

  Result<void> read() {
    const auto &words = code_.words;
    for (std::size_t at = kHeaderWords; at < words.size();) {
      const std::size_t count = words[at] >> 16;
      if (count == 0 || count > words.size() - at)
        return fail(Code::Corrupt,
                    "SPIR-V instruction has " + std::to_string(count) + " words, expected 1 to " +
                        std::to_string(words.size() - at),
                    at * sizeof(uint32_t));
      SINTER_TRY(take(at, std::span(words).subspan(at, count)));
      at += count;
    }
    return finish();
  }

private:
  Result<void> take(std::size_t at, std::span<const uint32_t> words) {
    SINTER_TRY(checkDefined(at, words));
    switch (words[0] & 0xffff) {
    case kOpCapability:
      if (words.size() != 2)
        return malformed("OpCapability", at);
      code_.capabilities.push_back(words[1]);
      return {};
    case kOpString:
      return takeString(at, words);
    case kOpEntryPoint:
      return takeEntryPoint(at, words);
    case kOpExecutionMode:
      return takeExecutionMode(at, words);
    case kOpFunction:
      if (words.size() != 5 || inFunction_)
        return malformed("OpFunction", at);
      inFunction_ = true;
      functions_.insert(words[2]);
      return {};
    case kOpFunctionEnd:
      if (words.size() != 1 || !inFunction_)
        return malformed("OpFunctionEnd", at);
      inFunction_ = false;
      return {};
    default:
      return {};
    }
  }

  Result<void> checkDefined(std::size_t at, std::span<const uint32_t> words) const {
    const uint32_t op = words[0] & 0xffff, bound = code_.words[3];
    for (const Definer &definer : kDefiners) {
      if (op < definer.first || op > definer.last)
        continue;
      if (words.size() <= definer.word)
        return malformed("instruction", at);
      const uint32_t id = words[definer.word];
      if (id == 0 || id >= bound)
        return fail(Code::Corrupt,
                    "SPIR-V instruction defines id " + std::to_string(id) +
                        ", expected 1 to the bound of " + std::to_string(bound) + " less 1",
                    at * sizeof(uint32_t));
    }
    return {};
  }

  // Constants of a kernel; other strings are nothing to us.
  Result<void> takeString(std::size_t at, std::span<const uint32_t> words) {
    constexpr std::size_t kDigits = 8;
    if (words.size() < 3)
      return malformed("OpString", at);
    const auto *first = reinterpret_cast<const char *>(words.data() + 2);
    std::string_view text(first, strnlen(first, (words.size() - 2) * sizeof(uint32_t)));
    if (!text.starts_with(kConstantsPrefix))
      return {};
    text.remove_prefix(kConstantsPrefix.size());
    const std::size_t space = text.find(' ');
    const std::string_view digits = space < text.size() ? text.substr(space + 1) : "";
    if (digits.empty() || digits.size() % kDigits != 0)
      return malformed("OpString of constants", at);
    std::vector<uint32_t> &constants = code_.constants[std::string(text.substr(0, space))];
    for (std::size_t from = 0; from < digits.size(); from += kDigits) {
      uint32_t &word = constants.emplace_back();
      const char *begin = digits.data() + from, *end = begin + kDigits;
      if (const auto read = std::from_chars(begin, end, word, 16);
          read.ptr != end || read.ec != std::errc())
        return malformed("OpString of constants", at);
    }
    return {};
  }

  Result<void> takeEntryPoint(std::size_t at, std::span<const uint32_t> words) {
    if (words.size() < 4)
      return malformed("OpEntryPoint", at);
    const auto *text = reinterpret_cast<const char *>(words.data() + 3);
    const std::size_t room = (words.size() - 3) * sizeof(uint32_t);
    const std::size_t length = strnlen(text, room);
    if (length == room)
      return malformed("OpEntryPoint", at);
    if (words[1] == kGlCompute)
      code_.entryPoints.push_back({std::string(text, length), words[2], {}});
    return {};
  }

  Result<void> takeExecutionMode(std::size_t at, std::span<const uint32_t> words) {
    if (words.size() < 3)
      return malformed("OpExecutionMode", at);
    if (words[2] != kLocalSize)
      return {};
    if (words.size() != 6)
      return malformed("OpExecutionMode LocalSize", at);
    for (EntryPoint &entry : code_.entryPoints)
      if (entry.function == words[1])
        entry.localSize = {words[3], words[4], words[5]};
    return {};
  }

  Result<void> finish() {
    if (inFunction_)
      return fail(Code::Corrupt, "SPIR-V code ends within a function, expected OpFunctionEnd",
                  code_.words.size() * sizeof(uint32_t));
    for (const EntryPoint &entry : code_.entryPoints)
      if (!functions_.contains(entry.function))
        return fail(Code::Corrupt, "SPIR-V entry point '" + entry.name + "' names id " +
                                       std::to_string(entry.function) +
                                       ", expected that of a function");
    if (code_.entryPoints.empty())
      return fail(Code::Corrupt, "SPIR-V code has no entry point of execution model GLCompute");
    return {};
  }

  static Fail malformed(const char *what, std::size_t at) {
    return fail(Code::Corrupt, std::string("SPIR-V ") + what + " is malformed or out of place",
                at * sizeof(uint32_t));
  }

  SpirvCode &code_;
  std::unordered_set<uint32_t> functions_;
  bool inFunction_ = false;
};

Result<void> checkHeader(const SpirvCode &code) {
  const auto &words = code.words;
  if (words[0] == __builtin_bswap32(kMagic))
    return fail(Code::Corrupt, "SPIR-V code has its bytes in big-endian order, expected little", 0);
  if (words[0] != kMagic)
    return fail(Code::Corrupt, "code does not begin as SPIR-V does", 0);
  if (words[3] == 0 || words[3] > kMaxBound)
    return fail(Code::Corrupt,
                "SPIR-V code has an id bound of " + std::to_string(words[3]) + ", expected 1 to " +
                    std::to_string(kMaxBound),
                3 * sizeof(uint32_t));
  return {};
}

} // namespace

Result<SpirvCode> readSpirv(std::span<const uint8_t> bytes) {
  if (bytes.size() % sizeof(uint32_t) != 0 || bytes.size() < kHeaderWords * sizeof(uint32_t))
    return fail(Code::Corrupt, "code has " + std::to_string(bytes.size()) +
                                   " bytes, expected whole SPIR-V words, at least " +
                                   std::to_string(kHeaderWords));
  SpirvCode code;
  code.words.resize(bytes.size() / sizeof(uint32_t));
  std::memcpy(code.words.data(), bytes.data(), bytes.size());
  SINTER_TRY(checkHeader(code));
  code.version = code.words[1];
  SINTER_TRY(Reader(code).read());
  return code;
}

} // namespace sinter::hal::vulkan
