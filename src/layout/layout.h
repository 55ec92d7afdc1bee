// Layouts: where each element of a tile lies, as a GF(2)-linear atom of one instruction times
// integer repeats. One description serves register fragments, shared-memory swizzles, packed
// weights, quantised code planes and copy descriptors.
#pragma once

#include "base/status.h"
#include "layout/linear_map.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::layout {

// One named axis of a layout's input or output ("lane", "register", "row", "byte"). Coordinates
// below `extent` are real; those from `extent` to the padded size, the next multiple of the atom's
// 2^atomBits, are padding.
struct Dim {
  std::string name;
  uint64_t extent = 0;
  uint32_t atomBits = 0; // how many of the low bits of a coordinate the atom maps

  uint64_t atoms() const {
    return (extent >> atomBits) + ((extent & ((uint64_t(1) << atomBits) - 1)) != 0);
  }
  uint64_t padded() const { return atoms() << atomBits; }
  bool operator==(const Dim &) const = default;
};

// One loop of atoms: `count` steps along input `in`, each of which moves output `out` by `stride`
// atoms. Stride 0 repeats the same elements (a broadcast).
struct Repeat {
  uint32_t in = 0; // index of the input dim
  uint64_t count = 1;
  uint32_t out = 0; // index of the output dim
  uint64_t stride = 1;
  bool operator==(const Repeat &) const = default;
};

using Coords = std::vector<uint64_t>; // one coordinate for each dim, in the order of the dims

// A map from input coordinates to output coordinates. An input coordinate splits into its low
// atomBits, which the atom maps, and the number of its atom, whose mixed-radix digits are the
// repeats of that dim, innermost first:
//   out[o] = sum(digit * stride, over repeats into o) << outs[o].atomBits  |  the atom's bits for
//   o.
// The atom's input is the low bits of all inputs, the first dim's lowest; its output likewise.
// Immutable; equal layouts are equal maps, but not always the other way round.
class Layout {
public:
  // Checks everything, so that the values may come from a file. InvalidArgument unless: dims have
  // distinct, nonempty names; the atom's sides are the dims' atomBits in sum; each input's repeats
  // multiply to its atoms(); every image lies below the outputs' padded sizes; padded sizes stay
  // below 2^62. Repeats of one input are given innermost first; those that are one loop are merged.
  static Result<Layout> make(std::vector<Dim> ins, std::vector<Dim> outs, LinearMap atom,
                             std::vector<Repeat> repeats);

  // The layout over these dims that has no elements: some input has extent 0, and there is an
  // output.
  static Result<Layout> empty(std::vector<Dim> ins, std::vector<Dim> outs);

  std::span<const Dim> ins() const { return ins_; }
  std::span<const Dim> outs() const { return outs_; }
  const LinearMap &atom() const { return atom_; }
  std::span<const Repeat> repeats() const { return repeats_; } // by input dim, innermost first
  // The position of the dim of that name, or nothing.
  std::optional<uint32_t> findIn(std::string_view name) const;
  std::optional<uint32_t> findOut(std::string_view name) const;
  // Whether some input has extent 0, so that there are no elements.
  bool isEmpty() const;

  // Coordinates must be below the padded sizes, one for each input.
  Coords apply(std::span<const uint64_t> in) const;
  // The same for a layout with one output: index -> offset.
  uint64_t offset(std::span<const uint64_t> in) const;
  // An input with apply(in) == out, the one whose broadcast bits and digits are zero; nothing where
  // no element lies (a hole, or outside). It may lie in the padding: see isReal(). Requires
  // isSeparable().
  std::optional<Coords> preimage(std::span<const uint64_t> out) const;
  // Whether input coordinates are all below their extents, not in the padding.
  bool isReal(std::span<const uint64_t> in) const;

  // Whether repeats never overlap in an output (beyond broadcasts), so that digits can be read
  // back.
  bool isSeparable() const;
  // Whether no two inputs share an output; layouts that are not separable count as not injective.
  bool isInjective() const;
  // Whether each padded output coordinate is reached.
  bool isSurjective() const;

  // The layout r with apply(r(out)) == out for all padded outputs; unsupported unless separable and
  // surjective. Of an injective layout, this is the inverse on both sides.
  Result<Layout> rightInverse() const;
  // in -> outer(apply(in)), matching this layout's outputs to outer's inputs by name.
  // InvalidArgument where the names differ; Unsupported where an image lies outside `outer` or the
  // result has no such form.
  Result<Layout> then(const Layout &outer) const;
  // The same map with at least `bits` atom bits on an output or input, by moving powers of two from
  // repeats into the atom. Unsupported where the repeats do not allow it.
  Result<Layout> withOutAtom(uint32_t out, uint32_t bits) const;
  Result<Layout> withInAtom(uint32_t in, uint32_t bits) const;

  // The most consecutive inputs along `in` that lie consecutively in `out`, from any multiple of
  // that number: how wide a vector access or a copy can be. At least 1, but 0 for an empty layout.
  uint64_t contiguousRun(uint32_t in, uint32_t out) const;

  // For diagnostics: "(row 64/16, byte 20/4) -> (offset 1280/64) atom [...] repeats byte 5 ->
  // offset * 1".
  std::string toString() const;
  bool operator==(const Layout &) const = default;

private:
  Layout(std::vector<Dim> ins, std::vector<Dim> outs, LinearMap atom, std::vector<Repeat> repeats)
      : ins_(std::move(ins)), outs_(std::move(outs)), atom_(std::move(atom)),
        repeats_(std::move(repeats)) {}

  std::vector<Dim> ins_, outs_;
  LinearMap atom_;
  std::vector<Repeat> repeats_;
};

// For each place of `to`, the place of `from` that holds the same element: what a conversion has to
// move. Both map places (lane, register, offset) to the same named elements; `from` must reach them
// all.
inline Result<Layout> conversion(const Layout &from, const Layout &to) {
  SINTER_ASSIGN(Layout back, from.rightInverse());
  return to.then(back);
}

} // namespace sinter::layout
