// The steps that decide which candidates stay. Each keeps at least one of any. "The first" of
// candidates are those with the largest logits, among equals those with the lowest ids.
#pragma once

#include "llm/sampler/candidates.h"

#include <span>
#include <vector>

namespace sinter {

// Finds the shortest head of an order that is heavy enough, in linear time and without sorting.
// Memory is kept from call to call.
class HeadFinder {
public:
  // The order: descending by key, equal ones by index. To be filled before find().
  std::span<uint32_t> keys(size_t count);

  // The shortest head of at least one item whose weights reach `target`; all of them where rounding
  // leaves it out of reach. Weights are not negative; none given: each is 1.
  void find(std::span<const float> weights, double target);

  // Whether item i is in the head; to be asked once for each in ascending order.
  bool takes(size_t i) {
    // Keys above and below the edge come in no foreseeable order: no branch on them.
    bool taken = keys_[i] > edgeKey_;
    if (keys_[i] == edgeKey_) [[unlikely]]
      taken = ties_ > 0 && ties_-- > 0;
    return taken;
  }

private:
  struct Digit {
    int shift;
    uint32_t mask;
  };
  struct Edge {
    uint32_t digit;
    double before; // the weight of all that comes before
  };
  // The digit within which the weights of the open items reach `target`.
  Edge findEdge(Digit digit, std::span<const float> weights, double target);

  std::vector<uint32_t> keys_;
  std::vector<uint32_t> open_; // items that may be in the head or not
  std::vector<double> sums_;
  uint32_t edgeKey_ = 0; // items with larger keys are in the head,
  size_t ties_ = 0;      // and the first so many of those with this one
};

// The first k.
void keepTopK(Candidates &candidates, size_t k, HeadFinder &finder);

// Locally typical sampling (Meister et al., 2202.00666): in ascending order of the distance between
// a token's surprise -ln p and the entropy, as few as have the probability `mass` together.
void keepTypical(Candidates &candidates, double mass, HeadFinder &finder);

// Nucleus sampling (Holtzman et al., 1904.09751): as few of the first as have the probability
// `mass` together.
void keepTopP(Candidates &candidates, double mass, HeadFinder &finder);

// Min-p (Nguyen et al., 2407.01082): those whose probability is at least `ratio` of the largest.
void keepMinP(Candidates &candidates, double ratio);

// XTC, "exclude top choices": of the candidates whose probability is at least `threshold`, only the
// last one stays, if there are two or more.
void excludeTopChoices(Candidates &candidates, double threshold);

// Mirostat 2.0's cut: those whose surprise is at most `mu` bits; the first where there is none.
void keepUnsurprising(Candidates &candidates, double mu);

} // namespace sinter
