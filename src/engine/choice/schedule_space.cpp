// Block sizes and their estimates; the list of what is worth a trial.
#include "tile/mlir_pch.h"

#include "engine/choice/schedule_space.h"

#include <cmath>

namespace sinter::engine {

// Cores and rows of a step that estimates are made for. One row reads each weight from memory,
// which costs as much as multiplying it by so many rows.
static constexpr double kCores = 4, kRows = 512, kRowsOfOne = 16;
// What expanding a panel of weights or copying rows costs, in rows and columns of products.
static constexpr double kPanelRows = 8, kRowColumns = 2;
// A core's second cache, and what it costs to work beyond it.
static constexpr double kCacheBytes = 1 << 20, kBeyondCache = 1.3;
// What starting a program and a step of its loop costs, in multiply-adds.
static constexpr double kStartCost = 4e4, kStepCost = 4e3;
// Estimates are off by as much.
static constexpr double kWorstEstimate = 1.5;
static constexpr size_t kMostBlocks = 12;

Freedom freedomOf(const TargetProfile &profile) {
  return {.blocks = profile.kind == TargetKind::Cpu};
}

// ---- products ----

namespace {

// What a product's tiles cost, as the estimate sees it: a fair share of all tiles, and at the end
// waiting for a core that has begun a last one.
struct MatmulCost {
  kernels::Gemm rules;

  double operator()(const ScheduleChoice &choice) const {
    kernels::Gemm p = rules;
    ChoiceWriter writer(choice);
    visitFields(p, writer);
    const bool one = rules.blockM == 1;
    const auto n = static_cast<double>(p.n), k = static_cast<double>(p.k),
               step = static_cast<double>(p.blockK), columns = static_cast<double>(p.blockN);
    const double rows = one ? kRowsOfOne : kRows;
    const double m = one ? rows : std::min(rows, static_cast<double>(p.blockM));
    const double programs = std::ceil(n / columns) * std::ceil(rows / m);
    const double sums = m * columns * sizeof(float), operands = m * std::min(step, k);
    const double each = (!one && sums + operands > kCacheBytes ? kBeyondCache : 1) *
                        (1 + (one ? 0 : kPanelRows / m) + kRowColumns / columns);
    const double start = kStartCost + kStepCost * std::ceil(k / step);
    const double all = rows * n * k * each + programs * start;
    const double tile = m * std::min(columns, n) * k * each + start;
    return all / kCores + tile * (1 - 1 / kCores);
  }
};

// Values that are no larger than `most`, `rules` among them.
ScheduleDecision decision(std::string name, std::vector<int64_t> values, int64_t most,
                          int64_t rules) {
  llvm::erase_if(values, [&](int64_t value) { return value > most; });
  if (!llvm::is_contained(values, rules))
    values.push_back(rules);
  llvm::sort(values);
  return {std::move(name), std::move(values)};
}

} // namespace

BlockSpace blockSpace(const kernels::Gemm &rules, const Freedom &freedom) {
  if (!freedom.blocks || rules.n <= 0 || rules.k <= 0)
    return {};
  // Steps hold whole blocks of any format, and all of K where that is one.
  constexpr int64_t kWholeBlocks = 256;
  BlockSpace space;
  if (rules.blockM > 1)
    space.decisions.push_back(
        decision("block_m", {24, 48, 96, 144, 240, 336, 512}, kernels::kMaxBlock, rules.blockM));
  if (freedom.columns) {
    std::vector<int64_t> columns = {32, 64, 128, 256, 512};
    llvm::erase_if(columns, [&](int64_t value) { return value % freedom.columnMultiple != 0; });
    space.decisions.push_back(decision("block_n", columns, rules.n, rules.blockN));
  }
  const auto whole = static_cast<int64_t>(llvm::alignTo(rules.k, kWholeBlocks));
  space.decisions.push_back(decision("block_k", {2 * kWholeBlocks, whole},
                                     std::min(whole, kernels::kMaxBlock), rules.blockK));
  space.cost = MatmulCost{rules};
  return space;
}

// ---- rows ----

// Rows of one program; columns keep their steps, in which norms sum.
static BlockSpace rowSpace(int64_t rows, const Freedom &freedom) {
  if (!freedom.blocks)
    return {};
  BlockSpace space;
  space.decisions.push_back(decision("block_rows", {1, 2, 4, 8, 16}, kernels::kMaxBlock, rows));
  space.cost = [](const ScheduleChoice &) { return 1.0; };
  return space;
}

BlockSpace blockSpace(const kernels::RmsNorm &rules, const Freedom &freedom) {
  return rowSpace(rules.blockRows, freedom);
}
BlockSpace blockSpace(const kernels::QuantizeRows &rules, const Freedom &freedom) {
  return rowSpace(rules.blockRows, freedom);
}

// ---- what to try ----

ScheduleSpace::ScheduleSpace(BlockSpace blocks, ScheduleChoice rules,
                             std::vector<ScheduleDecision> ofTarget)
    : blocks_(std::move(blocks)), rules_(std::move(rules)), ofTarget_(std::move(ofTarget)) {
  addBlocks();
  addOfTarget();
}

static bool hasValue(llvm::ArrayRef<ScheduleDecision> decisions, llvm::StringRef name,
                     int64_t value) {
  return llvm::any_of(decisions, [&](const ScheduleDecision &decision) {
    return decision.name == name && llvm::is_contained(decision.values, value);
  });
}

bool ScheduleSpace::contains(const ScheduleChoice &choice) const {
  return llvm::all_of(choice.values, [&](const auto &decided) {
    return hasValue(blocks_.decisions, decided.first, decided.second) ||
           hasValue(ofTarget_, decided.first, decided.second);
  });
}

// Every combination of block sizes, the rules' own values left out of its text.
static std::vector<ScheduleChoice> combinations(const BlockSpace &space,
                                                const ScheduleChoice &rules) {
  std::vector<ScheduleChoice> all = {{}};
  for (const ScheduleDecision &decision : space.decisions) {
    std::vector<ScheduleChoice> longer;
    for (const ScheduleChoice &choice : all)
      for (int64_t value : decision.values) {
        longer.push_back(choice);
        if (value != rules.values.at(decision.name))
          longer.back().values[decision.name] = value;
      }
    all = std::move(longer);
  }
  llvm::erase_if(all, [](const ScheduleChoice &choice) { return choice.byRules(); });
  return all;
}

void ScheduleSpace::addBlocks() {
  if (blocks_.decisions.empty())
    return;
  std::vector<std::pair<double, ScheduleChoice>> ranked;
  const double worst = kWorstEstimate * blocks_.cost({});
  for (ScheduleChoice &choice : combinations(blocks_, rules_))
    if (double cost = blocks_.cost(choice); cost <= worst)
      ranked.emplace_back(cost, std::move(choice));
  llvm::sort(ranked);
  ranked.resize(std::min(ranked.size(), kMostBlocks));
  for (auto &[cost, choice] : ranked)
    alternatives_.push_back(std::move(choice));
}

void ScheduleSpace::addOfTarget() {
  for (const ScheduleDecision &decision : ofTarget_)
    for (int64_t value : decision.values)
      alternatives_.push_back({{{decision.name, value}}});
}

} // namespace sinter::engine
