// Timing several things against each other: in turns, so that a machine whose speed drifts slows
// all of them alike.
#pragma once

#include "base/status.h"

#include <functional>
#include <string>
#include <vector>

namespace sinter::bench {

struct Racer {
  std::string name;
  double work = 0; // of one run: operations or bytes
  std::function<Result<void>()> run;
  std::vector<double> rates; // work per second, one entry a round
};

double median(std::vector<double> values);

// `rounds` rounds in which each racer runs once untimed and then for about `seconds`. The first
// error ends it.
Result<void> race(std::vector<Racer> &racers, int rounds, double seconds = 0.02);

// The median over rounds of one racer's rate over another's in the same round.
double ratio(const Racer &racer, const Racer &against);

// The racer with the highest median rate; `racers` is not empty.
const Racer &fastest(const std::vector<const Racer *> &racers);

} // namespace sinter::bench
