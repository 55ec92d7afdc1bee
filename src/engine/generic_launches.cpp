// Views of operands and results for each operation: permuted, offset and repeated axes are strides.
#include "tile/mlir_pch.h"

#include "engine/elements.h"
#include "engine/generic_launches.h"
#include "engine/region_program.h"

#include <bit>

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
  Result<void> fold(graph::FoldOp op);
  Result<void> dequantize(graph::DequantizeOp op);
  Result<void> dot(graph::DotGeneralOp op);
  Result<void> dotByBlocks(graph::DotGeneralOp op);
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
  // A value as kernels read it.
  struct Operand {
    BoundView view;
    Type element;
  };

  Result<void> copy(const BoundView &from, Type fromElement, const BoundView &to, Type toElement);
  Result<void> launchMap(kernels::MapViews p, std::string variant, std::vector<BoundView> views);
  Result<Operand> operand(Value value);
  Result<Operand> scalars(Value value);
  Result<BoundView> packed(const Operand &from);

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

// Elements that lie so far apart, as bytes. Of a block format they are whole blocks apart.
static Expr bytesApart(const Expr &elements, Type element) {
  const ElementBytes size = elementBytes(element);
  if (size.length == 1)
    return plan::mul(elements, Expr(size.bytes));
  return plan::mul(plan::ceilDiv(elements, Expr(size.length)), Expr(size.bytes));
}

// An element further along an axis.
static BoundView advanced(BoundView view, size_t axis, const Expr &elements, Type element) {
  const Expr bytes = bytesApart(plan::mul(elements, view.strides[axis]), element);
  view.byteOffset = plan::add(view.byteOffset, bytes);
  return view;
}

// Blocks along the last axis as their bytes.
static BoundView asBytes(BoundView view, Type element) {
  const size_t last = view.extents.size() - 1;
  view.extents[last] = bytesApart(view.extents[last], element);
  for (size_t axis = 0; axis < last; ++axis)
    view.strides[axis] = bytesApart(view.strides[axis], element);
  return view;
}

// The same with its axes in another order.
static BoundView turned(const BoundView &view, ArrayRef<int64_t> order) {
  BoundView result{view.buffer, view.byteOffset, {}, {}};
  for (int64_t axis : order) {
    result.extents.push_back(view.extents[axis]);
    result.strides.push_back(view.strides[axis]);
  }
  return result;
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
  const bool blocks = isa<tile::BlockType>(fromElement);
  if (blocks && fromElement == toElement) {
    p.operands[0].element = p.out.element = kernel::I8;
    return launchMap(std::move(p), "copy", {asBytes(from, fromElement), asBytes(to, toElement)});
  }
  if (blocks && !tile::blockFormatOf(fromElement))
    return fail(Code::Unsupported, "activations in blocks are dequantized, which no kernel does");
  p.operands[0].element = blocks ? kernelElement(fromElement) : scalarElement(fromElement);
  p.out.element = scalarElement(toElement);
  return launchMap(std::move(p), "copy", {from, to});
}

Result<void> GenericLowering::dequantize(graph::DequantizeOp op) {
  SINTER_ASSIGN(const Operand from, operand(op.getValue()));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  return copy(from.view, from.element, out, elementOf(op.getResult()));
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
  const RegionProgram program = readRegion(op.getBody().front());
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
                      int64_t columns) { return program.replay(k, tiles, rows, columns)[0]; };
  return launchMap(std::move(p), program.text(), std::move(views));
}

// ---- reductions ----

namespace {
// The axes of a reduction's operands, in two parts, and those of its results.
struct ReductionViews {
  std::vector<BoundView> kept, reduced; // one each of an operand
  std::vector<BoundView> results;
  bool across = false;

  void add(const BoundView &in, ArrayRef<int64_t> axes) {
    BoundView stays{in.buffer, in.byteOffset, {}, {}}, goes = stays;
    for (size_t axis = 0; axis < in.extents.size(); ++axis) {
      BoundView &to = llvm::is_contained(axes, static_cast<int64_t>(axis)) ? goes : stays;
      to.extents.push_back(in.extents[axis]);
      to.strides.push_back(in.strides[axis]);
    }
    // Neighbours in memory are neighbours in a tile.
    across = !stays.extents.empty() && !goes.extents.empty() &&
             !llvm::is_contained(axes, static_cast<int64_t>(in.extents.size()) - 1);
    across |= !stays.extents.empty() && axes.empty();
    kept.push_back(std::move(stays));
    reduced.push_back(std::move(goes));
  }
  void addResult(const BoundView &out) {
    const std::vector<Expr> &extents = kept.front().extents;
    results.push_back({out.buffer, out.byteOffset, extents, packedStrides(extents)});
  }
  Result<void> join() {
    std::vector<BoundView> together = kept;
    llvm::append_range(together, results);
    for (std::vector<BoundView> *views : {&together, &reduced}) {
      for (BoundView &view : *views)
        addAxis(view);
      joinAxes(*views);
    }
    const auto operands = static_cast<std::ptrdiff_t>(kept.size());
    kept.assign(together.begin(), together.begin() + operands);
    results.assign(together.begin() + operands, together.end());
    return checkRank(kept[0].extents.size() + reduced[0].extents.size());
  }
  // An operand as kernels read it.
  BoundView operand(size_t number) const {
    BoundView view = kept[number];
    const BoundView &more = reduced[number];
    const auto at = across ? 1 : 0;
    view.extents.insert(view.extents.end() - at, more.extents.begin(), more.extents.end());
    view.strides.insert(view.strides.end() - at, more.strides.begin(), more.strides.end());
    return view;
  }
  void describe(kernels::ReducedAxes &p) const {
    p.across = across;
    p.kept = static_cast<int64_t>(kept[0].extents.size());
    p.reduced = static_cast<int64_t>(reduced[0].extents.size());
    p.blockRows = across ? 1 : kRows;
    p.blockColumns = kColumns;
  }
};
} // namespace

Result<void> GenericLowering::reduce(graph::ReduceOp op) {
  SINTER_ASSIGN(const BoundView in, memory_.view(op.getValue()));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  ReductionViews views;
  views.add(in, op.getAxes());
  views.addResult(out);
  SINTER_TRY(views.join());
  kernels::ReduceViews p;
  views.describe(p);
  const BoundView view = views.operand(0);
  p.in = {scalarElement(elementOf(op.getValue())), isStrided(view)};
  p.out = scalarElement(elementOf(op.getResult()));
  p.combine = static_cast<kernels::Combine>(op.getKind());
  launches_.push_back({p, "", {view, views.results[0]}});
  return {};
}

static double numberOf(Attribute from) {
  if (auto number = dyn_cast<FloatAttr>(from))
    return number.getValueAsDouble();
  const APInt &whole = cast<IntegerAttr>(from).getValue();
  return whole.getBitWidth() == 1 ? static_cast<double>(whole.getZExtValue())
                                  : static_cast<double>(whole.getSExtValue());
}

Result<void> GenericLowering::fold(graph::FoldOp op) {
  const RegionProgram program = readRegion(op.getBody().front());
  ReductionViews views;
  for (Value value : op.getValues()) {
    SINTER_ASSIGN(const BoundView in, memory_.view(value));
    views.add(in, op.getAxes());
  }
  kernels::FoldViews p;
  p.results.clear();
  for (auto [result, from] : llvm::zip_equal(op.getResults(), op.getFrom())) {
    SINTER_ASSIGN(const BoundView out, memory_.view(result));
    views.addResult(out);
    p.results.push_back({scalarElement(elementOf(result)), numberOf(from)});
  }
  SINTER_TRY(views.join());
  views.describe(p);
  std::string variant = program.text();
  for (const kernels::FoldViews::Accumulator &result : p.results)
    variant += " from " + std::to_string(std::bit_cast<uint64_t>(result.from));
  p.operands.clear();
  std::vector<BoundView> arguments;
  for (auto [number, value] : llvm::enumerate(op.getValues())) {
    arguments.push_back(views.operand(number));
    p.operands.push_back({scalarElement(elementOf(value)), isStrided(arguments.back())});
    variant += p.operands.back().strided ? " *" : " -";
  }
  llvm::append_range(arguments, views.results);
  p.apply = [program](kernel::KernelBuilder &k, const std::vector<kernel::Tile> &tiles,
                      int64_t rows,
                      int64_t columns) { return program.replay(k, tiles, rows, columns); };
  launches_.push_back({std::move(p), std::move(variant), std::move(arguments)});
  return {};
}

// ---- products ----

Result<GenericLowering::Operand> GenericLowering::operand(Value value) {
  SINTER_ASSIGN(BoundView view, memory_.view(value));
  return Operand{std::move(view), elementOf(value)};
}

// The same; blocks are dequantized.
Result<GenericLowering::Operand> GenericLowering::scalars(Value value) {
  SINTER_ASSIGN(Operand from, operand(value));
  if (graph::isScalarElement(from.element))
    return from;
  Type f32 = Float32Type::get(from.element.getContext());
  BoundView room = memory_.temporary(from.view.extents, f32);
  SINTER_TRY(copy(from.view, from.element, room, f32));
  return Operand{std::move(room), f32};
}

// The same without gaps; copied there where it has some.
Result<BoundView> GenericLowering::packed(const Operand &from) {
  if (isPacked(from.view))
    return from.view;
  BoundView room = memory_.temporary(from.view.extents, from.element);
  SINTER_TRY(copy(from.view, from.element, room, from.element));
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

// Rows by one matrix of blocks, which its kernel dequantizes.
static bool isByBlocks(graph::DotGeneralOp op) {
  return graph::isScalarElement(elementOf(op.getA())) &&
         tile::blockFormatOf(elementOf(op.getB())) && op.getABatch().empty() &&
         op.getB().getType().getRank() == 2 &&
         ArrayRef<int64_t>(op.getBContracting()) == ArrayRef<int64_t>{1};
}

Result<void> GenericLowering::dotByBlocks(graph::DotGeneralOp op) {
  const int64_t aRank = op.getA().getType().getRank();
  SINTER_ASSIGN(Operand a, operand(op.getA()));
  a.view = turned(a.view, dotOrder(aRank, {}, op.getAContracting()));
  SINTER_ASSIGN(const BoundView rows, packed(a));
  SINTER_ASSIGN(const BoundView b, memory_.view(op.getB()));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  kernels::Gemm p;
  p.a = scalarElement(a.element);
  p.b = kernelElement(elementOf(op.getB()));
  p.activation = kernel::F32;
  p.blockM = 32;
  p.blockN = 64;
  p.blockK = 256; // whole blocks of any format
  const auto last = static_cast<size_t>(aRank - 1);
  launches_.push_back(
      {p, "", {joined(rows, {last, last + 1}), b, joined(out, {last, out.extents.size()})}});
  return {};
}

Result<void> GenericLowering::dot(graph::DotGeneralOp op) {
  if (isByBlocks(op))
    return dotByBlocks(op);
  const size_t batch = op.getABatch().size(), depth = op.getAContracting().size();
  const size_t aRank = op.getA().getType().getRank(), bRank = op.getB().getType().getRank();
  SINTER_ASSIGN(Operand a, scalars(op.getA()));
  a.view = turned(a.view, dotOrder(aRank, op.getABatch(), op.getAContracting()));
  SINTER_ASSIGN(const BoundView rows, packed(a));
  SINTER_ASSIGN(Operand b, scalars(op.getB()));
  b.view = turned(b.view, dotOrder(bRank, op.getBBatch(), op.getBContracting()));
  SINTER_ASSIGN(const BoundView columns, packed(b));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  kernels::Gemm p;
  p.a = scalarElement(a.element);
  p.b = scalarElement(b.element);
  p.batched = true;
  p.transposeB = true;
  p.blockM = 16;
  p.blockN = 64;
  p.blockK = 32;
  const size_t others = aRank - depth;
  launches_.push_back(
      {p,
       "",
       {joined(rows, {batch, others, aRank}), joined(columns, {batch, bRank - depth, bRank}),
        joined(out, {batch, others, out.extents.size()})}});
  return {};
}

// ---- moving elements ----

namespace {
// Axes of a gather in the order of its kernel: batch axes, those before the indexed one, that one
// (of the result the index's), those behind it.
struct GatherOrder {
  SmallVector<int64_t> table, index, result;
  size_t batch, outer, indexed; // how many

  explicit GatherOrder(graph::GatherOp op)
      : table(op.getTableBatch()), index(op.getIndexBatch()), batch(table.size()),
        indexed(op.getIndexAxes().size()) {
    const auto axis = static_cast<int64_t>(op.getAxis());
    llvm::append_range(index, op.getIndexAxes());
    for (int64_t i = 0; i < op.getTable().getType().getRank(); ++i)
      if (!llvm::is_contained(op.getTableBatch(), i))
        table.push_back(i);
    outer = static_cast<size_t>(llvm::find(table, axis) - table.begin()) - batch;
    for (int64_t i : table) {
      if (i != axis) {
        result.push_back(i < axis ? i : i + static_cast<int64_t>(indexed) - 1);
        continue;
      }
      for (size_t more = 0; more < indexed; ++more)
        result.push_back(axis + static_cast<int64_t>(more));
    }
  }
  // A view's axes joined for the kernel; the indexed one is `axes` long.
  BoundView joinedAs(const BoundView &view, size_t axes) const {
    const size_t before = batch + outer;
    SmallVector<size_t> ends = {before, before + axes, view.extents.size()};
    if (batch)
      ends.insert(ends.begin(), batch);
    return joined(view, ends);
  }
};
} // namespace

Result<void> GenericLowering::gather(graph::GatherOp op) {
  const GatherOrder order(op);
  SINTER_ASSIGN(Operand table, operand(op.getTable()));
  if (isa<tile::BlockType>(table.element) && !tile::blockFormatOf(table.element))
    return fail(Code::Unsupported, "a gather of activations in blocks has no generic kernel");
  table.view = turned(table.view, order.table);
  SINTER_ASSIGN(const BoundView rows, packed(table));
  SINTER_ASSIGN(Operand index, operand(op.getIndex()));
  index.view = turned(index.view, order.index);
  SINTER_ASSIGN(const BoundView indices, packed(index));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  const Type made = elementOf(op.getResult());
  const BoundView whole = turned(out, order.result);
  const BoundView room = isPacked(whole) ? whole : memory_.temporary(whole.extents, made);
  kernels::GatherViews p;
  p.batched = order.batch > 0;
  p.table.element = isa<tile::BlockType>(table.element) ? kernelElement(table.element)
                                                        : scalarElement(table.element);
  p.out = scalarElement(made);
  p.blockColumns = kColumns;
  SmallVector<size_t> ends = {indices.extents.size()};
  if (p.batched)
    ends.insert(ends.begin(), order.batch);
  launches_.push_back(
      {p,
       "",
       {order.joinedAs(rows, 1), joined(indices, ends), order.joinedAs(room, order.indexed)}});
  return isPacked(whole) ? Result<void>() : copy(room, made, whole, made);
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
  SINTER_ASSIGN(const Operand value, operand(op.getValue()));
  SINTER_ASSIGN(const BoundView in, packed(value));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  const BoundView flat = joined(out, {out.extents.size()});
  return copy({in.buffer, in.byteOffset, flat.extents, flat.strides}, value.element, flat,
              value.element);
}

Result<void> GenericLowering::slice(graph::SliceOp op) {
  SINTER_ASSIGN(BoundView in, memory_.view(op.getValue()));
  SINTER_ASSIGN(const BoundView out, memory_.view(op.getResult()));
  Type element = elementOf(op.getValue());
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
      .Case([&](graph::FoldOp o) { return lowering.fold(o); })
      .Case([&](graph::DequantizeOp o) { return lowering.dequantize(o); })
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
