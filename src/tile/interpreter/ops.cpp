// Handlers of the tile dialect's operations on views and on the places of elements.
#include "tile/mlir_pch.h"

#include "tile/interpreter/engine.h"

#include <cstring>

using namespace mlir;

namespace sinter::tile {

// ---- structure and views ----

static Result<void> grid(OpCall &) {
  return {};
}

static Result<void> programId(OpCall &call) {
  call.out() = Tile::index(call.engine().programId[cast<ProgramIdOp>(call.op).getAxis()]);
  return {};
}

static Result<void> dim(OpCall &call) {
  call.out() = Tile::index(call.view(0).extent(cast<DimOp>(call.op).getAxis()));
  return {};
}

// A static extent of the result's type is a promise that folding relies on.
static Result<void> setView(OpCall &call, View view) {
  auto type = cast<ViewType>(call.op.getResult(0).getType());
  for (auto [axis, extent] : llvm::enumerate(type.getShape()))
    if (ShapedType::isStatic(extent) && view.extent(axis) != extent)
      return call.fail(Code::InvalidArgument, "gives extent " + Twine(view.extent(axis)) +
                                                  " on axis " + Twine(axis) + ", expected " +
                                                  Twine(extent) + " by its type");
  call.results[0] = std::make_shared<const View>(std::move(view));
  return {};
}

static Result<void> window(OpCall &call) {
  const View &from = call.view(0);
  unsigned rank = static_cast<unsigned>(from.rank());
  return setView(call, from.window(call.indices(1, rank), call.indices(1 + rank, rank)));
}

static Result<void> gather(OpCall &call) {
  const View &pages = call.view(0);
  int64_t rowsPerPage = cast<ViewType>(call.op.getOperand(0).getType()).getShape()[1];
  bool byRow = cast<GatherOp>(call.op).getByRow();
  int64_t rows;
  if (__builtin_mul_overflow(call.view(1).extent(0), byRow ? 1 : rowsPerPage, &rows))
    return call.fail(Code::InvalidArgument, "gathers more rows than fit 64 bits");
  View view;
  view.data = pages.data;
  view.element = pages.element;
  view.log = pages.log;
  view.axes.push_back({0, rows, 0});
  view.axes.append(pages.axes.begin() + 2, pages.axes.end());
  auto source = std::make_shared<PageRows>();
  source->pages = call.viewPointer(0);
  source->index = call.viewPointer(1);
  source->rowsPerPage = rowsPerPage;
  source->byRow = byRow;
  view.rows = std::move(source);
  return setView(call, std::move(view));
}

// ---- memory ----

static void fill(Tile &tile, const std::byte *element) {
  size_t bytes = tile.element().bytes;
  for (int64_t i = 0; i < tile.count(); ++i)
    std::memcpy(tile.data() + i * bytes, element, bytes);
}

static void fillPadding(Tile &tile, Attribute pad) {
  uint64_t bits = isa<FloatAttr>(pad)
                      ? cast<FloatAttr>(pad).getValue().bitcastToAPInt().getZExtValue()
                      : cast<IntegerAttr>(pad).getValue().getZExtValue();
  std::byte bytes[sizeof bits];
  std::memcpy(bytes, &bits, sizeof bits);
  fill(tile, bytes);
}

static std::string programText(const Engine &engine, uint32_t number) {
  const auto at = static_cast<int64_t>(number) - 1;
  return "program " + std::to_string(at % engine.grid[0]) + ", " +
         std::to_string(at / engine.grid[0] % engine.grid[1]) + ", " +
         std::to_string(at / engine.grid[0] / engine.grid[1]);
}

// Whether the operation, which `does` something to units of the view, met another program there.
static Result<void> checkRace(OpCall &call, const View &view, const char *does) {
  if (!view.log || !view.log->conflict())
    return {};
  const AccessLog::Conflict &conflict = *view.log->conflict();
  const bool many = conflict.other == AccessLog::kMany;
  return call.fail(Code::InvalidArgument,
                   Twine(does) + (view.element.isBlock() ? " block " : " element ") +
                       Twine(conflict.unit) + " of '" + view.log->name() + "', which " +
                       (many ? "other programs" : programText(call.engine(), conflict.other)) +
                       (conflict.otherWrote ? " stored" : " loaded") +
                       ": the outcome depends on the order in which programs run");
}

static uint64_t bytesOf(const View &view, int64_t elements) {
  return uint64_t(elements) / view.element.length * view.element.bytes;
}

static Result<void> load(OpCall &call) {
  auto op = cast<LoadOp>(call.op);
  const View &view = call.view(0);
  if (std::optional<Attribute> pad = op.getPad()) {
    if (!isa<FloatAttr, IntegerAttr>(*pad) || view.element.isBlock())
      return call.fail(Code::Unsupported, "pads with neither a float nor an integer");
    fillPadding(call.out(), *pad);
  }
  auto offsets = call.indices(1, view.rank());
  std::optional<int64_t> loaded = view.element.isBlock() ? loadBlocks(view, offsets, call.out())
                                                         : loadTile(view, offsets, call.out());
  if (!loaded)
    return call.fail(Code::InvalidArgument, "begins within a block of its view");
  call.engine().statistics.bytesLoaded += bytesOf(view, *loaded);
  return checkRace(call, view, "loads");
}

static Result<void> loadScalar(OpCall &call) {
  const View &view = call.view(0);
  if (std::optional<int64_t> at = view.locate(call.indices(1, view.rank()))) {
    uint64_t bits = 0;
    std::memcpy(&bits, view.data + *at * view.element.bytes, view.element.bytes);
    if (view.element.isInt())
      bits &= view.element.mask();
    std::memcpy(call.out().data(), &bits, view.element.bytes);
    call.engine().statistics.bytesLoaded += view.element.bytes;
    if (view.log)
      view.log->read(*at);
  }
  return checkRace(call, view, "loads");
}

static Result<void> store(OpCall &call) {
  const Tile &tile = call.tile(0);
  const View &view = call.view(1);
  SINTER_TRY(call.engine().charge(call.op, tile.count(), call.task));
  auto offsets = call.indices(2, view.rank());
  std::optional<int64_t> stored =
      view.element.isBlock() ? storeBlocks(tile, view, offsets) : storeTile(tile, view, offsets);
  if (!stored)
    return call.fail(Code::InvalidArgument, "begins within a block of its view");
  call.engine().statistics.bytesStored += bytesOf(view, *stored);
  return checkRace(call, view, "stores");
}

// ---- places of elements ----

using Strides = SmallVector<int64_t, 6>;

static Strides rowMajor(ArrayRef<int64_t> shape) {
  Strides strides(shape.size(), 1);
  for (size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

// Copies the rectangle `shape` between two places whose strides count elements.
static void copyRectangle(ArrayRef<int64_t> shape, std::byte *to, const Strides &toStrides,
                          const std::byte *from, const Strides &fromStrides, size_t bytes) {
  SmallVector<int64_t, 6> at(shape.size(), 0);
  int64_t source = 0, target = 0, axis;
  do {
    std::memcpy(to + target * bytes, from + source * bytes, bytes);
    for (axis = static_cast<int64_t>(shape.size()) - 1; axis >= 0; --axis) {
      source += fromStrides[axis];
      target += toStrides[axis];
      if (++at[axis] < shape[axis])
        break;
      source -= fromStrides[axis] * shape[axis];
      target -= toStrides[axis] * shape[axis];
      at[axis] = 0;
    }
  } while (axis >= 0);
}

// Fills the result from the operand, element by element of the result.
static void copyFrom(OpCall &call, int64_t first, const Strides &fromStrides) {
  const Tile &from = call.tile(0);
  Tile &out = call.out();
  size_t bytes = out.element().bytes;
  copyRectangle(out.shape(), out.data(), rowMajor(out.shape()), from.data() + first * bytes,
                fromStrides, bytes);
}

// Runs F on tiles of scalars; blocks only load, store, quantize, dequantize and multiply.
template <auto F> Result<void> onScalars(OpCall &call) {
  if (call.out().element().isBlock())
    return call.fail(Code::Unsupported, "moves elements of a block format, expected a scalar type");
  return F(call);
}

static Result<void> splat(OpCall &call) {
  fill(call.out(), call.tile(0).data());
  return {};
}

static Result<void> iota(OpCall &call) {
  Tile &out = call.out();
  int64_t axis = cast<IotaOp>(call.op).getAxis();
  int64_t inner = rowMajor(out.shape())[axis], extent = out.shape()[axis];
  for (int64_t i = 0; i < out.count(); ++i)
    writeInts(out, i, uint64_t(i / inner % extent));
  return {};
}

static Result<void> broadcast(OpCall &call) {
  Strides strides = rowMajor(call.tile(0).shape());
  for (auto [stride, extent] : llvm::zip_equal(strides, call.tile(0).shape()))
    if (extent == 1)
      stride = 0;
  copyFrom(call, 0, strides);
  return {};
}

static Result<void> reshape(OpCall &call) {
  std::memcpy(call.out().data(), call.tile(0).data(), call.out().byteCount());
  return {};
}

static Result<void> permute(OpCall &call) {
  Strides strides = rowMajor(call.tile(0).shape()), reordered;
  for (int64_t axis : cast<PermuteOp>(call.op).getOrder())
    reordered.push_back(strides[axis]);
  copyFrom(call, 0, reordered);
  return {};
}

static Result<void> slice(OpCall &call) {
  Strides strides = rowMajor(call.tile(0).shape());
  int64_t first = 0;
  for (auto [offset, stride] : llvm::zip_equal(cast<SliceOp>(call.op).getOffsets(), strides))
    first += offset * stride;
  copyFrom(call, first, strides);
  return {};
}

static Result<void> concat(OpCall &call) {
  auto op = cast<ConcatOp>(call.op);
  Tile &out = call.out();
  size_t bytes = out.element().bytes;
  Strides strides = rowMajor(out.shape());
  int64_t at = 0;
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    const Tile &from = call.tile(i);
    copyRectangle(from.shape(), out.data() + at * strides[op.getAxis()] * bytes, strides,
                  from.data(), rowMajor(from.shape()), bytes);
    at += from.shape()[op.getAxis()];
  }
  return {};
}

void addViewHandlers(Handlers &handlers) {
  handlers.add<GridOp>(grid);
  handlers.add<ProgramIdOp>(programId);
  handlers.add<DimOp>(dim);
  handlers.add<WindowOp>(window);
  handlers.add<GatherOp>(gather);
  handlers.add<LoadOp>(load);
  handlers.add<LoadScalarOp>(loadScalar);
  handlers.add<StoreOp>(store);
}

void addTileHandlers(Handlers &handlers) {
  handlers.add<SplatOp>(splat);
  handlers.add<IotaOp>(iota);
  handlers.add<BroadcastOp>(onScalars<broadcast>);
  handlers.add<ReshapeOp>(onScalars<reshape>);
  handlers.add<PermuteOp>(onScalars<permute>);
  handlers.add<SliceOp>(onScalars<slice>);
  handlers.add<ConcatOp>(onScalars<concat>);
}

} // namespace sinter::tile
