// Views of operands and results for each operation: permuted, offset and repeated axes are strides.
#include "tile/mlir_pch.h"

#include "engine/elements.h"
#include "engine/generic_launches.h"
#include "engine/region_program.h"

using namespace mlir;

namespace sinter::engine {

using plan::Expr;

// Blocks of the generic kernels: one program takes about as much as a launch costs.
static constexpr int64_t kRows = 4, kColumns = 256;

namespace {

class GenericLowering {
public:
  explicit GenericLowering(ValueMemory &memory) : memory_(memory) {}

  Result<void> map(graph::MapOp op);
  Result<void> reduce(graph::ReduceOp op);
  Result<void> dot(graph::DotGeneralOp op);
  Result<void> dotOfBlocks(graph::DotGeneralOp op);
  Result<void> gather(graph::GatherOp op);
  Result<void> iota(graph::IotaOp op);
  Result<void> constant(graph::ConstantOp op);
  Result<void> transpose(graph::TransposeOp op);
  Result<void> reshape(graph::ReshapeOp op);
  Result<void> slice(graph::SliceOp op);
  Result<void> concat(graph::ConcatOp op);
  Result<void> pad(graph::PadOp op);

  std::vector<GenericLaunch> take() { return std::move(launches_); }

private:
  Result<void> copy(const BoundView &from, Type fromElement, const BoundView &to, Type toElement);
  Result<void> launchMap(kernels::MapViews p, std::string variant, std::vector<BoundView> views);
  Result<BoundView> packed(Value value);
  Result<BoundView> permuted(Value value, ArrayRef<int64_t> order);

  ValueMemory &memory_;
  std::vector<GenericLaunch> launches_;
};

} // namespace

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static bool isOne(const Expr &expr) {
  return expr.constant() == 1;
}

// Whether threads may access several elements of it at once, which they do at multiples of so many
// bytes.
static bool isAligned(const BoundView &view) {
  constexpr int64_t kAccessBytes = 16;
  return plan::divisorOf(view.byteOffset) % kAccessBytes == 0;
}

// Innermost elements may be apart, or begin where each must be accessed alone.
static bool isStrided(const BoundView &view) {
  return (!view.strides.empty() && !isOne(view.strides.back())) || !isAligned(view);
}

static bool isPacked(const BoundView &view) {
  return view.strides == packedStrides(view.extents) && isAligned(view);
}

// An element further along an axis.
static BoundView advanced(BoundView view, size_t axis, const Expr &elements, Type element) {
  const Expr bytes =
      plan::mul(plan::mul(elements, view.strides[axis]), Expr(elementBytes(element).bytes));
  view.byteOffset = plan::add(view.byteOffset, bytes);
  return view;
}

static Expr productOf(ArrayRef<Expr> extents) {
  Expr product(1);
  for (const Expr &extent : extents)
    product = plan::mul(product, extent);
  return product;
}

// The axes of a view without gaps joined in groups, each ending before one of `ends`.
static BoundView joined(const BoundView &view, ArrayRef<size_t> ends) {
  BoundView result{view.buffer, view.byteOffset, {}, {}};
  size_t first = 0;
  for (size_t end : ends) {
    result.extents.push_back(productOf(ArrayRef(view.extents).slice(first, end - first)));
    first = end;
  }
  result.strides = packedStrides(result.extents);
  return result;
}

static Result<void> checkRank(size_t rank) {
  if (rank <= static_cast<size_t>(kernels::kMaxViewRank))
    return {};
  return fail(Code::Unsupported, "a kernel would have views of " + std::to_string(rank) +
                                     " axes, expected at most " +
                                     std::to_string(kernels::kMaxViewRank));
}

// Whether an axis and the next one are one walk through memory.
static bool isOneWalk(const BoundView &view, size_t axis) {
  const Expr &stride = view.strides[axis], &inner = view.strides[axis + 1];
  if (stride.constant() == 0 || inner.constant() == 0)
    return stride == inner;
  return stride == plan::mul(inner, view.extents[axis + 1]);
}

// Joins neighbouring axes where all views, which have the same extents, walk both as one: tiles are
// longer then, and more axes fit.
static void joinAxes(MutableArrayRef<BoundView> views) {
  for (size_t axis = views[0].extents.size(); axis-- > 1;) {
    if (!llvm::all_of(views, [&](const BoundView &view) { return isOneWalk(view, axis - 1); }))
      continue;
    for (BoundView &view : views) {
      view.extents[axis - 1] = plan::mul(view.extents[axis - 1], view.extents[axis]);
      view.strides[axis - 1] = view.strides[axis];
      view.extents.erase(view.extents.begin() + static_cast<int64_t>(axis));
      view.strides.erase(view.strides.begin() + static_cast<int64_t>(axis));
    }
  }
}

// ---- maps and copies ----

// A view of no axes has one of extent 1.
static void addAxis(BoundView &view) {
  if (view.extents.empty()) {
    view.extents.push_back(Expr(1));
    view.strides.push_back(Expr(1));
  }
}

Result<void> GenericLowering::launchMap(kernels::MapViews p, std::string variant,
                                        std::vector<BoundView> views) {
  for (BoundView &view : views)
    addAxis(view);
  joinAxes(views);
  p.rank = static_cast<int64_t>(views.back().extents.size());
  SINTER_TRY(checkRank(views.back().extents.size()));
  for (size_t i = 0; i < p.operands.size(); ++i) {
    p.operands[i].strided = isStrided(views[i]);
    variant += std::string(" ") + p.operands[i].element.name() + (p.operands[i].strided ? "*" : "");
  }
  p.out.strided = isStrided(views.back());
  p.blockRows = p.rank > 1 ? kRows : 1;
  p.blockColumns = kColumns;
  launches_.push_back({std::move(p), std::move(variant), std::move(views)});
  return {};
}

Result<void> GenericLowering::copy(const BoundView &from, Type fromElement, const BoundView &to,
                                   Type toElement) {
  kernels::MapViews p;
  p.operands[0].element = scalarElement(fromElement);
  p.out.element = scalarElement(toElement);
  return launchMap(std::move(p), "copy", {from, to});
}

// An operand as the result's axes see it.
static BoundView broadcast(const BoundView &operand, RankedTensorType type,
                           const BoundView &result) {
  BoundView view{operand.buffer, operand.byteOffset, result.extents, {}};
  const size_t absent = result.extents.size() - operand.extents.size();
  view.strides.assign(result.extents.size(), Expr(0));
  for (size_t axis = 0; axis < operand.extents.size(); ++axis)
    if (type.getDimSize(static_cast<int64_t>(axis)) != 1)
      view.strides[absent + axis] = operand.strides[axis];
  return view;
}

Result<void> GenericLowering::map(graph::MapOp op) {
  const RegionProgram program = readRegion(op);
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  kernels::MapViews p;
  p.operands.clear();
  p.out.element = scalarElement(elementOf(op.getResult()));
  std::vector<BoundView> views;
  for (auto [value, element] : llvm::zip_equal(op.getValues(), program.operands)) {
    SINTER_ASSIGN(const BoundView operand, memory_.view(value));
    views.push_back(broadcast(operand, cast<RankedTensorType>(value.getType()), out));
    p.operands.push_back({element});
  }
  views.push_back(out);
  p.apply = [program](kernel::KernelBuilder &k, const std::vector<kernel::Tile> &tiles,
                      int64_t rows,
                      int64_t columns) { return program.replay(k, tiles, rows, columns); };
  return launchMap(std::move(p), program.text(), std::move(views));
}

// ---- reductions ----

Result<void> GenericLowering::reduce(graph::ReduceOp op) {
  SINTER_ASSIGN(const BoundView in, memory_.view(op.getValue()));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  BoundView kept{in.buffer, in.byteOffset, {}, {}}, reduced = kept;
  for (size_t axis = 0; axis < in.extents.size(); ++axis) {
    BoundView &to = llvm::is_contained(op.getAxes(), static_cast<int64_t>(axis)) ? reduced : kept;
    to.extents.push_back(in.extents[axis]);
    to.strides.push_back(in.strides[axis]);
  }
  kernels::ReduceViews p;
  // Neighbours in memory are neighbours in a tile.
  p.across = !kept.extents.empty() && !in.strides.empty() &&
             !llvm::is_contained(op.getAxes(), static_cast<int64_t>(in.extents.size()) - 1);
  BoundView results{out.buffer, out.byteOffset, kept.extents, packedStrides(kept.extents)};
  std::array<BoundView, 2> both = {kept, results};
  for (BoundView *view : {&both[0], &both[1], &reduced})
    addAxis(*view);
  joinAxes(both);
  joinAxes(reduced);
  kept = both[0];
  p.kept = static_cast<int64_t>(kept.extents.size());
  p.reduced = static_cast<int64_t>(reduced.extents.size());
  SINTER_TRY(checkRank(kept.extents.size() + reduced.extents.size()));
  BoundView view = kept;
  const auto at = p.across ? 1 : 0;
  view.extents.insert(view.extents.end() - at, reduced.extents.begin(), reduced.extents.end());
  view.strides.insert(view.strides.end() - at, reduced.strides.begin(), reduced.strides.end());
  p.in = {scalarElement(elementOf(op.getValue())), isStrided(view)};
  p.out = scalarElement(elementOf(op.getResult()));
  p.combine = static_cast<kernels::Combine>(op.getKind());
  p.blockRows = p.across ? 1 : kRows;
  p.blockColumns = kColumns;
  launches_.push_back({p, "", {view, both[1]}});
  return {};
}

// ---- products ----

// A value without gaps; copied there where it has some.
Result<BoundView> GenericLowering::packed(Value value) {
  SINTER_ASSIGN(BoundView view, memory_.view(value));
  if (isPacked(view))
    return view;
  BoundView room = memory_.temporary(view.extents, elementOf(value));
  SINTER_TRY(copy(view, elementOf(value), room, elementOf(value)));
  return room;
}

// The same with its axes in another order.
Result<BoundView> GenericLowering::permuted(Value value, ArrayRef<int64_t> order) {
  SINTER_ASSIGN(const BoundView view, memory_.view(value));
  BoundView turned{view.buffer, view.byteOffset, {}, {}};
  for (int64_t axis : order) {
    turned.extents.push_back(view.extents[axis]);
    turned.strides.push_back(view.strides[axis]);
  }
  if (isPacked(turned))
    return turned;
  BoundView room = memory_.temporary(turned.extents, elementOf(value));
  SINTER_TRY(copy(turned, elementOf(value), room, elementOf(value)));
  return room;
}

// Batch, other and contracting axes of one operand, in this order.
static SmallVector<int64_t> dotOrder(int64_t rank, ArrayRef<int64_t> batch,
                                     ArrayRef<int64_t> contracting) {
  SmallVector<int64_t> order(batch);
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(batch, axis) && !llvm::is_contained(contracting, axis))
      order.push_back(axis);
  llvm::append_range(order, contracting);
  return order;
}

// Rows of blocks are dequantized; their matrix is one, whatever the rank of the other operand.
Result<void> GenericLowering::dotOfBlocks(graph::DotGeneralOp op) {
  const int64_t aRank = op.getA().getType().getRank();
  const bool isMatrix = op.getABatch().empty() && op.getB().getType().getRank() == 2 &&
                        ArrayRef<int64_t>(op.getBContracting()) == ArrayRef<int64_t>{1};
  if (!graph::isScalarElement(elementOf(op.getA())) || !isMatrix ||
      !tile::blockFormatOf(elementOf(op.getB())))
    return fail(Code::Unsupported, "a dot_general of such block formats has no generic kernel");
  SINTER_ASSIGN(const BoundView a, permuted(op.getA(), dotOrder(aRank, {}, op.getAContracting())));
  SINTER_ASSIGN(const BoundView b, memory_.view(op.getB()));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  kernels::Gemm p;
  p.a = scalarElement(elementOf(op.getA()));
  p.b = kernelElement(elementOf(op.getB()));
  p.activation = kernel::F32;
  p.blockM = 32;
  p.blockN = 64;
  p.blockK = 256; // whole blocks of any format
  const auto rows = static_cast<size_t>(aRank - 1);
  launches_.push_back(
      {p, "", {joined(a, {rows, rows + 1}), b, joined(out, {rows, out.extents.size()})}});
  return {};
}

Result<void> GenericLowering::dot(graph::DotGeneralOp op) {
  auto isScalar = [](Value value) { return graph::isScalarElement(elementOf(value)); };
  if (!isScalar(op.getA()) || !isScalar(op.getB()))
    return dotOfBlocks(op);
  const size_t batch = op.getABatch().size(), depth = op.getAContracting().size();
  const size_t aRank = op.getA().getType().getRank(), bRank = op.getB().getType().getRank();
  SINTER_ASSIGN(const BoundView a,
                permuted(op.getA(), dotOrder(aRank, op.getABatch(), op.getAContracting())));
  SINTER_ASSIGN(const BoundView b,
                permuted(op.getB(), dotOrder(bRank, op.getBBatch(), op.getBContracting())));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  kernels::Gemm p;
  p.a = scalarElement(elementOf(op.getA()));
  p.b = scalarElement(elementOf(op.getB()));
  p.batched = true;
  p.transposeB = true;
  p.blockM = 16;
  p.blockN = 64;
  p.blockK = 32;
  const size_t rows = aRank - depth;
  launches_.push_back({p,
                       "",
                       {joined(a, {batch, rows, aRank}), joined(b, {batch, bRank - depth, bRank}),
                        joined(out, {batch, rows, out.extents.size()})}});
  return {};
}

// ---- moving elements ----

Result<void> GenericLowering::gather(graph::GatherOp op) {
  SINTER_ASSIGN(const BoundView table, packed(op.getTable()));
  SINTER_ASSIGN(const BoundView index, packed(op.getIndex()));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  const Type element = elementOf(op.getTable());
  const bool blocks = isa<tile::BlockType>(element);
  if (blocks && !tile::blockFormatOf(element))
    return fail(Code::Unsupported, "a gather of activations in blocks has no generic kernel");
  const size_t axis = op.getAxis(), ranks = index.extents.size();
  kernels::GatherViews p;
  p.table.element = blocks ? kernelElement(element) : scalarElement(element);
  p.out = scalarElement(elementOf(op.getResult()));
  p.blockColumns = kColumns;
  launches_.push_back(
      {p,
       "",
       {joined(table, {axis, axis + 1, table.extents.size()}), joined(index, {ranks}),
        joined(out, {axis, axis + ranks, out.extents.size()})}});
  return {};
}

Result<void> GenericLowering::iota(graph::IotaOp op) {
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  SINTER_TRY(checkRank(out.extents.size()));
  kernels::IotaViews p;
  p.rank = static_cast<int64_t>(out.extents.size());
  p.axis = static_cast<int64_t>(op.getAxis());
  p.blockColumns = kColumns;
  launches_.push_back({p, "", {out}});
  return {};
}

// The bytes of a dense attribute as kernels read them: one a truth value.
static std::vector<uint8_t> bytesOf(ElementsAttr value) {
  std::vector<uint8_t> bytes;
  auto add = [&](const APInt &bits) {
    for (unsigned at = 0; at < bits.getBitWidth(); at += 8)
      bytes.push_back(static_cast<uint8_t>(
          bits.extractBitsAsZExtValue(std::min(8u, bits.getBitWidth() - at), at)));
  };
  if (isa<FloatType>(value.getElementType()))
    for (const APFloat &number : value.getValues<APFloat>())
      add(number.bitcastToAPInt());
  else
    for (const APInt &number : value.getValues<APInt>())
      add(number);
  return bytes;
}

Result<void> GenericLowering::constant(graph::ConstantOp op) {
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  const BoundView bytes = memory_.constant(out.extents, bytesOf(op.getValue()));
  return copy(bytes, elementOf(op.getResult()), out, elementOf(op.getResult()));
}

Result<void> GenericLowering::transpose(graph::TransposeOp op) {
  SINTER_ASSIGN(const BoundView in, memory_.view(op.getValue()));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  BoundView turned{in.buffer, in.byteOffset, out.extents, {}};
  for (int64_t axis : op.getPermutation())
    turned.strides.push_back(in.strides[axis]);
  return copy(turned, elementOf(op.getValue()), out, elementOf(op.getValue()));
}

Result<void> GenericLowering::reshape(graph::ReshapeOp op) {
  SINTER_ASSIGN(const BoundView in, packed(op.getValue()));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  BoundView flat = joined(out, {out.extents.size()});
  return copy({in.buffer, in.byteOffset, flat.extents, flat.strides}, elementOf(op.getValue()),
              flat, elementOf(op.getValue()));
}

Result<void> GenericLowering::slice(graph::SliceOp op) {
  SINTER_ASSIGN(BoundView in, memory_.view(op.getValue()));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  Type element = elementOf(op.getValue());
  if (!graph::isScalarElement(element))
    return fail(Code::Unsupported, "a slice of block formats has no generic kernel");
  for (size_t axis = 0; axis < in.extents.size(); ++axis)
    in = advanced(std::move(in), axis, Expr(op.getOffsets()[axis]), element);
  for (size_t axis = 0; axis < in.extents.size() && op.getSteps(); ++axis)
    in.strides[axis] = plan::mul(in.strides[axis], Expr((*op.getSteps())[axis]));
  in.extents = out.extents;
  return copy(in, element, out, element);
}

Result<void> GenericLowering::concat(graph::ConcatOp op) {
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  Type element = elementOf(op.getResult());
  const size_t axis = op.getAxis();
  BoundView rest = out;
  for (Value value : op.getValues()) {
    SINTER_ASSIGN(const BoundView part, memory_.view(value));
    BoundView room = rest;
    room.extents = part.extents;
    SINTER_TRY(copy(part, element, room, element));
    rest = advanced(std::move(rest), axis, part.extents[axis], element);
  }
  return {};
}

Result<void> GenericLowering::pad(graph::PadOp op) {
  SINTER_ASSIGN(const BoundView in, memory_.view(op.getValue()));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  Type element = elementOf(op.getValue());
  std::vector<uint8_t> bytes = bytesOf(DenseElementsAttr::get(RankedTensorType::get({1}, element),
                                                              ArrayRef<Attribute>{op.getFill()}));
  BoundView one = memory_.constant({Expr(1)}, std::move(bytes));
  SINTER_TRY(copy(broadcast(one, RankedTensorType::get({1}, element), out), element, out, element));
  BoundView room = out;
  room.extents = in.extents;
  for (size_t axis = 0; axis < in.extents.size(); ++axis)
    room = advanced(std::move(room), axis, Expr(op.getLow()[axis]), element);
  return copy(in, element, room, element);
}

static Result<void> lowerWith(GenericLowering &lowering, Operation *op) {
  using Done = Result<void>;
  return llvm::TypeSwitch<Operation *, Done>(op)
      .Case([&](graph::MapOp o) { return lowering.map(o); })
      .Case([&](graph::ReduceOp o) { return lowering.reduce(o); })
      .Case([&](graph::DotGeneralOp o) { return lowering.dot(o); })
      .Case([&](graph::GatherOp o) { return lowering.gather(o); })
      .Case([&](graph::IotaOp o) { return lowering.iota(o); })
      .Case([&](graph::ConstantOp o) { return lowering.constant(o); })
      .Case([&](graph::TransposeOp o) { return lowering.transpose(o); })
      .Case([&](graph::ReshapeOp o) { return lowering.reshape(o); })
      .Case([&](graph::SliceOp o) { return lowering.slice(o); })
      .Case([&](graph::ConcatOp o) { return lowering.concat(o); })
      .Case([&](graph::PadOp o) { return lowering.pad(o); })
      .Default([](Operation *other) -> Done {
        return fail(Code::Unsupported, "operation '" + other->getName().getStringRef().str() +
                                           "' has no generic kernel");
      });
}

Result<std::vector<GenericLaunch>> genericLaunches(Operation *op, ValueMemory &memory) {
  GenericLowering lowering(memory);
  SINTER_TRY(lowerWith(lowering, op));
  return lowering.take();
}

} // namespace sinter::engine
