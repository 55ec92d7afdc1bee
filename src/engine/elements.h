// Element types of the graph as memory and as kernel parameters.
#pragma once

#include "numeric/formats/activation_format.h"
#include "numeric/formats/block_format.h"
#include "sinter/kernel.h"
#include "tile/tile.h"

namespace sinter::engine {

// How elements of a type lie in memory: `length` of them in `bytes` bytes.
struct ElementBytes {
  int64_t length = 1;
  int64_t bytes = 0;
};

// Of a scalar type, a format of the block format table, or the activation format.
ElementBytes elementBytes(mlir::Type element);

// The row of the block format table; null for scalars and for activation formats.
using tile::blockFormatOf;
const BlockFormat *blockFormatOf(const kernel::Element &element);
// Null where the element is none of an activation format.
const ActivationFormat *activationFormatOf(const kernel::Element &element);

kernel::Element kernelElement(mlir::Type element);

// "q8a" of block<q8a>; a scalar's name.
std::string plainName(const kernel::Element &element);

} // namespace sinter::engine
