// Emission, memory: an access is one vector's, or cut where its alignment or MSL's types ask for
// it.
#include "targets/metal/emitter.h"

using namespace mlir;

namespace sinter::targets::metal {

static constexpr int64_t kMostAccessBytes = 16;
static constexpr unsigned kUnitBits = 32;

/// When an access happens, and what a load gives where it does not.
struct Emitter::Guard {
  std::string when; // empty: always
  Value other;

  std::string over(const std::string &text, llvm::function_ref<std::string()> instead) const {
    return when.empty() ? text : when + " ? " + text + " : " + instead();
  }
};

/// Where and in what parts a value moves.
struct Emitter::Access {
  std::string space;   // "device", "device const", "threadgroup"
  std::string pointer; // to bytes
  std::string offset;
  int64_t chunk; // bytes that one access may move
  bool direct;   // pieces, aligned as their types
  bool packed;   // pieces, aligned to their elements only

  std::string at(const std::string &type, int64_t byte) const {
    std::string sum = pointer + " + " + offset;
    if (byte)
      sum += " + " + std::to_string(byte) + "u";
    return "*(" + space + " " + type + " *)(" + sum + ")";
  }
};

// ---- bits ----

static int64_t bytesOf(Type type) {
  return countOf(type) * bitsOf(getElementTypeOrSelf(type)) / 8;
}

// The largest power of two that divides the bytes of all pieces.
static int64_t unitBytes(Type type) {
  int64_t all = kMostAccessBytes;
  for (int64_t count : pieceCounts(type))
    all |= count * bitsOf(getElementTypeOrSelf(type)) / 8;
  return all & -all;
}

static std::string asType(const std::string &to, const std::string &text) {
  return "as_type<" + to + ">(" + text + ")";
}

static std::string vectorOf(const std::string &type, ArrayRef<std::string> elements) {
  if (elements.size() == 1)
    return elements.front();
  if (llvm::all_equal(elements) && elements.front().find('.') == std::string::npos)
    return type + std::to_string(elements.size()) + "(" + elements.front() + ")";
  return type + std::to_string(elements.size()) + "(" + llvm::join(elements, ", ") + ")";
}

static uint64_t bitsOfConstant(Attribute value) {
  if (auto real = dyn_cast<FloatAttr>(value))
    return real.getValue().bitcastToAPInt().getZExtValue();
  return cast<IntegerAttr>(value).getValue().getZExtValue();
}

// An unsigned integer of `bits`, which elements from `first` on make up together.
std::string Emitter::unitOf(Value value, int64_t first, unsigned bits) {
  Type type = getElementTypeOrSelf(value.getType());
  unsigned own = bitsOf(type);
  int64_t count = std::max(1u, bits / own);
  if (DenseElementsAttr constant; matchPattern(value, m_Constant(&constant))) {
    uint64_t all = 0;
    for (int64_t i = 0; i < count; ++i)
      all |= bitsOfConstant(constant.getValues<Attribute>()[first + i]) << (i * own);
    auto unit = IntegerType::get(value.getContext(), std::max(bits, own));
    return literal(IntegerAttr::get(unit, APInt(unit.getWidth(), all)), facts_);
  }
  std::string unit = unsignedName(bits), name = scalarName(type, facts_);
  SmallVector<std::string> elements;
  for (int64_t i = first; i < first + count; ++i)
    elements.push_back(element(value, i));
  if (elements.size() == 1 && name == unit)
    return elements.front();
  return asType(unit, vectorOf(name, elements));
}

// Unsigned integers of `bits` that hold the value, the lowest first.
SmallVector<std::string> Emitter::unitsOf(Value value, unsigned bits) {
  SmallVector<std::string> units;
  unsigned own = bitsOf(getElementTypeOrSelf(value.getType()));
  int64_t perUnit = std::max(1u, bits / own);
  for (int64_t i = 0; i < countOf(value.getType()); i += perUnit) {
    if (own <= bits) {
      units.push_back(unitOf(value, i, bits));
      continue;
    }
    std::string whole = unitOf(value, i, own);
    for (unsigned shift = 0; shift < own; shift += bits)
      units.push_back(unsignedName(bits) + "(" + whole +
                      (shift ? " >> " + std::to_string(shift) + "u" : "") + ")");
  }
  return units;
}

// The pieces of a value of `type` from such units.
Emitter::Pieces Emitter::piecesOf(ArrayRef<std::string> units, unsigned bits, Type type) {
  Type element = getElementTypeOrSelf(type);
  unsigned own = bitsOf(element);
  Pieces result;
  for (int64_t count : pieceCounts(type)) {
    std::string name = vectorName(element, count, facts_);
    if (own > bits) {
      SmallVector<std::string> elements;
      for (int64_t i = 0; i < count; ++i) {
        std::string sum, wide = own == 64 ? "ulong" : "uint";
        for (unsigned part = 0; part < own / bits; ++part)
          sum += (part ? " | " : "") + wide + "(" + units[part] + ")" +
                 (part ? " << " + std::to_string(part * bits) + "u" : "");
        elements.push_back(unsignedName(own) + "(" + sum + ")");
        units = units.drop_front(own / bits);
      }
      result.push_back(asType(name, vectorOf(unsignedName(own), elements)));
      continue;
    }
    ArrayRef<std::string> mine = units.take_front(count * own / bits);
    units = units.drop_front(mine.size());
    result.push_back(asType(name, vectorOf(unsignedName(bits), mine)));
  }
  return result;
}

LogicalResult Emitter::emitBitcast(vector::BitCastOp op) {
  Type from = op.getSource().getType(), to = op.getType();
  if (bitsOf(getElementTypeOrSelf(from)) % 8 || bitsOf(getElementTypeOrSelf(to)) % 8)
    return op.emitOpError() << "works on " << from << " and " << to
                            << ", expected elements of whole bytes";
  if (pieceCounts(from).size() == 1 && pieceCounts(to).size() == 1 && countOf(from) != 3 &&
      countOf(to) != 3) {
    std::string name = vectorName(getElementTypeOrSelf(to), countOf(to), facts_);
    bind(op.getResult(), {asType(name, scalar(op.getSource()))});
    return define(op.getResult(), Pieces(pieces(op.getResult()))), success();
  }
  auto bits = static_cast<unsigned>(
      std::min<int64_t>(kUnitBits, 8 * std::min(unitBytes(from), unitBytes(to))));
  define(op.getResult(), piecesOf(unitsOf(op.getSource(), bits), bits, to));
  return success();
}

// ---- accesses ----

// How many pieces lie in each chunk, 0 where it holds none or parts.
static int64_t piecesPerChunk(Type type, int64_t chunk) {
  int64_t bytes = kPieceElements * bitsOf(getElementTypeOrSelf(type)) / 8;
  bool whole = countOf(type) % kPieceElements == 0 && bytes <= chunk;
  return whole ? chunk / bytes : 0;
}

FailureOr<Emitter::Access> Emitter::accessOf(Operation *op, Type type, Value view, Value byte,
                                             std::optional<int64_t> align) {
  int64_t element = bitsOf(getElementTypeOrSelf(type)) / 8;
  if (bitsOf(getElementTypeOrSelf(type)) % 8)
    return op->emitOpError() << "moves " << type << ", expected elements of whole bytes";
  if (align && (*align < 1 || !llvm::isPowerOf2_64(static_cast<uint64_t>(*align))))
    return op->emitOpError() << "has align = " << *align << ", expected a power of two";
  int64_t bytes = bytesOf(type);
  int64_t chunk = std::min({kMostAccessBytes, bytes & -bytes, align.value_or(kMostAccessBytes)});
  Access access{"threadgroup", "shared", scalar(byte), chunk, false, false};
  int64_t pieces = piecesPerChunk(type, chunk);
  access.direct = pieces == 1 || (pieceCounts(type).size() == 1 && chunk == bytes);
  access.packed = !access.direct && !pieces && chunk >= element;
  if (!view)
    return access;
  auto found = views_.find(view);
  if (found == views_.end())
    return op->emitOpError() << "reaches a view that is no kernel argument";
  bool writable = cast<tile::ViewType>(view.getType()).isWritable();
  access.space = writable ? "device" : "device const";
  access.pointer = "args." + found->second + "_data";
  return access;
}

static std::string chunkName(int64_t bytes) {
  if (bytes <= 4)
    return unsignedName(static_cast<unsigned>(bytes * 8));
  return "uint" + std::to_string(bytes / 4);
}

// `count` words of a chunk of words: "v1_word0.xy".
static std::string partOf(const std::string &word, int64_t first, int64_t count) {
  return word + "." + StringRef("xyzw").substr(first, count).str();
}

// Pieces as they are, aligned or packed.
void Emitter::loadPieces(Value result, const Access &access, const Guard &guard) {
  Type type = result.getType(), element = getElementTypeOrSelf(type);
  Pieces loaded;
  int64_t byte = 0;
  for (auto [i, count] : llvm::enumerate(pieceCounts(type))) {
    bool packed = access.packed && count > 1;
    std::string name = vectorName(element, count, facts_);
    std::string text = access.at((packed ? "packed_" : "") + name, byte);
    if (packed)
      text = name + "(" + text + ")";
    loaded.push_back(guard.over(text, [&, index = i] { return pieces(guard.other)[index]; }));
    byte += count * bitsOf(element) / 8;
  }
  define(result, loaded);
}

void Emitter::load(Value result, const Access &access, const Guard &guard) {
  Type type = result.getType(), element = getElementTypeOrSelf(type);
  if (access.direct || access.packed)
    return loadPieces(result, access, guard);
  auto bits = static_cast<unsigned>(std::min<int64_t>(kUnitBits, access.chunk * 8));
  int64_t perChunk = access.chunk * 8 / bits, pieces = piecesPerChunk(type, access.chunk);
  SmallVector<std::string> others, units;
  if (!guard.when.empty())
    others = unitsOf(guard.other, bits);
  Pieces loaded;
  std::string name = nextName() + "_word", chunk = chunkName(access.chunk);
  for (int64_t i = 0; i < bytesOf(type) / access.chunk; ++i) {
    std::string word = name + std::to_string(i);
    line(chunk + " " + word + " = " + guard.over(access.at(chunk, i * access.chunk), [&] {
      return vectorOf(unsignedName(bits), ArrayRef(others).slice(i * perChunk, perChunk));
    }) + ";");
    for (int64_t part = 0; part < perChunk; ++part)
      units.push_back(perChunk == 1 ? word : word + "." + "xyzw"[part]);
    for (int64_t piece = 0; piece < pieces; ++piece)
      loaded.push_back(asType(vectorName(element, kPieceElements, facts_),
                              partOf(word, piece * perChunk / pieces, perChunk / pieces)));
  }
  define(result, pieces ? loaded : piecesOf(units, bits, type));
}

// What one access writes, from the piece `first` on.
std::string Emitter::chunkOf(Value value, size_t first, int64_t chunk) {
  SmallVector<std::string> parts;
  int64_t count = piecesPerChunk(value.getType(), chunk);
  for (int64_t i = 0; i < count; ++i)
    parts.push_back(asType(chunkName(chunk / count), pieces(value)[first + i]));
  return count == 1 ? parts.front() : chunkName(chunk) + "(" + llvm::join(parts, ", ") + ")";
}

void Emitter::store(Value value, const Access &access, const Guard &guard) {
  Type type = value.getType(), element = getElementTypeOrSelf(type);
  std::string before = guard.when.empty() ? "" : "if (" + guard.when + ") ";
  if (access.direct || access.packed) {
    int64_t byte = 0;
    for (auto [i, count] : llvm::enumerate(pieceCounts(type))) {
      bool packed = access.packed && count > 1;
      std::string name = (packed ? "packed_" : "") + vectorName(element, count, facts_);
      line(before + access.at(name, byte) + " = " +
           (packed ? name + "(" + pieces(value)[i] + ")" : pieces(value)[i]) + ";");
      byte += count * bitsOf(element) / 8;
    }
    return;
  }
  auto bits = static_cast<unsigned>(std::min<int64_t>(kUnitBits, access.chunk * 8));
  int64_t perChunk = access.chunk * 8 / bits, pieces = piecesPerChunk(type, access.chunk);
  SmallVector<std::string> units = unitsOf(value, bits);
  for (int64_t i = 0; i < bytesOf(type) / access.chunk; ++i)
    line(before + access.at(chunkName(access.chunk), i * access.chunk) + " = " +
         (pieces ? chunkOf(value, static_cast<size_t>(i * pieces), access.chunk)
                 : vectorOf(unsignedName(bits), ArrayRef(units).slice(i * perChunk, perChunk))) +
         ";");
}

Emitter::Guard Emitter::guardOf(Value when, Value other) {
  return {matchPattern(when, m_One()) ? "" : scalar(when), other};
}

LogicalResult Emitter::emitLoad(sched::ViewLoadOp op) {
  FailureOr<Access> access = accessOf(op, op.getType(), op.getView(), op.getByte(), op.getAlign());
  if (failed(access))
    return failure();
  if (matchPattern(op.getWhen(), m_Zero()))
    return define(op.getResult(), Pieces(pieces(op.getOther()))), success();
  return load(op.getResult(), *access, guardOf(op.getWhen(), op.getOther())), success();
}

LogicalResult Emitter::emitStore(sched::ViewStoreOp op) {
  if (!cast<tile::ViewType>(op.getView().getType()).isWritable())
    return op.emitOpError() << "writes to " << op.getView().getType()
                            << ", expected an out or inout view";
  FailureOr<Access> access =
      accessOf(op, op.getValue().getType(), op.getView(), op.getByte(), op.getAlign());
  if (failed(access))
    return failure();
  if (matchPattern(op.getWhen(), m_Zero()))
    return success();
  return store(op.getValue(), *access, guardOf(op.getWhen())), success();
}

LogicalResult Emitter::emitSharedLoad(sched::SharedLoadOp op) {
  if (!result_.sharedBytes)
    return op.emitOpError() << "reads shared memory, of which the kernel declares none";
  FailureOr<Access> access = accessOf(op, op.getType(), {}, op.getByte(), std::nullopt);
  if (failed(access))
    return failure();
  return load(op.getResult(), *access, {}), success();
}

LogicalResult Emitter::emitSharedStore(sched::SharedStoreOp op) {
  if (!result_.sharedBytes)
    return op.emitOpError() << "writes shared memory, of which the kernel declares none";
  FailureOr<Access> access = accessOf(op, op.getValue().getType(), {}, op.getByte(), std::nullopt);
  if (failed(access))
    return failure();
  if (matchPattern(op.getWhen(), m_Zero()))
    return success();
  return store(op.getValue(), *access, guardOf(op.getWhen())), success();
}

} // namespace sinter::targets::metal
