// Loads and stores: a value is cut into words, and words into instructions.
#include "targets/simt/emit_llvm_memory.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::simt {

namespace {
/// How a value moves: `chunks` instructions of `words` each.
struct Cut {
  Words words;
  int64_t chunks = 1;
  int64_t chunkBytes() const { return int64_t(words.bits) / 8 * words.count; }
};
} // namespace

Type Words::type(MLIRContext *context) const {
  Type word = IntegerType::get(context, bits);
  return count == 1 ? word : VectorType::get({count}, word);
}

Words wordsOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  unsigned count = vector ? static_cast<unsigned>(vector.getNumElements()) : 1;
  return {getElementTypeOrSelf(type).getIntOrFloatBitWidth(), count};
}

static FailureOr<Cut> cutOf(Operation *op, Type type, std::optional<int64_t> align) {
  unsigned element = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  int64_t bytes = int64_t(element) * wordsOf(type).count / 8;
  if (element % 8 || !llvm::isPowerOf2_64(element) || element > 64)
    return op->emitOpError() << "moves " << type << ", expected elements of 8, 16, 32 or 64 bits";
  int64_t unit = std::min(bytes & -bytes, kMaxAccessBytes);
  if (align && (*align < 1 || !llvm::isPowerOf2_64(*align)))
    return op->emitOpError() << "has align = " << *align << ", expected a power of two";
  unit = std::min(unit, align.value_or(unit));
  unsigned bits =
      static_cast<unsigned>(unit >= 4 ? (element == 64 && unit >= 8 ? 64 : 32) : unit * 8);
  return Cut{{bits, static_cast<unsigned>(unit * 8 / bits)}, bytes / unit};
}

// One-dimensional or scalar integers of the same width: LLVM has no 8-bit floats.
static Type asIntegers(Type type) {
  Type element = getElementTypeOrSelf(type);
  Type integer = IntegerType::get(type.getContext(), element.getIntOrFloatBitWidth());
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(integer)) : integer;
}

static Value bitcastTo(Site s, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return LLVM::BitcastOp::create(s.b, s.loc, type, value);
}

static Value toIntegers(Site s, Value value) {
  Type integers = asIntegers(value.getType());
  return value.getType() == integers
             ? value
             : arith::BitcastOp::create(s.b, s.loc, integers, value).getResult();
}

static Value fromIntegers(Site s, Value value, Type type) {
  value = bitcastTo(s, value, asIntegers(type));
  return value.getType() == type ? value
                                 : arith::BitcastOp::create(s.b, s.loc, type, value).getResult();
}

/// The value as words for each instruction.
static SmallVector<Value> split(Site s, Value value, const Cut &cut) {
  Value bits = toIntegers(s, value);
  MLIRContext *context = s.b.getContext();
  if (cut.chunks == 1)
    return {bitcastTo(s, bits, cut.words.type(context))};
  Words all{cut.words.bits, static_cast<unsigned>(cut.words.count * cut.chunks)};
  Value words = bitcastTo(s, bits, all.type(context));
  SmallVector<Value> parts;
  for (int64_t chunk = 0; chunk < cut.chunks; ++chunk) {
    SmallVector<Value> elements;
    for (int64_t word = 0; word < cut.words.count; ++word)
      elements.push_back(
          vector::ExtractOp::create(s.b, s.loc, words, chunk * cut.words.count + word));
    parts.push_back(cut.words.count == 1
                        ? elements.front()
                        : vector::FromElementsOp::create(
                              s.b, s.loc, cast<VectorType>(cut.words.type(context)), elements)
                              .getResult());
  }
  return parts;
}

static Value join(Site s, ArrayRef<Value> parts, const Cut &cut, Type type) {
  if (parts.size() == 1)
    return fromIntegers(s, parts.front(), type);
  SmallVector<Value> elements;
  for (Value part : parts)
    for (int64_t word = 0; word < cut.words.count; ++word)
      elements.push_back(cut.words.count == 1
                             ? part
                             : vector::ExtractOp::create(s.b, s.loc, part, word).getResult());
  auto all = VectorType::get({int64_t(elements.size())}, elements.front().getType());
  return fromIntegers(s, vector::FromElementsOp::create(s.b, s.loc, all, elements), type);
}

Value bytePointer(Site s, Value base, Value byte) {
  Value offset = arith::IndexCastOp::create(s.b, s.loc, s.b.getI64Type(), byte);
  return LLVM::GEPOp::create(s.b, s.loc, base.getType(), s.b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

static Value chunkPointer(Site s, Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(s.b, s.loc, pointer.getType(), s.b.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

FailureOr<Value> emitLoad(Site s, sched::ViewLoadOp op, const SimtTarget &target, Value pointer,
                          LoadHints hints) {
  FailureOr<Cut> cut = cutOf(op, op.getType(), op.getAlign());
  if (failed(cut))
    return failure();
  if (matchPattern(op.getWhen(), m_Zero()))
    return op.getOther();
  bool always = matchPattern(op.getWhen(), m_One());
  SmallVector<Value> others, parts;
  if (!always)
    others = split(s, op.getOther(), *cut);
  for (int64_t chunk = 0; chunk < cut->chunks; ++chunk) {
    Value at = chunkPointer(s, pointer, chunk * cut->chunkBytes());
    parts.push_back(always ? target.load(s, at, cut->words, hints)
                           : target.loadWhen(s, at, op.getWhen(), others[chunk], hints));
  }
  return join(s, parts, *cut, op.getType());
}

FailureOr<Value> emitPlainLoad(Site s, sched::SharedLoadOp op, const SimtTarget &target,
                               Value pointer) {
  FailureOr<Cut> cut = cutOf(op, op.getType(), std::nullopt);
  if (failed(cut))
    return failure();
  SmallVector<Value> parts;
  for (int64_t chunk = 0; chunk < cut->chunks; ++chunk)
    parts.push_back(
        target.load(s, chunkPointer(s, pointer, chunk * cut->chunkBytes()), cut->words, {}));
  return join(s, parts, *cut, op.getType());
}

LogicalResult emitStore(Site s, Operation *op, const SimtTarget &target, Value value, Value pointer,
                        Value when, std::optional<int64_t> align) {
  FailureOr<Cut> cut = cutOf(op, value.getType(), align);
  if (failed(cut))
    return failure();
  if (matchPattern(when, m_Zero()))
    return success();
  bool always = matchPattern(when, m_One());
  for (auto [chunk, words] : llvm::enumerate(split(s, value, *cut))) {
    Value at = chunkPointer(s, pointer, static_cast<int64_t>(chunk) * cut->chunkBytes());
    if (always)
      LLVM::StoreOp::create(s.b, s.loc, words, at, static_cast<unsigned>(cut->chunkBytes()));
    else
      target.storeWhen(s, words, at, when);
  }
  return success();
}

Value SimtTarget::load(Site s, Value pointer, Words words, LoadHints hints) const {
  return LLVM::LoadOp::create(s.b, s.loc, words.type(s.b.getContext()), pointer, words.bytes(),
                              /*isVolatile=*/false, /*isNonTemporal=*/false, hints.constant);
}

Value SimtTarget::loadWhen(Site s, Value pointer, Value when, Value other, LoadHints hints) const {
  auto branch = scf::IfOp::create(s.b, s.loc, other.getType(), when, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(s.b);
  s.b.setInsertionPointToEnd(branch.thenBlock());
  Value loaded = load(s, pointer, wordsOf(other.getType()), hints);
  scf::YieldOp::create(s.b, s.loc, loaded);
  s.b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(s.b, s.loc, other);
  return branch.getResult(0);
}

void SimtTarget::storeWhen(Site s, Value words, Value pointer, Value when) const {
  auto branch = scf::IfOp::create(s.b, s.loc, when);
  OpBuilder::InsertionGuard guard(s.b);
  s.b.setInsertionPointToStart(branch.thenBlock());
  LLVM::StoreOp::create(s.b, s.loc, words, pointer, wordsOf(words.getType()).bytes());
}

LLVM::GlobalOp SimtTarget::declareShared(ModuleOp module, StringRef symbol, int64_t bytes) const {
  OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), static_cast<uint64_t>(bytes));
  return LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/false,
                                LLVM::Linkage::Internal, (symbol + "_shared").str(), Attribute(),
                                kMaxAccessBytes, kSharedSpace);
}

} // namespace sinter::targets::simt
