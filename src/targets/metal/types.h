// What scalars and vectors of SIMT IR are called in MSL, and their constants.
#pragma once

#include "targets/metal/facts.h"
#include "tile/mlir_pch.h"

#include <string>

namespace sinter::targets::metal {

/// MSL has vectors of two, three and four elements: a longer one is held in pieces of four, what
/// is left over in a shorter one.
inline constexpr int64_t kPieceElements = 4;
/// Of a vector at most: what is printed grows with them.
inline constexpr int64_t kMostElements = 256;

int64_t countOf(mlir::Type type); // elements; 1 of a scalar
llvm::SmallVector<int64_t> pieceCounts(mlir::Type type);
unsigned bitsOf(mlir::Type type); // of a scalar; an index has 64

/// Integers are unsigned, an index is one of 64 bits; bf16 is its bits where there is no such
/// type. Empty for what MSL has no type for.
std::string scalarName(mlir::Type type, const MetalFacts &facts);
/// "float4", "float" where count is 1.
std::string vectorName(mlir::Type element, int64_t count, const MetalFacts &facts);
/// The unsigned integer of 8, 16, 32 or 64 bits: "uint".
std::string unsignedName(unsigned bits);
std::string signedName(unsigned bits);

/// An expression for one constant: an IntegerAttr or a FloatAttr.
std::string literal(mlir::Attribute value, const MetalFacts &facts);
/// A float's literal with an exact value.
std::string realLiteral(double value);

} // namespace sinter::targets::metal
