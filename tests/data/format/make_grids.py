#!/usr/bin/env python3
"""Writes src/numeric/iq_grids.cpp: the grids of ggml's IQ types, each code packed into one number.

Usage: make_grids.py OUT.cpp    (needs the pip package gguf)
"""
import sys

import numpy as np
from gguf import quants

GRIDS = [("Iq2Xxs", quants.IQ2_XXS, 2), ("Iq2Xs", quants.IQ2_XS, 2), ("Iq2S", quants.IQ2_S, 2),
         ("Iq3Xxs", quants.IQ3_XXS, 3), ("Iq3S", quants.IQ3_S, 3), ("Iq1", quants.IQ1_S, 2)]

HEAD = """// The numbers behind iq_grids.h, written by tests/data/format/make_grids.py. Lane k of a
// packed code is the digit at bit k * (bits per digit), an index into the levels.
// clang-format off
#include "numeric/iq_grids.h"

#include <cstddef>

namespace sinter {
namespace {

template <size_t Lanes, size_t Bits, size_t Codes, size_t Levels>
constexpr std::array<int8_t, Codes * Lanes> unpack(const uint16_t (&packed)[Codes],
                                                  const int8_t (&levels)[Levels]) {
  std::array<int8_t, Codes * Lanes> values{};
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = levels[packed[i / Lanes] >> (i % Lanes * Bits) & ((1u << Bits) - 1)];
  return values;
}
"""


def write(out, name, cls, bits):
    cls.init_grid()
    levels = [int(v) for v in cls.grid_map]
    grid = cls.grid.reshape(cls.grid_shape).astype(np.int64)
    digits = np.searchsorted(levels, grid)
    assert (np.array(levels)[digits] == grid).all()
    packed = (digits << (bits * np.arange(grid.shape[1]))).sum(axis=1)
    out.append(f"\nconstexpr int8_t k{name}Levels[] = {{{', '.join(map(str, levels))}}};")
    out.append(f"constexpr uint16_t k{name}Packed[] = {{")
    for row in range(0, len(packed), 13):
        out.append("    " + " ".join(f"{v}," for v in packed[row:row + 13]))
    out.append("};")
    call = f"unpack<{grid.shape[1]}, {bits}>(k{name}Packed, k{name}Levels)"
    return f"constinit const std::array<int8_t, {grid.shape[0]} * {grid.shape[1]}> k{name}Grid =\n    {call};"


def main(target):
    lines = []
    definitions = [write(lines, *grid) for grid in GRIDS]
    body = HEAD + "\n".join(lines) + "\n\n} // namespace\n\n" + "\n".join(definitions) + "\n\n} // namespace sinter\n"
    open(target, "w").write(body)


main(sys.argv[1])
