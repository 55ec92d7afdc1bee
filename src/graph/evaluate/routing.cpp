// Evaluates choices of experts, rows by expert and grouped matmuls.
#include "tile/mlir_pch.h"

#include "graph/evaluate/call.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

using namespace mlir;

namespace sinter::graph {

// ---- choices ----

// The indices of the `count` elements that come first; of equal ones the lower index.
template <class Real, class Before>
static std::vector<int64_t> firstOf(const std::vector<Real> &values, int64_t count, Before before) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), int64_t(0));
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return before(values[a], values[b]) || (!before(values[b], values[a]) && a < b);
  });
  order.resize(count);
  return order;
}

// Of the `count` largest, NaN as minus infinity.
template <class Real>
static std::vector<int64_t> largestOf(std::vector<Real> values, int64_t count) {
  for (Real &value : values)
    if (std::isnan(value))
      value = -std::numeric_limits<Real>::infinity();
  return firstOf(values, count, std::greater<>());
}

// NaN comes before all numbers.
static bool isLarger(double a, double b) {
  return std::isnan(a) ? !std::isnan(b) : a > b;
}

void evaluateTopK(TopKOp, Call &call) {
  const Tensor &in = call.operand(0);
  Tensor &largest = call.results[0], &indices = call.results[1];
  const int64_t columns = in.shape.back(), count = largest.shape.back();
  for (int64_t row = 0; row < in.count() / columns; ++row) {
    const auto first = in.values.begin() + row * columns;
    const std::vector<int64_t> order =
        firstOf(std::vector<double>(first, first + columns), count, isLarger);
    for (int64_t i = 0; i < count; ++i) {
      largest.values[row * count + i] = first[order[i]];
      indices.values[row * count + i] = static_cast<double>(order[i]);
    }
  }
}

template <class Real> static void softmax(std::vector<Real> &values) {
  Real most = -std::numeric_limits<Real>::infinity(), sum = 0;
  for (Real value : values)
    most = std::isnan(value) || value > most ? value : most;
  for (Real &value : values)
    sum += value = std::exp(value - most);
  for (Real &value : values)
    value /= sum;
}

// Minus infinity for experts outside the groups that count.
template <class Real> static void keepGroups(RouteOp op, std::vector<Real> &ranks) {
  const auto groups = static_cast<int64_t>(op.getGroups());
  const int64_t width = static_cast<int64_t>(ranks.size()) / groups;
  std::vector<Real> sums;
  for (int64_t group = 0; group < groups; ++group) {
    const auto first = ranks.begin() + group * width;
    const std::vector<Real> own(first, first + width);
    Real sum = 0;
    for (int64_t at : largestOf(own, std::min<int64_t>(2, width)))
      sum += own[at];
    sums.push_back(sum);
  }
  const std::vector<int64_t> kept =
      largestOf(std::move(sums), static_cast<int64_t>(op.getUsedGroups()));
  for (int64_t at = 0; at < static_cast<int64_t>(ranks.size()); ++at)
    if (!llvm::is_contained(kept, at / width))
      ranks[at] = -std::numeric_limits<Real>::infinity();
}

template <class Real> static void weigh(RouteOp op, std::vector<Real> &weights) {
  constexpr Real kLeastSum = Real(1) / 16384; // 2^-14
  if (op.getKind() == RouterKind::ChosenSoftmax)
    softmax(weights);
  if (op.getNormalized()) {
    const Real sum = std::accumulate(weights.begin(), weights.end(), Real(0));
    for (Real &weight : weights)
      weight /= sum < kLeastSum ? kLeastSum : sum;
  }
  for (Real &weight : weights)
    weight *= static_cast<Real>(op.getScale().convertToFloat());
}

template <class Real> static void route(RouteOp op, Call &call) {
  const Tensor &logits = call.operand(0);
  Tensor &weights = call.results[0], &experts = call.results[1];
  const int64_t count = logits.shape[1], choices = weights.shape[1];
  for (int64_t row = 0; row < logits.shape[0]; ++row) {
    const auto first = logits.values.begin() + row * count;
    const std::vector<Real> inputs(first, first + count);
    std::vector<Real> scores = inputs;
    if (op.getKind() == RouterKind::Softmax)
      softmax(scores);
    else if (op.getKind() == RouterKind::Sigmoid)
      for (Real &score : scores)
        score = 1 / (1 + std::exp(-score));
    std::vector<Real> ranks = op.getByLogits() ? inputs : scores;
    for (int64_t i = 0; i < count; ++i) {
      if (op.getBias())
        ranks[i] += static_cast<Real>(call.operand(1).values[i]);
      if (std::isnan(ranks[i]))
        ranks[i] = -std::numeric_limits<Real>::infinity();
    }
    if (op.getGroups() > 1)
      keepGroups(op, ranks);
    std::vector<int64_t> chosen = largestOf(std::move(ranks), choices);
    for (int64_t &at : chosen)
      at /= static_cast<int64_t>(op.getSharing());
    std::vector<Real> own;
    for (int64_t at : chosen)
      own.push_back(scores[at]);
    weigh(op, own);
    std::copy(own.begin(), own.end(), weights.values.begin() + row * choices);
    std::copy(chosen.begin(), chosen.end(), experts.values.begin() + row * choices);
  }
}

void evaluateRoute(RouteOp op, Call &call) {
  call.precision == Precision::F32 ? route<float>(op, call) : route<double>(op, call);
}

// ---- rows by expert ----

void evaluateGroupRows(GroupRowsOp, Call &call) {
  const std::vector<double> &experts = call.operand(0).values;
  Tensor &places = call.results[0], &groups = call.results[1];
  std::fill(places.values.begin(), places.values.end(), -1);
  int64_t next = 0, group = 0;
  for (int64_t expert = 0; expert < groups.shape[0]; ++expert) {
    const int64_t first = next;
    for (size_t at = 0; at < experts.size(); ++at)
      if (experts[at] == static_cast<double>(expert))
        places.values[at] = static_cast<double>(next++);
    if (next == first)
      continue;
    for (int64_t number : {expert, first, next - first})
      groups.values[group++] = static_cast<double>(number);
  }
}

// The row of a tensor that a place names; none outside.
static std::optional<int64_t> rowAt(const Tensor &tensor, double place) {
  if (place >= 0 && place < static_cast<double>(tensor.shape[0]))
    return static_cast<int64_t>(place);
  return std::nullopt;
}

void evaluateSpreadRows(SpreadRowsOp, Call &call) {
  const Tensor &rows = call.operand(0), &places = call.operand(1);
  Tensor &out = call.result();
  const int64_t choices = places.shape[1], columns = rows.shape[1];
  for (int64_t at = 0; at < places.count(); ++at)
    if (std::optional<int64_t> to = rowAt(out, places.values[at]))
      std::copy_n(rows.values.begin() + at / choices * columns, columns,
                  out.values.begin() + *to * columns);
}

template <class Real> static Real product(const double *a, const double *b, int64_t depth) {
  Real sum = 0;
  for (int64_t k = 0; k < depth; ++k)
    sum += static_cast<Real>(a[k]) * static_cast<Real>(b[k]);
  return sum;
}

// Of one row, by its expert's matrices.
template <class Real>
static void multiplyRow(GroupedDotOp op, Call &call, int64_t row, int64_t expert) {
  const Tensor &a = call.operand(0), &b = call.operand(1);
  const int64_t columns = b.shape[1], depth = b.shape[2], experts = op.getExperts();
  double *out = call.result().values.data() + row * call.result().shape[1];
  for (int64_t part = 0; part < op.getParts(); ++part)
    for (int64_t column = 0; column < columns; ++column) {
      const int64_t at = (part * experts + expert) * columns + column;
      Real sum = product<Real>(a.values.data() + row * depth, b.values.data() + at * depth, depth);
      *out++ = op.getBias() ? sum + static_cast<Real>(call.operand(3).values[at]) : sum;
    }
}

void evaluateGroupedDot(GroupedDotOp op, Call &call) {
  const Tensor &a = call.operand(0), &groups = call.operand(2);
  for (int64_t group = 0; group < groups.shape[0]; ++group) {
    const double *numbers = groups.values.data() + 3 * group;
    if (numbers[0] < 0 || numbers[0] >= static_cast<double>(op.getExperts()))
      continue;
    for (double row = numbers[1]; row < numbers[1] + numbers[2]; ++row)
      if (std::optional<int64_t> at = rowAt(a, row))
        call.precision == Precision::F32
            ? multiplyRow<float>(op, call, *at, static_cast<int64_t>(numbers[0]))
            : multiplyRow<double>(op, call, *at, static_cast<int64_t>(numbers[0]));
  }
}

template <class Real> static void combine(Call &call) {
  const Tensor &rows = call.operand(0), &places = call.operand(1), &weights = call.operand(2);
  const int64_t choices = places.shape[1], columns = rows.shape[1];
  for (int64_t token = 0; token < places.shape[0]; ++token)
    for (int64_t column = 0; column < columns; ++column) {
      Real sum = 0;
      for (int64_t at = token * choices; at < (token + 1) * choices; ++at)
        if (std::optional<int64_t> row = rowAt(rows, places.values[at]))
          sum += static_cast<Real>(rows.values[*row * columns + column]) *
                 static_cast<Real>(weights.values[at]);
      call.result().values[token * columns + column] = sum;
    }
}

void evaluateCombineRows(CombineRowsOp, Call &call) {
  call.precision == Precision::F32 ? combine<float>(call) : combine<double>(call);
}

} // namespace sinter::graph
