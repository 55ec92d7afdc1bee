// Turns a kernel's signature and grid into a plan's formulas.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/launch.h"

#include <bit>

using namespace mlir;

namespace sinter::engine {

using plan::Expr;

BoundScalar f32Scalar(float value) {
  return {Expr(int64_t(std::bit_cast<uint32_t>(value)))};
}

std::vector<Expr> packedStrides(const std::vector<Expr> &extents) {
  std::vector<Expr> strides(extents.size(), Expr(1));
  for (size_t axis = std::max<size_t>(extents.size(), 1) - 1; axis-- > 0;)
    strides[axis] = plan::mul(strides[axis + 1], extents[axis + 1]);
  return strides;
}

namespace {

class GridReader {
public:
  GridReader(tile::KernelOp kernel, const std::vector<BoundArgument> &arguments)
      : arguments_(arguments) {
    tile::GridOp grid = kernel.getGrid();
    for (Operation &op : kernel.getBody().front()) {
      if (&op == grid.getOperation())
        break;
      if (op.getNumResults() == 1 && op.getResult(0).getType().isIntOrIndex())
        visit(op);
    }
    extents_ = {exprs_.at(grid.getX()), exprs_.at(grid.getY()), exprs_.at(grid.getZ())};
  }
  const std::array<Expr, 3> &extents() const { return extents_; }

private:
  const Expr *find(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (auto *scalar = std::get_if<BoundScalar>(&arguments_[argument.getArgNumber()]))
        return &scalar->bits;
    auto found = exprs_.find(value);
    return found == exprs_.end() ? nullptr : &found->second;
  }
  void visit(Operation &op) {
    Value result = op.getResult(0);
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
        exprs_.insert({result, Expr(integer.getInt())});
      return;
    }
    if (auto dim = dyn_cast<tile::DimOp>(op)) {
      if (auto argument = dyn_cast<BlockArgument>(dim.getView()))
        exprs_.insert(
            {result,
             std::get<BoundView>(arguments_[argument.getArgNumber()]).extents[dim.getAxis()]});
      return;
    }
    if (op.getNumOperands() != 2)
      return;
    const Expr *a = find(op.getOperand(0)), *b = find(op.getOperand(1));
    if (a && b)
      combine(op, *a, *b);
  }
  void combine(Operation &op, const Expr &a, const Expr &b) {
    auto set = [&](Expr value) { exprs_.insert({op.getResult(0), std::move(value)}); };
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](arith::AddIOp) { set(plan::add(a, b)); })
        .Case([&](arith::MulIOp) { set(plan::mul(a, b)); })
        .Case([&](arith::CeilDivSIOp) { set(plan::ceilDiv(a, b)); })
        .Case([&](arith::MinSIOp) { set(plan::minOf(a, b)); })
        .Case([&](arith::MaxSIOp) { set(plan::maxOf(a, b)); });
  }

  struct Less {
    bool operator()(Value a, Value b) const {
      return a.getAsOpaquePointer() < b.getAsOpaquePointer();
    }
  };
  const std::vector<BoundArgument> &arguments_;
  std::map<Value, Expr, Less> exprs_;
  std::array<Expr, 3> extents_;
};

} // namespace

static void bindView(tile::ViewType type, const BoundView &view, plan::Launch &launch) {
  SINTER_CHECK(static_cast<int64_t>(view.extents.size()) == type.getRank());
  SINTER_CHECK(view.strides.size() == view.extents.size());
  for (auto [expected, extent] : llvm::zip_equal(type.getShape(), view.extents)) {
    SINTER_CHECK(ShapedType::isDynamic(expected) || extent.constant() == expected);
    launch.scalars.push_back(extent);
  }
  size_t given = type.getStrided() ? view.strides.size() : view.strides.size() - 1;
  SINTER_CHECK(type.getStrided() || view.strides.back().constant() == 1);
  launch.scalars.insert(launch.scalars.end(), view.strides.begin(), view.strides.begin() + given);
  launch.buffers.push_back({view.buffer, view.byteOffset});
}

plan::Launch makeLaunch(tile::KernelOp kernel, plan::KernelId id,
                        const std::vector<BoundArgument> &arguments, std::string label) {
  plan::Launch launch;
  launch.kernel = id;
  launch.label = std::move(label);
  ArrayRef<Type> types = kernel.getArgumentTypes();
  SINTER_CHECK(types.size() == arguments.size());
  for (auto [type, argument] : llvm::zip_equal(types, arguments)) {
    if (auto view = dyn_cast<tile::ViewType>(type))
      bindView(view, std::get<BoundView>(argument), launch);
    else
      launch.scalars.push_back(std::get<BoundScalar>(argument).bits);
  }
  launch.grid = GridReader(kernel, arguments).extents();
  return launch;
}

} // namespace sinter::engine
