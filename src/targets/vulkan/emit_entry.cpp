// Emission, the entry point: its variables, its arguments, and what a thread knows of itself and of
// others.
#include "targets/vulkan/emitter.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::vulkan {

static constexpr const char *kArgumentsName = "arguments";
// Push constants: the addresses of the argument block and of zeros, the dispatch's base, and the
// block's first words. No device has less room for them.
static constexpr int64_t kPushWords = 16, kBaseWords = 3, kFirstBase = 2,
                         kFirstPushed = kFirstBase + kBaseWords;

spirv::GlobalVariableOp Emitter::global(StringRef name, Type type, Attribute builtin) {
  auto variable = module_.lookupSymbol<spirv::GlobalVariableOp>(name);
  if (!variable) {
    OpBuilder b = OpBuilder::atBlockBegin(module_.getBody());
    variable = spirv::GlobalVariableOp::create(b, kernel_.getLoc(), type, name);
    if (builtin)
      variable.setBuiltInAttr(cast<StringAttr>(builtin));
  }
  auto symbol = FlatSymbolRefAttr::get(variable);
  if (!llvm::is_contained(interface_, symbol))
    interface_.push_back(symbol);
  return variable;
}

Value Emitter::addressOf(spirv::GlobalVariableOp variable) {
  return spirv::AddressOfOp::create(b_, loc_, variable);
}

spirv::FuncOp Emitter::makeFunction() {
  b_.setInsertionPointToEnd(module_.getBody());
  auto function = spirv::FuncOp::create(b_, kernel_.getLoc(), result_.symbol,
                                        b_.getFunctionType(TypeRange(), TypeRange()));
  b_.setInsertionPointToStart(b_.createBlock(&function.getBody()));
  SmallVector<uint32_t> offsets;
  for (uint32_t word = 0; word < kPushWords; ++word)
    offsets.push_back(word * 8);
  auto block = spirv::StructType::get(SmallVector<Type>(kPushWords, b_.getI64Type()), offsets);
  auto type = spirv::PointerType::get(block, spirv::StorageClass::PushConstant);
  pushed_ = addressOf(global(kArgumentsName, type, Attribute()));
  argumentBlock_ = pushedWord(0);
  zeros_ = pushedWord(1);
  entry_ = zeros_.getDefiningOp();
  return function;
}

Value Emitter::pushedWord(int64_t number) {
  Site c = site();
  auto member = spirv::PointerType::get(c.i64(), spirv::StorageClass::PushConstant);
  Value pointer = c.make<spirv::AccessChainOp>(member, pushed_, ValueRange(c.word(number)));
  return spirv::LoadOp::create(b_, loc_, pointer);
}

void Emitter::finishEntryPoint(spirv::FuncOp function) {
  spirv::ReturnOp::create(b_, loc_);
  b_.setInsertionPointToEnd(module_.getBody());
  spirv::EntryPointOp::create(b_, kernel_.getLoc(), spirv::ExecutionModel::GLCompute, function,
                              interface_);
  spirv::ExecutionModeOp::create(b_, kernel_.getLoc(), function, spirv::ExecutionMode::LocalSize,
                                 {static_cast<int32_t>(result_.threads), 1, 1});
  if (roundsToBfloat16_ && (roundsToBfloat16(function) || divides(function)))
    sayHowItRounds(function);
}

// On NVIDIA's driver an entry point that says so divides to the last bit. One that does not is
// 2.5 units off, and a kernel of the same rows in another tile would have other bits. So all
// that divide say it (silu alone of bf16 on an H200: 263 us instead of 187).
void Emitter::sayHowItRounds(spirv::FuncOp function) {
  using spirv::Capability;
  if (roundsToBfloat16(function))
    capabilities_.insert(Capability::BFloat16TypeKHR);
  capabilities_.insert({Capability::RoundingModeRTE, Capability::SignedZeroInfNanPreserve});
  auto mode = [&](spirv::ExecutionMode kind, int32_t bits) {
    spirv::ExecutionModeOp::create(b_, kernel_.getLoc(), function, kind, bits);
  };
  // A device may have one rounding for all widths alone.
  for (int32_t bits : {16, 32, 64})
    if (bits < 64 || facts_.has("float64"))
      mode(spirv::ExecutionMode::RoundingModeRTE, bits);
  mode(spirv::ExecutionMode::SignedZeroInfNanPreserve, 16);
}

// Word `number` of the argument block, read once where the kernel starts: those that are pushed
// from constants of the device, which no thread waits for.
Value Emitter::argumentWord(int64_t number) {
  Value &word = words_[number];
  if (word)
    return word;
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPointAfter(entry_);
  Site c = site();
  if (const int64_t base = number - result_.bufferCount - result_.scalarCount - 3;
      isCounted_ && base >= 0 && base < kBaseWords)
    word = pushedWord(kFirstBase + base);
  else if (kFirstPushed + number < kPushWords)
    word = pushedWord(kFirstPushed + number);
  if (word) {
    entry_ = word.getDefiningOp();
    return word;
  }
  Value address = c.make<spirv::IAddOp>(c.i64(), argumentBlock_, c.integer(c.i64(), number * 8));
  auto type = spirv::PointerType::get(c.i64(), spirv::StorageClass::PhysicalStorageBuffer);
  auto aligned = spirv::MemoryAccessAttr::get(b_.getContext(), spirv::MemoryAccess::Aligned);
  word = spirv::LoadOp::create(b_, loc_, c.make<spirv::ConvertUToPtrOp>(type, address), aligned,
                               b_.getI32IntegerAttr(8));
  entry_ = word.getDefiningOp();
  return word;
}

void Emitter::bindArguments(Block &body) {
  int64_t buffers = 0;
  for (BlockArgument argument : body.getArguments())
    buffers += isa<tile::ViewType>(argument.getType());
  result_.bufferCount = buffers;
  int64_t next = buffers, buffer = 0;
  for (BlockArgument argument : body.getArguments()) {
    if (auto view = dyn_cast<tile::ViewType>(argument.getType())) {
      views_[argument] = {buffer++, next};
      next += view.getRank() * 2 - (view.getStrided() ? 0 : 1);
      continue;
    }
    Site c = site();
    Type carrier = carrierOf(argument.getType());
    Value bits = argumentWord(next++);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointAfter(entry_);
    if (!carrier.isInteger(64))
      bits = c.make<spirv::UConvertOp>(c.i32(), bits);
    define(argument, fromBits(c, bits, argument.getType()));
    entry_ = scalar(argument).getDefiningOp();
  }
  result_.scalarCount = next - buffers;
  isCounted_ = true;
}

// An extent or stride of an argument; null, with a diagnostic, for other views.
Value Emitter::viewWord(Operation *op, Value view, bool stride, int64_t axis) {
  auto found = views_.find(view);
  auto type = cast<tile::ViewType>(view.getType());
  if (found == views_.end()) {
    op->emitOpError() << "reaches a view that is no kernel argument";
    return {};
  }
  if (!stride && !ShapedType::isDynamic(type.getShape()[axis]))
    return site().integer(b_.getI64Type(), type.getShape()[axis]);
  if (stride && axis + 1 == type.getRank() && !type.getStrided())
    return site().integer(b_.getI64Type(), 1);
  return argumentWord(found->second.second + (stride ? type.getRank() : 0) + axis);
}

// ---- what a thread knows of itself and of others ----

Value Emitter::builtin(spirv::BuiltIn kind, StringRef name, int axis) {
  Value &known = builtins_[name];
  Site c = site();
  if (!known) {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointAfter(entry_);
    Type type = axis < 0 ? c.i32() : Type(VectorType::get({3}, c.i32()));
    auto variable = global(name, spirv::PointerType::get(type, spirv::StorageClass::Input),
                           b_.getStringAttr(spirv::stringifyBuiltIn(kind)));
    known = spirv::LoadOp::create(b_, loc_, addressOf(variable));
    entry_ = known.getDefiningOp();
  }
  if (axis < 0)
    return known;
  return spirv::CompositeExtractOp::create(b_, loc_, known, ArrayRef<int32_t>{axis});
}

// Threads are counted by subgroups where they shuffle: how invocations lie in subgroups is the
// device's affair.
Value Emitter::thread() {
  if (!shuffles_ || result_.threads < facts_.subgroup)
    return builtin(spirv::BuiltIn::LocalInvocationIndex, "thread", -1);
  capabilities_.insert(spirv::Capability::GroupNonUniform);
  Site c = site();
  Value subgroup = builtin(spirv::BuiltIn::SubgroupId, "subgroup", -1);
  Value lane = builtin(spirv::BuiltIn::SubgroupLocalInvocationId, "lane", -1);
  return c.make<spirv::IAddOp>(
      c.i32(), c.make<spirv::IMulOp>(c.i32(), subgroup, c.word(facts_.subgroup)), lane);
}

Value Emitter::programId(int axis) {
  Site c = site();
  Value group = builtin(spirv::BuiltIn::WorkgroupId, "workgroup", axis);
  Value base = argumentWord(result_.bufferCount + result_.scalarCount + 3 + axis);
  return c.make<spirv::IAddOp>(c.i64(), c.make<spirv::UConvertOp>(c.i64(), group), base);
}

Value Emitter::shuffle(sched::ShuffleOp op) {
  capabilities_.insert(spirv::Capability::GroupNonUniform);
  capabilities_.insert(spirv::Capability::GroupNonUniformShuffle);
  Site c = site();
  return spirv::GroupNonUniformShuffleXorOp::create(b_, loc_, op.getType(), spirv::Scope::Subgroup,
                                                    scalar(op.getValue()),
                                                    c.word(static_cast<int64_t>(op.getMask())));
}

void Emitter::barrier() {
  using S = spirv::MemorySemantics;
  spirv::ControlBarrierOp::create(b_, loc_, spirv::Scope::Workgroup, spirv::Scope::Workgroup,
                                  S::AcquireRelease | S::WorkgroupMemory | S::MakeAvailable |
                                      S::MakeVisible);
}

} // namespace sinter::targets::vulkan
