// Simt operations in NVVM intrinsics, and in PTX where LLVM has none: memory under a predicate and
// matmuls of a subgroup.
#include "targets/nvidia/simt_target.h"
#include "sched/simt/matrix_instructions.h"
#include "targets/nvidia/ptx.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::nvidia {

using simt::LoadHints;
using simt::Site;
using simt::Words;

static constexpr int64_t kSubgroup = 32;
// Instructions that read shared memory take its pieces in patterns of 1024 bytes.
static constexpr int64_t kSharedAlignment = 1024;

static Value intrinsic(Site s, Type type, StringRef name, ValueRange operands = {}) {
  return LLVM::CallIntrinsicOp::create(s.b, s.loc, type, s.b.getStringAttr(name), operands)
      .getResult(0);
}

static Value constant(Site s, int64_t value) {
  return arith::ConstantOp::create(s.b, s.loc, s.b.getI32IntegerAttr(static_cast<int32_t>(value)));
}

void NvidiaSimt::declareKernel(LLVM::LLVMFuncOp function, int64_t threads) const {
  Builder b(function.getContext());
  function.setCConv(LLVM::cconv::CConv::PTX_Kernel);
  function.setPassthroughAttr(b.getArrayAttr({b.getArrayAttr(
      {b.getStringAttr("nvvm.reqntid"), b.getStringAttr(std::to_string(threads) + ",1,1")})}));
}

static void addAttribute(LLVM::LLVMFuncOp function, StringRef name, const std::string &value) {
  Builder b(function.getContext());
  SmallVector<Attribute> attributes(function.getPassthroughAttr().getValue());
  attributes.push_back(b.getArrayAttr({b.getStringAttr(name), b.getStringAttr(value)}));
  function.setPassthroughAttr(b.getArrayAttr(attributes));
}

// So few blocks a multiprocessor are enough: the assembler then issues loads early.
void NvidiaSimt::preferRegisters(LLVM::LLVMFuncOp function, int64_t blocks) const {
  addAttribute(function, "nvvm.minctasm", std::to_string(blocks));
}

// A program is a cluster.
void NvidiaSimt::spreadPrograms(LLVM::LLVMFuncOp function, int64_t blocks) const {
  addAttribute(function, "nvvm.cluster_dim", std::to_string(blocks) + ",1,1");
}

LLVM::GlobalOp NvidiaSimt::declareShared(ModuleOp module, StringRef, int64_t) const {
  if (auto declared = module.lookupSymbol<LLVM::GlobalOp>(kSharedName))
    return declared;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  return LLVM::GlobalOp::create(b, module.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                                /*isConstant=*/false, LLVM::Linkage::External, kSharedName,
                                Attribute(), kSharedAlignment, simt::kSharedSpace);
}

Value NvidiaSimt::threadId(Site s) const {
  return intrinsic(s, s.b.getI32Type(), "llvm.nvvm.read.ptx.sreg.tid.x");
}

Value NvidiaSimt::programId(Site s, int axis) const {
  static constexpr const char *kNames[] = {"llvm.nvvm.read.ptx.sreg.ctaid.x",
                                           "llvm.nvvm.read.ptx.sreg.ctaid.y",
                                           "llvm.nvvm.read.ptx.sreg.ctaid.z"};
  return intrinsic(s, s.b.getI32Type(), kNames[axis]);
}

void NvidiaSimt::barrier(Site s) const {
  LLVM::CallIntrinsicOp::create(s.b, s.loc,
                                s.b.getStringAttr("llvm.nvvm.barrier.cta.sync.aligned.all"),
                                ValueRange{constant(s, 0)});
}

Value NvidiaSimt::shuffle(Site s, Value value, int32_t mask, int64_t threads) const {
  int64_t members = (int64_t(1) << std::min(threads, kSubgroup)) - 1;
  return intrinsic(s, s.b.getI32Type(), "llvm.nvvm.shfl.sync.bfly.i32",
                   {constant(s, members), value, constant(s, mask), constant(s, kSubgroup - 1)});
}

Value NvidiaSimt::permuteBytes(Site s, sched::PermuteBytesOp op) const {
  return intrinsic(s, s.b.getI32Type(), "llvm.nvvm.prmt",
                   {op.getLow(), op.getHigh(), op.getSelector()});
}

// ---- inline PTX ----

/// An instruction's operands in PTX: "{$0, $1}" from `first` on.
static std::string operandList(unsigned first, size_t count) {
  std::string text = count == 1 ? "" : "{";
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + (count == 1 ? "" : "}");
}

static const char *constraintOf(Type word) {
  if (word.isF32())
    return "f";
  switch (word.getIntOrFloatBitWidth()) {
  case 1:
    return "b";
  case 32:
    return "r";
  case 64:
    return "l";
  default:
    return "h";
  }
}

static SmallVector<Value> wordsOf(Site s, Value words) {
  auto type = dyn_cast<VectorType>(words.getType());
  if (!type)
    return {words};
  SmallVector<Value> list;
  for (int64_t i = 0; i < type.getNumElements(); ++i)
    list.push_back(vector::ExtractOp::create(s.b, s.loc, words, i));
  return list;
}

/// One piece of PTX whose results are `count` words of `word`. `tied` are the results' first
/// values.
static SmallVector<Value> ptx(Site s, const std::string &text, Type word, size_t count,
                              ArrayRef<Value> tied, ArrayRef<Value> operands, bool effects) {
  std::string constraints;
  auto add = [&](const std::string &next) {
    constraints += (constraints.empty() ? "" : ",") + next;
  };
  SmallVector<Value> all;
  for (size_t i = 0; i < count; ++i)
    add(std::string("=") + constraintOf(word));
  for (auto [i, value] : llvm::enumerate(tied)) {
    add(std::to_string(i));
    all.push_back(value);
  }
  for (Value value : operands) {
    add(isa<LLVM::LLVMPointerType>(value.getType())
            ? (cast<LLVM::LLVMPointerType>(value.getType()).getAddressSpace() == simt::kSharedSpace
                   ? "r"
                   : "l")
            : constraintOf(value.getType()));
    all.push_back(value);
  }
  if (effects)
    add("~{memory}");
  Type result = count == 0   ? Type(LLVM::LLVMVoidType::get(s.b.getContext()))
                : count == 1 ? word
                             : LLVM::LLVMStructType::getLiteral(s.b.getContext(),
                                                                SmallVector<Type>(count, word));
  auto op = LLVM::InlineAsmOp::create(s.b, s.loc, count ? TypeRange(result) : TypeRange(), all,
                                      text, constraints, effects, false, LLVM::TailCallKind::None,
                                      LLVM::AsmDialectAttr(), ArrayAttr());
  if (count == 0)
    return {};
  if (count == 1)
    return {op.getResult(0)};
  SmallVector<Value> results;
  for (size_t i = 0; i < count; ++i)
    results.push_back(
        LLVM::ExtractValueOp::create(s.b, s.loc, op.getResult(0), static_cast<int64_t>(i)));
  return results;
}

static Value packed(Site s, ArrayRef<Value> words) {
  if (words.size() == 1)
    return words.front();
  auto type = VectorType::get({int64_t(words.size())}, words.front().getType());
  return vector::FromElementsOp::create(s.b, s.loc, type, words);
}

/// ".v4.b32"
static std::string moved(Words words) {
  return (words.count == 1 ? "" : ".v" + std::to_string(words.count)) + ".b" +
         std::to_string(words.bits);
}

// Registers have 16 bits at least.
static Type registerType(Site s, Words words) {
  return s.b.getIntegerType(std::max(words.bits, 16u));
}

static const char *spaceOf(Value pointer) {
  auto type = cast<LLVM::LLVMPointerType>(pointer.getType());
  return type.getAddressSpace() == simt::kSharedSpace ? ".shared" : ".global";
}

// The second-level cache's policy for what it should keep.
static Value keepPolicy(Site s) {
  return ptx(s, "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;", s.b.getI64Type(), 1, {}, {},
             false)
      .front();
}

// `other` are the words' values where not `when`; both null where every thread loads.
static Value loadedBy(Site s, Value pointer, Words words, Value when, Value other,
                      LoadHints hints) {
  Type word = registerType(s, words);
  SmallVector<Value> initial = other ? wordsOf(s, other) : SmallVector<Value>(), operands{pointer};
  for (Value &value : initial)
    if (value.getType() != word)
      value = arith::ExtUIOp::create(s.b, s.loc, word, value);
  auto next = [&, at = words.count + initial.size()]() mutable {
    return "$" + std::to_string(at++);
  };
  std::string text = std::string("ld") + spaceOf(pointer) + (hints.constant ? ".nc" : "") +
                     (hints.keep ? ".L2::cache_hint" : "") + moved(words) + " " +
                     operandList(0, words.count) + ", [" + next() + "]";
  if (hints.keep) {
    operands.push_back(keepPolicy(s));
    text += ", " + next();
  }
  if (when) {
    operands.push_back(when);
    text = "@" + next() + " " + text;
  }
  SmallVector<Value> loaded =
      ptx(s, text + ";", word, words.count, initial, operands, /*effects=*/!hints.constant);
  for (Value &value : loaded)
    if (words.bits < 16)
      value = arith::TruncIOp::create(s.b, s.loc, s.b.getIntegerType(words.bits), value);
  return packed(s, loaded);
}

Value NvidiaSimt::load(Site s, Value pointer, Words words, LoadHints hints) const {
  return hints.keep ? loadedBy(s, pointer, words, {}, {}, hints)
                    : SimtTarget::load(s, pointer, words, hints);
}

Value NvidiaSimt::loadWhen(Site s, Value pointer, Value when, Value other, LoadHints hints) const {
  return loadedBy(s, pointer, simt::wordsOf(other.getType()), when, other, hints);
}

void NvidiaSimt::storeWhen(Site s, Value words, Value pointer, Value when) const {
  Words shape = simt::wordsOf(words.getType());
  Type word = registerType(s, shape);
  SmallVector<Value> operands{pointer, when};
  for (Value value : wordsOf(s, words))
    operands.push_back(value.getType() == word
                           ? value
                           : arith::ExtUIOp::create(s.b, s.loc, word, value).getResult());
  ptx(s,
      std::string("@$1 st") + spaceOf(pointer) + moved(shape) + " [$0], " +
          operandList(2, shape.count) + ";",
      word, 0, {}, operands, /*effects=*/true);
}

// ---- matmuls ----

static const char *elementName(sched::MatrixElement element) {
  switch (element) {
  case sched::MatrixElement::F16:
    return "f16";
  case sched::MatrixElement::BF16:
    return "bf16";
  case sched::MatrixElement::TF32:
    return "tf32";
  case sched::MatrixElement::F32:
    return "f32";
  case sched::MatrixElement::S8:
    return "s8";
  case sched::MatrixElement::U8:
    return "u8";
  case sched::MatrixElement::S32:
    return "s32";
  }
  return "";
}

static SmallVector<Value> asWords(Site s, Value fragment) {
  auto type = cast<VectorType>(fragment.getType());
  Type i32 = s.b.getI32Type();
  Type integers = type.clone(s.b.getIntegerType(type.getElementTypeBitWidth()));
  if (integers != type)
    fragment = arith::BitcastOp::create(s.b, s.loc, integers, fragment);
  int64_t words = type.getNumElements() * type.getElementTypeBitWidth() / 32;
  return wordsOf(s, vector::BitCastOp::create(s.b, s.loc, VectorType::get({words}, i32), fragment));
}

FailureOr<Value> NvidiaSimt::matrix(Site s, sched::MatrixOp op) const {
  const sched::MatrixInstruction *info = sched::findMatrixInstruction(op.getInstruction());
  if (!info || !op.getInstruction().starts_with("nvidia.mma."))
    return op.emitOpError() << "names '" << op.getInstruction()
                            << "', expected an instruction nvidia.mma.* of the table";
  MLIRContext *context = op.getContext();
  if (op.getA().getType() != info->typeA(context) || op.getB().getType() != info->typeB(context) ||
      op.getAcc().getType() != info->typeC(context))
    return op.emitOpError() << "has fragments " << op.getA().getType() << ", "
                            << op.getB().getType() << ", " << op.getAcc().getType() << ", expected "
                            << info->typeA(context) << ", " << info->typeB(context) << ", "
                            << info->typeC(context);
  SmallVector<Value> a = asWords(s, op.getA()), b = asWords(s, op.getB()),
                     acc = wordsOf(s, op.getAcc());
  std::string shape =
      "m" + std::to_string(info->m) + "n" + std::to_string(info->n) + "k" + std::to_string(info->k);
  std::string accumulators = elementName(info->cElement);
  unsigned first = static_cast<unsigned>(2 * acc.size());
  std::string text = "mma.sync.aligned." + shape + ".row.col." + accumulators + "." +
                     elementName(info->aElement) + "." + elementName(info->bElement) + "." +
                     accumulators + " " + operandList(0, acc.size()) + ", " +
                     operandList(first, a.size()) + ", " + operandList(first + a.size(), b.size()) +
                     ", " + operandList(0, acc.size()) + ";";
  SmallVector<Value> operands(a);
  operands.append(b);
  return packed(s, ptx(s, text, acc.front().getType(), acc.size(), acc, operands, false));
}

// ---- copies and matmuls that run on their own ----

// The address that instructions take: 32 bits within the block's shared memory.
static Value sharedAddress(Site s, Value pointer) {
  return LLVM::PtrToIntOp::create(s.b, s.loc, s.b.getI32Type(), pointer);
}

// A tile of rows of 128 bytes, 8 rows of 1024 bytes after one another, with their pieces XORed
// (PTX ISA, "Matrix descriptor": address / 16, leading offset / 16, stride / 16, mode 1). The
// leading offset is from panel to panel, of operands whose rows run along k. Tiles `offset` bytes
// behind the pointer share what is computed of it.
static Value descriptor(Site s, Value pointer, int64_t panelBytes = 16, int64_t offset = 0) {
  Value low = arith::ShRUIOp::create(s.b, s.loc, sharedAddress(s, pointer), constant(s, 4));
  low = arith::AndIOp::create(s.b, s.loc, low, constant(s, 0x3fff));
  low = arith::OrIOp::create(s.b, s.loc, low, constant(s, panelBytes / 16 << 16));
  if (offset)
    low = arith::AddIOp::create(s.b, s.loc, low, constant(s, offset / 16));
  return ptx(s, "mov.b64 $0, {$1, $2};", s.b.getI64Type(), 1, {}, {low, constant(s, 64 | 1 << 30)},
             false)
      .front();
}

static FailureOr<Value> groupMatmul(Site s, sched::MatrixAsyncOp op, ArrayRef<Value> operands) {
  const sched::MatrixInstruction *info = sched::findMatrixInstruction(op.getInstruction());
  if (!info || !info->sharedOperands)
    return op.emitOpError() << "names '" << op.getInstruction()
                            << "', expected an instruction nvidia.wgmma.* of the table";
  SmallVector<Value> acc = wordsOf(s, operands[2]);
  std::string element = elementName(info->aElement);
  size_t first = 2 * acc.size();
  std::string text = "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n" +
                     std::to_string(info->n) + "k16.f32." + element + "." + element + " " +
                     operandList(0, acc.size()) + ", $" + std::to_string(first) + ", $" +
                     std::to_string(first + 1) + ", p, 1, 1, 0, 0; }";
  return packed(s, ptx(s, text, acc.front().getType(), acc.size(), acc,
                       {descriptor(s, operands[0]), descriptor(s, operands[1])}, true));
}

static bool isZero(Value accumulators) {
  auto made = accumulators.getDefiningOp<vector::FromElementsOp>();
  return matchPattern(accumulators, m_AnyZeroFloat()) ||
         (made && llvm::all_of(made.getElements(),
                               [](Value each) { return matchPattern(each, m_AnyZeroFloat()); }));
}

static FailureOr<Value> tileMatmul(Site s, sched::MatrixTileAsyncOp op, ArrayRef<Value> operands) {
  const sched::MatrixInstruction *info = sched::findMatrixInstruction(op.getInstruction());
  if (!info || !info->sharedB)
    return op.emitOpError() << "names '" << op.getInstruction()
                            << "', expected an instruction nvidia.wgmma.ra.* of the table";
  SmallVector<Value> acc = wordsOf(s, operands[2]), all = asWords(s, operands[0]);
  if (isZero(operands[2])) // the matmul starts its accumulators itself
    acc.assign(acc.size(), LLVM::UndefOp::create(s.b, s.loc, acc.front().getType()));
  std::string element = elementName(info->aElement);
  size_t first = 2 * acc.size(), next = first + all.size();
  std::string text =
      std::string("{ .reg .pred p; setp.ne.b32 p, ") + (isZero(operands[2]) ? "0" : "1") +
      ", 0; wgmma.mma_async.sync.aligned.m64n" + std::to_string(info->n) + "k16.f32." + element +
      "." + element + " " + operandList(0, acc.size()) + ", " +
      operandList(static_cast<unsigned>(first), all.size()) + ", $" + std::to_string(next) +
      ", p, 1, 1, " + (op.getTransposeB() ? "0" : "1") + "; }";
  constexpr int64_t kNoPanels = 16;
  all.push_back(
      descriptor(s, operands[1], op.getTransposeB() ? kNoPanels : op.getPanel(), op.getOffset()));
  return packed(s, ptx(s, text, acc.front().getType(), acc.size(), acc, all, true));
}

// Nothing that makes these registers comes after this.
static Value pinned(Site s, Value value) {
  auto type = cast<VectorType>(value.getType());
  if (type.getElementTypeBitWidth() == 32)
    return packed(
        s, ptx(s, "", type.getElementType(), type.getNumElements(), wordsOf(s, value), {}, true));
  SmallVector<Value> words = asWords(s, value);
  Value held = packed(s, ptx(s, "", s.b.getI32Type(), words.size(), words, {}, true));
  if (words.size() == 1)
    held = vector::FromElementsOp::create(s.b, s.loc, VectorType::get({1}, s.b.getI32Type()), held);
  return vector::BitCastOp::create(s.b, s.loc, type, held);
}

// Accumulators that are still in flight must not be touched, not even by a copy.
static Value groupWait(Site s, sched::MatrixWaitOp op, Value accumulators) {
  const bool ended = op.getPending() == 0 || op.getSettled();
  SmallVector<Value> acc = ended ? wordsOf(s, accumulators) : SmallVector<Value>();
  std::string text = op.getCommit() ? "wgmma.commit_group.sync.aligned;" : "";
  if (op.getPending() < INT32_MAX)
    text += std::string(op.getCommit() ? " " : "") + "wgmma.wait_group.sync.aligned " +
            std::to_string(op.getPending()) + ";";
  SmallVector<Value> settled = ptx(s, text, s.b.getF32Type(), acc.size(), acc, {}, true);
  return acc.empty() ? accumulators : packed(s, settled);
}

// Shared memory of another block of the cluster.
static Value remoteLoad(Site s, sched::RemoteLoadOp op, ArrayRef<Value> operands) {
  Type type = op.getType(), i32 = s.b.getI32Type();
  auto vector = dyn_cast<VectorType>(type);
  const auto count = static_cast<size_t>(vector ? vector.getNumElements() : 1);
  const Words words{32, static_cast<unsigned>(count)};
  const std::string next = "$" + std::to_string(count), block = "$" + std::to_string(count + 1);
  Value loaded = packed(s, ptx(s,
                               "{ .reg .b32 a; mapa.shared::cluster.u32 a, " + next + ", " + block +
                                   "; ld.shared::cluster" + moved(words) + " " +
                                   operandList(0, count) + ", [a]; }",
                               i32, count, {}, {sharedAddress(s, operands[0]), operands[1]}, true));
  if (type == i32)
    return loaded;
  return arith::BitcastOp::create(s.b, s.loc, type, loaded);
}

FailureOr<Value> NvidiaSimt::asynchronous(Site s, Operation *op, ArrayRef<Value> operands) const {
  auto plain = [&](const std::string &text, ArrayRef<Value> values = {}) -> FailureOr<Value> {
    ptx(s, text, s.b.getI32Type(), 0, {}, values, true);
    return Value();
  };
  if (isa<sched::SharedMatricesOp>(op)) {
    SmallVector<Value> words =
        ptx(s, "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];", s.b.getI32Type(),
            4, {}, {sharedAddress(s, operands[0])}, true);
    return vector::BitCastOp::create(s.b, s.loc, op->getResult(0).getType(), packed(s, words))
        .getResult();
  }
  if (auto copy = dyn_cast<sched::CopyAsyncOp>(op)) {
    constexpr int64_t kPastFirstCache = 16; // bytes of the only copies that need no first cache
    const int64_t size = copy.getSize();
    Value bytes =
        arith::SelectOp::create(s.b, s.loc, operands[1], constant(s, size), constant(s, 0));
    return plain(std::string("cp.async.") + (size == kPastFirstCache ? "cg" : "ca") +
                     ".shared.global [$0], [$1], " + std::to_string(size) + ", $2;",
                 {sharedAddress(s, operands[2]), operands[0], bytes});
  }
  if (isa<sched::BlockOp>(op))
    return intrinsic(s, s.b.getI32Type(), "llvm.nvvm.read.ptx.sreg.cluster.ctarank");
  if (isa<sched::ProgramBarrierOp>(op))
    return plain("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;");
  if (auto remote = dyn_cast<sched::RemoteLoadOp>(op)) {
    if (remote.getType().isF32() || getElementTypeOrSelf(remote.getType()).isF32() ||
        getElementTypeOrSelf(remote.getType()).isInteger(32))
      return remoteLoad(s, remote, operands);
    return remote.emitOpError() << "loads " << remote.getType() << ", expected words of 32 bits";
  }
  if (isa<sched::AwaitLaunchesOp>(op))
    return plain("griddepcontrol.launch_dependents; griddepcontrol.wait;");
  if (isa<sched::CopyCommitOp>(op))
    return plain("cp.async.commit_group;");
  if (auto wait = dyn_cast<sched::CopyWaitOp>(op))
    return plain("cp.async.wait_group " + std::to_string(wait.getPending()) + ";" +
                 (facts_.groupMatmuls ? " fence.proxy.async.shared::cta;" : ""));
  if (isa<sched::MatrixFenceOp>(op))
    return plain("wgmma.fence.sync.aligned;");
  if (auto product = dyn_cast<sched::MatrixAsyncOp>(op))
    return groupMatmul(s, product, operands);
  if (auto product = dyn_cast<sched::MatrixTileAsyncOp>(op))
    return tileMatmul(s, product, operands);
  if (isa<sched::PinOp>(op))
    return pinned(s, operands[0]);
  return groupWait(s, cast<sched::MatrixWaitOp>(op), operands[0]);
}

// ---- arithmetic ----

// cvt saturates and takes NaN to zero, as the language asks; LLVM's plain conversion need not.
static Value toInteger(Site s, Operation *op, bool isSigned) {
  Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
  StringRef name = isSigned ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
  if (from.isF32() && to.isInteger(32))
    return ptx(s, isSigned ? "cvt.rzi.s32.f32 $0, $1;" : "cvt.rzi.u32.f32 $0, $1;", to, 1, {},
               {op->getOperand(0)}, false)
        .front();
  return intrinsic(s, to, name, {op->getOperand(0)});
}

// The processor's own function where an approximation will do.
static Value approximate(Site s, Operation *op) {
  const char *name = llvm::TypeSwitch<Operation *, const char *>(op)
                         .Case([](math::Exp2Op) { return "ex2.approx.ftz.f32"; })
                         .Case([](math::Log2Op) { return "lg2.approx.f32"; })
                         .Case([](math::RsqrtOp) { return "rsqrt.approx.f32"; })
                         .Case([](math::TanhOp) { return "tanh.approx.f32"; })
                         .Default([](Operation *) { return nullptr; });
  if (!name || !op->getResult(0).getType().isF32())
    return {};
  auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
  if (!flags || !bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::afn))
    return {};
  return ptx(s, std::string(name) + " $0, $1;", op->getResult(0).getType(), 1, {},
             {op->getOperand(0)}, false)
      .front();
}

// Numbers that are rounded to 16 bits and lie side by side are rounded two at a time.
static Value roundedPairs(Site s, vector::FromElementsOp op) {
  Type element = op.getType().getElementType();
  SmallVector<Value> sources;
  for (Value value : op.getElements()) {
    auto rounded = value.getDefiningOp<arith::TruncFOp>();
    if (!rounded || !rounded.getIn().getType().isF32())
      return {};
    sources.push_back(rounded.getIn());
  }
  if (!(element.isF16() || element.isBF16()) || sources.size() % 2 || sources.empty())
    return {};
  std::string text = std::string("cvt.rn.") + (element.isF16() ? "f16" : "bf16") +
                     "x2.f32 $0, $1, $2;"; // $1 is the upper half
  SmallVector<Value> words;
  for (size_t i = 0; i < sources.size(); i += 2)
    words.push_back(
        ptx(s, text, s.b.getI32Type(), 1, {}, {sources[i + 1], sources[i]}, false).front());
  auto type = VectorType::get({int64_t(words.size())}, s.b.getI32Type());
  Value packed = vector::FromElementsOp::create(s.b, s.loc, type, words);
  return vector::BitCastOp::create(s.b, s.loc, op.getType(), packed);
}

// 2^15 + u + 128 for a signed byte u, as f32: its third lowest byte counts ones. A product of this
// with a number of 11 bits, such as a scale in F16, is exact, and so is kByteBias times it.
static constexpr float kByteBias = 32768 + 128;

// The number of a byte of a word as f32 by a permutation of bytes and an exact subtraction: a
// processor converts a fraction as many integers at a time.
static Value byteToFloat(Site s, arith::SIToFPOp op) {
  constexpr int64_t kTwoTo15 = 0x47000000, kSigns = 0x80808080, kSelector = 0x7604, kByteBits = 8;
  auto byte = op.getIn().getDefiningOp<arith::TruncIOp>();
  if (!op.getType().isF32() || !op.getIn().getType().isInteger(8) || !byte ||
      !byte.getIn().getType().isInteger(32))
    return {};
  Value word = byte.getIn();
  int64_t number = 0;
  if (auto shifted = word.getDefiningOp<arith::ShRUIOp>())
    if (auto by = getConstantIntValue(shifted.getRhs());
        by && *by > 0 && *by < 32 && *by % kByteBits == 0) {
      word = shifted.getLhs();
      number = *by / kByteBits;
    }
  Value biased = arith::XOrIOp::create(s.b, s.loc, word, constant(s, kSigns));
  Value bits = intrinsic(s, s.b.getI32Type(), "llvm.nvvm.prmt",
                         {biased, constant(s, kTwoTo15), constant(s, kSelector + (number << 4))});
  Value sum = arith::BitcastOp::create(s.b, s.loc, op.getType(), bits);
  Value bias = arith::ConstantOp::create(s.b, s.loc, s.b.getF32FloatAttr(kByteBias));
  return arith::SubFOp::create(s.b, s.loc, sum, bias);
}

// Such a number times a scale in F16, rounded once as well.
static Value scaledByte(Site s, arith::MulFOp op) {
  for (auto [one, other] : {std::pair(op.getLhs(), op.getRhs()), {op.getRhs(), op.getLhs()}}) {
    auto scale = one.getDefiningOp<arith::ExtFOp>();
    auto number = other.getDefiningOp<arith::SubFOp>();
    FloatAttr bias;
    if (!scale || !scale.getIn().getType().isF16() || !op.getType().isF32() || !number ||
        !number.getLhs().getDefiningOp<arith::BitcastOp>() ||
        !matchPattern(number.getRhs(), m_Constant(&bias)) ||
        bias.getValue().convertToFloat() != kByteBias)
      continue;
    Value less = arith::ConstantOp::create(s.b, s.loc, s.b.getF32FloatAttr(-kByteBias));
    Value offset = arith::MulFOp::create(s.b, s.loc, one, less);
    return math::FmaOp::create(s.b, s.loc, number.getLhs(), one, offset);
  }
  return {};
}

// Good to 2 units in the last place over the whole range, where that will do.
static Value division(Site s, arith::DivFOp op) {
  bool relaxed = bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::arcp);
  if (!relaxed || !op.getType().isF32())
    return {};
  return ptx(s, "div.full.f32 $0, $1, $2;", op.getType(), 1, {}, {op.getLhs(), op.getRhs()}, false)
      .front();
}

Value NvidiaSimt::elementwise(Site s, Operation *op) const {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::FPToSIOp) { return toInteger(s, op, true); })
      .Case([&](arith::FPToUIOp) { return toInteger(s, op, false); })
      .Case([&](arith::SIToFPOp o) { return byteToFloat(s, o); })
      .Case([&](arith::MulFOp o) { return scaledByte(s, o); })
      .Case([&](arith::DivFOp o) { return division(s, o); })
      .Case([&](vector::FromElementsOp o) { return roundedPairs(s, o); })
      .Default([&](Operation *o) { return approximate(s, o); });
}

} // namespace sinter::targets::nvidia
