// Follows what timeTrials() does.
#include "cli/tune/trial_costs.h"

#include <algorithm>

namespace sinter::cli {

double TrialCosts::timing(size_t variants, const TrialEffort &effort) const {
  constexpr double kSizes = 3; // of steps
  const auto procedures = static_cast<double>(variants + 1);
  const double round = procedures * stepSeconds;
  const double rounds = std::clamp(kSizes * effort.secondsEach, effort.leastRounds * round,
                                   effort.mostRounds * round);
  return loadSeconds + round + stepSeconds + rounds; // all are checked first, the step runs twice
}

} // namespace sinter::cli
