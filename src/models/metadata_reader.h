// Reads an architecture's keys with bounds, and knows in the end which ones nobody read.
#pragma once

#include "models/model_source.h"

#include <set>

namespace sinter::models {

// Bounds beyond any model there is; within them, products of two extents fit 64 bits.
inline constexpr int64_t kMostLayers = 4096;
inline constexpr int64_t kMostExtent = 1 << 20;
inline constexpr int64_t kMostHeads = 4096;
inline constexpr int64_t kMostContext = int64_t(1) << 30;

// Names are without "ARCHITECTURE.". Messages name the whole key, what was found and what was
// expected. Each getter counts its key as read.
class MetadataReader {
public:
  MetadataReader(const ModelSource &source, std::string_view architecture)
      : source_(source), prefix_(std::string(architecture) + "."), read_{"general.architecture"} {}

  const ModelSource &source() const { return source_; }
  std::string key(std::string_view name) const { return prefix_ + std::string(name); }
  bool has(std::string_view name) { return source_.has(read(name)); }

  // An integer within [least, most], 1 where it is not said; required, or `fallback`, which is
  // checked too.
  Result<int64_t> count(std::string_view name, int64_t most, int64_t least = 1);
  Result<int64_t> countOr(std::string_view name, int64_t most, int64_t fallback, int64_t least = 1);
  // One for each of `length` layers: an array of at least so many, or one number for all, which is
  // at least 1.
  Result<std::vector<int64_t>> counts(std::string_view name, size_t length, int64_t most,
                                      int64_t least);
  Result<std::vector<int64_t>> countsOr(std::string_view name, size_t length, int64_t most,
                                        std::vector<int64_t> fallback, int64_t least);
  // The same of numbers within [-1e6, 1e6]; the key is whole.
  Result<std::vector<float>> reals(std::string_view wholeKey, size_t length);
  // A number above 0 and below `below`.
  Result<float> positive(std::string_view name, double below);
  Result<float> positiveOr(std::string_view name, double below, float fallback);
  // 0, which mostly stands for none, or a number above 0 and below `below`.
  Result<float> amount(std::string_view name, double below);
  Result<float> amountOr(std::string_view name, double below, float fallback);
  // A number by which others are divided; 1 where it is absent or 0, which stands for none.
  Result<double> factorOr(std::string_view name);
  Result<bool> flagOr(std::string_view name, bool fallback);
  Result<std::string> textOr(std::string_view name, std::string_view fallback);
  Result<void> expect(std::string_view name, int64_t expected, std::string_view why);
  // The elements of an array, or of one number; each within [least, most].
  Result<std::vector<int64_t>> integers(std::string_view name, int64_t least, int64_t most);

  // Keys of this architecture that change results, were not read and are not neutral.
  std::vector<std::string> unread(std::string_view architecture) const;

private:
  std::string read(std::string_view name) { return *read_.insert(key(name)).first; }
  Result<int64_t> inRange(std::string_view name, int64_t value, int64_t least, int64_t most) const;

  const ModelSource &source_;
  std::string prefix_;
  std::set<std::string, std::less<>> read_;
};

} // namespace sinter::models
