// Lowering, mixture of experts: choices, rows by expert, grouped matmuls and their sums.
#include "tile/mlir_pch.h"

#include "engine/choice/matmul.h"
#include "engine/choice/packing.h"
#include "engine/elements.h"
#include "engine/lowering.h"
#include "engine/map_program.h"
#include "graph/fuse/row_order.h"
#include "kernels/grouped_gemm.h"
#include "kernels/routing.h"

using namespace mlir;

namespace sinter::engine {

using plan::BufferKind;
using plan::Expr;
using plan::KernelId;

// ---- views ----

static Result<void> checkPacked(const Stored &stored, const std::string &what) {
  if (stored.strides == packedStrides(stored.extents))
    return {};
  return fail(Code::Unsupported, what + " lies apart in memory, which has no kernel");
}

// All elements of a tensor without gaps in a view of two dimensions, of which one is 1.
static BoundView flat(const Stored &stored, bool asRow) {
  Expr count(1);
  for (const Expr &extent : stored.extents)
    count = plan::mul(count, extent);
  if (asRow)
    return {stored.buffer, stored.byteOffset, {Expr(1), count}, {count, Expr(1)}};
  return {stored.buffer, stored.byteOffset, {count, Expr(1)}, {Expr(1), Expr(1)}};
}

// The same in one dimension.
static BoundView vector(const Stored &stored) {
  BoundView row = flat(stored, /*asRow=*/true);
  return {row.buffer, row.byteOffset, {row.extents[1]}, {Expr(1)}};
}

// Rows of elements that are only moved: those of a block format as words of 32 bits.
static BoundView movedRows(const Stored &rows, Type element) {
  const ElementBytes size = elementBytes(element);
  auto words = [&](const Expr &elements) {
    return Expr(*elements.constant() / size.length * size.bytes / int64_t(sizeof(int32_t)));
  };
  if (size.length == 1)
    return rows.view();
  return {rows.buffer,
          rows.byteOffset,
          {rows.extents[0], words(rows.extents[1])},
          {words(rows.strides[0]), Expr(1)}};
}

// ---- choices ----

Result<void> Lowering::lowerRoute(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::RouteOp>(launch);
  kernels::Route p;
  p.scores = static_cast<kernels::RouterScores>(op.getKind());
  p.experts = graph::columnsOf(op.getLogits());
  p.choices = graph::columnsOf(op.getWeights());
  p.groups = static_cast<int64_t>(op.getGroups());
  p.usedGroups = static_cast<int64_t>(op.getUsedGroups());
  p.sharing = static_cast<int64_t>(op.getSharing());
  p.biased = op.getBias() != nullptr;
  p.byLogits = op.getByLogits();
  p.normalized = op.getNormalized();
  SINTER_ASSIGN(const BoundView logits, operandView(op.getLogits()));
  std::vector<BoundArgument> arguments = {logits};
  if (op.getBias()) {
    SINTER_ASSIGN(const Stored bias, operand(op.getBias()));
    arguments.push_back(asRow(bias));
  }
  arguments.push_back(allocate(launch.getResult(0)).view());
  arguments.push_back(allocate(launch.getResult(1)).view());
  arguments.push_back(f32Scalar(op.getScale().convertToFloat()));
  SINTER_ASSIGN(KernelId kernel, kernels_.add("route", p, kernels::route));
  addLaunch(steps_, kernel, arguments, launch);
  return {};
}

// ---- rows by expert ----

// Counts of each program's choices, then all rows and groups by these.
Result<void> Lowering::lowerGroupRows(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::GroupRowsOp>(launch);
  const int64_t experts = op.getGroups().getType().getDimSize(0);
  SINTER_ASSIGN(const Stored chosen, operand(op.getExperts()));
  SINTER_TRY(checkPacked(chosen, "the experts of a group_rows"));
  const BoundView column = flat(chosen, /*asRow=*/false);
  const Expr programs = plan::ceilDiv(column.extents[0], Expr(kernels::kChoicesOfProgram));
  const std::vector<Expr> extents = {programs, Expr(2), Expr(experts)};
  const Expr bytes = plan::mul(programs, Expr(2 * experts * int64_t(sizeof(int32_t))));
  const BoundView counts{addBuffer("temp." + std::to_string(plan_.buffers.size()), BufferKind::Temp,
                                   plan::mul(bytes, phase_)),
                         Expr(0), extents, packedStrides(extents)};
  SINTER_ASSIGN(KernelId count,
                kernels_.add("count_rows", kernels::CountRows{experts}, kernels::countRows));
  SINTER_ASSIGN(KernelId place,
                kernels_.add("place_rows", kernels::PlaceRows{experts}, kernels::placeRows));
  const Stored places = allocate(launch.getResult(0)), groups = allocate(launch.getResult(1));
  addLaunch(steps_, count, {column, counts}, launch);
  addLaunch(
      steps_, place,
      {column, flat(chosen, /*asRow=*/true), counts, flat(places, /*asRow=*/false), groups.view()},
      launch);
  return {};
}

Result<void> Lowering::lowerSpreadRows(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::SpreadRowsOp>(launch);
  Type element = op.getRows().getType().getElementType();
  SINTER_ASSIGN(const Stored rows, operand(op.getRows()));
  SINTER_ASSIGN(const Stored places, operand(op.getPlaces()));
  SINTER_TRY(checkPacked(places, "the places of a spread_rows"));
  kernels::SpreadRows p;
  p.element = elementBytes(element).length > 1 ? kernel::I32 : kernelElement(element);
  p.choices = graph::columnsOf(op.getPlaces());
  SINTER_ASSIGN(KernelId kernel, kernels_.add("spread_rows", p, kernels::spreadRows));
  BoundView out = movedRows(allocate(launch.getResult(0)), element);
  out.extents.insert(out.extents.begin() + 1, Expr(1));
  out.strides.insert(out.strides.begin() + 1, out.strides[0]);
  addLaunch(steps_, kernel, {movedRows(rows, element), vector(places), out}, launch);
  return {};
}

// ---- matmuls ----

// What all M buckets of a grouped matmul share.
struct Lowering::GroupedMatmul {
  Epilogue epilogue;
  BoundView matrices;
  std::optional<BoundView> bias;
};

Result<Lowering::Steps> Lowering::groupedMatmulOf(graph::LaunchOp launch, MBucket rows,
                                                  const GroupedMatmul &matmul) {
  auto op = graph::mainOf<graph::GroupedDotOp>(launch);
  SINTER_ASSIGN(const BoundView left, operandView(op.getA()));
  SINTER_ASSIGN(const BoundView groups, operandView(op.getGroups()));
  kernels::GroupedGemm p;
  kernels::Gemm &gemm = p.gemm;
  gemm = chooseGemm(elementOf(op.getA()), elementOf(op.getB()), graph::columnsOf(op.getResult()),
                    graph::columnsOf(op.getA()), rows, precisionFor(op.getB().getType()));
  gemm.epilogueStore = matmul.epilogue.epilogueStore;
  gemm.blockN = programColumns(gemm, matmul.epilogue, rows, options_.profile);
  gemm.constantB = true;
  p.biased = matmul.bias.has_value();
  std::vector<BoundArgument> arguments = {left, matmul.matrices, groups};
  if (matmul.bias)
    arguments.push_back(*matmul.bias);
  llvm::append_range(arguments, matmul.epilogue.arguments);
  std::vector<plan::KernelSlot> slots;
  if (graph::MapOp map = graph::columnMapOf(launch)) {
    if (map.getValues().size() != 1)
      return fail(Code::Unsupported, "vectors of columns follow a grouped matmul, which has no "
                                     "kernel");
    SINTER_ASSIGN(gemm.epilogue, columnSlot(launch, map, slots, arguments));
  }
  const bool quantizesInKernel = !gemm.a.isBlock() && gemm.b.isBlock() && gemm.activation.isBlock();
  activations_[rows].insert(plainName(quantizesInKernel ? gemm.activation : gemm.a));
  finishTile(gemm, /*anyColumns=*/true, options_.profile);
  llvm::append_range(slots, matmul.epilogue.slots);
  SINTER_ASSIGN(KernelId kernel, kernels_.add("grouped_gemm", p, kernels::groupedGemm, slots));
  Steps steps;
  addLaunch(steps, kernel, arguments, launch);
  return steps;
}

// [E, N] or parts of it one after another, as packed: a matrix's or vector's rows for each expert.
static BoundView byExpert(const Stored &packed, std::vector<Expr> extents) {
  std::vector<Expr> strides = packedStrides(extents);
  return {packed.buffer, packed.byteOffset, std::move(extents), std::move(strides)};
}

// A tile of interleaved rows is of one expert.
static Result<void> checkExperts(graph::GroupedDotOp op, int64_t interleave) {
  const int64_t columns = graph::columnsOf(op.getResult());
  if (columns % std::max<int64_t>(1, interleave) == 0)
    return {};
  return fail(Code::Unsupported, "experts' matrices have " + std::to_string(columns) +
                                     " rows, expected a multiple of " + std::to_string(interleave));
}

Result<void> Lowering::lowerGroupedMatmul(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::GroupedDotOp>(launch);
  graph::WeightOp weight = weightOf(op.getB());
  graph::WeightOp bias = op.getBias() ? weightOf(op.getBias()) : graph::WeightOp();
  if (!weight || (op.getBias() && !bias))
    return fail(Code::Unsupported, "a grouped_dot is by no weights, which has no kernel");
  SINTER_TRY(checkExperts(op, interleavedRowsOf(op.getB().getType())));
  SmallVector<graph::RowPart> order = graph::rowOrderOf(launch);
  if (order.empty())
    order = graph::expertOrder(op, 0, 1);
  const int64_t columns = graph::columnsOf(op.getResult()), experts = op.getExperts();
  GroupedMatmul matmul;
  SINTER_ASSIGN(matmul.epilogue, epilogueOf(launch));
  SINTER_ASSIGN(const Stored matrices, packedWeight(weight, rowSegments(order)));
  matmul.matrices =
      byExpert(matrices, {Expr(experts * columns), Expr(graph::columnsOf(op.getA()))});
  if (bias) {
    SINTER_ASSIGN(const Stored vectors, packedVector(bias, rowSegments(order)));
    matmul.bias = byExpert(vectors, {Expr(experts), Expr(columns)});
  }
  std::map<MBucket, Steps> steps;
  for (auto [bucket, rows] : {std::pair(graph::kPrefillBucket, MBucket::Prefill),
                              {graph::kOneBucket, MBucket::One},
                              {graph::kSmallBucket, MBucket::Small}})
    if (hasBucket(launch, bucket)) {
      SINTER_ASSIGN(steps[rows], groupedMatmulOf(launch, rows, matmul));
    }
  const Expr tokens =
      plan::ceilDiv(extentOf(op.getA().getType(), 0), Expr(static_cast<int64_t>(op.getChoices())));
  if (steps.size() == 1)
    llvm::move(steps.begin()->second, std::back_inserter(steps_));
  else if (steps.size() == 3)
    steps_.push_back(
        byRows(tokens, steps[MBucket::Prefill], steps[MBucket::Small], steps[MBucket::One]));
  else
    return fail(Code::Unsupported, "a matmul has two buckets of rows, expected one or all three");
  return {};
}

// What the second slot makes of the first one's tiles.
static kernels::Slot inTurn(const kernels::Slot &first, const kernels::Slot &second) {
  return {[=](kernel::KernelBuilder &k) {
            first.open(k);
            second.open(k);
          },
          {},
          [=](kernel::KernelBuilder &k, const kernel::Tile &tile, const kernels::TilePlace &place) {
            return second(k, first(k, tile, place), place);
          }};
}

Result<void> Lowering::lowerCombineRows(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::CombineRowsOp>(launch);
  kernels::CombineRows p;
  p.columns = graph::columnsOf(op.getResult());
  p.choices = graph::columnsOf(op.getPlaces());
  std::vector<BoundArgument> arguments;
  for (Value value : {op.getRows(), op.getPlaces(), op.getWeights()}) {
    SINTER_ASSIGN(const BoundView view, operandView(value));
    arguments.push_back(view);
  }
  arguments.push_back(allocate(launch.getResult(0)).view());
  std::vector<plan::KernelSlot> slots;
  Value sums = op.getResult();
  for (Operation *epilogue : graph::inSlot(launch, graph::kEpilogue)) {
    auto map = cast<graph::MapOp>(epilogue);
    SINTER_ASSIGN(MapProgram program, readMap(map));
    const auto tile =
        static_cast<uint32_t>(llvm::find(map.getValues(), sums) - map.getValues().begin());
    const std::string prefix =
        "operand" + (slots.empty() ? "" : std::to_string(slots.size()) + "_");
    p.epilogue = inTurn(p.epilogue, mapSlot(program, tile, p.columns, prefix));
    slots.push_back({"epilogue", "map", std::to_string(tile) + " " + program.text()});
    SINTER_ASSIGN(const std::vector<BoundArgument> others, mapOperands(map, sums));
    llvm::append_range(arguments, others);
    sums = map.getResult();
  }
  SINTER_ASSIGN(KernelId kernel, kernels_.add("combine_rows", p, kernels::combineRows, slots));
  addLaunch(steps_, kernel, arguments, launch);
  return {};
}

} // namespace sinter::engine
