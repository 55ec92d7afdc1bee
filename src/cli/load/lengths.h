// How many tokens requests have: one number, or a distribution of them.
#pragma once

#include "base/status.h"
#include "cli/load/load_random.h"

#include <string>
#include <string_view>

namespace sinter::cli {

struct Lengths {
  enum class Kind : uint8_t { Constant, Uniform, Normal, Exponential };
  Kind kind = Kind::Constant;
  double first = 128, second = 0; // the number; from and to; mean and deviation; mean

  // "128", "uniform:64:256", "normal:128:32", "exponential:128". InvalidArgument, with what is
  // expected.
  static Result<Lengths> parse(std::string_view text);

  // As parse() takes it.
  std::string text() const;
  // At least 1, at most kMostLength.
  uint32_t draw(LoadRandom &random) const;
};

inline constexpr uint32_t kMostLength = 1 << 20;

} // namespace sinter::cli
