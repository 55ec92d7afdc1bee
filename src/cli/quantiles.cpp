// Quantiles by sorting.
#include "cli/quantiles.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>

namespace sinter::cli {

double quantile(std::vector<double> values, double share) {
  SINTER_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - std::floor(place));
}

} // namespace sinter::cli
