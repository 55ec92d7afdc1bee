// Emission, memory: typed accesses at device addresses, and shared memory by units.
#include "targets/vulkan/emitter.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::vulkan {

static constexpr int64_t kMostAccessBytes = 16;

static Type elementOfWord(Type type) {
  return getElementTypeOrSelf(type);
}

static int64_t countOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

static int64_t bytesOf(Type type) {
  return countOf(type) * bitsInMemory(elementOfWord(type)) / 8;
}

// ---- elements and the integers that hold them in memory ----

Emitter::Scalars Emitter::elementsOf(ArrayRef<Value> pieces, unsigned bits, Type type) {
  Type element = elementOfWord(type);
  Scalars elements;
  for (Value value : repacked(site(), pieces, bits, bitsInMemory(element)))
    elements.push_back(fromBits(site(), value, element));
  return elements;
}

SmallVector<Value> Emitter::piecesOf(Value value, unsigned bits) {
  Type element = elementOfWord(value.getType());
  SmallVector<Value> integers;
  for (Value each : values_.find(value)->second)
    integers.push_back(toBits(site(), each, element));
  return repacked(site(), integers, bitsInMemory(element), bits);
}

// ---- writes under a condition ----

void Emitter::writeWhen(Value when, std::function<void()> write) {
  if (!writes_.empty() && writesWhen_ != when)
    flushWrites();
  writesWhen_ = when;
  writes_.push_back(std::move(write));
}

void Emitter::flushWrites() {
  if (writes_.empty())
    return;
  auto writes = std::move(writes_);
  writes_.clear();
  Value when = scalar(writesWhen_);
  if (matchPattern(writesWhen_, m_One())) {
    for (const auto &write : writes)
      write();
    return;
  }
  auto selection = spirv::SelectionOp::create(b_, loc_, spirv::SelectionControl::None);
  OpBuilder::InsertionGuard guard(b_);
  selection.addMergeBlock(b_);
  Block *merge = selection.getMergeBlock();
  Block *head = b_.createBlock(merge), *then = b_.createBlock(merge);
  b_.setInsertionPointToEnd(head);
  spirv::BranchConditionalOp::create(b_, loc_, when, then, ValueRange(), merge, ValueRange());
  b_.setInsertionPointToEnd(then);
  for (const auto &write : writes)
    write();
  spirv::BranchOp::create(b_, loc_, merge);
}

// ---- views ----

// What is constant comes last, where drivers make it a part of the access, and accesses that differ
// in that alone share the rest.
Emitter::Place Emitter::placeAt(Value view, Value byte) {
  Value start = argumentWord(views_.find(view)->second.first);
  auto sum = byte.getDefiningOp<arith::AddIOp>();
  APInt constant;
  const bool known = sum && matchPattern(sum.getRhs(), m_ConstantInt(&constant));
  Value varying = scalar(known ? sum.getLhs() : byte);
  return {site().make<spirv::IAddOp>(b_.getI64Type(), start, varying),
          known ? constant.getSExtValue() : 0};
}

Value Emitter::addressOf(const Place &place, int64_t more) {
  Site c = site();
  const int64_t bytes = place.constant + more;
  return bytes ? c.make<spirv::IAddOp>(c.i64(), place.start, c.integer(c.i64(), bytes))
               : place.start;
}

static Type chunkType(OpBuilder &b, int64_t bytes) {
  if (bytes <= 4)
    return b.getIntegerType(static_cast<unsigned>(bytes * 8));
  return VectorType::get({bytes / 4}, b.getI32Type());
}

static Value pointerTo(Site c, Type type, Value address) {
  return c.make<spirv::ConvertUToPtrOp>(
      spirv::PointerType::get(type, spirv::StorageClass::PhysicalStorageBuffer), address);
}

static spirv::MemoryAccessAttr access(OpBuilder &b, spirv::MemoryAccess kind) {
  return spirv::MemoryAccessAttr::get(b.getContext(), kind);
}

static void needStorage(Capabilities &capabilities, int64_t bytes) {
  if (bytes == 1)
    capabilities.insert(spirv::Capability::StorageBuffer8BitAccess);
  if (bytes == 2)
    capabilities.insert(spirv::Capability::StorageBuffer16BitAccess);
}

// Integers of 32 bits, or one of fewer.
SmallVector<Value> Emitter::loadChunk(Value address, int64_t bytes) {
  Site c = site();
  needStorage(capabilities_, bytes);
  Type type = chunkType(b_, bytes);
  Value loaded = spirv::LoadOp::create(b_, loc_, pointerTo(c, type, address),
                                       access(b_, spirv::MemoryAccess::Aligned),
                                       b_.getI32IntegerAttr(static_cast<int32_t>(bytes)));
  if (bytes < 4)
    return {c.make<spirv::UConvertOp>(c.i32(), loaded)};
  if (bytes == 4)
    return {loaded};
  SmallVector<Value> words;
  for (int32_t i = 0; i < bytes / 4; ++i)
    words.push_back(spirv::CompositeExtractOp::create(b_, loc_, loaded, ArrayRef<int32_t>{i}));
  return words;
}

void Emitter::storeChunk(Value address, ArrayRef<Value> pieces, int64_t bytes) {
  Site c = site();
  needStorage(capabilities_, bytes);
  Type type = chunkType(b_, bytes);
  Value value = pieces.front();
  if (bytes < 4)
    value = c.make<spirv::UConvertOp>(type, value);
  if (bytes > 4)
    value = spirv::CompositeConstructOp::create(b_, loc_, type, pieces);
  spirv::StoreOp::create(b_, loc_, pointerTo(c, type, address), value,
                         access(b_, spirv::MemoryAccess::Aligned),
                         b_.getI32IntegerAttr(static_cast<int32_t>(bytes)));
}

namespace {
/// How an access is cut into what one instruction moves.
struct Cut {
  int64_t bytes; // of one chunk
  int64_t chunks;
  unsigned bits;  // of the integers in it
  int64_t pieces; // in it
};
} // namespace

static Cut cutOf(Type type, std::optional<int64_t> align) {
  int64_t total = bytesOf(type), chunk = std::min(kMostAccessBytes, total & -total);
  if (align)
    chunk = std::min(chunk, *align);
  int64_t piece = std::min<int64_t>(chunk, 4);
  return {chunk, total / chunk, static_cast<unsigned>(piece * 8), chunk / piece};
}

static bool isZeroBits(Value value) {
  return matchPattern(value, m_PosZeroFloat()) || matchPattern(value, m_Zero());
}

static LogicalResult checkAlign(Operation *op, std::optional<int64_t> align) {
  if (!align || (*align > 0 && llvm::isPowerOf2_64(static_cast<uint64_t>(*align))))
    return success();
  return op->emitOpError() << "has align = " << *align << ", expected a power of two";
}

// Whether zeros can be read so far behind the first of them.
static bool isAmongZeros(int64_t constant, const Cut &cut) {
  constexpr int64_t kZeroBytes = 4096;
  return constant >= 0 && constant % cut.bytes == 0 &&
         constant + cut.bytes * cut.chunks <= kZeroBytes;
}

// Where `when` does not hold, zeros are read: no branch, so that several loads can be under way.
// Loads a constant apart choose once for all of them. Other values than those zeros are chosen
// afterwards.
LogicalResult Emitter::emitLoad(sched::ViewLoadOp op) {
  if (failed(checkAlign(op, op.getAlign())))
    return failure();
  Site c = site();
  Cut cut = cutOf(op.getResult().getType(), op.getAlign());
  bool always = matchPattern(op.getWhen(), m_One());
  Value when = scalar(op.getWhen());
  Place place = placeAt(op.getView(), op.getByte());
  const bool together = !always && isAmongZeros(place.constant, cut);
  if (together)
    place.start = c.select(when, place.start, zeros_);
  bool chooses = !always && !isZeroBits(op.getOther());
  SmallVector<Value> others;
  if (chooses)
    others = piecesOf(op.getOther(), cut.bits);
  SmallVector<Value> pieces;
  for (int64_t chunk = 0; chunk < cut.chunks; ++chunk) {
    Value address = addressOf(place, chunk * cut.bytes);
    if (!always && !together)
      address = c.select(when, address, zeros_);
    llvm::append_range(pieces, loadChunk(address, cut.bytes));
  }
  Loaded loaded{std::move(pieces), std::move(others), chooses ? when : Value()};
  if (shared_.inPieces && cut.bits == 32 && isHandedOver(op))
    handedOver_[op.getResult()] = std::move(loaded);
  else
    values_[op.getResult()] = elementsOf(completed(loaded), cut.bits, op.getResult().getType());
  return success();
}

// Modules have no constants that could be indexed: the driver lays tables in memory.
Value Emitter::tableWord(sched::TableLoadOp op) {
  constexpr int64_t kBytes = sizeof(int32_t);
  auto [found, isNew] =
      tables_.try_emplace(op.getTableAttr(), static_cast<int64_t>(constants_.size()));
  if (isNew)
    llvm::append_range(constants_, op.getTable());
  Site c = site();
  Value index = c.make<spirv::UConvertOp>(c.i64(), scalar(op.getIndex()));
  Value byte = c.make<spirv::IMulOp>(c.i64(), index, c.integer(c.i64(), kBytes));
  Value table = argumentWord(result_.bufferCount + result_.scalarCount + kGridWords);
  if (found->second)
    table = c.make<spirv::IAddOp>(c.i64(), table, c.integer(c.i64(), found->second * kBytes));
  return loadChunk(c.make<spirv::IAddOp>(c.i64(), table, byte), kBytes).front();
}

// What comes between a load and its only use, in shared memory, is not to wait for it.
bool Emitter::isHandedOver(sched::ViewLoadOp op) {
  if (!op->hasOneUse() || bytesOf(op.getResult().getType()) % kMostAccessBytes)
    return false;
  auto store = dyn_cast<sched::SharedStoreOp>(*op->user_begin());
  return store && store->getBlock() == op->getBlock();
}

SmallVector<Value> Emitter::completed(const Loaded &loaded) {
  SmallVector<Value> pieces(loaded.pieces);
  if (loaded.when)
    for (auto [piece, other] : llvm::zip_equal(pieces, loaded.others))
      piece = site().select(loaded.when, piece, other);
  return pieces;
}

LogicalResult Emitter::emitStore(sched::ViewStoreOp op) {
  if (failed(checkAlign(op, op.getAlign())))
    return failure();
  if (matchPattern(op.getWhen(), m_Zero()))
    return success();
  Cut cut = cutOf(op.getValue().getType(), op.getAlign());
  SmallVector<Value> pieces = piecesOf(op.getValue(), cut.bits);
  const Place place = placeAt(op.getView(), op.getByte());
  for (int64_t chunk = 0; chunk < cut.chunks; ++chunk) {
    Value address = addressOf(place, chunk * cut.bytes);
    SmallVector<Value> part(ArrayRef<Value>(pieces).slice(chunk * cut.pieces, cut.pieces));
    writeWhen(op.getWhen(), [=, this] { storeChunk(address, part, cut.bytes); });
  }
  return success();
}

// ---- shared memory ----

void Emitter::declareShared() {
  if (shared_.variable || result_.sharedBytes == 0)
    return;
  int64_t narrowest = 4;
  kernel_.walk([&](sched::SharedStoreOp op) {
    narrowest =
        std::min<int64_t>(narrowest, bitsInMemory(elementOfWord(op.getValue().getType())) / 8);
  });
  if (shared_.inPieces)
    narrowest = 4;
  else if (narrowest == 2 && facts_.has("int16"))
    capabilities_.insert(spirv::Capability::Int16);
  else if (narrowest == 1 && facts_.has("int8"))
    capabilities_.insert(spirv::Capability::Int8);
  else
    narrowest = 4;
  shared_.unitBytes = static_cast<unsigned>(narrowest);
  Type element = b_.getIntegerType(shared_.unitBytes * 8);
  int64_t bytes = narrowest;
  if (shared_.inPieces) {
    element = chunkType(b_, kMostAccessBytes);
    bytes = kMostAccessBytes;
  }
  auto array = spirv::ArrayType::get(
      element, static_cast<unsigned>(llvm::divideCeil(result_.sharedBytes, bytes)));
  shared_.variable =
      global(result_.symbol + "_shared",
             spirv::PointerType::get(array, spirv::StorageClass::Workgroup), Attribute());
}

// The address of the unit `unit` units after the one that holds the byte.
Value Emitter::sharedUnit(Value byte, int64_t unit) {
  Site c = site();
  Value index = byte;
  if (shared_.unitBytes > 1)
    index =
        c.make<spirv::ShiftRightLogicalOp>(c.i32(), byte, c.word(llvm::Log2_32(shared_.unitBytes)));
  if (unit)
    index = c.make<spirv::IAddOp>(c.i32(), index, c.word(unit));
  auto type = spirv::PointerType::get(b_.getIntegerType(shared_.unitBytes * 8),
                                      spirv::StorageClass::Workgroup);
  SmallVector<Value> indices{index};
  if (shared_.inPieces)
    indices = {c.make<spirv::ShiftRightLogicalOp>(c.i32(), index, c.word(2)),
               c.make<spirv::BitwiseAndOp>(c.i32(), index, c.word(3))};
  return c.make<spirv::AccessChainOp>(type, addressOf(shared_.variable), ValueRange(indices));
}

// The address of the vector `piece` vectors after the one that begins at the byte.
Value Emitter::sharedPiece(Value byte, int64_t piece) {
  Site c = site();
  Value index =
      c.make<spirv::ShiftRightLogicalOp>(c.i32(), byte, c.word(llvm::Log2_64(kMostAccessBytes)));
  if (piece)
    index = c.make<spirv::IAddOp>(c.i32(), index, c.word(piece));
  auto type =
      spirv::PointerType::get(chunkType(b_, kMostAccessBytes), spirv::StorageClass::Workgroup);
  return c.make<spirv::AccessChainOp>(type, addressOf(shared_.variable), ValueRange(index));
}

// Words of whole vectors.
SmallVector<Value> Emitter::sharedPieces(Value byte, int64_t bytes) {
  SmallVector<Value> words;
  for (int64_t piece = 0; piece < bytes / kMostAccessBytes; ++piece) {
    Value loaded = spirv::LoadOp::create(b_, loc_, sharedPiece(byte, piece),
                                         access(b_, spirv::MemoryAccess::NonPrivatePointer));
    for (int32_t i = 0; i < 4; ++i)
      words.push_back(spirv::CompositeExtractOp::create(b_, loc_, loaded, ArrayRef<int32_t>{i}));
  }
  return words;
}

LogicalResult Emitter::emitSharedLoad(sched::SharedLoadOp op) {
  declareShared();
  if (!shared_.variable)
    return op.emitOpError() << "reads shared memory, of which the kernel declares none";
  Site c = site();
  Value byte = scalar(op.getByte());
  int64_t total = bytesOf(op.getResult().getType()), unit = shared_.unitBytes;
  if (shared_.inPieces && total % kMostAccessBytes == 0) {
    values_[op.getResult()] = elementsOf(sharedPieces(byte, total), 32, op.getResult().getType());
    return success();
  }
  SmallVector<Value> pieces;
  for (int64_t at = 0; at < std::max<int64_t>(1, total / unit); ++at) {
    Value loaded = spirv::LoadOp::create(b_, loc_, sharedUnit(byte, at),
                                         access(b_, spirv::MemoryAccess::NonPrivatePointer));
    pieces.push_back(unit < 4 ? c.make<spirv::UConvertOp>(c.i32(), loaded) : loaded);
  }
  auto bits = static_cast<unsigned>(std::min(unit, total) * 8);
  if (total < unit) {
    // The unit's upper part: what lies above the value is no concern of its readers.
    Value inUnit = c.make<spirv::BitwiseAndOp>(c.i32(), byte, c.word(unit - 1));
    Value shift = c.make<spirv::ShiftLeftLogicalOp>(c.i32(), inUnit, c.word(3));
    pieces.front() = c.make<spirv::ShiftRightLogicalOp>(c.i32(), pieces.front(), shift);
  }
  values_[op.getResult()] = elementsOf(pieces, bits, op.getResult().getType());
  return success();
}

// Other threads may write the rest of the word meanwhile: their bits are left alone.
void Emitter::storePartOfWord(Value byte, Value value, unsigned bits) {
  Site c = site();
  Value inWord = c.make<spirv::BitwiseAndOp>(c.i32(), byte, c.word(3));
  Value shift = c.make<spirv::ShiftLeftLogicalOp>(c.i32(), inWord, c.word(3));
  Value mask = c.make<spirv::ShiftLeftLogicalOp>(c.i32(), c.word((int64_t(1) << bits) - 1), shift);
  Value placed = c.make<spirv::ShiftLeftLogicalOp>(c.i32(), zeroExtended(c, value, bits), shift);
  Value others = c.make<spirv::NotOp>(c.i32(), mask), pointer = sharedUnit(byte, 0);
  auto none = spirv::MemorySemantics::None;
  spirv::AtomicAndOp::create(b_, loc_, c.i32(), pointer, spirv::Scope::Workgroup, none, others);
  spirv::AtomicOrOp::create(b_, loc_, c.i32(), pointer, spirv::Scope::Workgroup, none, placed);
}

void Emitter::storePieces(sched::SharedStoreOp op, Value byte, ArrayRef<Value> words) {
  for (size_t at = 0; at < words.size(); at += 4) {
    Value whole = spirv::CompositeConstructOp::create(b_, loc_, chunkType(b_, kMostAccessBytes),
                                                      words.slice(at, 4));
    Value pointer = sharedPiece(byte, static_cast<int64_t>(at / 4));
    writeWhen(op.getWhen(), [=, this] {
      spirv::StoreOp::create(b_, loc_, pointer, whole,
                             access(b_, spirv::MemoryAccess::NonPrivatePointer), IntegerAttr());
    });
  }
}

LogicalResult Emitter::emitSharedStore(sched::SharedStoreOp op) {
  declareShared();
  if (!shared_.variable)
    return op.emitOpError() << "writes shared memory, of which the kernel declares none";
  if (matchPattern(op.getWhen(), m_Zero()))
    return success();
  Site c = site();
  Value byte = scalar(op.getByte());
  if (auto loaded = handedOver_.find(op.getValue()); loaded != handedOver_.end())
    return storePieces(op, byte, completed(loaded->second)), success();
  int64_t total = bytesOf(op.getValue().getType()), unit = shared_.unitBytes;
  auto bits = static_cast<unsigned>(std::min(unit, total) * 8);
  SmallVector<Value> pieces = piecesOf(op.getValue(), bits);
  if (total < unit) {
    Value piece = pieces.front();
    writeWhen(op.getWhen(), [=, this] { storePartOfWord(byte, piece, bits); });
    return success();
  }
  if (shared_.inPieces && total % kMostAccessBytes == 0)
    return storePieces(op, byte, pieces), success();
  for (auto [at, piece] : llvm::enumerate(pieces)) {
    Value pointer = sharedUnit(byte, static_cast<int64_t>(at));
    Value stored = piece;
    if (unit < 4)
      stored = c.make<spirv::UConvertOp>(b_.getIntegerType(bits), stored);
    writeWhen(op.getWhen(), [=, this] {
      spirv::StoreOp::create(b_, loc_, pointer, stored,
                             access(b_, spirv::MemoryAccess::NonPrivatePointer), IntegerAttr());
    });
  }
  return success();
}

} // namespace sinter::targets::vulkan
