// Evaluates dot products, reductions and norms, in ascending order of each axis.
#include "tile/mlir_pch.h"

#include "graph/evaluate/call.h"

using namespace mlir;

namespace sinter::graph {

// Extents and strides of some axes of a tensor.
static std::vector<int64_t> offsetsAlong(const Tensor &tensor, ArrayRef<int64_t> axes) {
  const Shape all = stridesOf(tensor.shape);
  Shape shape, strides;
  for (int64_t axis : axes) {
    shape.push_back(tensor.shape[axis]);
    strides.push_back(all[axis]);
  }
  return offsetsOf(shape, strides);
}

// The axes that none of the lists names, in ascending order.
static Shape axesBeside(size_t rank, ArrayRef<int64_t> a, ArrayRef<int64_t> b = {}) {
  Shape axes;
  for (int64_t axis = 0; axis < static_cast<int64_t>(rank); ++axis)
    if (!llvm::is_contained(a, axis) && !llvm::is_contained(b, axis))
      axes.push_back(axis);
  return axes;
}

template <class Real> static std::vector<Real> as(const Tensor &tensor) {
  return {tensor.values.begin(), tensor.values.end()};
}

// ---- dot_general ----

namespace {
// Offsets of one operand's elements by its batch, other and contracting axes.
struct DotOperand {
  std::vector<int64_t> batch, others, contracting;

  DotOperand(const Tensor &tensor, ArrayRef<int64_t> batchAxes, ArrayRef<int64_t> contractingAxes)
      : batch(offsetsAlong(tensor, batchAxes)),
        others(offsetsAlong(tensor, axesBeside(tensor.shape.size(), batchAxes, contractingAxes))),
        contracting(offsetsAlong(tensor, contractingAxes)) {}

  bool isContiguous() const {
    for (size_t i = 0; i < contracting.size(); ++i)
      if (contracting[i] != static_cast<int64_t>(i))
        return false;
    return true;
  }
};
} // namespace

template <class Real> static void dot(const DotOperand &a, const DotOperand &b, Call &call) {
  const std::vector<Real> left = as<Real>(call.operand(0)), right = as<Real>(call.operand(1));
  const size_t depth = a.contracting.size();
  const bool contiguous = a.isContiguous() && b.isContiguous();
  double *out = call.result().values.data();
  for (size_t batch = 0; batch < a.batch.size(); ++batch)
    for (int64_t row : a.others)
      for (int64_t column : b.others) {
        const Real *x = left.data() + a.batch[batch] + row,
                   *y = right.data() + b.batch[batch] + column;
        Real sum = 0;
        if (contiguous)
          for (size_t k = 0; k < depth; ++k)
            sum += x[k] * y[k];
        else
          for (size_t k = 0; k < depth; ++k)
            sum += x[a.contracting[k]] * y[b.contracting[k]];
        *out++ = sum;
      }
}

void evaluateDot(DotGeneralOp op, Call &call) {
  const DotOperand a(call.operand(0), op.getABatch(), op.getAContracting());
  const DotOperand b(call.operand(1), op.getBBatch(), op.getBContracting());
  call.precision == Precision::F32 ? dot<float>(a, b, call) : dot<double>(a, b, call);
}

// ---- reduce ----

// The neutral element of each kind.
static double neutral(ReduceKind kind, Type element) {
  const bool isFloat = isa<FloatType>(element);
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Any:
    return 0;
  case ReduceKind::Product:
  case ReduceKind::All:
    return 1;
  case ReduceKind::Max:
    return isFloat ? -INFINITY : double(INT32_MIN);
  case ReduceKind::Min:
    return isFloat ? INFINITY : double(INT32_MAX);
  }
}

// Integers wrap, so that sums and products stay exact.
static double combineWhole(ReduceKind kind, double a, double b) {
  const auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
  const auto ux = static_cast<uint32_t>(x), uy = static_cast<uint32_t>(y);
  switch (kind) {
  case ReduceKind::Sum:
    return static_cast<int32_t>(ux + uy);
  case ReduceKind::Product:
    return static_cast<int32_t>(ux * uy);
  case ReduceKind::Max:
    return std::max(x, y);
  case ReduceKind::Min:
    return std::min(x, y);
  case ReduceKind::All:
    return x & y;
  case ReduceKind::Any:
    return x | y;
  }
}

template <class Real> static Real combine(ReduceKind kind, Real a, Real b) {
  switch (kind) {
  case ReduceKind::Sum:
    return a + b;
  case ReduceKind::Product:
    return a * b;
  case ReduceKind::Max:
    return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
  case ReduceKind::Min:
    return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
  default:
    return a; // of i1 alone
  }
}

void evaluateReduce(ReduceOp op, Call &call) {
  const Tensor &in = call.operand(0);
  const ReduceKind kind = op.getKind();
  const bool isFloat = isa<FloatType>(in.element), narrow = call.precision == Precision::F32;
  const std::vector<int64_t> along = offsetsAlong(in, op.getAxes());
  double *out = call.result().values.data();
  for (int64_t first : offsetsAlong(in, axesBeside(in.shape.size(), op.getAxes()))) {
    double sum = neutral(kind, in.element);
    for (int64_t offset : along) {
      const double value = in.values[first + offset];
      sum = !isFloat ? combineWhole(kind, sum, value)
            : narrow ? combine(kind, static_cast<float>(sum), static_cast<float>(value))
                     : combine(kind, sum, value);
    }
    *out++ = sum;
  }
}

// ---- norm ----

namespace {
// What a norm is made of besides its value.
template <class Real> struct NormParts {
  bool centred;
  Real eps;
  const Tensor *weight, *bias, *squares;
};
} // namespace

template <class Real>
static void normalize(const NormParts<Real> &parts, const Tensor &in, int64_t first,
                      const std::vector<int64_t> &along, Tensor &out) {
  const Real count = static_cast<Real>(along.size());
  Real mean = 0, squares = 0;
  if (parts.centred) {
    for (int64_t offset : along)
      mean += static_cast<Real>(in.values[first + offset]);
    mean /= count;
  }
  if (parts.squares) { // of rows that follow one another
    const auto groups = parts.squares->shape.back(),
               row = first / static_cast<int64_t>(along.size());
    for (int64_t group = 0; group < groups; ++group)
      squares += static_cast<Real>(parts.squares->values[row * groups + group]);
  } else {
    for (int64_t offset : along) {
      const Real value = static_cast<Real>(in.values[first + offset]) - mean;
      squares += value * value;
    }
  }
  const Real scale = 1 / std::sqrt(squares / count + parts.eps);
  for (size_t i = 0; i < along.size(); ++i) {
    Real value = (static_cast<Real>(in.values[first + along[i]]) - mean) * scale;
    if (parts.weight)
      value *= static_cast<Real>(parts.weight->values[i]);
    if (parts.bias)
      value += static_cast<Real>(parts.bias->values[i]);
    out.values[first + along[i]] = value;
  }
}

template <class Real> static void normalizeAll(NormOp op, Call &call) {
  const Tensor &in = call.operand(0);
  const SmallVector<int64_t> axes = op.getNormAxes();
  const std::vector<int64_t> along = offsetsAlong(in, axes);
  const NormParts<Real> parts{op.getKind() == NormKind::Layer,
                              static_cast<Real>(op.getEps().convertToFloat()),
                              op.getWeight() ? &call.operand(1) : nullptr,
                              op.getBias() ? &call.operand(op.getWeight() ? 2 : 1) : nullptr,
                              op.getSquares() ? &call.operand(2) : nullptr};
  for (int64_t first : offsetsAlong(in, axesBeside(in.shape.size(), axes)))
    normalize(parts, in, first, along, call.result());
}

template <class Real> static void sumSquares(Call &call) {
  const Tensor &in = call.operand(0);
  std::vector<double> &sums = call.result().values;
  const size_t group = sums.empty() ? 0 : in.values.size() / sums.size();
  for (size_t i = 0; i < sums.size(); ++i) {
    Real sum = 0;
    for (size_t at = i * group; at < (i + 1) * group; ++at)
      sum += static_cast<Real>(in.values[at]) * static_cast<Real>(in.values[at]);
    sums[i] = sum;
  }
}

void evaluateSquareSums(Call &call) {
  call.precision == Precision::F32 ? sumSquares<float>(call) : sumSquares<double>(call);
}

void evaluateNorm(NormOp op, Call &call) {
  call.precision == Precision::F32 ? normalizeAll<float>(op, call) : normalizeAll<double>(op, call);
}

} // namespace sinter::graph
