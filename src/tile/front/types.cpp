// Types, literals and operands of the kernel front, with the words in which it speaks of them.
#include "base/checked.h"
#include "numeric/formats/block_format.h"
#include "numeric/formats/dot_packing.h"
#include "tile/front/session.h"
#include "tile/mlir_pch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace sinter::tile {

// A tile never needs to be larger; beyond it a shape is a slip of the pen.
constexpr uint64_t kMaxTileElements = uint64_t(1) << 28;
constexpr size_t kMaxRank = 6;

static std::string elementText(Type element) {
  if (auto block = dyn_cast<BlockType>(element))
    return "block<" + block.getFormat().str() + ">";
  if (isa<Float8E4M3FNType>(element))
    return "f8e4m3";
  if (isa<Float8E5M2Type>(element))
    return "f8e5m2";
  std::string text;
  llvm::raw_string_ostream(text) << element;
  return text;
}

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t extent : shape)
    text += (ShapedType::isDynamic(extent) ? "?" : std::to_string(extent)) + "x";
  return text;
}

std::string describe(Type type) {
  if (auto tile = dyn_cast<RankedTensorType>(type))
    return "tile<" + shapeText(tile.getShape()) + elementText(tile.getElementType()) + ">";
  if (auto view = dyn_cast<ViewType>(type))
    return "view<" + shapeText(view.getShape()) + elementText(view.getElementType()) + ", " +
           stringifyAccess(view.getAccess()).str() + ">";
  return elementText(type);
}

// Elements of one block; 0 where the name is none of a block-scaled format.
static uint32_t blockLength(StringRef format) {
  std::string name = format.upper();
  if (findActivationFormat(name))
    return kActivationLength;
  const BlockFormat *known = findBlockFormat(std::string_view(name));
  return known && !known->isPlain() ? known->blockLength : 0;
}

Type FrontSession::elementType(StringRef name, At at) {
  StringRef format = name;
  if (format.consume_front("block<") && format.consume_back(">")) {
    if (format == format.lower() && blockLength(format))
      return BlockType::get(builder_.getContext(), format);
    error(at, "block format '" + format + "' is not known, expected one such as q4_1 or " +
                  StringRef(kQ8a.name).lower());
    return {};
  }
  Type type = llvm::StringSwitch<Type>(name)
                  .Case("f64", builder_.getF64Type())
                  .Case("f32", builder_.getF32Type())
                  .Case("f16", builder_.getF16Type())
                  .Case("bf16", builder_.getBF16Type())
                  .Case("f8e4m3", Float8E4M3FNType::get(builder_.getContext()))
                  .Case("f8e5m2", Float8E5M2Type::get(builder_.getContext()))
                  .Case("i1", builder_.getI1Type())
                  .Case("i8", builder_.getI8Type())
                  .Case("i16", builder_.getI16Type())
                  .Case("i32", builder_.getI32Type())
                  .Case("i64", builder_.getI64Type())
                  .Case("index", builder_.getIndexType())
                  .Default(Type());
  if (!type)
    error(at, "element type '" + name +
                  "' is not known, expected f64, f32, f16, bf16, f8e4m3, f8e5m2, i1, i8, i16, i32, "
                  "i64, index or block<format>");
  return type;
}

RankedTensorType FrontSession::tileType(ArrayRef<int64_t> shape, Type element, At at) {
  if (shape.empty() || shape.size() > kMaxRank) {
    error(at, "tile has " + Twine(shape.size()) + " dimensions, expected 1 to 6");
    return {};
  }
  CheckedSize elements = 1;
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    if (extent <= 0) {
      error(at, "tile has extent " + (extent == SINTER_DYNAMIC ? "dyn" : Twine(extent)) +
                    " on axis " + Twine(axis) + ", expected a positive one");
      return {};
    }
    elements = elements * CheckedSize(extent);
  }
  if (!elements.value() || *elements.value() > kMaxTileElements) {
    error(at, "tile<" + shapeText(shape) + elementText(element) +
                  "> is too large, expected at most " + Twine(kMaxTileElements) + " elements");
    return {};
  }
  auto type = RankedTensorType::get(shape, element);
  if (auto block = dyn_cast<BlockType>(element)) {
    uint32_t length = blockLength(block.getFormat());
    if (length && shape.back() % length != 0) {
      error(at, describe(type) +
                    " ends inside a block, expected a last extent of whole blocks of " +
                    Twine(length));
      return {};
    }
  }
  return type;
}

TypedAttr FrontSession::literal(const SinterOperand &operand, Type type, At at) {
  bool real = operand.kind == SINTER_OPERAND_REAL;
  if (auto floating = dyn_cast<FloatType>(type)) {
    llvm::APFloat value(real ? operand.real : static_cast<double>(operand.integer));
    bool lossy;
    value.convert(floating.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &lossy);
    return FloatAttr::get(floating, value);
  }
  if (!type.isIntOrIndex()) {
    error(at, "literal beside elements of " + describe(type) + ", expected integers or floats");
    return {};
  }
  if (real) {
    error(at, "literal " + llvm::formatv("{0}", operand.real).str() + " beside " + describe(type) +
                  " elements, expected an integer literal");
    return {};
  }
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  if (!llvm::isIntN(width, operand.integer) &&
      !llvm::isUIntN(width, static_cast<uint64_t>(operand.integer))) {
    error(at, "literal " + Twine(operand.integer) + " does not fit " + describe(type));
    return {};
  }
  return IntegerAttr::get(type, llvm::APInt(width, static_cast<uint64_t>(operand.integer),
                                            /*isSigned=*/true, /*implicitTrunc=*/true));
}

Value FrontSession::useTile(SinterValue id, StringRef what, At at) {
  Value value = use(id, at);
  if (!value || isa<RankedTensorType>(value.getType()))
    return value;
  StringRef hint = isa<ViewType>(value.getType()) ? "a tile: load it first" : "a tile";
  error(at, what + " is " + describe(value.getType()) + ", expected " + hint);
  return {};
}

Value FrontSession::useView(SinterValue id, StringRef what, At at) {
  Value value = use(id, at);
  if (!value || isa<ViewType>(value.getType()))
    return value;
  error(at, what + " is " + describe(value.getType()) + ", expected a view");
  return {};
}

Value FrontSession::useIndex(const SinterOperand &operand, StringRef what, At at) {
  if (operand.kind == SINTER_OPERAND_INTEGER)
    return inKernel(at) ? indexConstant(operand.integer, at) : Value();
  if (operand.kind != SINTER_OPERAND_VALUE) {
    error(at, what + " is literal " + llvm::formatv("{0}", operand.real).str() +
                  ", expected an integer");
    return {};
  }
  Value value = use(operand.value, at);
  if (!value || value.getType().isIndex())
    return value;
  if (value.getType().isInteger() && !value.getType().isInteger(1))
    return arith::IndexCastOp::create(builder_, loc(at), builder_.getIndexType(), value);
  error(at, what + " is " + describe(value.getType()) + ", expected an integer scalar");
  return {};
}

std::optional<SmallVector<Value>> FrontSession::useIndices(ArrayRef<SinterOperand> operands,
                                                           StringRef what, size_t rank, At at) {
  if (operands.size() != rank) {
    error(at, Twine(operands.size()) + " " + what + "s for a view with " + Twine(rank) +
                  " dimensions, expected one per dimension");
    return std::nullopt;
  }
  SmallVector<Value> indices;
  for (const SinterOperand &operand : operands)
    indices.push_back(useIndex(operand, what, at));
  if (llvm::is_contained(indices, Value()))
    return std::nullopt;
  return indices;
}

} // namespace sinter::tile
