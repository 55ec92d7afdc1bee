// The distance of optimal string alignment, over three rows of its table.
#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace sinter {
namespace {

constexpr size_t kMostLetters = 128; // the table's size is the product of both lengths

bool same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

} // namespace

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool equal = same(a[i - 1], b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + !equal});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string> candidates) {
  constexpr size_t kLettersPerEdit = 3;
  std::string_view best;
  size_t least = SIZE_MAX;
  for (const std::string &candidate : candidates) {
    const size_t longer = std::max(word.size(), candidate.size());
    if (word.empty() || candidate.empty() || longer > kMostLetters)
      continue;
    const size_t distance = editDistance(word, candidate);
    if (distance > longer / kLettersPerEdit || distance >= least)
      continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::string nearestHint(std::string_view word, std::span<const std::string> candidates) {
  const std::string_view found = nearest(word, candidates);
  return found.empty() ? "" : " (did you mean '" + std::string(found) + "'?)";
}

} // namespace sinter
