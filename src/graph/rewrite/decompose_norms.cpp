// Norms as reductions and maps, where no kernel makes them whole.
#include "tile/mlir_pch.h"

#include "graph/rewrite/passes.h"

using namespace mlir;

namespace sinter::graph {

namespace {

/// Builds the operations that one norm becomes.
class NormBuilder {
public:
  explicit NormBuilder(NormOp norm)
      : b_(norm), loc_(norm.getLoc()), norm_(norm), axes_(norm.getNormAxes()),
        type_(norm.getValue().getType()) {}

  Value build() {
    Value value = norm_.getValue();
    if (norm_.getKind() == NormKind::Layer)
      value = map({value, mean(value)}, [&](ValueRange x) { return sub(x[0], x[1]); });
    Value squares = map({value}, [&](ValueRange x) { return mul(x[0], x[0]); });
    Value scale = mapTo(reducedType(), {mean(squares)}, [&](ValueRange x) {
      Value sum = arith::AddFOp::create(b_, loc_, x[0], number(norm_.getEps()));
      return math::RsqrtOp::create(b_, loc_, sum).getResult();
    });
    value = map({value, scale}, [&](ValueRange x) { return mul(x[0], x[1]); });
    if (norm_.getWeight())
      value =
          map({value, spread(norm_.getWeight())}, [&](ValueRange x) { return mul(x[0], x[1]); });
    if (norm_.getBias())
      value = map({value, spread(norm_.getBias())}, [&](ValueRange x) {
        return arith::AddFOp::create(b_, loc_, x[0], x[1]).getResult();
      });
    return value;
  }

private:
  using Body = function_ref<Value(ValueRange)>;

  Value sub(Value a, Value b) { return arith::SubFOp::create(b_, loc_, a, b); }
  Value mul(Value a, Value b) { return arith::MulFOp::create(b_, loc_, a, b); }
  Value number(APFloat value) {
    return arith::ConstantOp::create(b_, loc_, b_.getFloatAttr(b_.getF32Type(), value));
  }

  // The shape with extents of 1 for the axes, or for all others.
  RankedTensorType shapeOf(bool ofAxes) {
    SmallVector<Extent> shape;
    for (int64_t axis = 0; axis < type_.getRank(); ++axis)
      if (llvm::is_contained(axes_, axis) != ofAxes)
        shape.emplace_back(int64_t(1));
      else if (type_.isDynamicDim(axis))
        shape.emplace_back(symbolOf(type_, axis));
      else
        shape.emplace_back(type_.getDimSize(axis));
    return tensorOf(shape, b_.getF32Type());
  }
  RankedTensorType reducedType() { return shapeOf(false); }

  Value mapTo(RankedTensorType type, ArrayRef<Value> operands, Body body) {
    auto map = MapOp::create(b_, loc_, type, operands);
    OpBuilder::InsertionGuard guard(b_);
    mlir::Block *block = b_.createBlock(&map.getBody());
    for (size_t i = 0; i < operands.size(); ++i)
      block->addArgument(b_.getF32Type(), loc_);
    Value result = body(block->getArguments());
    YieldOp::create(b_, loc_, result);
    return map.getResult();
  }
  Value map(ArrayRef<Value> operands, Body body) { return mapTo(type_, operands, body); }

  // The sum over the axes, over their elements.
  Value mean(Value value) {
    Value sum = ReduceOp::create(b_, loc_, reducedType(), ReduceKind::Sum, value, axes_);
    return mapTo(reducedType(), {sum, count()}, [&](ValueRange x) {
      return arith::DivFOp::create(b_, loc_, x[0], x[1]).getResult();
    });
  }

  // How many elements a norm is over, as one f32; symbols are counted.
  Value count() {
    if (count_)
      return count_;
    SmallVector<Extent> ones(type_.getRank(), Extent(int64_t(1)));
    auto one = tensorOf(ones, b_.getF32Type());
    const RankedTensorType of = shapeOf(true);
    Value elements = mapTo(of, {}, [&](ValueRange) { return number(APFloat(1.0f)); });
    return count_ = ReduceOp::create(b_, loc_, one, ReduceKind::Sum, elements, axes_);
  }

  // A parameter of the axes, broadcast along the others.
  Value spread(Value parameter) { return ReshapeOp::create(b_, loc_, shapeOf(true), parameter); }

  OpBuilder b_;
  Location loc_;
  NormOp norm_;
  SmallVector<int64_t> axes_;
  RankedTensorType type_;
  Value count_;
};

} // namespace

void decomposeNorms(ModuleOp module, function_ref<bool(NormOp)> takes) {
  SmallVector<NormOp> norms;
  module.walk([&](NormOp norm) {
    if (takes(norm))
      norms.push_back(norm);
  });
  for (NormOp norm : norms) {
    norm.getResult().replaceAllUsesWith(NormBuilder(norm).build());
    norm.erase();
  }
}

} // namespace sinter::graph
