// Evaluates operations with states of sequences.
#include "tile/mlir_pch.h"

#include "graph/evaluate/call.h"

#include <cmath>

using namespace mlir;

namespace sinter::graph {
namespace {

// The rows of one sequence and where its state is.
struct Span {
  int64_t from, to, first, end; // from: negative without a state
};

} // namespace

static Result<Span> spanOf(const Tensor &spans, int64_t sequence, int64_t rows, int64_t slots) {
  const auto number = [&](int64_t column) {
    return static_cast<int64_t>(spans.values[sequence * 4 + column]);
  };
  const Span span{number(0), number(1), number(2), number(2) + number(3)};
  if (span.from < slots && span.to >= 0 && span.to < slots && span.first >= 0 &&
      span.end >= span.first && span.end <= rows)
    return span;
  return fail(Code::InvalidArgument,
              "span " + std::to_string(sequence) + " has rows " + std::to_string(span.first) +
                  " to " + std::to_string(span.end) + " and slots " + std::to_string(span.from) +
                  " and " + std::to_string(span.to) + ", expected rows up to " +
                  std::to_string(rows) + " and slots below " + std::to_string(slots));
}

// Calls `run` with each sequence's span, and its state: a copy, which becomes the next one.
template <class Run>
static Result<void> forEachSpan(Call &call, const Tensor &spans, const Tensor &state, Run run) {
  Tensor &next = call.results[1];
  next.values = state.values;
  const int64_t slots = state.shape[0], size = slots ? state.count() / slots : 0;
  for (int64_t sequence = 0; sequence < spans.shape[0]; ++sequence) {
    SINTER_ASSIGN(const Span span, spanOf(spans, sequence, call.operand(0).shape[0], slots));
    std::vector<double> held(size, 0.0);
    if (span.from >= 0)
      std::copy_n(state.values.begin() + span.from * size, size, held.begin());
    run(span, held);
    std::copy_n(held.begin(), size, next.values.begin() + span.to * size);
  }
  return {};
}

template <class Real> static Result<void> convolve(Call &call) {
  const Tensor &rows = call.operand(0), &weight = call.operand(1);
  const int64_t columns = rows.shape[1], width = weight.shape[1];
  return forEachSpan(call, call.operand(2), call.operand(3),
                     [&](const Span &span, std::vector<double> &held) {
                       for (int64_t row = span.first; row < span.end; ++row) {
                         const double *in = rows.values.data() + row * columns;
                         held.insert(held.end(), in, in + columns);
                         for (int64_t c = 0; c < columns; ++c) {
                           Real sum = 0;
                           for (int64_t j = 0; j < width; ++j)
                             sum += static_cast<Real>(weight.values[c * width + j]) *
                                    static_cast<Real>(held[j * columns + c]);
                           call.results[0].values[row * columns + c] = sum;
                         }
                         held.erase(held.begin(), held.begin() + columns);
                       }
                     });
}

Result<void> evaluateCausalConv(CausalConvOp, Call &call) {
  return call.precision == Precision::F32 ? convolve<float>(call) : convolve<double>(call);
}

namespace {

template <class Real> class DeltaRule {
public:
  DeltaRule(DeltaRuleOp op, Call &call)
      : op_(op), call_(call), heads_(call.operand(2).shape[1]), keyDim_(call.operand(1).shape[2]),
        valueDim_(call.operand(2).shape[2]), keyHeads_(call.operand(1).shape[1]) {}

  // A row of one head, whose matrix `state` [D, E] is.
  void step(int64_t row, int64_t head, double *state) {
    const int64_t keyRow = (row * keyHeads_ + op_.keyHeadOf(head)) * keyDim_,
                  valueRow = (row * heads_ + head) * valueDim_;
    const auto number = [&](size_t operand, int64_t at) {
      return static_cast<Real>(call_.operand(operand).values[at]);
    };
    const Real decay = std::exp(number(3, row * heads_ + head)),
               beta = number(4, row * heads_ + head);
    for (int64_t e = 0; e < valueDim_; ++e) {
      Real seen = 0, result = 0;
      for (int64_t d = 0; d < keyDim_; ++d) {
        double &element = state[d * valueDim_ + e];
        element = static_cast<Real>(element) * decay;
        seen += static_cast<Real>(element) * number(1, keyRow + d);
      }
      const Real change = (number(2, valueRow + e) - seen) * beta;
      for (int64_t d = 0; d < keyDim_; ++d) {
        double &element = state[d * valueDim_ + e];
        element = static_cast<Real>(element) + number(1, keyRow + d) * change;
        result += static_cast<Real>(element) * number(0, keyRow + d);
      }
      call_.results[0].values[valueRow + e] =
          result * static_cast<Real>(op_.getScale().convertToFloat());
    }
  }

  Result<void> run() {
    return forEachSpan(call_, call_.operand(5), call_.operand(6),
                       [&](const Span &span, std::vector<double> &held) {
                         for (int64_t row = span.first; row < span.end; ++row)
                           for (int64_t head = 0; head < heads_; ++head)
                             step(row, head, held.data() + head * keyDim_ * valueDim_);
                       });
  }

private:
  DeltaRuleOp op_;
  Call &call_;
  int64_t heads_, keyDim_, valueDim_, keyHeads_;
};

} // namespace

Result<void> evaluateDeltaRule(DeltaRuleOp op, Call &call) {
  return call.precision == Precision::F32 ? DeltaRule<float>(op, call).run()
                                          : DeltaRule<double>(op, call).run();
}

} // namespace sinter::graph
