// A product of blocks is one exact integer product a group, scaled; the order of operations is that
// of tile.dot's definition.
#include "sched/simt/expand_blocks.h"
#include "numeric/formats/byte_blocks.h"
#include "numeric/formats/dot_packing.h"
#include "sched/simt/dot_layouts.h"
#include "sched/simt/matrix_instructions.h"

#include <limits>

using namespace mlir;

namespace sinter::sched {
namespace {

constexpr int64_t kGroup = kActivationLength;
// The activations that SIMT programs read and make.
constexpr ActivationFormat kThreadActivation = kQ8a;

RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

tile::BlockType blockType(Value tile) {
  return dyn_cast<tile::BlockType>(tileType(tile).getElementType());
}

bool isActivation(tile::BlockType type) {
  return tile::activationFormatOf(type) != nullptr;
}

std::string nameOf(const ActivationFormat &format) {
  return "block<" + StringRef(format.name).lower() + ">";
}

// Builds on one operation's place.
struct Rewriter {
  OpBuilder b;
  Location loc;

  explicit Rewriter(Operation *op) : b(op), loc(op->getLoc()) {}

  RankedTensorType f32(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, b.getF32Type());
  }
  RankedTensorType i32(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, b.getI32Type());
  }
  RankedTensorType i8(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, b.getI8Type());
  }
  Value splat(RankedTensorType type, double value) {
    Attribute element = isa<FloatType>(type.getElementType())
                            ? Attribute(b.getFloatAttr(type.getElementType(), value))
                            : b.getIntegerAttr(type.getElementType(), static_cast<int64_t>(value));
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, element));
  }
  Value part(StringRef field, Value view, ValueRange offsets, RankedTensorType type) {
    return BlockLoadOp::create(b, loc, type, field, view, offsets);
  }
  Value broadcast(Value value, ArrayRef<int64_t> shape) {
    return tile::BroadcastOp::create(b, loc, tileType(value).clone(shape), value);
  }
  Value turned(Value column) {
    int64_t n = tileType(column).getDimSize(0);
    return tile::ReshapeOp::create(b, loc, tileType(column).clone({1, n}), column);
  }
};

Value plus(Rewriter &r, Value index, Value more) {
  return r.b.createOrFold<arith::AddIOp>(r.loc, index, more);
}

// ---- matmuls ----

// What one group at `k` along K needs of memory.
struct Group {
  Value codesA, codesB, scaleA, scaleB, sumA, minB;
};

Group loadGroup(Rewriter &r, tile::DotOp dot, tile::LoadOp a, tile::LoadOp b, bool hasMin,
                Value k) {
  int64_t m = tileType(dot.getAcc()).getDimSize(0), n = tileType(dot.getAcc()).getDimSize(1);
  SmallVector<Value> atA{a.getOffsets()[0], plus(r, a.getOffsets()[1], k)},
      atB{b.getOffsets()[0], plus(r, b.getOffsets()[1], k)};
  auto left = [&](StringRef field) { return r.part(field, a.getView(), atA, r.f32({m, 1})); };
  auto right = [&](StringRef field) { return r.part(field, b.getView(), atB, r.f32({n, 1})); };
  Group g;
  g.codesA = r.part("code", a.getView(), atA, r.i8({m, kGroup}));
  g.codesB = r.part("code", b.getView(), atB, r.i8({n, kGroup}));
  g.scaleA = left("scale");
  g.scaleB = right("scale");
  g.sumA = hasMin ? left("sum") : Value();
  g.minB = hasMin ? right("min") : Value();
  return g;
}

// acc = fma(sum, scale_a, acc) with sum = dot scale_b, then the minima.
Value addGroup(Rewriter &r, const Group &g, Value acc) {
  SmallVector<int64_t> shape(tileType(acc).getShape());
  Value whole = tile::DotOp::create(r.b, r.loc, r.i32(shape), g.codesA, g.codesB,
                                    r.splat(r.i32(shape), 0), true);
  Value exact = arith::SIToFPOp::create(r.b, r.loc, r.f32(shape), whole);
  auto rows = [&](Value left) { return r.broadcast(left, shape); };
  auto columns = [&](Value right) { return r.broadcast(r.turned(right), shape); };
  Value sum = arith::MulFOp::create(r.b, r.loc, exact, columns(g.scaleB));
  if (g.minB)
    sum = math::FmaOp::create(r.b, r.loc, columns(g.minB), rows(g.sumA), sum);
  return math::FmaOp::create(r.b, r.loc, sum, rows(g.scaleA), acc);
}

// Groups that are read together: of few rows, which wait for memory, as many as registers hold.
int64_t groupsTogether(tile::DotOp dot, int64_t groups) {
  constexpr int64_t kMost = 18;
  if (!hasSmallM(dot))
    return 1;
  int64_t together = std::min(kMost, groups);
  while (groups % together)
    --together;
  return together;
}

LogicalResult expandDot(tile::DotOp dot, bool together) {
  auto a = dot.getA().getDefiningOp<tile::LoadOp>(), b = dot.getB().getDefiningOp<tile::LoadOp>();
  if (!a || !b || !dot.getTransposeB())
    return dot.emitOpError() << "multiplies blocks that are not loaded from views of rows along K";
  if (!isActivation(blockType(dot.getA())))
    return dot.emitOpError() << "multiplies by " << blockType(dot.getA()) << ", expected "
                             << nameOf(kThreadActivation);
  const BlockFormat *format = findBlockFormat(blockType(dot.getB()).getFormat().upper());
  Result<DotPacking> packing = format
                                   ? plainDotPacking(*format)
                                   : Result<DotPacking>(fail(Code::NotFound, "format is unknown"));
  if (!packing)
    return dot.emitOpError() << packing.error().message;
  Rewriter r(dot);
  int64_t k = tileType(dot.getA()).getDimSize(1);
  auto index = [&](int64_t v) { return arith::ConstantIndexOp::create(r.b, r.loc, v).getResult(); };
  int64_t groups = together ? groupsTogether(dot, k / kGroup) : 1;
  auto loop =
      scf::ForOp::create(r.b, r.loc, index(0), index(k), index(kGroup * groups), dot.getAcc());
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  r.b.setInsertionPointToEnd(loop.getBody());
  SmallVector<Group> read;
  for (int64_t g = 0; g < groups; ++g)
    read.push_back(loadGroup(r, dot, a, b, format->min.present(),
                             plus(r, loop.getInductionVar(), index(g * kGroup))));
  Value sum = loop.getRegionIterArg(0);
  for (const Group &group : read)
    sum = addGroup(r, group, sum);
  scf::YieldOp::create(r.b, r.loc, sum);
  dot.getResult().replaceAllUsesWith(loop.getResult(0));
  dot.erase();
  return success();
}

// ---- dequantizing and quantising ----

LogicalResult expandDequantize(tile::DequantizeOp dequantize) {
  auto load = dequantize.getValue().getDefiningOp<tile::LoadOp>();
  if (!load)
    return dequantize.emitOpError() << "dequantizes a tile that is not loaded from a view";
  Rewriter r(dequantize);
  Value value =
      r.part("value", load.getView(), load.getOffsets(), tileType(dequantize.getResult()));
  dequantize.getResult().replaceAllUsesWith(value);
  dequantize.erase();
  return success();
}

/// A tile in groups of one block each, and what they are rounded with.
struct Groups {
  SmallVector<int64_t> elements, blocks,
      perBlock;        // [..., blocks, length], [..., blocks, 1], [..., blocks]
  uint32_t axis = 0;   // along a block
  Value numbers, most; // elements; largest magnitude
};

Groups groupsOf(Rewriter &r, Value value, int64_t length) {
  OpBuilder &b = r.b;
  Location loc = r.loc;
  Groups g;
  ArrayRef<int64_t> shape = tileType(value).getShape();
  g.perBlock.assign(shape.begin(), shape.end());
  g.perBlock.back() /= length;
  g.elements = g.blocks = g.perBlock;
  g.elements.push_back(length);
  g.blocks.push_back(1);
  g.axis = static_cast<uint32_t>(shape.size());
  g.numbers = tile::ReshapeOp::create(b, loc, r.f32(g.elements), value);
  g.most = tile::ReduceOp::create(b, loc, r.f32(g.blocks), tile::ReduceKind::Max,
                                  math::AbsFOp::create(b, loc, g.numbers), g.axis);
  return g;
}

Value zeroWhere(Rewriter &r, Value isZero, Value number) {
  return arith::SelectOp::create(r.b, r.loc, isZero, r.splat(tileType(number), 0), number);
}

// Elements times their block's factor.
Value scaledBy(Rewriter &r, const Groups &g, Value factor) {
  return arith::MulFOp::create(r.b, r.loc, g.numbers, r.broadcast(factor, g.elements));
}

void putPart(Rewriter &r, tile::StoreOp store, StringRef field, Value value,
             ArrayRef<int64_t> shape) {
  value = tile::ReshapeOp::create(r.b, r.loc, tileType(value).clone(shape), value);
  BlockStoreOp::create(r.b, r.loc, field, value, store.getView(), store.getOffsets());
}

/// How a block's elements become codes, one value a block.
struct Rounding {
  Value scale, factor;
};

// With the largest magnitude as that code.
Rounding roundingTo(Rewriter &r, const Groups &g, float largestCode) {
  OpBuilder &b = r.b;
  Location loc = r.loc;
  Value code = r.splat(r.f32(g.blocks), largestCode);
  Value factor = arith::DivFOp::create(b, loc, code, g.most);
  Value largest = r.splat(r.f32(g.blocks), std::numeric_limits<float>::max());
  Value isInfinite = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, factor, largest);
  return {arith::DivFOp::create(b, loc, g.most, code), zeroWhere(r, isInfinite, factor)};
}

// The sum of the squared errors of each block.
Value errorsOf(Rewriter &r, const Groups &g, Value factor) {
  Value scaled = scaledBy(r, g, factor);
  Value error =
      arith::SubFOp::create(r.b, r.loc, scaled, math::RoundEvenOp::create(r.b, r.loc, scaled));
  return tile::ReduceOp::create(r.b, r.loc, r.f32(g.blocks), tile::ReduceKind::Sum,
                                arith::MulFOp::create(r.b, r.loc, error, error), g.axis);
}

// The better of two (numeric/formats/activation_format.h); sums of errors have the target's own
// order.
Rounding bestRounding(Rewriter &r, const Groups &g) {
  OpBuilder &b = r.b;
  Location loc = r.loc;
  const Rounding fine = roundingTo(r, g, kLargestCode),
                 coarse = roundingTo(r, g, kSecondLargestCode);
  Value limit = arith::MulFOp::create(b, loc, errorsOf(r, g, fine.factor),
                                      r.splat(r.f32(g.blocks), kSquaredSteps));
  Value isBetter = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                                         errorsOf(r, g, coarse.factor), limit);
  return {arith::SelectOp::create(b, loc, isBetter, coarse.scale, fine.scale),
          arith::SelectOp::create(b, loc, isBetter, coarse.factor, fine.factor)};
}

// Activations (numeric/formats/activation_format.h): ties to even, and sums of the codes.
void storeActivations(Rewriter &r, tile::StoreOp store, Value value) {
  OpBuilder &b = r.b;
  Location loc = r.loc;
  Groups g = groupsOf(r, value, kGroup);
  const Rounding by = bestRounding(r, g);
  Value rounded = math::RoundEvenOp::create(b, loc, scaledBy(r, g, by.factor));
  Value codes = arith::FPToSIOp::create(b, loc, r.i32(g.elements), rounded);
  Value sum = tile::ReduceOp::create(b, loc, r.i32(g.blocks), tile::ReduceKind::Sum, codes, g.axis);
  Value zero = r.splat(r.i32(g.blocks), -kActivationStartZero);
  putPart(r, store, "code", arith::TruncIOp::create(b, loc, r.i8(g.elements), codes),
          tileType(value).getShape());
  putPart(r, store, "scale", by.scale, g.perBlock);
  putPart(r, store, "sum", arith::SIToFPOp::create(b, loc, r.f32(g.blocks), sum), g.perBlock);
  putPart(r, store, "start", arith::MulIOp::create(b, loc, sum, zero), g.perBlock);
}

// Signed bytes and a scale (numeric/formats/byte_blocks.h): ties away from zero.
void storeBytes(Rewriter &r, tile::StoreOp store, Value value, const BlockFormat &format,
                const ByteBlocks &bytes) {
  OpBuilder &b = r.b;
  Location loc = r.loc;
  Groups g = groupsOf(r, value, format.blockLength);
  Value scale = arith::DivFOp::create(
      b, loc, g.most, r.splat(r.f32(g.blocks), static_cast<float>(bytes.largestCode)));
  Value inverse = arith::DivFOp::create(b, loc, r.splat(r.f32(g.blocks), 1), scale);
  Value isZero =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, scale, r.splat(r.f32(g.blocks), 0));
  Value scaled = scaledBy(r, g, zeroWhere(r, isZero, inverse));
  RankedTensorType type = r.f32(g.elements);
  Value size = math::AbsFOp::create(b, loc, scaled), whole = math::FloorOp::create(b, loc, size);
  Value up = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGE,
                                   arith::SubFOp::create(b, loc, size, whole), r.splat(type, 0.5));
  Value next = arith::AddFOp::create(b, loc, whole, r.splat(type, 1));
  whole = arith::SelectOp::create(b, loc, up, next, whole);
  Value below = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, scaled, r.splat(type, 0));
  whole = arith::SelectOp::create(b, loc, below, arith::NegFOp::create(b, loc, whole), whole);
  Value codes = arith::FPToSIOp::create(b, loc, r.i32(g.elements), whole);
  putPart(r, store, "code", arith::TruncIOp::create(b, loc, r.i8(g.elements), codes),
          tileType(value).getShape());
  auto half = RankedTensorType::get(g.blocks, b.getF16Type());
  putPart(r, store, "scale", arith::TruncFOp::create(b, loc, half, scale), g.perBlock);
}

LogicalResult expandStore(tile::StoreOp store, tile::QuantizeOp quantize) {
  tile::BlockType type = blockType(store.getValue());
  const BlockFormat *format = tile::blockFormatOf(type);
  Result<ByteBlocks> bytes =
      format ? byteBlocks(*format) : Result<ByteBlocks>(fail(Code::NotFound, "format is unknown"));
  if (!isActivation(type) && !bytes)
    return store.emitOpError() << "quantizes to " << type << ": " << bytes.error().message;
  int64_t length = isActivation(type) ? kGroup : format->blockLength;
  if (tileType(quantize.getValue()).getShape().back() % length)
    return store.emitOpError() << "quantizes " << tileType(quantize.getValue())
                               << ", expected whole groups of " << length;
  Rewriter r(store);
  if (isActivation(type))
    storeActivations(r, store, quantize.getValue());
  else
    storeBytes(r, store, quantize.getValue(), *format, *bytes);
  store.erase();
  return success();
}

} // namespace

// Whether an instruction multiplies the codes: without one, matmuls go through shared memory one
// after the other, and reading ahead only makes code long.
static bool multipliesCodes(const SimtFacts &facts) {
  return llvm::any_of(facts.instructions, [](const std::string &name) {
    const MatrixInstruction *found = findMatrixInstruction(name);
    return found && found->aElement == MatrixElement::S8 && found->bElement == MatrixElement::S8;
  });
}

static LogicalResult takesActivations(tile::KernelOp kernel) {
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto view = dyn_cast<tile::ViewType>(argument.getType());
    const ActivationFormat *format =
        view ? tile::activationFormatOf(view.getElementType()) : nullptr;
    if (format && format->name != kThreadActivation.name)
      return kernel.emitOpError() << "has activations of " << nameOf(*format) << ", expected "
                                  << nameOf(kThreadActivation) << " in programs of threads";
  }
  return success();
}

LogicalResult expandBlocks(tile::KernelOp kernel, const SimtFacts &facts) {
  if (failed(takesActivations(kernel)))
    return failure();
  bool together = multipliesCodes(facts);
  SmallVector<Operation *> work;
  kernel.walk([&](Operation *op) {
    if (isa<tile::DotOp, tile::DequantizeOp, tile::StoreOp>(op))
      work.push_back(op);
  });
  for (Operation *op : work) {
    LogicalResult done = success();
    if (auto dot = dyn_cast<tile::DotOp>(op); dot && blockType(dot.getA()))
      done = expandDot(dot, together);
    else if (auto dequantize = dyn_cast<tile::DequantizeOp>(op))
      done = expandDequantize(dequantize);
    else if (auto store = dyn_cast<tile::StoreOp>(op))
      if (auto quantize = store.getValue().getDefiningOp<tile::QuantizeOp>())
        done = expandStore(store, quantize);
    if (failed(done))
      return failure();
  }
  kernel.walk([](Operation *op) {
    if (isa<tile::LoadOp, tile::QuantizeOp>(op) && op->use_empty() &&
        isa<tile::BlockType>(tileType(op->getResult(0)).getElementType()))
      op->erase();
  });
  return success();
}

} // namespace sinter::sched
