// Fits whole blocks: level-1 numbers, level-2 scales and codes together.
#include "numeric/quantize/block_fit.h"

#include "base/check.h"
#include "numeric/quantize/factor_fit.h"

#include <algorithm>
#include <cmath>
#include <string>

#pragma clang fp contract(off)

namespace sinter {
namespace {

class BlockFitter {
public:
  explicit BlockFitter(const BlockFormat &format)
      : format_(format), levels_(*codeLevels(format)), span_(format.scale.level1Length),
        groupLength_(format.scale.groupLength()), groups_(span_ / groupLength_),
        scale_(format.scale, groups_), min_(format.min, groups_),
        rule_{min_.present(), min_.mayBeNegative(), scale_.mayBeNegative()}, values_(groups_),
        fits_(groups_) {}

  Result<void> fit(std::span<const float> values, uint8_t *block) {
    std::fill_n(block, format_.blockBytes, uint8_t{0});
    for (uint32_t first = 0; first < format_.blockLength; first += span_) {
      SINTER_TRY(fitSpan(values.subspan(first, span_)));
      storeSpan(first, block);
    }
    return {};
  }

private:
  // Elements that share one level-1 number.
  Result<void> fitSpan(std::span<const float> values) {
    scaleValues(values);
    for (uint32_t g = 0; g < groups_; ++g)
      fits_[g] = fitGroup(levels_, values_[g], rule_);
    SINTER_TRY(fitScales());
    if (min_.present())
      SINTER_TRY(fitMins());
    refine();
    return {};
  }

  // Powers of two, in two steps since one might overflow, bring the largest magnitude to [1, 2).
  void scaleValues(std::span<const float> values) {
    float most = 0;
    for (const float value : values)
      most = std::max(most, std::fabs(value));
    exponent_ = most > 0 ? std::ilogb(most) : 0;
    const float first = std::ldexp(1.0f, -exponent_ / 2);
    const float second = std::ldexp(1.0f, -exponent_ - -exponent_ / 2);
    for (uint32_t g = 0; g < groups_; ++g) {
      values_[g].clear();
      for (const float value : values.subspan(g * groupLength_, groupLength_))
        values_[g].add(value * first * second, 1);
    }
  }

  // The error of a group grows with level * level around its best scale.
  Result<void> fitScales() {
    wanted_.clear();
    for (const GroupFit &fit : fits_)
      wanted_.add(fit.at.scale, static_cast<float>(fit.sums.level2));
    return scale_.fit(wanted_, exponent_);
  }

  // Each group's minimum as it is best with the scale that the group really has.
  Result<void> fitMins() {
    wanted_.clear();
    for (uint32_t g = 0; g < groups_; ++g) {
      ScaleAndMin at = fits_[g].at;
      at.scale = scale_.value(g);
      const FitSums sums = measure(levels_, values_[g], at);
      at.min -= static_cast<float>(sums.residual / sums.weight);
      wanted_.add(rule_.negativeMin ? at.min : std::max(at.min, 0.0f),
                  static_cast<float>(sums.weight));
    }
    return min_.fit(wanted_, exponent_);
  }

  ScaleAndMin at(uint32_t g) const { return {scale_.value(g), min_.value(g)}; }

  // The error of the span with the nearest codes; brings the groups' sums up to date.
  double measureAll() {
    double error = 0;
    for (uint32_t g = 0; g < groups_; ++g) {
      fits_[g].sums = measure(levels_, values_[g], at(g));
      error += fits_[g].sums.residual2;
    }
    return error;
  }

  void refine() {
    constexpr int kMostRounds = 4;
    constexpr double kWorthwhile = 1e-4;
    error_ = measureAll();
    for (int round = 0; round < kMostRounds; ++round) {
      const double before = error_;
      refineLevel2();
      refineLevel1();
      if (!(error_ < before * (1 - kWorthwhile)))
        return;
    }
  }

  // Moves the levels of each group by one where its error shrinks.
  void refineLevel2() {
    constexpr std::pair<int, int> kMoves[] = {{-1, 0}, {1, 0},   {0, -1}, {0, 1},
                                              {1, 1},  {-1, -1}, {1, -1}, {-1, 1}};
    for (uint32_t g = 0; g < groups_; ++g)
      for (const auto &[byScale, byMin] : kMoves)
        tryLevels(g, scale_.index(g) + static_cast<uint32_t>(byScale),
                  min_.index(g) + static_cast<uint32_t>(byMin));
  }

  void tryLevels(uint32_t g, uint32_t scale, uint32_t min) {
    if (scale >= scale_.levels().count || min >= min_.levels().count)
      return;
    const uint32_t oldScale = scale_.index(g), oldMin = min_.index(g);
    scale_.setIndex(g, scale);
    min_.setIndex(g, min);
    const FitSums sums = measure(levels_, values_[g], at(g));
    if (sums.residual2 < fits_[g].sums.residual2) {
      error_ -= fits_[g].sums.residual2 - sums.residual2;
      fits_[g].sums = sums;
      return;
    }
    scale_.setIndex(g, oldScale);
    min_.setIndex(g, oldMin);
  }

  // Level 1 is what the whole span asks for with its codes and levels of now.
  void refineLevel1() {
    FitSums sums;
    for (uint32_t g = 0; g < groups_; ++g)
      sums += fits_[g].sums.times(scale_.unit(g), min_.unit(g));
    const FitRule rule{min_.present(), min_.level1MayBeNegative(), scale_.level1MayBeNegative()};
    const ScaleAndMin next = improved(sums, {scale_.level1(), min_.level1()}, rule);
    tryLevel1([&] { return scale_.setLevel1(next.scale) && min_.setLevel1(next.min); });
    for (FactorFit *factor : {&scale_, &min_})
      if (factor->isCoarse())
        for (const int by : {-1, 1})
          tryLevel1([&] { return factor->stepLevel1(by); });
  }

  // Undoes what `change` does where it fails or the error grows.
  template <typename Change> void tryLevel1(Change change) {
    const uint64_t scale = scale_.raw(), min = min_.raw();
    before_ = fits_;
    if (change()) {
      const double error = measureAll();
      if (error < error_) {
        error_ = error;
        return;
      }
    }
    scale_.setRaw(scale);
    min_.setRaw(min);
    fits_ = before_;
  }

  void storeSpan(uint32_t first, uint8_t *block) const {
    scale_.store(first, block);
    min_.store(first, block);
    for (uint32_t g = 0; g < groups_; ++g) {
      const ScaleAndMin fit = at(g);
      uint32_t element = first + g * groupLength_;
      for (const float value : values_[g].values())
        format_.code.store(block, element++, levels_.code(nearestLevel(levels_, value, fit)));
    }
  }

  const BlockFormat &format_;
  const Levels levels_; // of codes
  const uint32_t span_, groupLength_, groups_;
  FactorFit scale_, min_;
  const FitRule rule_;                 // of a group
  int exponent_ = 0;                   // values_ are in units of 2^exponent_
  std::vector<WeightedValues> values_; // of each group
  WeightedValues wanted_;              // what groups want of a factor
  std::vector<GroupFit> fits_, before_;
  double error_ = 0;
};

bool factorFits(const GroupFactor &factor) {
  return factorLevels(factor) && findStoredNumber(factor);
}

bool sameGroups(const GroupFactor &a, const GroupFactor &b) {
  return a.level1Length == b.level1Length && a.level2Length == b.level2Length;
}

// Rounding may make an infinity of a large number.
Result<void> convertRow(const BlockFormat &format, std::span<const float> values,
                        std::span<uint8_t> out) {
  SINTER_TRY(quantizeRow(format, values, out));
  for (size_t e = 0; e < values.size(); ++e)
    if (!std::isfinite(format.code.value(out.data() + e * format.blockBytes, 0)))
      return fail(Code::Unsupported, "value " + std::to_string(e) + " of the row is " +
                                         sixDigits(double{values[e]}) + ", beyond the largest " +
                                         std::string(format.name));
  return {};
}

} // namespace

bool canFit(const BlockFormat &format) {
  if (format.isPlain())
    return format.rounding == Rounding::Convert;
  const bool minFits =
      !format.min.present() || (factorFits(format.min) && sameGroups(format.min, format.scale));
  return codeLevels(format) && factorFits(format.scale) && minFits && format.derived.length == 0;
}

Result<void> fitRow(const BlockFormat &format, std::span<const float> values,
                    std::span<uint8_t> out) {
  const auto bytes = format.rowBytes(values.size());
  SINTER_CHECK(bytes && *bytes == out.size());
  if (!canFit(format))
    return fail(Code::Unsupported, "rows cannot be fitted to format " + std::string(format.name));
  for (size_t e = 0; e < values.size(); ++e)
    if (!std::isfinite(values[e]))
      return fail(Code::InvalidArgument, "value " + std::to_string(e) + " of the row is " +
                                             sixDigits(double{values[e]}) +
                                             ", expected a finite one");
  if (format.isPlain())
    return convertRow(format, values, out);
  BlockFitter fitter(format);
  for (size_t b = 0; b < values.size() / format.blockLength; ++b)
    SINTER_TRY(fitter.fit(values.subspan(b * format.blockLength, format.blockLength),
                          out.data() + b * format.blockBytes));
  return {};
}

} // namespace sinter
