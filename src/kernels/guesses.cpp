// A sampler's draw by sums alone: a candidate's place is the weight of all that come before it. The
// steps before the draw keep candidates whose ranks follow one another, so two ranks say which.
#include "kernels/guesses.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace sinter::kernels {

using namespace kernel;

// Columns of a rule.
static constexpr int64_t kTopK = 0, kTopP = 1, kLeastDistance = 2, kXtcThreshold = 3,
                         kTemperature = 4, kUniform = 5;
static_assert(kUniform + 1 == kGuessColumns);

static constexpr int64_t kSummedTogether = 32;
static constexpr int64_t kMostChoices = 1024;
static constexpr int32_t kNoToken = std::numeric_limits<int32_t>::max();

namespace {

// The candidates of one row, by rank. Columns of tiles are [width, 1] and hold all of them, rows of
// tiles are [1, kSummedTogether].
class GuessedRow {
public:
  GuessedRow(KernelBuilder &k, const GuessTokens &p)
      : k_(k), choices_(p.choices),
        width_(std::max<int64_t>(kSummedTogether, std::bit_ceil(uint64_t(p.choices)))) {
    logits_ = k.in("logits", F32, {dyn, choices_});
    tokens_ = k.in("tokens", I32, {dyn, choices_});
    rules_ = k.in("rules", F32, {dyn, kGuessColumns});
    guesses_ = k.out("guesses", I32, {dyn, 1});
    k.grid(logits_.dim(0));
    row_ = k.programId(0);
    topK_ = min(convert(rule(kTopK), I32), choices_);
    largest_ = loadScalar(logits_, {row_, 0});
  }

  void guess() {
    const Tile rank = k_.iota({width_, 1}, 0), distance = column(distances(0, width_));
    const Tile weight = select(rank < topK_, exp(distance), 0.0);
    const auto [first, end] = keep(rank, distance, weight);
    store(guesses_, {row_, 0}, draw(rank, distance, first, end));
  }

private:
  Scalar rule(int64_t column) const { return loadScalar(rules_, {row_, column}); }
  Tile column(const Tile &row) const { return reshape(row, {width_, 1}); }
  // Ranks from `at` on, and how far their logits lie below the largest.
  Tile ranks(const Scalar &at) const { return k_.iota({1, kSummedTogether}, 1) + convert(at, I32); }
  Tile distances(const Operand &at, int64_t count) const {
    return load(logits_, {row_, at}, {1, count}, -std::numeric_limits<double>::infinity()) -
           largest_;
  }
  static Tile count(const Tile &holds) { return reduceSum(convert(holds, I32, Sign::Unsigned), 0); }
  // For each candidate the sum of what `part` gives for it of ranks from `at` on: [width,
  // kSummedTogether].
  template <class Part> Tile sums(Part part) {
    const Tile zero = k_.zeros(F32, {width_, kSummedTogether});
    return reduceSum(k_.forLoop(0, choices_, kSummedTogether, zero,
                                [&](Scalar at, Tile sum) { return sum + part(at); }),
                     1);
  }

  // Top-k, top-p, min-p, XTC: candidates from the first rank to before the second stay, [1, 1].
  std::pair<Tile, Tile> keep(const Tile &rank, const Tile &distance, const Tile &weight) {
    const Tile before = sums([&](const Scalar &at) {
      const Tile other = ranks(at);
      const Tile otherWeight = select(other < topK_, exp(distances(at, kSummedTogether)), 0.0);
      return select(other < rank, otherWeight, 0.0);
    });
    const Tile inHead = before < reduceSum(weight, 0) * rule(kTopP);
    const Tile stays = logicalAnd(inHead, distance >= rule(kLeastDistance));
    const Tile end = count(logicalAnd(rank < topK_, logicalOr(rank == 0, stays)));
    const Tile left = select(rank < end, weight, 0.0);
    const Tile isLikely = left >= reduceSum(left, 0) * rule(kXtcThreshold);
    return {max(count(logicalAnd(rank < end, isLikely)) - 1, 0), end};
  }

  // In the order of the tokens each candidate is as wide as its weight at the temperature.
  Tile draw(const Tile &rank, const Tile &distance, const Tile &first, const Tile &end) {
    const auto isKept = [&](const Tile &r) { return logicalAnd(r >= first, r < end); };
    constexpr double kLowest = std::numeric_limits<float>::lowest();
    const Tile most = reduceMax(select(isKept(rank), distance, kLowest), 0);
    const Scalar temperature = rule(kTemperature);
    const auto widthOf = [&](const Tile &r, const Tile &d) {
      return select(isKept(r), exp((d - most) / temperature), 0.0);
    };
    const Tile token = column(load(tokens_, {row_, 0}, {1, width_}, kNoToken));
    const Tile width = widthOf(rank, distance);
    const Tile before = sums([&](const Scalar &at) {
      const Tile other = load(tokens_, {row_, at}, {1, kSummedTogether}, kNoToken);
      return select(other < token, widthOf(ranks(at), distances(at, kSummedTogether)), 0.0);
    });
    const Tile isWide = width > 0.0;
    const Tile isBehind = before + width > reduceSum(width, 0) * rule(kUniform);
    const Tile found = reduceMin(select(logicalAnd(isWide, isBehind), token, kNoToken), 0);
    const Tile last = reduceMax(select(isWide, token, -1), 0);
    return select(found < kNoToken, found, last);
  }

  KernelBuilder &k_;
  int64_t choices_, width_;
  View logits_, tokens_, rules_, guesses_;
  Scalar row_, topK_, largest_;
};

} // namespace

void guessTokens(KernelBuilder &k, const GuessTokens &p) {
  GuessedRow(k, p).guess();
}

void takeGuesses(KernelBuilder &k, const TakeGuesses &) {
  View sources = k.in("sources", I32, {dyn, 1}), guesses = k.in("guesses", I32, {dyn, 1});
  View tokens = k.inout("tokens", I32, {dyn, 1});
  k.grid(tokens.dim(0));
  Scalar at = k.programId(0), source = loadScalar(sources, {at, 0});
  Scalar guess = max(loadScalar(guesses, {convert(source, Index), 0}), 0);
  // Beyond the tokens nothing is stored.
  store(tokens, {select(source >= 0, at, tokens.dim(0)), 0}, splat(guess, {1, 1}));
}

// ---- fields ----

void visitFields(GuessTokens &p, FieldVisitor &visitor) {
  visitor.integer("choices", p.choices, 1, kMostChoices, "candidates of a row");
}

void visitFields(TakeGuesses &, FieldVisitor &) {}

} // namespace sinter::kernels
