// The tokens that may still be chosen, and what a sampler's steps need to know of them.
#pragma once

#include "llm/tokenizer/vocabulary.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sinter {

// As integers, logits are in the order of their values; -0 and 0 are the same. NaN lies beyond the
// infinities.
inline int32_t orderOf(float logit) {
  const auto bits = std::bit_cast<int32_t>(logit + 0.0f);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

// e^x for x <= 0, within 2 units in the last place, 0 below -86. Bits are the same on every
// machine: nothing but additions and multiplications, none of them contracted.
float expOfNegative(float x);

// What one pass over a row of logits says; memory is kept from row to row.
struct RowScan {
  static constexpr size_t kBlock = 64;

  bool hasNan = false;
  int32_t top = 0, bottom = 0;    // orderOf the largest and the smallest logit
  std::vector<int32_t> blockTops; // the same for every kBlock logits

  void scan(std::span<const float> row);
  // A lower bound, as orderOf, of the k-th largest logit: there are k blocks whose tops reach it.
  int32_t floorOfTop(size_t k);
  // The same of the least logit whose probability is `ratio`, above 0, of the largest.
  int32_t floorOfRatio(double ratio) const { return floorOfRatio(top, ratio); }
  // Where the largest logit is this one, as orderOf.
  static int32_t floorOfRatio(int32_t top, double ratio);

private:
  std::vector<int32_t> sorted_;
};

// Candidates in ascending order of their ids, each with its logit. Steps only take some away or
// change logits, so that no result depends on how a step was computed. Memory is kept from token to
// token.
class Candidates {
public:
  // The tokens of a scanned row whose logit reaches `floor` (as orderOf) and is above -infinity.
  // Where there are logits of +infinity, those tokens alone, all with the logit 0.
  void gather(std::span<const float> row, const RowScan &scan, int32_t floor);
  // These tokens, which ascend; no logit is infinite.
  void take(std::span<const TokenId> tokens, std::span<const float> logits);

  size_t size() const { return count_; }
  std::span<const TokenId> ids() const { return {ids_.data(), count_}; }
  std::span<const float> logits() const { return {logits_.data(), count_}; }

  // The probabilities times a common factor: e^(logit - largest logit). Returns their sum.
  double weigh();
  // Valid from weigh() until logits change. The factor stays while candidates are taken away.
  std::span<const float> weights() const { return {weights_.data(), count_}; }

  // weigh() is to choose a new factor.
  void forgetWeights() { weighed_ = false; }

  // Takes away those that `keep(index)` is false for; it is asked for each in order.
  template <typename Keep> void keepIf(Keep keep) {
    size_t kept = 0;
    for (size_t i = 0; i < count_; ++i)
      kept += moved(i, kept, keep(i));
    count_ = kept;
  }

  // Takes away those whose logit or weight is below `least`.
  void keepLogitsFrom(double least) { keepFrom(logits_, least); }
  void keepWeightsFrom(double least) { keepFrom(weights_, least); }

  // logit <- (logit - largest logit) / temperature, above 0.
  void divide(double temperature);

  // The index of the candidate that a uniform number in [0, 1) falls on, each as wide as its
  // weight; weigh() came last.
  size_t draw(double uniform) const;

private:
  void reserve(size_t count);
  void gatherAll(std::span<const float> row);
  // Of `values`, those of one field, the ones from `least` on.
  void keepFrom(const std::vector<float> &values, double least);
  bool moved(size_t from, size_t to, bool stays) {
    ids_[to] = ids_[from];
    logits_[to] = logits_[from];
    weights_[to] = weights_[from];
    return stays;
  }
  float topLogit() const;

  std::vector<TokenId> ids_;
  std::vector<float> logits_, weights_;
  std::vector<double> blockSums_; // of weights, every RowScan::kBlock
  double sum_ = 0;
  size_t count_ = 0;
  bool weighed_ = false;
};

} // namespace sinter
