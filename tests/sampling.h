// What `./test` runs of large families of cases. `./test --full` sets SINTER_TEST_FULL=1 and runs
// all of them; otherwise a family is a sample that shows each property of its cases at least once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// Whether every case of every family runs.
inline bool testsInFull() {
  const char *set = std::getenv("SINTER_TEST_FULL");
  return set && std::string_view(set) == "1";
}

// How often a case repeats itself with other random numbers.
template <class T> T inFullOr(T full, T sampled) {
  return testsInFull() ? full : sampled;
}

// Which of the cases, given by their properties, show all properties: the least case of those that
// show the most unseen ones for what they cost (nothing said: all the same), again and again. In
// the order of the cases; the same on each machine.
inline std::vector<size_t> coveringIndices(const std::vector<std::vector<std::string>> &cases,
                                           const std::vector<double> &costs = {}) {
  std::map<std::string, size_t> numbers;
  std::vector<std::vector<size_t>> properties(cases.size());
  for (size_t i = 0; i < cases.size(); ++i)
    for (const std::string &text : cases[i])
      properties[i].push_back(numbers.emplace(text, numbers.size()).first->second);
  std::vector<char> seen(numbers.size());
  std::vector<size_t> chosen;
  std::vector<double> atMost(cases.size(), HUGE_VAL); // unseen ones of a case never grow
  while (true) {
    size_t best = 0;
    double most = 0;
    for (size_t i = 0; i < cases.size(); ++i) {
      if (atMost[i] <= most)
        continue;
      const auto unseen = std::ranges::count_if(properties[i], [&](size_t p) { return !seen[p]; });
      atMost[i] = static_cast<double>(unseen) / (costs.empty() ? 1.0 : costs[i]);
      if (atMost[i] > most) {
        best = i;
        most = atMost[i];
      }
    }
    if (most == 0)
      break;
    for (const size_t p : properties[best])
      seen[p] = true;
    chosen.push_back(best);
  }
  std::ranges::sort(chosen);
  return chosen;
}

// All of a family in full, else a sample with every property that `propertiesOf` names, of cases
// that cost little by `costOf`.
template <class T, class PropertiesOf, class CostOf>
std::vector<T> sampled(const std::vector<T> &family, const PropertiesOf &propertiesOf,
                       const CostOf &costOf) {
  if (testsInFull())
    return family;
  std::vector<std::vector<std::string>> properties;
  std::vector<double> costs;
  for (const T &one : family) {
    properties.push_back(propertiesOf(one));
    costs.push_back(costOf(one));
  }
  std::vector<T> sample;
  for (const size_t i : coveringIndices(properties, costs))
    sample.push_back(family[i]);
  return sample;
}
template <class T, class PropertiesOf>
std::vector<T> sampled(const std::vector<T> &family, const PropertiesOf &propertiesOf) {
  return sampled(family, propertiesOf, [](const T &) { return 1.0; });
}

} // namespace sinter
