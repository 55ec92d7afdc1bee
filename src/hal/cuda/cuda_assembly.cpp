// The flags of ptxas that the driver library's assembler has options for.
#include "hal/cuda/cuda_driver.h"

#include <charconv>
#include <vector>

namespace sinter::hal {
namespace {

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  for (std::size_t at = 0; (at = text.find_first_not_of(' ', at)) != text.npos;) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    found.push_back(text.substr(at, end - at));
    at = end;
  }
  return found;
}

// A flag and what stands behind its '=', or else in the next word.
struct Flag {
  std::string_view name, value;
};

Result<uint32_t> numberOf(const Flag &flag, uint32_t most) {
  uint32_t number = 0;
  const char *end = flag.value.data() + flag.value.size();
  const auto [rest, error] = std::from_chars(flag.value.data(), end, number);
  if (error == std::errc() && rest == end && number <= most)
    return number;
  return fail(Code::InvalidArgument, "flag '" + std::string(flag.name) + "' has the value '" +
                                         std::string(flag.value) + "', expected 0 to " +
                                         std::to_string(most));
}

class Reader {
public:
  explicit Reader(std::string_view flags) : words_(words(flags)) {}

  Result<CudaAssembly> read() {
    while (at_ < words_.size())
      SINTER_TRY(readFlag(words_[at_++]));
    return found_;
  }

private:
  Flag valued(std::string_view word) {
    const std::size_t equals = word.find('=');
    if (equals != word.npos)
      return {word.substr(0, equals), word.substr(equals + 1)};
    return {word, at_ < words_.size() ? words_[at_++] : std::string_view()};
  }

  Result<void> readFlag(std::string_view word) {
    const std::string_view name = word.substr(0, word.find('='));
    if (name == "-maxrregcount" || name == "--maxrregcount") {
      SINTER_ASSIGN(found_.maxRegisters, numberOf(valued(word), kMostRegisters));
    } else if (name == "-O" || name == "--opt-level" || name == "-opt-level") {
      SINTER_ASSIGN(found_.optimisation, numberOf(valued(word), kMostOptimisation));
    } else if (name.starts_with("-O")) {
      SINTER_ASSIGN(found_.optimisation, numberOf({"-O", word.substr(2)}, kMostOptimisation));
    } else if (word == "-lineinfo" || word == "--generate-line-info") {
      found_.lineInfo = true;
    } else if (word == "-g" || word == "--device-debug") {
      found_.debugInfo = true;
    } else {
      return fail(
          Code::Unsupported,
          "flag '" + std::string(word) +
              "' is unknown to the driver's assembler, expected -O0 to -O4, "
              "-maxrregcount N, -lineinfo or -g; others need ptxas on PATH, and only print");
    }
    return {};
  }

  static constexpr uint32_t kMostRegisters = 255, kMostOptimisation = 4;
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
  CudaAssembly found_;
};

} // namespace

Result<CudaAssembly> parseCudaAssembly(std::string_view flags) {
  return Reader(flags).read();
}

} // namespace sinter::hal
