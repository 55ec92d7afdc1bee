// Steps that begin before the tokens of the step before are chosen.
#include "llm/plan_runner.h"

#include "base/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sinter {
namespace {

using contract::GuessColumn;

void writeRule(const GuessRule &rule, size_t topCount, std::span<float> columns) {
  const auto at = [&](GuessColumn column) -> float & {
    return columns[static_cast<size_t>(column)];
  };
  at(GuessColumn::TopK) = static_cast<float>(std::min<size_t>(rule.topK, topCount));
  at(GuessColumn::TopP) = rule.topP < 1 ? rule.topP : 2;
  // Some devices have no infinities.
  at(GuessColumn::LeastDistance) =
      rule.minP > 0 ? std::log(rule.minP) : std::numeric_limits<float>::lowest();
  at(GuessColumn::XtcThreshold) = rule.xtcThreshold;
  at(GuessColumn::Temperature) = rule.temperature;
  at(GuessColumn::Uniform) = rule.uniform;
}

template <class T> std::span<const T> takeFirst(std::span<const uint8_t> &bytes, size_t count) {
  const std::span<const T> values(reinterpret_cast<const T *>(bytes.data()), count);
  bytes = bytes.subspan(count * sizeof(T));
  return values;
}

} // namespace

// `written` is what the input holds.
template <class T>
Result<void> PlanRunner::writeIfChanged(const contract::TensorRow &input, std::span<const T> values,
                                        std::vector<T> &written) {
  if (std::ranges::equal(values, written))
    return {};
  written.clear(); // should the write fail
  SINTER_TRY(executor_->setBuffer(
      input.name, {reinterpret_cast<const uint8_t *>(values.data()), values.size_bytes()}));
  written.assign(values.begin(), values.end());
  return {};
}

Result<void> PlanRunner::writeOrders(const Batch &batch, const StepOrders &orders) {
  SINTER_CHECK(orders.sources.size() == batch.tokens.size());
  SINTER_TRY(writeIfChanged(contract::kTokenSources, orders.sources, sources_));
  // The device writes the tokens that it takes from guesses.
  if (std::ranges::any_of(orders.sources, [](int32_t source) { return source >= 0; }))
    written_[static_cast<size_t>(contract::Input::TokenIds)].clear();
  std::vector<float> rules(static_cast<size_t>(logitRows_.count() * contract::kGuessColumns));
  for (size_t row = 0; row < orders.rows.size(); ++row)
    writeRule(orders.rows[row].guess, topCount_,
              std::span(rules).subspan(row * contract::kGuessColumns, contract::kGuessColumns));
  return writeIfChanged<float>(contract::kGuessRules, rules, guessRules_);
}

// A readback that is too small is given up: whoever it was for is done with it.
Result<void> PlanRunner::beginReads(const StepOrders &orders, BegunStep &step) {
  step.rows = orders.rows.size();
  step.kept.clear();
  for (const RowOrder &order : orders.rows)
    step.kept.push_back(order.isKept);
  const uint64_t rowBytes = limits_.rowLength() * sizeof(float);
  const uint64_t topBytes = step.rows * topCount_ * sizeof(float);
  const uint64_t guessBytes = step.rows * sizeof(TokenId);
  const auto keptRows = static_cast<uint64_t>(std::ranges::count(step.kept, 1));
  const uint64_t bytes = 2 * topBytes + guessBytes + keptRows * rowBytes;
  if (step.bytes < bytes || !step.readback) {
    const uint64_t room = bytes + bytes / 4; // rows come and go
    SINTER_ASSIGN(step.readback, executor_->createReadback(room));
    step.bytes = room;
  }
  uint64_t at = 0;
  const auto read = [&](plan::BufferId id, uint64_t offset, uint64_t count) -> Result<void> {
    SINTER_TRY(executor_->beginRead(id, offset, count, *step.readback, at));
    at += count;
    return {};
  };
  SINTER_TRY(read(names_.topLogits, 0, topBytes));
  SINTER_TRY(read(names_.topTokens, 0, topBytes));
  SINTER_TRY(read(names_.guesses, 0, guessBytes));
  for (size_t row = 0; row < step.rows; ++row)
    if (step.kept[row])
      SINTER_TRY(read(names_.rows, row * rowBytes, rowBytes));
  return {};
}

Result<void> PlanRunner::begin(const Batch &batch, const StepOrders &orders) {
  SINTER_CHECK(runsAhead() && underWay_ < begun_.size());
  SINTER_TRY(prepare(batch));
  SINTER_TRY(writeOrders(batch, orders));
  SINTER_TRY(executor_->begin(*names_.aheadStep));
  BegunStep &step = begun_[(firstBegun_ + underWay_) % begun_.size()];
  if (auto reads = beginReads(orders, step); !reads) {
    (void)executor_->wait().has_value(); // the step is over, whatever came of it
    return reads;
  }
  ++underWay_;
  return {};
}

Result<std::span<const float>> PlanRunner::rowOf(const BegunStep &step, size_t row) {
  if (step.kept[row]) {
    const auto before = std::ranges::count(std::span(step.kept).first(row), 1);
    return step.keptRows.subspan(static_cast<size_t>(before) * limits_.rowLength(),
                                 limits_.rowLength());
  }
  SINTER_CHECK(underWay_ == 0); // StepRows::hasRow()
  SINTER_TRY(executor_->wait());
  return readRows(row, 1);
}

Result<StepRows> PlanRunner::finish() {
  SINTER_CHECK(underWay_ > 0);
  BegunStep &step = begun_[firstBegun_];
  firstBegun_ = (firstBegun_ + 1) % begun_.size();
  --underWay_;
  SINTER_ASSIGN(std::span<const uint8_t> bytes, step.readback->wait());
  step.topLogits = takeFirst<float>(bytes, step.rows * topCount_);
  step.topTokens = takeFirst<TokenId>(bytes, step.rows * topCount_);
  step.guesses = takeFirst<TokenId>(bytes, step.rows);
  step.keptRows = {reinterpret_cast<const float *>(bytes.data()), bytes.size() / sizeof(float)};
  StepRows rows([this, &step](size_t row) { return rowOf(step, row); }, limits_.rowLength(),
                step.topLogits, step.topTokens, topCount_);
  rows.setGuesses(step.guesses, step.kept, underWay_ > 0);
  return rows;
}

} // namespace sinter
