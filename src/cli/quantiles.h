// Medians and quartiles of measured times, which a few disturbed samples do not move.
#pragma once

#include <utility>
#include <vector>

namespace sinter::cli {

// The value below which `share` (0 to 1) of the values lie, between neighbours in proportion.
// Expects at least one value.
double quantile(std::vector<double> values, double share);

inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

} // namespace sinter::cli
