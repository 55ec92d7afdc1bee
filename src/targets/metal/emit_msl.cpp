// Emission, the walk: arguments, structure, arithmetic.
#include "targets/metal/emit_msl.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "sched/simt/layout.h"
#include "sched/simt/matrix_instructions.h"
#include "targets/metal/arithmetic.h"
#include "targets/metal/emitter.h"

using namespace mlir;

namespace sinter::targets::metal {

static constexpr int64_t kSharedUnit = 16; // threadgroup memory is given out by these
static constexpr size_t kMostNameLength = 48;

LogicalResult Emitter::readAttributes() {
  FailureOr<int64_t> threads = sched::threadsOf(kernel_, facts_.threads);
  auto shared = kernel_->getAttrOfType<IntegerAttr>(sched::kSharedName);
  if (failed(threads))
    return failure();
  if (shared && (shared.getInt() < 0 || shared.getInt() > facts_.sharedBytes))
    return kernel_.emitOpError() << "needs " << shared.getInt()
                                 << " bytes of threadgroup memory, expected at most "
                                 << facts_.sharedBytes;
  if (!isKernelName(kernel_.getSymName().str()))
    return kernel_.emitOpError() << "has the name '" << kernel_.getSymName()
                                 << "', expected one that MSL leaves to kernels";
  result_.symbol = kernel_.getSymName().str();
  result_.threads = *threads;
  int64_t bytes = shared ? shared.getInt() : 0;
  result_.sharedBytes = static_cast<int64_t>(llvm::alignTo(bytes, kSharedUnit));
  return success();
}

LogicalResult Emitter::checkTypes() {
  auto known = [&](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return isa<tile::ViewType>(type) ||
           ((!vector || (vector.getRank() == 1 && !vector.isScalable() &&
                         vector.getNumElements() <= kMostElements)) &&
            !scalarName(getElementTypeOrSelf(type), facts_).empty());
  };
  for (Type type : kernel_.getArgumentTypes())
    if (!known(type) || isa<VectorType>(type))
      return kernel_.emitOpError() << "has an argument of " << type << ", which has no form in MSL";
  WalkResult walked = kernel_.getBody().walk([&](Operation *op) {
    for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (!known(type)) {
          op->emitOpError() << "works on " << type << ", which has no form in MSL";
          return WalkResult::interrupt();
        }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

// ---- names ----

std::string Emitter::typeOfPiece(Value value, size_t piece) {
  Type type = value.getType();
  return vectorName(getElementTypeOrSelf(type), pieceCounts(type)[piece], facts_);
}

std::string Emitter::element(Value value, int64_t index) {
  if (DenseElementsAttr constant; matchPattern(value, m_Constant(&constant)))
    return literal(constant.getValues<Attribute>()[index], facts_);
  const std::string &piece = pieces(value)[static_cast<size_t>(index / kPieceElements)];
  int64_t first = index / kPieceElements * kPieceElements;
  if (countOf(value.getType()) - first == 1)
    return piece;
  return piece + "." + "xyzw"[index - first];
}

void Emitter::declare(Value value) {
  std::string name = nextName();
  size_t count = pieceCounts(value.getType()).size();
  Pieces names;
  for (size_t i = 0; i < count; ++i) {
    names.push_back(count == 1 ? name : name + "_" + std::to_string(i));
    line(typeOfPiece(value, i) + " " + names.back() + ";");
  }
  bind(value, std::move(names));
}

void Emitter::define(Value value, ArrayRef<std::string> first) {
  std::string name = nextName();
  Pieces names;
  for (auto [i, piece] : llvm::enumerate(first)) {
    names.push_back(first.size() == 1 ? name : name + "_" + std::to_string(i));
    line(typeOfPiece(value, i) + " " + names.back() + " = " + piece + ";");
  }
  bind(value, std::move(names));
}

// Letters, digits and underscores of the argument's name. What is put behind it keeps it apart
// from MSL's words.
std::string Emitter::uniqueName(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  auto given = kernel_.getArgAttrOfType<StringAttr>(number, "tile.name");
  std::string name;
  for (char c : (given ? given.getValue() : StringRef()).take_front(kMostNameLength))
    if (llvm::isAlnum(c) || (c == '_' && !name.empty() && name.back() != '_'))
      name += c;
  if (name.empty() || llvm::isDigit(name.front()))
    name = "arg" + std::to_string(number) + name;
  while (!taken_.insert(name).second)
    name += "_" + std::to_string(number);
  return name;
}

// ---- arguments ----

void Emitter::bindArguments() {
  std::string addresses;
  for (BlockArgument argument : kernel_.getBody().getArguments()) {
    std::string name = uniqueName(argument);
    auto view = dyn_cast<tile::ViewType>(argument.getType());
    if (!view) {
      addWord("ulong " + name + "_bits");
      std::string bits = "args." + name + "_bits", type = scalarName(argument.getType(), facts_);
      unsigned width = bitsOf(argument.getType());
      if (width < 64 && width > 1)
        bits = unsignedName(width) + "(" + bits + ")";
      if (isa<FloatType>(argument.getType()) && type != "ushort")
        bits = "as_type<" + type + ">(" + bits + ")";
      bind(argument, {width == 1 ? "bool(" + bits + " & 1u)" : bits});
      ++result_.scalarCount;
      continue;
    }
    views_[argument] = name;
    ++result_.bufferCount;
    addresses += "  device " + std::string(view.isWritable() ? "" : "const ") + "uchar *" + name +
                 "_data;\n";
    for (int64_t axis = 0; axis < view.getRank(); ++axis)
      addWord("ulong " + name + "_extent" + std::to_string(axis));
    int64_t strides = view.getRank() - (view.getStrided() ? 0 : 1);
    for (int64_t axis = 0; axis < strides; ++axis)
      addWord("ulong " + name + "_stride" + std::to_string(axis));
    result_.scalarCount += view.getRank() + strides;
  }
  for (const char *axis : {"x", "y", "z"})
    addWord(std::string("ulong grid_") + axis);
  words_ = addresses + words_;
}

LogicalResult Emitter::emitViewWord(Operation *op, Value view, bool stride, int64_t axis) {
  auto found = views_.find(view);
  auto type = cast<tile::ViewType>(view.getType());
  if (found == views_.end())
    return op->emitOpError() << "reaches a view that is no kernel argument";
  if (axis < 0 || axis >= type.getRank())
    return op->emitOpError() << "asks for axis " << axis << " of a view with " << type.getRank()
                             << " dimensions";
  Value result = op->getResult(0);
  std::string number = std::to_string(axis);
  if (!stride && !ShapedType::isDynamic(type.getShape()[axis]))
    return bind(result, {std::to_string(type.getShape()[axis]) + "ul"}), success();
  if (stride && axis + 1 == type.getRank() && !type.getStrided())
    return bind(result, {"1ul"}), success();
  bind(result, {"args." + found->second + (stride ? "_stride" : "_extent") + number});
  return success();
}

std::string Emitter::signature() const {
  std::string name = result_.symbol;
  std::string text = "[[max_total_threads_per_threadgroup(" + std::to_string(result_.threads) +
                     ")]]\nkernel void " + name + "(constant " + name +
                     "_arguments &args [[buffer(0)]],\n"
                     "    uint3 program [[threadgroup_position_in_grid]],\n"
                     "    uint simdgroup [[simdgroup_index_in_threadgroup]],\n"
                     "    uint lane [[thread_index_in_simdgroup]]";
  if (result_.sharedBytes)
    text += ",\n    threadgroup uchar *shared [[threadgroup(0)]]";
  return text + ") {\n";
}

// ---- arithmetic ----

LogicalResult Emitter::emitConstant(arith::ConstantOp op) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense)
    return bind(op.getResult(), {literal(op.getValue(), facts_)}), success();
  SmallVector<std::string> elements;
  for (Attribute value : dense.getValues<Attribute>())
    elements.push_back(literal(value, facts_));
  Pieces result;
  ArrayRef<std::string> rest = elements;
  for (auto [i, count] : llvm::enumerate(pieceCounts(op.getType()))) {
    bool splat = llvm::all_equal(rest.take_front(count));
    result.push_back(count == 1 ? rest.front()
                                : typeOfPiece(op, i) + "(" +
                                      llvm::join(rest.take_front(splat ? 1 : count), ", ") + ")");
    rest = rest.drop_front(count);
  }
  bind(op.getResult(), std::move(result));
  return success();
}

LogicalResult Emitter::emitElementwise(Operation *op) {
  auto refuse = [&] { return op->emitOpError() << "has no form in MSL, expected it expanded"; };
  if (op->getNumResults() != 1)
    return refuse();
  Value result = op->getResult(0);
  Pieces pieces;
  int64_t index = 0;
  for (auto [i, count] : llvm::enumerate(pieceCounts(result.getType()))) {
    std::string text;
    for (int64_t end = index + count; index < end; ++index) {
      SmallVector<std::string> x;
      for (Value operand : op->getOperands())
        x.push_back(isa<VectorType>(operand.getType()) ? element(operand, index) : scalar(operand));
      std::string one = elementOf(op, x, facts_, helpers_);
      if (one.empty())
        return refuse();
      text += (text.empty() ? "" : ", ") + one;
    }
    pieces.push_back(count == 1 ? text : typeOfPiece(result, i) + "(" + text + ")");
  }
  define(result, pieces);
  return success();
}

LogicalResult Emitter::emitExtract(vector::ExtractOp op) {
  ArrayRef<int64_t> position = op.getStaticPosition();
  if (op.hasDynamicPosition() || position.size() != 1)
    return op.emitOpError() << "has a position of " << position.size()
                            << " numbers or one that varies, expected one constant";
  bind(op.getResult(), {element(op.getSource(), position.front())});
  return success();
}

// Declared before the kernel.
const std::string &Emitter::tableName(DenseI32ArrayAttr table) {
  constexpr size_t kWordsOfLine = 8;
  std::string &name = tableNames_[table];
  if (!name.empty())
    return name;
  name = result_.symbol + "__table" + std::to_string(tableNames_.size());
  ArrayRef<int32_t> words = table.asArrayRef();
  tables_ += "\nconstant uint " + name + "[" + std::to_string(words.size()) + "] = {";
  for (auto [at, word] : llvm::enumerate(words))
    tables_ +=
        (at % kWordsOfLine ? " " : "\n  ") + std::to_string(static_cast<uint32_t>(word)) + "u,";
  tables_ += "\n};\n";
  return name;
}

LogicalResult Emitter::emitMatrix(sched::MatrixOp op) {
  StringRef name = op.getInstruction();
  const sched::MatrixInstruction *info = sched::findMatrixInstruction(name);
  bool wide = info && info->aElement == sched::MatrixElement::BF16 && !facts_.bfloat;
  if (!info || !name.starts_with(kInstructionPrefix) || wide)
    return op.emitOpError() << "names '" << name << "', expected one of " << kInstructionPrefix
                            << "* that " << facts_.family << " has";
  MLIRContext *context = op.getContext();
  if (op.getA().getType() != info->typeA(context) || op.getB().getType() != info->typeB(context) ||
      op.getAcc().getType() != info->typeC(context))
    return op.emitOpError() << "has fragments " << op.getA().getType() << ", "
                            << op.getB().getType() << ", " << op.getAcc().getType() << ", expected "
                            << info->typeA(context) << ", " << info->typeB(context) << ", "
                            << info->typeC(context);
  if (result_.threads % facts_.subgroup)
    return op.emitOpError() << "works in blocks of " << result_.threads
                            << " threads, expected whole subgroups of " << facts_.subgroup;
  helpers_.insert("multiply_accumulate");
  std::string type = scalarName(getElementTypeOrSelf(op.getA().getType()), facts_);
  define(op.getResult(), {"lanes::multiply_accumulate<" + type + ">(" + scalar(op.getA()) + ", " +
                          scalar(op.getB()) + ", " + scalar(op.getAcc()) + ")"});
  return success();
}

LogicalResult Emitter::emit(Operation *op) {
  auto defined = [&](const std::string &text) { return define(op->getResult(0), text), success(); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tile::ProgramIdOp o) {
        return defined(std::string("ulong(program.") + "xyz"[o.getAxis()] + ")");
      })
      .Case([&](tile::DimOp o) { return emitViewWord(o, o.getView(), false, o.getAxis()); })
      .Case([&](sched::StrideOp o) { return emitViewWord(o, o.getView(), true, o.getAxis()); })
      .Case([&](sched::ThreadOp) {
        return defined("simdgroup * " + std::to_string(facts_.subgroup) + "u + lane");
      })
      .Case([&](sched::ShuffleOp o) {
        return defined("simd_shuffle_xor(" + scalar(o.getValue()) + ", ushort(" +
                       std::to_string(o.getMask()) + "))");
      })
      .Case([&](sched::BarrierOp) {
        return line("threadgroup_barrier(mem_flags::mem_threadgroup);"), success();
      })
      .Case([&](sched::MatrixOp o) { return emitMatrix(o); })
      .Case([&](sched::ViewLoadOp o) { return emitLoad(o); })
      .Case([&](sched::TableLoadOp o) {
        return defined(tableName(o.getTableAttr()) + "[" + scalar(o.getIndex()) + "]");
      })
      .Case([&](sched::PermuteBytesOp o) {
        helpers_.insert("permute_bytes");
        return defined("lanes::permute_bytes(" + scalar(o.getLow()) + ", " + scalar(o.getHigh()) +
                       ", " + scalar(o.getSelector()) + ")");
      })
      .Case([&](sched::ViewStoreOp o) { return emitStore(o); })
      .Case([&](sched::SharedLoadOp o) { return emitSharedLoad(o); })
      .Case([&](sched::SharedStoreOp o) { return emitSharedStore(o); })
      .Case([&](scf::ForOp o) { return emitFor(o); })
      .Case([&](scf::IfOp o) { return emitIf(o); })
      .Case([&](arith::ConstantOp o) { return emitConstant(o); })
      .Case([&](vector::ExtractOp o) { return emitExtract(o); })
      .Case([&](vector::BitCastOp o) { return emitBitcast(o); })
      .Case<vector::FromElementsOp, vector::BroadcastOp>([&](Operation *o) {
        Pieces parts;
        int64_t index = 0;
        for (auto [i, count] : llvm::enumerate(pieceCounts(o->getResult(0).getType()))) {
          SmallVector<std::string> elements;
          for (int64_t end = index + count; index < end; ++index)
            elements.push_back(scalar(o->getOperand(o->getNumOperands() == 1 ? 0 : index)));
          parts.push_back(count == 1 ? elements.front()
                                     : typeOfPiece(o->getResult(0), i) + "(" +
                                           llvm::join(elements, ", ") + ")");
        }
        return define(o->getResult(0), parts), success();
      })
      .Default([&](Operation *o) -> LogicalResult {
        if (isa<arith::ArithDialect, math::MathDialect>(o->getDialect()))
          return emitElementwise(o);
        return o->emitOpError() << "has no form in MSL, expected SIMT IR";
      });
}

// ---- structure ----

// The variables of `targets` take the values; by way of others where they may read each other.
void Emitter::assign(ValueRange targets, ValueRange values, bool apart) {
  SmallVector<std::pair<std::string, std::string>> moves;
  for (auto [target, value] : llvm::zip_equal(targets, values))
    for (auto [i, to, from] : llvm::enumerate(pieces(target), pieces(value))) {
      if (to == from)
        continue;
      moves.push_back({to, from});
      if (!apart)
        continue;
      moves.back().second = nextName();
      line(typeOfPiece(target, i) + " " + moves.back().second + " = " + from + ";");
    }
  for (const auto &[to, from] : moves)
    line(to + " = " + from + ";");
}

// Whether some of the values might be read from the loop's own variables.
static bool mayReadCarried(scf::ForOp loop) {
  for (auto [argument, value] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    if (value == argument)
      continue;
    if (auto extract = value.getDefiningOp<vector::ExtractOp>())
      value = extract.getSource();
    if (llvm::is_contained(loop.getRegionIterArgs(), value))
      return true;
  }
  return false;
}

LogicalResult Emitter::emitFor(scf::ForOp loop) {
  for (auto [argument, init, result] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getResults())) {
    define(argument, Pieces(pieces(init)));
    bind(result, Pieces(pieces(argument)));
  }
  unsigned bits = bitsOf(loop.getInductionVar().getType());
  std::string counter = "i" + std::to_string(next_++), type = unsignedName(bits);
  auto compared = [&](const std::string &text) {
    return loop.getUnsignedCmp() ? text : signedName(bits) + "(" + text + ")";
  };
  line("for (" + type + " " + counter + " = " + scalar(loop.getLowerBound()) + "; " +
       compared(counter) + " < " + compared(scalar(loop.getUpperBound())) + "; " + counter +
       " += " + scalar(loop.getStep()) + ") {");
  bind(loop.getInductionVar(), {counter});
  ++depth_;
  if (failed(emitBlock(*loop.getBody())))
    return failure();
  assign(loop.getRegionIterArgs(), loop.getYieldedValues(), mayReadCarried(loop));
  --depth_;
  line("}");
  return success();
}

LogicalResult Emitter::emitBranch(Region &region, ValueRange results) {
  ++depth_;
  if (failed(emitBlock(region.front())))
    return failure();
  assign(results, region.front().getTerminator()->getOperands(), false);
  --depth_;
  return success();
}

LogicalResult Emitter::emitIf(scf::IfOp branch) {
  for (Value result : branch.getResults())
    declare(result);
  line("if (" + scalar(branch.getCondition()) + ") {");
  if (failed(emitBranch(branch.getThenRegion(), branch.getResults())))
    return failure();
  if (!branch.getElseRegion().empty()) {
    line("} else {");
    if (failed(emitBranch(branch.getElseRegion(), branch.getResults())))
      return failure();
  }
  line("}");
  return success();
}

LogicalResult Emitter::emitBlock(Block &block) {
  for (Operation &op : block)
    if (!isa<scf::YieldOp>(op) && failed(emit(&op)))
      return failure();
  return success();
}

// What only the grid needs is evaluated on the host.
static void eraseGrid(tile::KernelOp kernel) {
  SmallVector<Operation *> all;
  kernel.getBody().walk([&](Operation *op) { all.push_back(op); });
  for (Operation *op : llvm::reverse(all))
    if (isa<tile::GridOp>(op) || isOpTriviallyDead(op))
      op->erase();
}

FailureOr<EmittedKernel> Emitter::run(std::string &text) {
  if (failed(readAttributes()) || failed(checkTypes()))
    return failure();
  bindArguments();
  if (failed(emitBlock(kernel_.getBody().front())))
    return failure();
  text += tables_ + "\nstruct " + result_.symbol + "_arguments {\n" + words_ + "};\n\n" +
          signature() + body_ + "}\n";
  return result_;
}

static LogicalResult expandDivisions(ModuleOp module) {
  RewritePatternSet divisions(module.getContext());
  arith::populateCeilFloorDivExpandOpsPatterns(divisions);
  return applyPatternsGreedily(module, std::move(divisions));
}

Result<std::string> emitMsl(ModuleOp simt, const MetalFacts &facts,
                            std::vector<EmittedKernel> &kernels) {
  simt.getContext()->loadDialect<vector::VectorDialect>();
  OwningOpRef<ModuleOp> source(cast<ModuleOp>(simt->clone()));
  if (failed(expandDivisions(*source)))
    return fail(Code::Internal, "the kernels' divisions could not be expanded");
  Helpers helpers;
  std::string text;
  for (auto kernel : source->getOps<tile::KernelOp>()) {
    eraseGrid(kernel);
    FailureOr<EmittedKernel> one = Emitter(kernel, facts, helpers).run(text);
    if (failed(one))
      return fail(Code::Unsupported, "kernel '" + kernel.getSymName().str() +
                                         "' could not be printed for metal:" + facts.family);
    kernels.push_back(*one);
  }
  return partText(helpers, text);
}

} // namespace sinter::targets::metal
