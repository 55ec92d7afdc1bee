// Calibrates once, then measures turn by turn.
#include "race.h"

#include <algorithm>
#include <chrono>

namespace sinter::bench {

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

static Result<double> timeRuns(Racer &racer, int64_t runs) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < runs; ++i)
    SINTER_TRY(racer.run());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Result<void> race(std::vector<Racer> &racers, int rounds, double seconds) {
  std::vector<int64_t> runs;
  for (Racer &racer : racers) {
    SINTER_TRY(racer.run());
    SINTER_ASSIGN(const double once, timeRuns(racer, 1));
    runs.push_back(std::max<int64_t>(1, static_cast<int64_t>(seconds / once)));
  }
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < racers.size(); ++i) {
      SINTER_TRY(racers[i].run()); // untimed: the caches are its own when its turn is timed
      SINTER_ASSIGN(const double taken, timeRuns(racers[i], runs[i]));
      racers[i].rates.push_back(racers[i].work * static_cast<double>(runs[i]) / taken);
    }
  return {};
}

double ratio(const Racer &racer, const Racer &against) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(racer.rates.size(), against.rates.size()); ++i)
    ratios.push_back(racer.rates[i] / against.rates[i]);
  return median(std::move(ratios));
}

const Racer &fastest(const std::vector<const Racer *> &racers) {
  return **std::max_element(racers.begin(), racers.end(), [](const Racer *a, const Racer *b) {
    return median(a->rates) < median(b->rates);
  });
}

} // namespace sinter::bench
