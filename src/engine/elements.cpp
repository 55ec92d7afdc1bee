// Sizes and names of element types.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/elements.h"
#include "numeric/formats/dot_packing.h"

namespace sinter::engine {

const BlockFormat *blockFormatOf(const kernel::Element &element) {
  return element.isBlock() ? findBlockFormat(llvm::StringRef(plainName(element)).upper()) : nullptr;
}

const ActivationFormat *activationFormatOf(const kernel::Element &element) {
  return element.isBlock() ? findActivationFormat(llvm::StringRef(plainName(element)).upper())
                           : nullptr;
}

ElementBytes elementBytes(mlir::Type element) {
  if (!mlir::isa<tile::BlockType>(element))
    return {1, static_cast<int64_t>(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8))};
  if (const ActivationFormat *activation = tile::activationFormatOf(element))
    return {kActivationLength, activation->bytes()};
  const BlockFormat *format = tile::blockFormatOf(element);
  SINTER_CHECK(format);
  return {format->blockLength, format->blockBytes};
}

kernel::Element kernelElement(mlir::Type element) {
  if (auto block = mlir::dyn_cast<tile::BlockType>(element))
    return kernel::block(block.getFormat());
  if (element.isBF16())
    return kernel::BF16;
  if (element.isF16())
    return kernel::F16;
  if (mlir::isa<mlir::Float8E4M3FNType>(element))
    return kernel::F8E4M3;
  SINTER_CHECK(element.isF32());
  return kernel::F32;
}

std::string plainName(const kernel::Element &element) {
  std::string_view name = element.name();
  constexpr std::string_view kBlock = "block<";
  if (!element.isBlock() || !name.starts_with(kBlock))
    return std::string(name);
  name.remove_prefix(kBlock.size());
  name.remove_suffix(1);
  return std::string(name);
}

} // namespace sinter::engine
