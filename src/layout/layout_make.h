// Building layouts: strided and row-major arrays, swizzles, interleaved rows, products and
// quotients.
#pragma once

#include "layout/layout.h"

namespace sinter::layout {

// One axis of a strided array; the stride is in elements.
struct StridedDim {
  std::string name;
  uint64_t extent = 0;
  uint64_t stride = 0;
};

// index -> out = sum(index * stride), with `outExtent` elements in the output. InvalidArgument
// where the array reaches beyond them.
Result<Layout> strided(const std::vector<StridedDim> &dims, const std::string &out,
                       uint64_t outExtent);

// A dense array whose last dim (row-major) or first dim (column-major) runs fastest. The dims'
// atomBits are not looked at.
Result<Layout> rowMajor(const std::vector<Dim> &dims, const std::string &out);
Result<Layout> columnMajor(const std::vector<Dim> &dims, const std::string &out);

// The map of each dim to itself, in atoms of its atomBits.
Result<Layout> identityLayout(const std::vector<Dim> &dims);

// A layout that is one atom without repeats; each dim's extent must be at most 2^atomBits.
Result<Layout> atomLayout(std::vector<Dim> ins, std::vector<Dim> outs, LinearMap atom);

// Shared-memory swizzle of offsets 0 .. extent - 1: bits [base, base + bits) are XOR-ed with bits
// [base + shift, base + shift + bits). Its own inverse. InvalidArgument unless shift >= bits.
// Hopper's 128-byte swizzle of byte offsets is bits 3, base 4, shift 3 (PTX ISA, "Swizzling modes"
// of tensor maps).
struct Swizzle {
  uint32_t bits = 0, base = 0, shift = 0;
};
Result<Layout> swizzle(const std::string &dim, uint64_t extent, Swizzle pattern);

// (row, byte) -> offset where groups of 2^rowBits rows take turns every 2^unitBits bytes:
//   offset = ((row / R) * units + byte / U) * R * U + (row % R) * U + byte % U, R = 2^rowBits, U =
//   2^unitBits.
// Packed weights: 16 rows by 4 bytes feed one 64-byte dot-product operand. `row` and `byte` give
// names and extents, padded to R and U.
Result<Layout> interleavedRows(const std::string &row, uint64_t rows, uint32_t rowBits,
                               const std::string &byte, uint64_t rowBytes, uint32_t unitBits,
                               const std::string &out);

// `inner` tiled by `outer`: dims of the same name stack, the others stand beside each other.
// Coordinates of a shared dim are inner + inner's padded size * outer. Unsupported where inner is
// padded in a shared dim, or has repeats there that cannot join the atom while outer has atom bits.
Result<Layout> product(const Layout &inner, const Layout &outer);

// The layout q over the dims of `whole` with whole == product(tile, q) as maps: whether and how an
// instruction's `tile` (an atom without repeats or padding) tiles `whole`. Unsupported where it
// does not.
Result<Layout> quotient(const Layout &whole, const Layout &tile);

} // namespace sinter::layout
