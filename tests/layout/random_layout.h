// Random layouts and walks over all their coordinates, for property tests.
#pragma once

#include "layout/layout.h"

#include <functional>
#include <random>

namespace sinter::layout {

// Every coordinate below the padded sizes, the first dim fastest.
inline void forEachCoords(std::span<const Dim> dims,
                          const std::function<void(const Coords &)> &visit) {
  uint64_t total = 1;
  for (const Dim &dim : dims)
    total *= dim.padded();
  for (uint64_t n = 0; n < total; ++n) {
    Coords coords;
    uint64_t rest = n;
    for (const Dim &dim : dims) {
      coords.push_back(rest % dim.padded());
      rest /= dim.padded();
    }
    visit(coords);
  }
}

struct RandomShape {
  bool bijective = false; // an invertible atom, dense strides, no padding
};

// A layout of two inputs "x", "y" and two outputs "u", "v" with a few thousand elements at most.
// Its repeats are dealt in random order; unless bijective, some are broadcasts, strides leave holes
// and dims end in padding.
inline Layout randomLayout(std::mt19937_64 &random, RandomShape shape = {}) {
  auto below = [&](uint64_t n) { return random() % n; };
  uint32_t inBits[2] = {uint32_t(below(3)), uint32_t(below(3))};
  uint32_t sum = inBits[0] + inBits[1];
  uint32_t lowOut = below(sum + 1);
  uint32_t outBits[2] = {lowOut, shape.bijective ? sum - lowOut : uint32_t(below(3))};
  uint64_t inAtoms[2] = {1, 1}, outAtoms[2] = {1, 1};
  std::vector<Repeat> repeats;
  for (uint64_t count = below(4); count > 0; --count) {
    Repeat repeat{uint32_t(below(2)), 1 + below(4), uint32_t(below(2)), 0};
    inAtoms[repeat.in] *= repeat.count;
    if (shape.bijective || below(5) != 0) {
      repeat.stride = outAtoms[repeat.out] + (shape.bijective ? 0 : below(2));
      outAtoms[repeat.out] = repeat.stride * repeat.count;
    }
    repeats.insert(repeats.begin() + below(repeats.size() + 1), repeat);
  }
  std::vector<Dim> ins, outs;
  for (int d = 0; d < 2; ++d) {
    uint64_t cut = shape.bijective ? 0 : below(uint64_t(1) << inBits[d]);
    ins.push_back({d == 0 ? "x" : "y", (inAtoms[d] << inBits[d]) - cut, inBits[d]});
    outs.push_back({d == 0 ? "u" : "v", outAtoms[d] << outBits[d], outBits[d]});
  }
  for (;;) {
    std::vector<uint64_t> columns(sum);
    for (uint64_t &column : columns)
      column = below(uint64_t(1) << (outBits[0] + outBits[1]));
    LinearMap atom = *LinearMap::fromColumns(columns, outBits[0] + outBits[1]);
    if (!shape.bijective || atom.isInvertible())
      return *Layout::make(ins, outs, atom, repeats);
  }
}

// The same layout under other dim names.
inline Layout renamed(const Layout &layout, std::vector<std::string> ins,
                      std::vector<std::string> outs) {
  std::vector<Dim> in(layout.ins().begin(), layout.ins().end());
  std::vector<Dim> out(layout.outs().begin(), layout.outs().end());
  for (size_t i = 0; i < in.size(); ++i)
    in[i].name = ins[i];
  for (size_t o = 0; o < out.size(); ++o)
    out[o].name = outs[o];
  return *Layout::make(in, out, layout.atom(), {layout.repeats().begin(), layout.repeats().end()});
}

} // namespace sinter::layout
