// What an architecture's name alone decides of a head that ranks.
#pragma once

#include <string_view>

namespace sinter {

struct RankingFamily {
  std::string_view architecture;
  bool gelu = false;      // after cls, instead of tanh
  bool ofMean = false;    // the head reads the mean of all rows, where the file does not say
  bool sharesOne = false; // results are shares of one, by softmax
};

// One without features for architectures that the table has not.
const RankingFamily &rankingFamilyOf(std::string_view architecture);

} // namespace sinter
