// Emission, tiles: elementwise operations piece by piece, shape changes by relabelling, reductions
// in the fixed tree, float dots as multiply-adds.
#include "targets/cpu/emission/emitter.h"
#include "targets/cpu/emission/reduction.h"

using namespace mlir;

namespace sinter::targets::cpu {

// ---- pieces ----

int64_t Emitter::canonicalLane(ArrayRef<int64_t> shape) {
  return shape.back() > 1 ? shape.size() - 1 : -1;
}

int64_t Emitter::pieceWidth(int64_t extent, int64_t piece) {
  return std::min(facts_.lanes, extent - piece * facts_.lanes);
}

Type Emitter::pieceType(Type element, int64_t width) {
  return width == 1 ? element : Type(VectorType::get({width}, element));
}

void Emitter::forEachPiece(ArrayRef<int64_t> shape, int64_t lane,
                           llvm::function_ref<void(ArrayRef<int64_t>, int64_t)> f) {
  SmallVector<int64_t> at(shape.size(), 0);
  int64_t others = 1;
  for (auto [axis, extent] : llvm::enumerate(shape))
    if (static_cast<int64_t>(axis) != lane)
      others *= extent;
  for (int64_t i = 0; i < others; ++i) {
    int64_t rest = i;
    for (int64_t axis = shape.size() - 1; axis >= 0; --axis) {
      if (axis == lane)
        continue;
      at[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    int64_t pieces = lane < 0 ? 1 : piecesAlong(shape[lane]);
    for (int64_t p = 0; p < pieces; ++p) {
      if (lane >= 0)
        at[lane] = p * facts_.lanes;
      f(at, lane < 0 ? 1 : pieceWidth(shape[lane], p));
    }
  }
}

SmallVector<Type> Emitter::pieceTypes(RankedTensorType type) {
  SmallVector<Type> types;
  forEachPiece(type.getShape(), canonicalLane(type.getShape()),
               [&](ArrayRef<int64_t>, int64_t width) {
                 types.push_back(pieceType(type.getElementType(), width));
               });
  return types;
}

Value Emitter::splatTo(Value scalar, int64_t width) {
  if (width == 1)
    return scalar;
  return vector::BroadcastOp::create(b_, loc_, VectorType::get({width}, scalar.getType()), scalar);
}

Value Emitter::element(const Pieces &from, ArrayRef<int64_t> at) {
  if (from.splat)
    return from.values.front();
  int64_t row = 0;
  for (auto [axis, extent] : llvm::enumerate(from.shape))
    if (static_cast<int64_t>(axis) != from.lane)
      row = row * extent + at[axis];
  if (from.lane < 0)
    return from.values[row];
  int64_t along = at[from.lane];
  Value piece = from.values[row * piecesAlong(from.shape[from.lane]) + along / facts_.lanes];
  if (!isa<VectorType>(piece.getType()))
    return piece;
  return vector::ExtractOp::create(b_, loc_, piece, along % facts_.lanes);
}

// Squares of vectors turn by exchanging halves, quarters and so on between pairs of rows.
static void turnSquare(OpBuilder &b, Location loc, MutableArrayRef<Value> rows) {
  auto lanes = static_cast<int64_t>(rows.size());
  for (int64_t half = lanes / 2; half; half /= 2) {
    SmallVector<int64_t> low(lanes), high(lanes);
    for (int64_t i = 0; i < lanes; ++i) {
      bool second = i & half;
      low[i] = second ? lanes + i - half : i;
      high[i] = second ? lanes + i : i + half;
    }
    for (int64_t r = 0; r < lanes; ++r) {
      if (r & half)
        continue;
      Value x = rows[r], y = rows[r + half];
      rows[r] = vector::ShuffleOp::create(b, loc, x, y, low);
      rows[r + half] = vector::ShuffleOp::create(b, loc, x, y, high);
    }
  }
}

Pieces Emitter::relayout(const Pieces &from, int64_t lane) {
  if (from.lane == lane && !from.splat)
    return from;
  Pieces to{from.shape, lane, false, {}};
  bool square = !from.splat && lane >= 0 && from.lane >= 0 && from.shape[lane] == facts_.lanes &&
                from.shape[from.lane] == facts_.lanes &&
                static_cast<int64_t>(from.values.size()) == facts_.lanes;
  if (square) {
    to.values = from.values;
    turnSquare(b_, loc_, to.values);
    return to;
  }
  forEachPiece(from.shape, lane, [&](ArrayRef<int64_t> at, int64_t width) {
    if (from.splat || width == 1) {
      to.values.push_back(from.splat ? splatTo(from.values.front(), width) : element(from, at));
      return;
    }
    SmallVector<Value> elements;
    SmallVector<int64_t> where(at);
    for (int64_t i = 0; i < width; ++i, ++where[lane])
      elements.push_back(element(from, where));
    auto type = VectorType::get({width}, elements.front().getType());
    to.values.push_back(vector::FromElementsOp::create(b_, loc_, type, elements));
  });
  return to;
}

// ---- elementwise ----

LogicalResult Emitter::emitConstant(arith::ConstantOp op) {
  auto dense = cast<DenseElementsAttr>(op.getValue());
  auto type = cast<RankedTensorType>(op.getType());
  Value scalar =
      arith::ConstantOp::create(b_, loc_, cast<TypedAttr>(dense.getSplatValue<Attribute>()));
  tiles_[op.getResult()] = {SmallVector<int64_t>(type.getShape()), -1, true, {scalar}};
  return success();
}

LogicalResult Emitter::emitIota(tile::IotaOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  int64_t lane = canonicalLane(type.getShape());
  Pieces pieces{SmallVector<int64_t>(type.getShape()), lane, false, {}};
  forEachPiece(type.getShape(), lane, [&](ArrayRef<int64_t> at, int64_t width) {
    SmallVector<Attribute> values;
    for (int64_t i = 0; i < width; ++i)
      values.push_back(b_.getIntegerAttr(type.getElementType(),
                                         at[op.getAxis()] + (lane == op.getAxis() ? i : 0)));
    TypedAttr attr =
        width == 1
            ? cast<TypedAttr>(values.front())
            : DenseElementsAttr::get(VectorType::get({width}, type.getElementType()), values);
    pieces.values.push_back(arith::ConstantOp::create(b_, loc_, attr));
  });
  tiles_[op.getResult()] = pieces;
  return success();
}

LogicalResult Emitter::emitElementwise(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<Pieces> operands;
  int64_t lane = -1;
  bool splat = true;
  for (Value operand : op->getOperands()) {
    auto it = tiles_.find(operand);
    if (it == tiles_.end() && !map_.contains(operand))
      return op->emitOpError() << "has no form on a CPU yet: its operand is " << operand.getType();
    operands.push_back(
        it != tiles_.end()
            ? it->second
            : Pieces{SmallVector<int64_t>(type.getShape()), -1, true, {scalarOf(operand)}});
    splat &= operands.back().splat;
    if (!operands.back().splat && operands.back().lane >= 0)
      lane = operands.back().lane;
  }
  Pieces result{SmallVector<int64_t>(type.getShape()), lane, splat, {}};
  if (!splat)
    for (Pieces &p : operands)
      p = relayout(p, lane);
  for (size_t i = 0; i < operands.front().values.size(); ++i) {
    OperationState state(loc_, op->getName());
    for (const Pieces &p : operands)
      state.addOperands(p.values[i]);
    int64_t width = 1;
    if (auto vec = dyn_cast<VectorType>(operands.front().values[i].getType()))
      width = vec.getDimSize(0);
    state.addTypes(pieceType(type.getElementType(), width));
    state.addAttributes(op->getAttrs());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    result.values.push_back(b_.create(state)->getResult(0));
  }
  tiles_[op->getResult(0)] = result;
  return success();
}

// ---- shape ----

LogicalResult Emitter::emitBroadcast(tile::BroadcastOp op) {
  const Pieces from = tiles_.find(op.getValue())->second;
  auto type = cast<RankedTensorType>(op.getType());
  int64_t lane = canonicalLane(type.getShape());
  Pieces result{SmallVector<int64_t>(type.getShape()), lane, false, {}};
  if (from.splat) {
    result.lane = -1;
    result.splat = true;
    result.values = from.values;
    tiles_[op.getResult()] = result;
    return success();
  }
  bool alongLane = lane >= 0 && from.shape[lane] > 1;
  Pieces source = alongLane ? relayout(from, lane) : relayout(from, -1);
  int64_t perRow = alongLane ? piecesAlong(from.shape[lane]) : 1;
  forEachPiece(type.getShape(), lane, [&](ArrayRef<int64_t> at, int64_t width) {
    int64_t row = 0;
    for (auto [axis, extent] : llvm::enumerate(from.shape))
      if (!(alongLane && static_cast<int64_t>(axis) == lane))
        row = row * extent + (extent == 1 ? 0 : at[axis]);
    if (alongLane)
      result.values.push_back(source.values[row * perRow + at[lane] / facts_.lanes]);
    else
      result.values.push_back(splatTo(source.values[row], width));
  });
  tiles_[op.getResult()] = result;
  return success();
}

// Only extents of 1 come or go, so the pieces stay and the lane axis takes its new number.
LogicalResult Emitter::emitReshape(tile::ReshapeOp op) {
  Pieces pieces = tiles_.find(op.getValue())->second;
  auto type = cast<RankedTensorType>(op.getType());
  if (pieces.lane >= 0) {
    int64_t wanted = 0; // how many non-unit axes stand before the lane axis
    for (int64_t axis = 0; axis < pieces.lane; ++axis)
      wanted += pieces.shape[axis] > 1;
    int64_t axis = 0;
    for (; axis < type.getRank(); ++axis)
      if (type.getDimSize(axis) > 1 && wanted-- == 0)
        break;
    pieces.lane = axis;
  }
  pieces.shape.assign(type.getShape().begin(), type.getShape().end());
  tiles_[op.getResult()] = pieces;
  return success();
}

LogicalResult Emitter::emitPermute(tile::PermuteOp op) {
  const Pieces from = tiles_.find(op.getValue())->second;
  auto type = cast<RankedTensorType>(op.getType());
  Pieces result{SmallVector<int64_t>(type.getShape()), -1, from.splat, {}};
  if (from.splat) {
    result.values = from.values;
    tiles_[op.getResult()] = result;
    return success();
  }
  for (auto [axis, source] : llvm::enumerate(op.getOrder()))
    if (source == from.lane)
      result.lane = axis;
  int64_t perRow = from.lane < 0 ? 1 : piecesAlong(from.shape[from.lane]);
  forEachPiece(type.getShape(), result.lane, [&](ArrayRef<int64_t> at, int64_t) {
    SmallVector<int64_t> source(at.size());
    for (auto [axis, s] : llvm::enumerate(op.getOrder()))
      source[s] = at[axis];
    int64_t row = 0;
    for (auto [axis, extent] : llvm::enumerate(from.shape))
      if (static_cast<int64_t>(axis) != from.lane)
        row = row * extent + source[axis];
    result.values.push_back(
        from.values[row * perRow + (from.lane < 0 ? 0 : source[from.lane] / facts_.lanes)]);
  });
  tiles_[op.getResult()] = result;
  return success();
}

// ---- reductions and dots ----

// Halves fold onto each other until one lane is left: whole pieces first, then within one vector.
// Extents that are not a power of two first fold their tail, which works on single elements.
LogicalResult Emitter::emitReduce(tile::ReduceOp op) {
  auto from = cast<RankedTensorType>(op.getValue().getType());
  int64_t axis = op.getAxis(), length = from.getDimSize(axis);
  const Pieces source = relayout(tiles_.find(op.getValue())->second, length > 1 ? axis : -1);
  Pieces result{
      SmallVector<int64_t>(cast<RankedTensorType>(op.getType()).getShape()), -1, false, {}};
  auto fold = [&](Value x, Value y) { return combine(b_, loc_, op.getKind(), x, y); };
  auto elements = [&](Value v, SmallVectorImpl<Value> &into) {
    auto vec = dyn_cast<VectorType>(v.getType());
    if (!vec)
      return into.push_back(v);
    for (int64_t i = 0; i < vec.getDimSize(0); ++i)
      into.push_back(vector::ExtractOp::create(b_, loc_, v, i));
  };
  int64_t perRow = length > 1 ? piecesAlong(length) : 1;
  bool power = llvm::isPowerOf2_64(length);
  for (size_t row = 0; row * perRow < source.values.size(); ++row) {
    SmallVector<Value> lanes(ArrayRef(source.values).slice(row * perRow, perRow));
    if (!power) {
      SmallVector<Value> scalars;
      for (Value v : lanes)
        elements(v, scalars);
      size_t p = llvm::bit_floor(scalars.size());
      for (size_t i = p; i < scalars.size(); ++i)
        scalars[i - p] = fold(scalars[i - p], scalars[i]);
      scalars.resize(p);
      lanes = scalars;
    }
    while (lanes.size() > 1) {
      size_t half = lanes.size() / 2;
      for (size_t i = 0; i < half; ++i)
        lanes[i] = fold(lanes[i], lanes[i + half]);
      lanes.resize(half);
    }
    while (auto vec = dyn_cast<VectorType>(lanes.front().getType())) {
      int64_t half = vec.getDimSize(0) / 2;
      auto part = [&](int64_t start) -> Value {
        if (half == 1)
          return vector::ExtractOp::create(b_, loc_, lanes.front(), start);
        SmallVector<int64_t> mask(llvm::to_vector(llvm::seq<int64_t>(start, start + half)));
        return vector::ShuffleOp::create(b_, loc_, lanes.front(), lanes.front(), mask);
      };
      lanes.front() = fold(part(0), part(half));
    }
    result.values.push_back(lanes.front());
  }
  tiles_[op.getResult()] = result;
  return success();
}

LogicalResult Emitter::emitDot(tile::DotOp op) {
  auto aType = cast<RankedTensorType>(op.getA().getType());
  auto accType = cast<RankedTensorType>(op.getAcc().getType());
  if (isa<tile::BlockType>(aType.getElementType()))
    return emitBlockDot(op);
  if (aType.getElementType().isInteger(32))
    return emitPairDot(op);
  if (!isa<FloatType>(aType.getElementType()) || !accType.getElementType().isF32())
    return op.emitOpError() << "multiplies " << aType
                            << ", which the CPU target has no form for yet";
  int64_t rows = accType.getDimSize(0), columns = accType.getDimSize(1),
          depth = aType.getDimSize(1);
  int64_t columnAxis = op.getTransposeB() ? 0 : 1;
  Pieces a = relayout(tiles_.find(op.getA())->second, -1);
  Pieces b = relayout(tiles_.find(op.getB())->second, columns > 1 ? columnAxis : -1);
  Pieces acc = relayout(tiles_.find(op.getAcc())->second, canonicalLane(accType.getShape()));
  int64_t perRow = columns > 1 ? piecesAlong(columns) : 1;
  auto widen = [&](Value v) -> Value {
    Type type = getElementTypeOrSelf(v.getType());
    if (type.isF32())
      return v;
    Type wide = b_.getF32Type();
    if (auto vec = dyn_cast<VectorType>(v.getType()))
      wide = vec.clone(wide);
    return arith::ExtFOp::create(b_, loc_, wide, v);
  };
  for (int64_t k = 0; k < depth; ++k) {
    SmallVector<Value> wideB;
    for (int64_t p = 0; p < perRow; ++p)
      wideB.push_back(widen(b.values[k * perRow + p]));
    for (int64_t r = 0; r < rows; ++r) {
      Value scalar = widen(a.values[r * depth + k]);
      for (int64_t p = 0; p < perRow; ++p) {
        Value &sum = acc.values[r * perRow + p];
        sum = math::FmaOp::create(
            b_, loc_, splatTo(scalar, columns > 1 ? pieceWidth(columns, p) : 1), wideB[p], sum);
      }
    }
  }
  tiles_[op.getResult()] = acc;
  return success();
}

} // namespace sinter::targets::cpu
