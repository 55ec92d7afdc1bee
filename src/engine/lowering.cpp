// Lowering, the walk: each graph operation becomes launches of the kernels chosen for it.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/elements.h"
#include "engine/kernel_choice.h"
#include "engine/lowering.h"
#include "engine/map_program.h"
#include "engine/weights.h"
#include "numeric/byte_blocks.h"
#include "numeric/dot_packing.h"
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
    : kernels_(kernels), options_(options) {
  const int64_t tokens = options.mostTokens;
  plan_.symbols = {{"T", 1, tokens},
                   {"S", 1, tokens},
                   {"B", 1, tokens},
                   {"R", 0, tokens},
                   {"C", 0, tokens},
                   {"P", 1, options.mostPagesPerSequence},
                   {"N", 1, INT32_MAX},
                   {"G", 0, 1},
                   {"K", 0},
                   {"V", 0},
                   {"L", kSpanKeys, int64_t(1) << 31}};
  for (uint32_t i = 0; i < plan_.symbols.size(); ++i)
    symbols_[plan_.symbols[i].name] = {i};
}

std::string labelOf(Operation *op) {
  auto name = dyn_cast<NameLoc>(op->getLoc());
  return name ? name.getName().str() : op->getName().stripDialect().str();
}

std::string describe(Operation *op) {
  std::string text = op->getName().stripDialect().str();
  if (auto contract = dyn_cast<graph::DotGeneralOp>(op)) {
    auto weight = contract.getB().getDefiningOp<graph::WeightOp>();
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

void Lowering::addLaunch(Steps &steps, KernelId kernel, const std::vector<BoundArgument> &arguments,
                         Operation *op, Value rounded) {
  plan::Launch launch = makeLaunch(kernels_.kernel(kernel), kernel, arguments, labelOf(op));
  kernels_.addLaunch(kernel, arguments);
  launch.bytesMoved = movedBytes(op, rounded);
  launch.operations = operations(op);
  launch.covers = {describe(op)};
  if (auto quantize = rounded ? rounded.getDefiningOp<graph::QuantizeOp>() : graph::QuantizeOp())
    launch.covers.push_back(describe(quantize));
  steps.push_back({std::move(launch)});
}

Value Lowering::storedForm(Value value) {
  if (!value.hasOneUse())
    return value;
  auto quantize = dyn_cast<graph::QuantizeOp>(*value.user_begin());
  if (!quantize)
    return value;
  done_.insert(quantize);
  return quantize.getResult();
}

kernel::Element elementOf(Value value) {
  return kernelElement(cast<RankedTensorType>(value.getType()).getElementType());
}

int64_t columnsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().back();
}

BoundView asRow(const Stored &stored) {
  return {
      stored.buffer, stored.byteOffset, {Expr(1), stored.extents[0]}, {stored.extents[0], Expr(1)}};
}
BoundView asColumn(const Stored &stored) {
  return {stored.buffer, stored.byteOffset, {stored.extents[0], Expr(1)}, {Expr(1), Expr(1)}};
}

std::array<BoundView, 2> Lowering::poolsByRow(Value keys, Value values) const {
  auto byRow = [&](const Stored &pool, size_t row, size_t dim) -> BoundView {
    const std::vector<Expr> &e = pool.extents, &s = pool.strides;
    return {
        pool.buffer, pool.byteOffset, {e[0], e[row], e[1], e[dim]}, {s[0], s[row], s[1], s[dim]}};
  };
  bool blocks = elementOf(keys).isBlock();
  return {byRow(stored(keys), blocks ? 2 : 3, blocks ? 3 : 2), byRow(stored(values), 2, 3)};
}

// Whether a product packs the same weight: then its rows are read there, and the file's bytes stay
// where they are.
static bool isMultiplied(graph::WeightOp weight) {
  return llvm::any_of(weight->getUsers(), [&](Operation *user) {
    auto contract = dyn_cast<graph::DotGeneralOp>(user);
    return contract && contract.getB() == weight.getResult();
  });
}

Result<void> Lowering::lowerGather(graph::GatherOp op) {
  auto weight = op.getTable().getDefiningOp<graph::WeightOp>();
  bool packed = weight && isMultiplied(weight);
  SINTER_ASSIGN(Stored table, packed   ? packedWeight(weight, {})
                              : weight ? directWeight(weight)
                                       : Result<Stored>(stored(op.getTable())));
  kernel::Element element = elementOf(op.getTable());
  int64_t sideBySide = packed ? interleavedRows(element, options_.products()) : 1;
  SINTER_ASSIGN(KernelId kernel, kernels_.add("embed",
                                              chooseEmbed(columnsOf(op.getTable()), element,
                                                          sideBySide, options_.programs),
                                              kernels::embed));
  Stored out = allocate(op.getResult());
  addLaunch(steps_, kernel, {stored(op.getIndex()).view(), table.view(), out.view()}, op);
  return {};
}

Result<void> Lowering::lowerNorm(graph::NormOp op) {
  Value result = storedForm(op.getResult());
  auto weight = op.getWeight().getDefiningOp<graph::WeightOp>();
  if (!weight || op.getValue().getType().getRank() != 2)
    return fail(Code::Unsupported, "a norm is not of a matrix by a weight, which has no kernel");
  SINTER_ASSIGN(KernelId kernel, kernels_.add("rms_norm",
                                              chooseNorm(columnsOf(op.getValue()),
                                                         elementOf(result), options_.programs),
                                              kernels::rmsNorm, {}, freedom()));
  SINTER_ASSIGN(Stored gain, directWeight(weight));
  Stored out = allocate(result);
  BoundArgument x = stored(op.getValue()).view(), eps = f32Scalar(op.getEps().convertToFloat());
  Steps steps;
  addLaunch(steps, kernel, {x, asRow(gain), out.view(), eps}, op, result);
  if (isMadeByItsReader(result))
    norms_[result] = {op, std::move(steps), x, {asRow(gain), eps}};
  else
    llvm::move(steps, std::back_inserter(steps_));
  return {};
}

// Products of one row over threads may make their own.
bool Lowering::isMadeByItsReader(Value norm) {
  return options_.programs == Programs::Threads && norm.hasOneUse() && !outputs_.contains(norm) &&
         isa<graph::DotGeneralOp>(*norm.user_begin());
}

// The norm of generated rows as floats, whatever those of prompts are rounded to.
Result<BoundArgument> Lowering::unroundedNorm(const Norm &norm, Steps &steps) {
  graph::NormOp op = norm.op;
  RankedTensorType type = op.getResult().getType();
  SINTER_ASSIGN(KernelId kernel,
                kernels_.add("rms_norm",
                             chooseNorm(columnsOf(op.getResult()), kernel::F32, options_.programs),
                             kernels::rmsNorm, {}, freedom()));
  Expr bytes = plan::mul(bytesOf(type), plan::symbol(symbols_.at("G")));
  std::string name = "temp." + std::to_string(plan_.buffers.size());
  Stored out = makeStored(addBuffer(std::move(name), BufferKind::Temp, std::move(bytes)), type);
  addLaunch(steps, kernel, {norm.source, norm.parameters[0], out.view(), norm.parameters[1]}, op);
  return out.view();
}

// Operands of a map but for those that a kernel holds as tiles.
std::vector<BoundArgument> Lowering::mapOperands(graph::MapOp map, ValueRange tiles) {
  std::vector<BoundArgument> arguments;
  SmallVector<Value> held(tiles);
  for (Value operand : map.getValues())
    if (auto *tile = llvm::find(held, operand); tile != held.end())
      held.erase(tile); // a map may read the same value again
    else
      arguments.push_back(stored(operand).view());
  return arguments;
}

// Columns of one program of a product that ends so.
static int64_t programColumns(const kernels::Gemm &p, const Epilogue &epilogue, RowBucket rows,
                              Programs programs) {
  if (rows == RowBucket::One && epilogue.blockColumnsOfOne)
    return epilogue.blockColumnsOfOne;
  if (epilogue.blockColumns)
    return epilogue.blockColumns;
  if (p.sink.columns)
    return columnsInParts(p, p.sink.columns, programs);
  return static_cast<int64_t>(llvm::alignTo(p.blockN, epilogue.columnMultiple));
}

Result<void> Lowering::lowerContract(graph::DotGeneralOp op) {
  auto weight = op.getB().getDefiningOp<graph::WeightOp>();
  if (!weight || !op.isLinear() || op.getA().getType().getRank() != 2)
    return fail(Code::Unsupported,
                "a matmul is not of rows [M, K] with a weight [N, K], which has no kernel");
  SINTER_ASSIGN(Epilogue epilogue, epilogueOf(op));
  SINTER_ASSIGN(Stored matrix, packedWeight(weight, epilogue.rowOrder));
  auto made = norms_.find(op.getA());
  Norm *norm = made != norms_.end() ? &made->second : nullptr;
  auto emit = [&](RowBucket rows) -> Result<Steps> {
    const bool single = norm && rows == RowBucket::One; // unrounded
    kernels::Gemm p =
        chooseGemm(single ? kernel::F32 : elementOf(op.getA()), elementOf(op.getB()),
                   columnsOf(op.getResult()), columnsOf(op.getA()), rows, options_.products());
    p.sink = epilogue.sink;
    p.blockN = programColumns(p, epilogue, rows, options_.programs);
    const bool own = single && normsInPrologue(llvm::divideCeil(p.n, p.blockN), p.k);
    Steps steps;
    BoundArgument left = own ? norm->source : BoundArgument(stored(op.getA()).view());
    if (single && !own) {
      SINTER_ASSIGN(left, unroundedNorm(*norm, steps));
    } else if (norm && !own) {
      steps = norm->steps;
    }
    std::vector<BoundArgument> arguments = {left, matrix.view()};
    std::string variant = epilogue.text;
    llvm::append_range(arguments, epilogue.arguments);
    if (own) {
      p.prologue = kernels::rmsNormSlot(elementOf(norm->op.getWeight()), p.k);
      llvm::append_range(arguments, norm->parameters);
      variant = variant.empty() ? " norm" : " norm+" + variant.substr(1);
    }
    const bool roundsInKernel = !p.a.isBlock() && p.b.isBlock() && p.activation.isBlock();
    activations_[rows].insert(plainName(roundsInKernel ? p.activation : p.a));
    p.constantB = true;
    if (options_.programs == Programs::Threads) {
      growTile(p, options_.sharedBytes, epilogue.blockColumns == 0);
      fitStep(p, options_.sharedBytes);
    } else {
      joinRows(p);
    }
    SINTER_ASSIGN(KernelId kernel, kernels_.add("gemm", p, kernels::gemm, variant,
                                                {freedom().blocks, epilogue.blockColumns == 0,
                                                 epilogue.columnMultiple}));
    addLaunch(steps, kernel, arguments, op);
    auto &launch = std::get<plan::Launch>(steps.back().op);
    RankedTensorType read = single ? norm->op.getValue().getType() : op.getA().getType();
    launch.bytesMoved =
        plan::add(plan::add(bytesOf(read), bytesOf(weight.getResult().getType())), epilogue.bytes);
    if (own)
      launch.covers.insert(launch.covers.begin(), describe(norm->op));
    llvm::append_range(launch.covers, epilogue.covers);
    return steps;
  };
  SINTER_ASSIGN(Steps many, emit(RowBucket::Many));
  SINTER_ASSIGN(Steps one, emit(RowBucket::One));
  // A processor of tasks makes the same bits either way; threads share K out by the row's phase.
  if (options_.programs == Programs::Threads) {
    steps_.push_back({plan::If{inPrompts(), std::move(many), std::move(one)}});
    return {};
  }
  SINTER_ASSIGN(Steps few, emit(RowBucket::Few));
  steps_.push_back(byRows(extentOf(op.getA().getType(), 0), many, few, one));
  return {};
}

// Those of the steps that are for so many rows.
plan::Step Lowering::byRows(const Expr &rows, const Steps &many, const Steps &few,
                            const Steps &one) {
  auto moreThan = [&](int64_t most) { return plan::maxOf(plan::add(rows, Expr(-most)), Expr(0)); };
  plan::Step below{plan::If{moreThan(1), few, one}};
  return few == many ? below : plan::Step{plan::If{moreThan(kFewRows), many, {below}}};
}

// 0 where rows were generated.
Expr Lowering::inPrompts() const {
  return plan::add(Expr(1), plan::mul(plan::symbol(symbols_.at("G")), Expr(-1)));
}

Result<void> Lowering::lowerMap(graph::MapOp op) {
  Value result = storedForm(op.getResult());
  RankedTensorType type = op.getResult().getType();
  if (type.getRank() != 2 || type.isDynamicDim(1))
    return fail(Code::Unsupported, "a map is not of matrices, which has no kernel");
  SINTER_ASSIGN(MapProgram program, readMap(op));
  kernels::QuantizeRows p =
      chooseStream(columnsOf(op.getResult()), elementOf(result), options_.programs);
  p.prologue = mapSlot(program, 0, columnsOf(op.getResult()));
  SINTER_ASSIGN(KernelId kernel,
                kernels_.add("map", p, kernels::quantizeRows, " " + program.text(), freedom()));
  std::vector<BoundArgument> arguments = {stored(op.getValues()[0]).view(),
                                          allocate(result).view()};
  llvm::append_range(arguments, mapOperands(op, op.getValues().take_front()));
  addLaunch(steps_, kernel, arguments, op, result);
  return {};
}

Result<void> Lowering::lowerQuantize(graph::QuantizeOp op) {
  SINTER_ASSIGN(KernelId kernel,
                kernels_.add("quantize_rows",
                             chooseStream(columnsOf(op.getValue()), elementOf(op.getResult()),
                                          options_.programs),
                             kernels::quantizeRows, {}, freedom()));
  Stored out = allocate(op.getResult());
  addLaunch(steps_, kernel, {stored(op.getValue()).view(), out.view()}, op);
  return {};
}

// Whether nothing but its one reader sees the memory of `value`.
bool Lowering::ownsMemory(Value value) {
  if (!value.hasOneUse() || outputs_.contains(value))
    return false;
  if (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    return ownsMemory(reshape.getValue());
  auto slice = value.getDefiningOp<graph::SliceOp>();
  Value whole = slice ? slice.getValue() : value;
  if (isa<graph::InputOp, graph::StateOp, graph::KvAppendOp>(whole.getDefiningOp()))
    return false;
  if (!slice)
    return true;
  if (isa<graph::ReshapeOp, graph::SliceOp>(whole.getDefiningOp()))
    return false; // memory that others may see under another shape
  int64_t first = slice.getOffset(), end = first + columnsOf(slice.getResult());
  return llvm::all_of(slice.getValue().getUsers(), [&](Operation *user) {
    auto other = dyn_cast<graph::SliceOp>(user);
    return other &&
           (other == slice || static_cast<int64_t>(other.getOffset()) >= end ||
            static_cast<int64_t>(other.getOffset()) + columnsOf(other.getResult()) <= first);
  });
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

// What multiplies cosines and sines of each pair; pairs that do not rotate stay as they are.
static std::vector<float> magnitudes(graph::RopeTableOp op) {
  std::vector<float> values(columnsOf(op.getResult()) / 2, 1);
  std::fill_n(values.begin(), op.getDims() / 2, op.getMagnitude()->convertToFloat());
  return values;
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

Result<void> Lowering::lowerRotations(graph::RopeTableOp op) {
  const int64_t pairs = columnsOf(op.getResult()) / 2;
  kernels::Rotations p = chooseRotations(pairs, options_.programs);
  std::vector<BoundArgument> arguments = {
      asColumn(stored(op.getPositions())),
      floatTable("frequencies." + std::to_string(op.getDims()), frequencies(op))};
  if (op.getDivisors()) {
    auto weight = op.getDivisors().getDefiningOp<graph::WeightOp>();
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
  arguments.push_back(asHalves(allocate(op.getResult()), pairs));
  SINTER_ASSIGN(KernelId kernel, kernels_.add("rotations", p, kernels::rotations));
  addLaunch(steps_, kernel, arguments, op);
  return {};
}

Result<void> Lowering::lowerRope(graph::RopeOp op) {
  RankedTensorType type = op.getValue().getType();
  int64_t heads = type.getDimSize(1), headDim = type.getDimSize(2);
  bool halves = op.getPairing() == graph::Pairing::Halves;
  bool inPlace = ownsMemory(op.getValue());
  SINTER_ASSIGN(KernelId kernel,
                kernels_.add("rope", chooseRope(heads, headDim, halves, inPlace, options_.programs),
                             kernels::rope));
  Stored in = stored(op.getValue());
  Stored out = inPlace ? stored_[op.getResult()] = in : allocate(op.getResult());
  int64_t inner = halves ? headDim / 2 : 2;
  auto pairs = [&](const Stored &s) {
    return BoundView{s.buffer,
                     s.byteOffset,
                     {s.extents[0], Expr(heads), Expr(headDim / inner), Expr(inner)},
                     {s.strides[0], s.strides[1], Expr(inner), Expr(1)}};
  };
  std::vector<BoundArgument> arguments = {pairs(in), asHalves(stored(op.getTable()), headDim / 2)};
  if (!inPlace)
    arguments.push_back(pairs(out));
  addLaunch(steps_, kernel, arguments, op);
  return {};
}

bool canBePool(RankedTensorType values) {
  const BlockFormat *format = tile::blockFormatOf(values.getElementType());
  if (!format)
    return values.getElementType().isF16() || values.getElementType().isBF16();
  return byteBlocks(*format) && graph::poolShapeOf(values).dim % format->blockLength == 0;
}

Result<void> Lowering::lowerScatter(graph::KvAppendOp op) {
  RankedTensorType pool = op.getValuePool().getType();
  if (!canBePool(pool))
    return fail(Code::Unsupported,
                "the KV state is " + plainName(elementOf(op.getValuePool())) +
                    ", expected f16, bf16 or whole blocks that kernels round to");
  SINTER_ASSIGN(KernelId kernel,
                kernels_.add("kv_write",
                             chooseKvWrite(graph::poolShapeOf(pool), elementOf(op.getValuePool())),
                             kernels::kvWrite));
  stored_[op.getNewKeys()] = stored(op.getKeyPool());
  stored_[op.getNewValues()] = stored(op.getValuePool());
  auto [keys, values] = poolsByRow(op.getKeyPool(), op.getValuePool());
  addLaunch(steps_, kernel,
            {stored(op.getKeys()).view(), stored(op.getValues()).view(),
             stored(op.getSlots()).view(), keys, values},
            op);
  return {};
}

// Inner extents have no gaps, so only the first stride stays as it is.
void Lowering::lowerReshape(graph::ReshapeOp op) {
  Stored from = stored(op.getValue());
  Stored to{from.buffer, from.byteOffset, extentsOf(op.getResult().getType()), {}};
  to.strides = packedStrides(to.extents);
  to.strides[0] = from.strides[0];
  stored_[op.getResult()] = std::move(to);
}

void Lowering::lowerSlice(graph::SliceOp op) {
  Stored part = stored(op.getValue());
  RankedTensorType type = op.getResult().getType();
  ElementBytes size = elementBytes(type.getElementType());
  SINTER_CHECK(static_cast<int64_t>(op.getOffset()) % size.length == 0);
  Expr bytes(static_cast<int64_t>(op.getOffset()) / size.length * size.bytes);
  part.byteOffset = plan::add(part.byteOffset, bytes);
  part.extents = extentsOf(type);
  stored_[op.getResult()] = std::move(part);
}

// Inputs and state have memory before all else, so that a launch may reach ahead for them.
void Lowering::lowerEdge(Operation &op) {
  auto edge = [&](StringRef name, Value value, BufferKind kind) {
    auto type = cast<RankedTensorType>(value.getType());
    stored_[value] = makeStored(addBuffer(name.str(), kind, bytesOf(type)), type);
    done_.insert(&op);
  };
  if (auto input = dyn_cast<graph::InputOp>(op))
    edge(input.getName(), input.getResult(), BufferKind::Input);
  else if (auto state = dyn_cast<graph::StateOp>(op))
    edge(state.getName(), state.getResult(), BufferKind::State);
}

Result<void> Lowering::lower(Operation &op) {
  if (done_.contains(&op))
    return {};
  return llvm::TypeSwitch<Operation *, Result<void>>(&op)
      .Case([&](graph::WeightOp) { return Result<void>(); }) // packed as its readers want it
      .Case([&](graph::OutputOp) { return Result<void>(); }) // named when its value is stored
      .Case([&](graph::ReshapeOp o) { return lowerReshape(o), Result<void>(); })
      .Case([&](graph::SliceOp o) { return lowerSlice(o), Result<void>(); })
      .Case([&](graph::GatherOp o) { return lowerGather(o); })
      .Case([&](graph::NormOp o) { return lowerNorm(o); })
      .Case([&](graph::DotGeneralOp o) { return lowerContract(o); })
      .Case([&](graph::MapOp o) { return lowerMap(o); })
      .Case([&](graph::QuantizeOp o) { return lowerQuantize(o); })
      .Case([&](graph::RopeTableOp o) { return lowerRotations(o); })
      .Case([&](graph::RopeOp o) { return lowerRope(o); })
      .Case([&](graph::KvAppendOp o) { return lowerScatter(o); })
      .Case([&](graph::PagedAttentionOp o) { return lowerAttend(o); })
      .Case([&](func::ReturnOp) { return Result<void>(); })
      .Default([&](Operation *o) -> Result<void> {
        return fail(Code::Unsupported,
                    "operation '" + o->getName().getStringRef().str() + "' has no kernel");
      });
}

static std::string joined(const std::set<std::string> &names) {
  return llvm::join(names, ", ");
}

// In which formats rows meet weights.
void Lowering::describeActivations() {
  const std::string many = joined(activations_[RowBucket::Many]),
                    one = joined(activations_[RowBucket::One]);
  const bool byPhase = options_.programs == Programs::Threads;
  plan_.texts["activations"] = many == one
                                   ? many
                                   : many + (byPhase ? " of prompts, " : " of several rows, ") +
                                         one + (byPhase ? " of generated tokens" : " of one");
}

Result<plan::Plan> Lowering::run(func::FuncOp function) {
  Result<void> outputs;
  function.walk([&](graph::OutputOp op) {
    Operation *maker = op.getValue().getDefiningOp();
    if (!maker ||
        isa<graph::InputOp, graph::StateOp, graph::WeightOp, graph::ReshapeOp, graph::SliceOp>(
            maker))
      outputs = fail(Code::Unsupported, "output '" + op.getName().str() +
                                            "' is no computed tensor, which has no form");
    outputs_[op.getValue()] = op.getName().str();
  });
  SINTER_TRY(std::move(outputs));
  for (Operation &op : function.getBody().front())
    lowerEdge(op);
  for (Operation &op : function.getBody().front())
    SINTER_TRY(lower(op));
  plan_.procedures.push_back({function.getSymName().str(), std::move(steps_)});
  describeActivations();
  return std::move(plan_);
}

} // namespace sinter::engine
