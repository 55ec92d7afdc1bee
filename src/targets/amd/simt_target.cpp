// Simt operations in LLVM's intrinsics for AMDGPU: ids, barriers, shuffles, approximations.
#include "targets/amd/simt_target.h"
#include "targets/amd/matmuls.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::amd {

using simt::Site;

static constexpr int64_t kCdnaSubgroup = 64;
static constexpr int32_t kRow = 16;      // lanes that DPP moves data among
static constexpr int32_t kSwizzled = 32; // lanes that ds_swizzle moves data among
static constexpr int32_t kAllRows = 0xf; // and all banks
static constexpr int32_t kRowXmask = 0x160;
static constexpr int32_t kHalfMirror = 0x141; // lane XOR 7
static constexpr int32_t kMirror = 0x140;     // lane XOR 15

static Value intrinsic(Site s, Type type, StringRef name, ValueRange operands = {}) {
  return LLVM::CallIntrinsicOp::create(s.b, s.loc, type, s.b.getStringAttr(name), operands)
      .getResult(0);
}

static Value constant(Site s, int32_t value) {
  return arith::ConstantOp::create(s.b, s.loc, s.b.getI32IntegerAttr(value));
}

static Value flag(Site s, bool value) {
  return arith::ConstantOp::create(s.b, s.loc, s.b.getBoolAttr(value));
}

void AmdSimt::declareKernel(LLVM::LLVMFuncOp function, int64_t threads) const {
  Builder b(function.getContext());
  auto attribute = [&](StringRef name, const std::string &value) -> Attribute {
    return b.getArrayAttr({b.getStringAttr(name), b.getStringAttr(value)});
  };
  std::string count = std::to_string(threads);
  function.setCConv(LLVM::cconv::CConv::AMDGPU_KERNEL);
  function.setPassthroughAttr(
      b.getArrayAttr({attribute("amdgpu-flat-work-group-size", count + "," + count),
                      attribute("amdgpu-implicitarg-num-bytes", "0"),
                      attribute("uniform-work-group-size", "true")}));
}

Value AmdSimt::threadId(Site s) const {
  return intrinsic(s, s.b.getI32Type(), "llvm.amdgcn.workitem.id.x");
}

Value AmdSimt::programId(Site s, int axis) const {
  static constexpr const char *kNames[] = {
      "llvm.amdgcn.workgroup.id.x", "llvm.amdgcn.workgroup.id.y", "llvm.amdgcn.workgroup.id.z"};
  return intrinsic(s, s.b.getI32Type(), kNames[axis]);
}

// A barrier orders nothing by itself. Only shared memory is ordered: buffers' loads may be under
// way across it.
void AmdSimt::barrier(Site s) const {
  auto local = LLVM::MMRATagAttr::get(s.b.getContext(), "amdgpu-synchronize-as", "local");
  auto fence = [&](LLVM::AtomicOrdering ordering) {
    auto op = LLVM::FenceOp::create(s.b, s.loc, ordering, "workgroup");
    op->setDiscardableAttr(LLVM::LLVMDialect::getMmraAttrName(), local);
  };
  fence(LLVM::AtomicOrdering::release);
  LLVM::CallIntrinsicOp::create(s.b, s.loc, s.b.getStringAttr("llvm.amdgcn.s.barrier"),
                                ValueRange());
  fence(LLVM::AtomicOrdering::acquire);
}

// ---- shuffles ----

static Value moveInRow(Site s, Value value, int32_t control) {
  return intrinsic(s, s.b.getI32Type(), "llvm.amdgcn.update.dpp.i32",
                   {value, value, constant(s, control), constant(s, kAllRows),
                    constant(s, kAllRows), flag(s, true)});
}

// Four lanes, two bits each.
static int32_t quadControl(int32_t mask) {
  int32_t control = 0;
  for (int32_t lane = 0; lane < 4; ++lane)
    control |= (lane ^ mask) << (2 * lane);
  return control;
}

// What moves a value by an instruction of the vector unit alone: within quads everywhere, in rows
// of 16 by mirroring on CDNA and by any mask on RDNA.
static std::optional<int32_t> rowControl(int32_t mask, bool cdna) {
  if (mask < 4)
    return quadControl(mask);
  if (!cdna)
    return kRowXmask + mask;
  if (mask == 7 || mask == 15)
    return mask == 7 ? kHalfMirror : kMirror;
  return std::nullopt;
}

// Simt i of one row takes lane i XOR `mask` of the other row of its pair.
static Value moveAcrossRows(Site s, Value value, int32_t mask) {
  uint64_t lanes = 0;
  for (int32_t lane = 0; lane < kRow; ++lane)
    lanes |= uint64_t(lane ^ (mask % kRow)) << (4 * lane);
  return intrinsic(s, s.b.getI32Type(), "llvm.amdgcn.permlanex16.i32",
                   {value, value, constant(s, static_cast<int32_t>(lanes)),
                    constant(s, static_cast<int32_t>(lanes >> 32)), flag(s, false),
                    flag(s, false)});
}

Value AmdSimt::shuffle(Site s, Value value, int32_t mask, int64_t) const {
  bool cdna = facts_.subgroup == kCdnaSubgroup;
  if (std::optional<int32_t> control = mask < kRow ? rowControl(mask, cdna) : std::nullopt)
    return moveInRow(s, value, *control);
  if (!cdna)
    return moveAcrossRows(s, value, mask);
  Type i32 = s.b.getI32Type();
  if (mask < kSwizzled)
    return intrinsic(s, i32, "llvm.amdgcn.ds.swizzle",
                     {value, constant(s, (mask << 10) | (kSwizzled - 1))});
  Value lane = arith::AndIOp::create(s.b, s.loc, threadId(s),
                                     constant(s, static_cast<int32_t>(facts_.subgroup) - 1));
  Value from = arith::XOrIOp::create(s.b, s.loc, lane, constant(s, mask));
  Value byte = arith::ShLIOp::create(s.b, s.loc, from, constant(s, 2));
  return intrinsic(s, i32, "llvm.amdgcn.ds.bpermute", {byte, value});
}

// ---- bytes ----

static constexpr int32_t kNumbers = 0x7777; // of a selector, which is four bits a byte
static constexpr auto kSigns = static_cast<int32_t>(0x80808080);

// The low four bits of a selector as those of the hardware's, which has eight a byte.
static Value widened(Site s, Value selector) {
  auto spread = [&](Value bits, int32_t by, int32_t mask) -> Value {
    Value above = arith::ShLIOp::create(s.b, s.loc, bits, constant(s, by));
    Value both = arith::OrIOp::create(s.b, s.loc, bits, above);
    return arith::AndIOp::create(s.b, s.loc, both, constant(s, mask));
  };
  Value low = arith::AndIOp::create(s.b, s.loc, selector, constant(s, 0xffff));
  return spread(spread(low, 8, 0x00ff00ff), 4, 0x0f0f0f0f);
}

// All bits of a byte as its sign is.
static Value signsOf(Site s, Value bytes) {
  Value signs = arith::AndIOp::create(s.b, s.loc, bytes, constant(s, kSigns));
  Value above = arith::ShLIOp::create(s.b, s.loc, signs, constant(s, 1));
  Value below = arith::ShRUIOp::create(s.b, s.loc, signs, constant(s, 7));
  return arith::SubIOp::create(s.b, s.loc, above, below);
}

// Whether no byte of a selector asks for signs: its bits are known, or all of those are masked.
static bool asksForNoSigns(Value selector) {
  APInt bits;
  if (matchPattern(selector, m_ConstantInt(&bits)))
    return (bits.getZExtValue() & ~uint64_t{kNumbers} & 0xffff) == 0;
  auto masked = selector.getDefiningOp<arith::AndIOp>();
  return masked && matchPattern(masked.getRhs(), m_ConstantInt(&bits)) &&
         (bits.getZExtValue() & ~uint64_t{kNumbers} & 0xffff) == 0;
}

Value AmdSimt::permuteBytes(Site s, sched::PermuteBytesOp op) const {
  Value wide = widened(s, op.getSelector());
  Value numbers = arith::AndIOp::create(s.b, s.loc, wide, constant(s, 0x07070707));
  Value bytes = intrinsic(s, s.b.getI32Type(), "llvm.amdgcn.perm",
                          {op.getHigh(), op.getLow(), numbers});
  if (asksForNoSigns(op.getSelector()))
    return bytes;
  // A byte of the selector whose fourth bit is set takes the sign.
  Value fourth = arith::ShLIOp::create(s.b, s.loc, wide, constant(s, 4));
  Value takes = signsOf(s, fourth);
  Value signs = arith::AndIOp::create(s.b, s.loc, signsOf(s, bytes), takes);
  Value others = arith::XOrIOp::create(s.b, s.loc, takes, constant(s, -1));
  Value kept = arith::AndIOp::create(s.b, s.loc, bytes, others);
  return arith::OrIOp::create(s.b, s.loc, signs, kept);
}

// ---- loads ----

static constexpr StringRef kZeros = "sinter_zeros";

// Bytes of zero, as many as the widest load reads.
static LLVM::GlobalOp zerosIn(ModuleOp module) {
  if (auto found = module.lookupSymbol<LLVM::GlobalOp>(kZeros))
    return found;
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  auto bytes = RankedTensorType::get({simt::kMaxAccessBytes}, b.getI8Type());
  return LLVM::GlobalOp::create(
      b, module.getLoc(), LLVM::LLVMArrayType::get(b.getI8Type(), simt::kMaxAccessBytes),
      /*isConstant=*/true, LLVM::Linkage::Internal, kZeros, b.getZeroAttr(bytes),
      simt::kMaxAccessBytes, simt::kGlobalSpace);
}

// Threads that load nothing read zeros: a branch around each load would keep LLVM from moving
// others past it.
Value AmdSimt::loadWhen(Site s, Value pointer, Value when, Value other,
                        simt::LoadHints hints) const {
  if (cast<LLVM::LLVMPointerType>(pointer.getType()).getAddressSpace() != simt::kGlobalSpace)
    return SimtTarget::loadWhen(s, pointer, when, other, hints);
  auto module = s.b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  Value zeros = LLVM::AddressOfOp::create(s.b, s.loc, zerosIn(module));
  Value from = arith::SelectOp::create(s.b, s.loc, when, pointer, zeros);
  Value loaded = load(s, from, simt::wordsOf(other.getType()), hints);
  if (matchPattern(other, m_Zero()))
    return loaded;
  return arith::SelectOp::create(s.b, s.loc, when, loaded, other);
}

FailureOr<Value> AmdSimt::matrix(Site s, sched::MatrixOp op) const {
  return emitMatmul(s, op, facts_);
}

// ---- arithmetic ----

// The processor's own function where an approximation will do.
static Value approximate(Site s, Operation *op) {
  const char *name = llvm::TypeSwitch<Operation *, const char *>(op)
                         .Case([](math::Exp2Op) { return "llvm.amdgcn.exp2.f32"; })
                         .Case([](math::Log2Op) { return "llvm.amdgcn.log.f32"; })
                         .Case([](math::RsqrtOp) { return "llvm.amdgcn.rsq.f32"; })
                         .Default([](Operation *) { return nullptr; });
  if (!name || !op->getResult(0).getType().isF32())
    return {};
  auto flags = cast<arith::ArithFastMathInterface>(op).getFastMathFlagsAttr();
  if (!flags || !bitEnumContainsAll(flags.getValue(), arith::FastMathFlags::afn))
    return {};
  return intrinsic(s, op->getResult(0).getType(), name, {op->getOperand(0)});
}

// Conversions saturate and take NaN to zero, as the language asks; LLVM's plain ones need not. (The
// hardware's own does in one instruction, but as inline assembly it would miss the waits that LLVM
// puts between instructions whose results come late.)
static Value toInteger(Site s, Operation *op, StringRef name) {
  return intrinsic(s, op->getResult(0).getType(), name, {op->getOperand(0)});
}

Value AmdSimt::elementwise(Site s, Operation *op) const {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](arith::FPToSIOp) { return toInteger(s, op, "llvm.fptosi.sat"); })
      .Case([&](arith::FPToUIOp) { return toInteger(s, op, "llvm.fptoui.sat"); })
      .Default([&](Operation *o) { return approximate(s, o); });
}

} // namespace sinter::targets::amd
