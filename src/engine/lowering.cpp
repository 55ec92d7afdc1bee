// Lowering, the walk: each graph operation becomes launches of the kernels chosen for it.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/choice/attention.h"
#include "engine/choice/packing.h"
#include "engine/choice/rows.h"
#include "engine/elements.h"
#include "engine/graph_form.h"
#include "engine/lowering.h"
#include "engine/map_program.h"
#include "graph/ir/symbols.h"
#include "numeric/formats/dot_packing.h"
#include "plan/contract.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;

namespace sinter::engine {

using plan::BufferId;
using plan::BufferKind;
using plan::Expr;
using plan::KernelId;

Lowering::Lowering(KernelSet &kernels, const LoweringOptions &options)
    : kernels_(kernels), options_(options) {}

Result<void> Lowering::declareSymbols(ModuleOp module) {
  SmallVector<graph::SymbolAttr> declared = graph::symbolsOf(module);
  if (graph::SymbolUse use = graph::undeclaredSymbol(module, declared); use.op)
    return fail(Code::Unsupported, "'" + use.op->getName().getStringRef().str() +
                                       "' uses symbol '" + use.symbol.str() +
                                       "', which the module does not declare");
  for (graph::SymbolAttr symbol : declared) {
    plan::SymbolId id{static_cast<uint32_t>(plan_.symbols.size())};
    plan_.symbols.push_back({symbol.getName().str(), symbol.getMin(), symbol.getMax()});
    symbols_[plan_.symbols.back().name] = id;
    if (symbol.getRole() != graph::SymbolRole::Extent)
      roles_[symbol.getRole()] = id;
  }
  return {};
}

Expr Lowering::symbolOf(graph::SymbolRole role, const Expr &otherwise) const {
  auto found = roles_.find(role);
  return found == roles_.end() ? otherwise : plan::symbol(found->second);
}

std::string labelOf(Operation *op) {
  auto name = dyn_cast<NameLoc>(op->getLoc());
  return name ? name.getName().str() : op->getName().stripDialect().str();
}

std::string describe(Operation *op) {
  std::string text = op->getName().stripDialect().str();
  if (isa<graph::DotGeneralOp, graph::GroupedDotOp>(op)) {
    graph::WeightOp weight = weightOf(op->getOperand(1));
    if (size_t joined = weight ? weight.getTensors().size() : 1; joined > 1)
      text += " (" + std::to_string(joined) + " joined)";
  } else if (auto quantize = dyn_cast<graph::QuantizeOp>(op)) {
    text += " to " + plainName(elementOf(quantize.getResult()));
  } else if (auto map = dyn_cast<graph::MapOp>(op)) {
    std::string steps;
    for (Operation &step : map.getBody().front().without_terminator())
      if (!isa<arith::ConstantOp>(step))
        steps += (steps.empty() ? "" : ", ") + step.getName().stripDialect().str();
    text += " (" + steps + ")";
  }
  return text;
}

graph::WeightOp weightOf(Value value) {
  return graph::outerValue(value).getDefiningOp<graph::WeightOp>();
}

void Lowering::addLaunch(Steps &steps, KernelId kernel, const std::vector<BoundArgument> &arguments,
                         graph::LaunchOp op) {
  plan::Launch launch =
      makeLaunch(kernels_.kernel(kernel), kernel, arguments, labelOf(graph::mainOf(op)));
  kernels_.addLaunch(kernel, arguments);
  launch.bytesMoved = movedBytes(op);
  launch.operations = operations(graph::mainOf(op));
  for (Operation &done : op.getBody().front().without_terminator())
    if (!isa<graph::ReshapeOp, graph::SliceOp>(done))
      launch.covers.push_back(describe(&done));
  for (Operation *stored : graph::inSlot(op, graph::kStore))
    if (isa<graph::QuantizeOp>(stored))
      launch.quantizedTo = plainName(elementOf(stored->getResult(0)));
  steps.push_back({std::move(launch)});
}

kernel::Element elementOf(Value value) {
  return kernelElement(cast<RankedTensorType>(value.getType()).getElementType());
}

BoundView asRow(const Stored &stored) {
  return {
      stored.buffer, stored.byteOffset, {Expr(1), stored.extents[0]}, {stored.extents[0], Expr(1)}};
}
BoundView asColumn(const Stored &stored) {
  return {stored.buffer, stored.byteOffset, {stored.extents[0], Expr(1)}, {Expr(1), Expr(1)}};
}

BoundView poolByRow(graph::KvAppendOp op, const Stored &cache) {
  const bool transposed = op.getPart() == graph::KvPart::Keys && !elementOf(op.getPool()).isBlock();
  const size_t row = transposed ? 3 : 2, dim = transposed ? 2 : 3;
  const std::vector<Expr> &e = cache.extents, &s = cache.strides;
  return {
      cache.buffer, cache.byteOffset, {e[0], e[row], e[1], e[dim]}, {s[0], s[row], s[1], s[dim]}};
}

Result<Stored> Lowering::operand(Value value) {
  if (graph::WeightOp weight = weightOf(value))
    return directWeight(weight);
  return stored(value);
}

Result<BoundView> Lowering::operandView(Value value) {
  SINTER_ASSIGN(const Stored read, operand(value));
  return read.view();
}

Result<void> Lowering::lowerGather(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::GatherOp>(launch);
  const bool packed = launch.getPackedTable();
  if (packed && !weightOf(op.getTable()))
    return fail(Code::Unsupported, "a gather's packed table is no weight, which has no kernel");
  SINTER_ASSIGN(Stored table,
                packed ? packedWeight(weightOf(op.getTable()), {}) : operand(op.getTable()));
  kernel::Element element = elementOf(op.getTable());
  const RankedTensorType type = op.getTable().getType();
  int64_t rowInterleave = packed ? interleavedRowsOf(type) : 1;
  SINTER_ASSIGN(KernelId kernel, kernels_.add("embed",
                                              chooseEmbed(graph::columnsOf(op.getTable()), element,
                                                          rowInterleave, options_.profile),
                                              kernels::embed));
  SINTER_ASSIGN(const BoundView index, operandView(op.getIndex()));
  Stored out = allocate(launch.getResult(0));
  addLaunch(steps_, kernel, {index, table.view(), out.view()}, launch);
  return {};
}

// Parameters are weights of the file; what divides the last axis stays whole.
bool hasRowKernel(graph::NormOp op) {
  RankedTensorType type = op.getValue().getType();
  const int64_t rank = type.getRank();
  const auto isParameter = [](Value value) { return !value || weightOf(value); };
  const bool parameters = isParameter(op.getWeight()) && isParameter(op.getBias());
  const bool isRms = op.getKind() == graph::NormKind::Rms;
  return parameters && !(isRms && op.getBias()) && (rank == 2 || rank == 3) &&
         type.getNumDynamicDims() <= 1 && (!type.isDynamicDim(rank - 1)) &&
         (rank == 2 || !type.isDynamicDim(1)) && op.getNormAxes() == SmallVector<int64_t>{rank - 1};
}

// Heads [T, heads, D] as rows, whose parts they are.
static BoundView headsAsRows(const Stored &stored) {
  if (stored.extents.size() == 2)
    return stored.view();
  return {stored.buffer,
          stored.byteOffset,
          {stored.extents[0], plan::mul(stored.extents[1], stored.extents[2])},
          {stored.strides[0], Expr(1)}};
}

Result<void> Lowering::lowerNorm(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::NormOp>(launch);
  if (graph::isHeadRows(launch))
    return lowerHeadRows(launch);
  if (!hasRowKernel(op))
    return fail(Code::Unsupported,
                "a norm is not of rows or heads by a weight, which has no kernel");
  RankedTensorType type = op.getValue().getType();
  const int64_t heads = type.getRank() == 3 ? type.getDimSize(1) : 1;
  const int64_t columns = type.getShape().back();
  const kernel::Element out = elementOf(launch.getResult(0));
  SINTER_ASSIGN(const Stored x, operand(op.getValue()));
  std::vector<BoundArgument> arguments = {headsAsRows(x)};
  for (Value parameter : {op.getWeight(), op.getBias()})
    if (parameter) {
      SINTER_ASSIGN(const Stored row, directWeight(weightOf(parameter)));
      arguments.push_back(asRow(row));
    }
  KernelId kernel;
  if (op.getKind() == graph::NormKind::Rms) {
    auto p = chooseNorm<kernels::RmsNorm>(columns, out, options_.profile, heads);
    p.weighted = op.getWeight() != nullptr;
    SINTER_ASSIGN(kernel, kernels_.add("rms_norm", p, kernels::rmsNorm, {},
                                       freedomOfNorm(p.blockColumns, options_.profile)));
  } else {
    auto p = chooseNorm<kernels::LayerNorm>(columns, out, options_.profile, heads);
    p.weighted = op.getWeight() != nullptr;
    p.biased = op.getBias() != nullptr;
    SINTER_ASSIGN(kernel, kernels_.add("layer_norm", p, kernels::layerNorm, {},
                                       freedomOfNorm(p.blockColumns, options_.profile)));
  }
  arguments.push_back(headsAsRows(allocate(launch.getResult(0))));
  arguments.push_back(f32Scalar(op.getEps().convertToFloat()));
  addLaunch(steps_, kernel, arguments, launch);
  return {};
}

// Operands of a map but for those that a kernel holds as tiles.
Result<std::vector<BoundArgument>> Lowering::mapOperands(graph::MapOp map, ValueRange tiles) {
  std::vector<BoundArgument> arguments;
  SmallVector<Value> held(tiles);
  for (Value value : map.getValues()) {
    if (auto *tile = llvm::find(held, value); tile != held.end()) {
      held.erase(tile); // a map may read the same value again
      continue;
    }
    SINTER_ASSIGN(const Stored read, operand(value));
    arguments.push_back(read.extents.size() == 1 ? asRow(read) : read.view());
  }
  return arguments;
}

Result<void> Lowering::lowerMap(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::MapOp>(launch);
  RankedTensorType type = op.getResult().getType();
  if (type.getRank() != 2 || type.isDynamicDim(1))
    return fail(Code::Unsupported, "a map is not of matrices, which has no kernel");
  SINTER_ASSIGN(MapProgram program, readMap(op));
  const uint32_t tile = program.firstOfRows();
  kernels::QuantizeRows p = chooseStream(graph::columnsOf(op.getResult()),
                                         elementOf(launch.getResult(0)), options_.profile);
  p.prologue = mapSlot(program, tile, graph::columnsOf(op.getResult()));
  SINTER_ASSIGN(KernelId kernel, kernels_.add("map", p, kernels::quantizeRows,
                                              {{"prologue", "map", program.text()}}, freedom()));
  SINTER_ASSIGN(const Stored first, operand(op.getValues()[tile]));
  std::vector<BoundArgument> arguments = {first.view(), allocate(launch.getResult(0)).view()};
  SINTER_ASSIGN(const std::vector<BoundArgument> others,
                mapOperands(op, op.getValues().slice(tile, 1)));
  llvm::append_range(arguments, others);
  addLaunch(steps_, kernel, arguments, launch);
  return {};
}

Result<void> Lowering::lowerQuantize(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::QuantizeOp>(launch);
  SINTER_ASSIGN(KernelId kernel,
                kernels_.add("quantize_rows",
                             chooseStream(graph::columnsOf(op.getValue()),
                                          elementOf(op.getResult()), options_.profile),
                             kernels::quantizeRows, {}, freedom()));
  SINTER_ASSIGN(const Stored in, operand(op.getValue()));
  Stored out = allocate(launch.getResult(0));
  addLaunch(steps_, kernel, {in.view(), out.view()}, launch);
  return {};
}

// Radians per position of each pair that rotates.
static std::vector<float> frequencies(graph::RopeTableOp op) {
  int64_t dims = op.getDims();
  std::vector<float> values(dims / 2);
  std::optional<ArrayRef<float>> scales = op.getScales();
  double base = op.getBase().convertToFloat();
  for (int64_t i = 0; i < dims / 2; ++i)
    values[i] =
        static_cast<float>(std::pow(base, -2.0 * i / dims) * (scales ? (*scales)[i] : 1.0f));
  return values;
}

// What multiplies cosines and sines of each pair.
static std::vector<float> magnitudes(graph::RopeTableOp op) {
  return std::vector<float>(op.getDims() / 2, op.getMagnitude()->convertToFloat());
}

// The name stands for the values too.
BoundView Lowering::floatTable(const std::string &name, const std::vector<float> &values) {
  auto *raw = reinterpret_cast<const uint8_t *>(values.data());
  std::vector<uint8_t> bytes(raw, raw + values.size() * sizeof(float));
  std::string digest = llvm::utohexstr(llvm::xxh3_64bits(bytes), /*LowerCase=*/true);
  return {constantBuffer(name + "." + digest, std::move(bytes)),
          Expr(0),
          {Expr(static_cast<int64_t>(values.size()))},
          {Expr(1)}};
}

// [T, D] as the halves of its rows.
static BoundView asHalves(const Stored &rotations, int64_t pairs) {
  return {rotations.buffer,
          rotations.byteOffset,
          {rotations.extents[0], Expr(2), Expr(pairs)},
          {rotations.strides[0], Expr(pairs), Expr(1)}};
}

Result<void> Lowering::lowerRopeTable(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::RopeTableOp>(launch);
  const auto pairs = static_cast<int64_t>(op.getDims()) / 2;
  kernels::RopeTable p = chooseRopeTable(pairs, options_.profile);
  SINTER_ASSIGN(const Stored positions, operand(op.getPositions()));
  std::vector<BoundArgument> arguments = {
      asColumn(positions),
      floatTable("frequencies." + std::to_string(op.getDims()), frequencies(op))};
  if (op.getDivisors()) {
    graph::WeightOp weight = weightOf(op.getDivisors());
    if (!weight)
      return fail(Code::Unsupported, "divisors of rotations are no weight, which has no kernel");
    SINTER_ASSIGN(const Stored divisors, directWeight(weight));
    arguments.push_back(divisors.view());
    p.divided = true;
  }
  if (op.getMagnitude()) {
    arguments.push_back(floatTable("magnitudes." + std::to_string(pairs), magnitudes(op)));
    p.scaled = true;
  }
  arguments.push_back(asHalves(allocate(launch.getResult(0)), pairs));
  SINTER_ASSIGN(KernelId kernel, kernels_.add("rope_table", p, kernels::ropeTable));
  addLaunch(steps_, kernel, arguments, launch);
  return {};
}

Result<void> Lowering::lowerRope(graph::LaunchOp launch) {
  if (!graph::isAlone(launch))
    return lowerHeadRows(launch);
  auto op = graph::mainOf<graph::RopeOp>(launch);
  RankedTensorType type = op.getValue().getType();
  const int64_t heads = type.getDimSize(1), dims = op.rotating(), rest = type.getDimSize(2) - dims;
  bool halves = op.getPairing() == graph::Pairing::Halves;
  bool inPlace = launch.getInPlace();
  const kernels::Rope p = chooseRope(heads, dims / 2, rest, halves, inPlace, options_.profile);
  SINTER_ASSIGN(KernelId kernel, kernels_.add("rope", p, kernels::rope));
  SINTER_ASSIGN(const Stored in, operand(op.getValue()));
  SINTER_ASSIGN(const Stored table, operand(op.getTable()));
  Value result = launch.getResult(0);
  if (inPlace && (outputs_.contains(result) || weightOf(op.getValue())))
    return fail(Code::Unsupported, "RoPE is in place of a weight or for an output, expected a "
                                   "temporary tensor");
  Stored out = inPlace ? stored_[result] = in : allocate(result);
  int64_t inner = halves ? dims / 2 : 2;
  auto pairs = [&](const Stored &s) {
    return BoundView{s.buffer,
                     s.byteOffset,
                     {s.extents[0], Expr(heads), Expr(dims / inner), Expr(inner)},
                     {s.strides[0], s.strides[1], Expr(inner), Expr(1)}};
  };
  auto others = [&](const Stored &s) {
    return BoundView{s.buffer,
                     plan::add(s.byteOffset, Expr(dims * int64_t(sizeof(float)))),
                     {s.extents[0], Expr(heads), Expr(rest)},
                     {s.strides[0], s.strides[1], Expr(1)}};
  };
  std::vector<BoundArgument> arguments = {pairs(in), asHalves(table, dims / 2)};
  if (!inPlace)
    arguments.push_back(pairs(out));
  if (p.rest)
    llvm::append_range(arguments, std::vector<BoundArgument>{others(in), others(out)});
  addLaunch(steps_, kernel, arguments, launch);
  return {};
}

Result<void> Lowering::lowerKvAppend(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::KvAppendOp>(launch);
  if (!graph::canStore(op))
    return fail(Code::Unsupported,
                "the KV cache is " + plainName(elementOf(op.getPool())) +
                    ", expected f16, bf16 or whole blocks that kernels round to");
  SINTER_ASSIGN(KernelId kernel, kernels_.add("kv_append", chooseKvAppend(op), kernels::kvAppend));
  SINTER_ASSIGN(const Stored cache, stored(op.getPool()));
  stored_[launch.getResult(0)] = cache;
  SINTER_ASSIGN(const Stored rows, operand(op.getRows()));
  SINTER_ASSIGN(const BoundView slots, operandView(op.getSlots()));
  addLaunch(steps_, kernel, {rows.view(), slots, poolByRow(op, cache)}, launch);
  return {};
}

// Without gaps any shape has the same elements. Beside that inner extents have none, so only the
// first stride stays as it is.
Result<void> Lowering::lowerReshape(graph::ReshapeOp op) {
  SINTER_ASSIGN(const Stored from, operand(op.getValue()));
  Stored to{from.buffer, from.byteOffset, extentsOf(op.getResult().getType()), {}};
  to.strides = packedStrides(to.extents);
  if (from.strides != packedStrides(from.extents)) {
    if (!op.keepsRows())
      return fail(Code::Unsupported, "a reshape of rows that lie apart has no form");
    to.strides[0] = from.strides[0];
  }
  stored_[op.getResult()] = std::move(to);
  return {};
}

Result<void> Lowering::lowerSlice(graph::SliceOp op) {
  SINTER_ASSIGN(Stored part, operand(op.getValue()));
  RankedTensorType type = op.getResult().getType();
  ElementBytes size = elementBytes(type.getElementType());
  SINTER_CHECK(*op.columnOffset() % size.length == 0);
  Expr bytes(*op.columnOffset() / size.length * size.bytes);
  part.byteOffset = plan::add(part.byteOffset, bytes);
  part.extents = extentsOf(type);
  stored_[op.getResult()] = std::move(part);
  return {};
}

// Inputs and state have memory before all else, so that a launch may reach ahead for them.
void Lowering::lowerEdge(Operation &op) {
  auto edge = [&](StringRef name, Value value, BufferKind kind) {
    auto type = cast<RankedTensorType>(value.getType());
    auto [found, isNew] = named_.try_emplace((kindName(kind) + (" " + name)).str());
    if (isNew) // otherwise another phase's too
      found->second = addBuffer(name.str(), kind, bytesOf(type));
    stored_[value] = makeStored(found->second, type);
  };
  if (auto input = dyn_cast<graph::InputOp>(op))
    edge(input.getName(), input.getResult(), BufferKind::Input);
  else if (auto state = dyn_cast<graph::StateOp>(op))
    edge(state.getName(), state.getResult(), BufferKind::State);
}

// Whether an operation has the form that its own kernels take: that which a decoder gives it.
static bool isDecoderForm(Operation *op) {
  auto isF32 = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getElementType().isF32();
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([](graph::GatherOp o) { return o.isEmbedding(); })
      .Case([](graph::NormOp o) { return hasRowKernel(o); })
      .Case([](graph::DotGeneralOp o) {
        return o.isLinear() && weightOf(o.getB()) && o.getA().getType().getRank() == 2;
      })
      .Case([&](graph::MapOp o) {
        return !o.getValues().empty() && graph::isRowwise(o) && isF32(o.getResult()) &&
               readMap(o).has_value();
      })
      .Default([](Operation *) { return true; });
}

Result<void> Lowering::lowerLaunch(graph::LaunchOp launch) {
  using Lower = Result<void> (Lowering::*)(graph::LaunchOp);
  static const llvm::StringMap<Lower> table = {
      {"gather", &Lowering::lowerGather},
      {"norm", &Lowering::lowerNorm},
      {"matmul", &Lowering::lowerMatmul},
      {"map", &Lowering::lowerMap},
      {"quantize", &Lowering::lowerQuantize},
      {"rope_table", &Lowering::lowerRopeTable},
      {"rope", &Lowering::lowerRope},
      {"kv_append", &Lowering::lowerKvAppend},
      {"attention", &Lowering::lowerAttention},
      {"top_k", &Lowering::lowerTopK},
      {"route", &Lowering::lowerRoute},
      {"group_rows", &Lowering::lowerGroupRows},
      {"spread_rows", &Lowering::lowerSpreadRows},
      {"grouped_matmul", &Lowering::lowerGroupedMatmul},
      {"combine_rows", &Lowering::lowerCombineRows},
      {"causal_conv", &Lowering::lowerCausalConv},
      {"delta_rule", &Lowering::lowerDeltaRule},
  };
  auto found = table.find(launch.getKernel());
  if (found == table.end() || !isDecoderForm(graph::mainOf(launch)))
    return lowerGeneric(launch);
  return (this->*found->second)(launch);
}

Result<void> Lowering::lower(Operation &op) {
  return llvm::TypeSwitch<Operation *, Result<void>>(&op)
      .Case<graph::InputOp, graph::StateOp>([](auto) { return Result<void>(); }) // before all else
      .Case([&](graph::WeightOp) { return Result<void>(); }) // packed as its readers want it
      .Case([&](graph::OutputOp) { return Result<void>(); }) // named when its value is stored
      .Case([&](graph::ReshapeOp o) { return lowerReshape(o); })
      .Case([&](graph::SliceOp o) { return lowerSlice(o); })
      .Case([&](graph::LaunchOp o) { return lowerLaunch(o); })
      .Case([&](func::ReturnOp) { return Result<void>(); })
      .Default([&](Operation *o) -> Result<void> {
        return fail(Code::Unsupported,
                    "operation '" + o->getName().getStringRef().str() + "' is in no launch");
      });
}

static std::string joined(const std::set<std::string> &names) {
  return llvm::join(names, ", ");
}

// The formats in which matmuls take activations.
void Lowering::describeActivations() {
  const std::string many = joined(activations_[MBucket::Prefill]),
                    one = joined(activations_[MBucket::One]);
  plan_.texts[contract::kActivations] =
      many == one ? many
                  : many + (hasPhase_ ? " in prefill, " : " of several rows, ") + one +
                        (hasPhase_ ? " in decode" : " of one");
}

// Whether a launch's result is a state, which has memory already.
static bool holdsState(Value result, graph::LaunchOp launch) {
  Operation *main = graph::mainOf(launch);
  return main && graph::stateBefore(main) && result == launch->getResults().back();
}

Result<void> Lowering::nameOutputs(func::FuncOp function) {
  std::set<std::string> names;
  for (graph::OutputOp op : function.getOps<graph::OutputOp>()) {
    auto launch = op.getValue().getDefiningOp<graph::LaunchOp>();
    if (!launch || holdsState(op.getValue(), launch))
      return fail(Code::Unsupported,
                  "output '" + op.getName().str() + "' is no computed tensor, which has no form");
    const std::string name = op.getName().str();
    if (!names.insert(name).second || !outputs_.try_emplace(op.getValue(), name).second)
      return fail(Code::Unsupported,
                  "output '" + name + "' has the name or the value of another output");
  }
  return {};
}

// Each output has memory of its own, which its launch writes.
Result<void> Lowering::checkOutputs(func::FuncOp function) {
  for (graph::OutputOp op : function.getOps<graph::OutputOp>())
    if (!named_.contains("output " + op.getName().str()))
      return fail(Code::Unsupported, "output '" + op.getName().str() +
                                         "' is memory of another tensor, expected a result that "
                                         "its launch stores");
  return {};
}

// Steps of the function's phase are done where the step has that phase, and have memory only then.
Result<Lowering::Steps> Lowering::lowerFunction(func::FuncOp function) {
  auto phase = function->getAttrOfType<StringAttr>(graph::kPhaseName);
  const Expr decode = phase ? symbolOf(graph::SymbolRole::Decode) : Expr(1);
  hasPhase_ = phase != nullptr;
  isPrefill_ = phase && phase.getValue() == graph::kPrefillPhase;
  phase_ = isPrefill_ ? plan::add(Expr(1), plan::mul(decode, Expr(-1))) : decode;
  SINTER_TRY(checkForm(function));
  SINTER_TRY(nameOutputs(function));
  for (Operation &op : function.getBody().front())
    lowerEdge(op);
  for (Operation &op : function.getBody().front())
    if (Result<void> done = lower(op); !done) {
      const std::string place = options_.namesPlaces ? graph::placeOf(op.getLoc()) + ": " : "";
      return fail(done.error().code, place + done.error().message);
    }
  SINTER_TRY(checkOutputs(function));
  return std::exchange(steps_, {});
}

Result<plan::Plan> Lowering::run(ModuleOp module) {
  SINTER_TRY(declareSymbols(module));
  auto functions = module.getOps<func::FuncOp>();
  auto decode = module.lookupSymbol<func::FuncOp>(graph::kDecodePhase);
  const auto count = std::distance(functions.begin(), functions.end());
  if (count != (decode ? 2 : 1) || (decode && *functions.begin() == decode))
    return fail(Code::Unsupported, "the module has " + std::to_string(count) +
                                       " functions, expected one, or prefill and decode");
  SINTER_ASSIGN(Steps steps, lowerFunction(*functions.begin()));
  if (decode) {
    SINTER_ASSIGN(Steps ofDecode, lowerFunction(decode));
    plan::If byPhase{symbolOf(graph::SymbolRole::Decode), std::move(ofDecode), std::move(steps)};
    steps = {};
    steps.push_back({std::move(byPhase)});
  }
  plan_.procedures.push_back({contract::kStepProcedure, std::move(steps)});
  describeActivations();
  describeLookBacks();
  return std::move(plan_);
}

} // namespace sinter::engine
