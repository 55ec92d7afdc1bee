// Rounds the activations of matmuls with block formats, so that both operands are blocks, or
// to what products take.
#include "tile/mlir_pch.h"

#include "graph/rewrite/passes.h"

#include <numeric>

using namespace mlir;

namespace sinter::graph {

// Elements of a value that one kernel makes together: of joined heads those of one, or of the heads
// that attend to the same keys.
static uint64_t lengthTogether(Value value) {
  if (auto joined = value.getDefiningOp<ReshapeOp>())
    value = joined.getOperand();
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  if (auto attend = value.getDefiningOp<PagedAttentionOp>())
    return shape.back() * (shape[1] / poolShapeOf(attend.getValues().getType()).heads);
  return shape.back();
}

namespace {
// An operation that multiplies rows by weights: which value is rounded for it, and by what.
struct Product {
  Value rows, weights;

  explicit operator bool() const { return rows != nullptr; }
  Type weightElement() const { return getElementTypeOrSelf(weights.getType()); }
};
} // namespace

// Rows that are spread over choices of experts are rounded before.
static Product productOf(Operation *op) {
  if (auto matmul = dyn_cast<DotGeneralOp>(op); matmul && matmul.isLinear())
    return {matmul.getA(), matmul.getB()};
  if (auto grouped = dyn_cast<GroupedDotOp>(op)) {
    auto spread = grouped.getA().getDefiningOp<SpreadRowsOp>();
    return {spread ? Value(spread.getRows()) : Value(grouped.getA()), grouped.getB()};
  }
  return {};
}

// Makes the product read these rows instead.
static void setRows(Operation *op, Value rows) {
  if (auto matmul = dyn_cast<DotGeneralOp>(op))
    return matmul.getAMutable().assign(rows);
  auto grouped = cast<GroupedDotOp>(op);
  if (auto spread = grouped.getA().getDefiningOp<SpreadRowsOp>()) {
    OpBuilder b(op);
    b.setInsertionPointAfter(spread); // which reads what the rows were rounded from
    auto type = RankedTensorType::get(spread.getResult().getType().getShape(),
                                      getElementTypeOrSelf(rows.getType()),
                                      spread.getResult().getType().getEncoding());
    rows = SpreadRowsOp::create(b, spread.getLoc(), type, rows, spread.getPlaces());
  }
  grouped.getAMutable().assign(rows);
}

// The rounded format of each f32 value that is multiplied with blocks: with all sums that any of
// them asks for, and scales that suit all of them and what makes the value.
static llvm::DenseMap<Value, const ActivationFormat *> formatsOf(ModuleOp module,
                                                                 ActivationFor activationFor) {
  llvm::DenseMap<Value, const ActivationFormat *> formats;
  module.walk([&](Operation *op) {
    const Product product = productOf(op);
    const ActivationFormat *asked = product && isa<tile::BlockType>(product.weightElement())
                                        ? activationFor(product.weightElement())
                                        : nullptr;
    if (!asked)
      return;
    const ActivationFormat *&format = formats[product.rows];
    uint32_t part = asked->partLength;
    uint64_t length = std::gcd<uint64_t>(asked->scaleLength, lengthTogether(product.rows));
    if (format) {
      part = std::min(part, format->partLength);
      length = std::gcd<uint64_t>(length, format->scaleLength);
    }
    format = &activationFormatFor(part, std::max<uint64_t>(length, kActivationLength));
  });
  return formats;
}

void quantizeActivations(ModuleOp module, ActivationFor activationFor, bool roundScalars,
                         Type besideBlocks) {
  auto formats = formatsOf(module, activationFor);
  auto formatOf = [&](Type weights) {
    return isa<tile::BlockType>(weights) ? activationFor(weights) : nullptr;
  };
  llvm::DenseMap<std::pair<Value, Type>, Value> rounded;
  SmallVector<SpreadRowsOp> spreads;
  module.walk([&](SpreadRowsOp op) { spreads.push_back(op); });
  module.walk([&](Operation *op) {
    const Product product = productOf(op);
    if (!product)
      return;
    Value a = product.rows;
    auto type = cast<RankedTensorType>(a.getType());
    Type weights = product.weightElement();
    Type to;
    if (const ActivationFormat *format = formatOf(weights) ? formats.lookup(a) : nullptr)
      to = tile::BlockType::get(module.getContext(), StringRef(format->name).lower());
    else if (isa<tile::BlockType>(weights))
      to = besideBlocks;
    else if (roundScalars && (weights.isF16() || weights.isBF16()))
      to = weights;
    if (!to || !type.getElementType().isF32())
      return;
    Value &value = rounded[{a, to}];
    if (!value) {
      OpBuilder b(module.getContext());
      b.setInsertionPointAfterValue(a);
      auto rows = RankedTensorType::get(type.getShape(), to, type.getEncoding());
      value = QuantizeOp::create(b, op->getLoc(), rows, a);
    }
    setRows(op, value);
  });
  for (SpreadRowsOp spread : spreads)
    if (spread->use_empty())
      spread.erase();
}

} // namespace sinter::graph
