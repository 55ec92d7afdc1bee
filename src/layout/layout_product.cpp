// Tiling one layout by another, and finding out whether one is tiled so.
#include "layout/layout_make.h"

#include <bit>

namespace sinter::layout {
namespace {

struct BitRange {
  uint32_t at = 0, count = 0;
};

// Where the bits of the dim of that name lie in an atom's word; no bits where there is no such dim.
BitRange bitsOf(std::span<const Dim> dims, const std::string &name) {
  uint32_t at = 0;
  for (const Dim &dim : dims) {
    if (dim.name == name)
      return {at, dim.atomBits};
    at += dim.atomBits;
  }
  return {at, 0};
}

const Dim *dimOf(std::span<const Dim> dims, const std::string &name) {
  for (const Dim &dim : dims)
    if (dim.name == name)
      return &dim;
  return nullptr;
}

uint64_t extract(uint64_t word, BitRange range) {
  return word >> range.at & ((uint64_t(1) << range.count) - 1);
}

// The dims of a product: inner's, stacked with outer's of the same name, then outer's others.
Result<std::vector<Dim>> stacked(std::span<const Dim> inner, std::span<const Dim> outer) {
  std::vector<Dim> dims;
  for (Dim dim : inner) {
    if (const Dim *other = dimOf(outer, dim.name)) {
      uint64_t size = 0;
      if (dim.extent != dim.padded() || __builtin_mul_overflow(dim.extent, other->extent, &size))
        return fail(Code::Unsupported,
                    "the inner layout's dim '" + dim.name + "' is padded or too large");
      dim.extent = size;
      dim.atomBits += other->atomBits;
    }
    dims.push_back(std::move(dim));
  }
  for (const Dim &dim : outer)
    if (!dimOf(inner, dim.name))
      dims.push_back(dim);
  return dims;
}

// Turns all of inner's repeats into atom bits on those dims where outer has atom bits.
Result<Layout> makeRoom(Layout inner, const Layout &outer) {
  auto crowded = [](const Dim &own, const Dim &other) {
    return other.atomBits != 0 && own.atoms() > 1;
  };
  auto wanted = [](const Dim &own) {
    return static_cast<uint32_t>(std::bit_width(own.padded() - 1));
  };
  for (const Dim &dim : outer.ins())
    if (auto in = inner.findIn(dim.name); in && crowded(inner.ins()[*in], dim)) {
      SINTER_ASSIGN(inner, inner.withInAtom(*in, wanted(inner.ins()[*in])));
    }
  for (const Dim &dim : outer.outs())
    if (auto out = inner.findOut(dim.name); out && crowded(inner.outs()[*out], dim)) {
      SINTER_ASSIGN(inner, inner.withOutAtom(*out, wanted(inner.outs()[*out])));
    }
  return inner;
}

// The column of the product's atom for `column` of one factor, whose bits of each output go above
// those that `below` (nothing, or the other factor) has there.
uint64_t spread(uint64_t column, std::span<const Dim> own, const Layout *below,
                std::span<const Dim> all) {
  uint64_t word = 0;
  for (const Dim &dim : own) {
    uint32_t offset = below ? bitsOf(below->outs(), dim.name).count : 0;
    word |= extract(column, bitsOf(own, dim.name)) << (bitsOf(all, dim.name).at + offset);
  }
  return word;
}

std::vector<uint64_t> productColumns(const Layout &inner, const Layout &outer,
                                     std::span<const Dim> ins, std::span<const Dim> outs) {
  std::vector<uint64_t> columns;
  for (const Dim &dim : ins) {
    BitRange low = bitsOf(inner.ins(), dim.name), high = bitsOf(outer.ins(), dim.name);
    for (uint32_t bit = 0; bit < low.count; ++bit)
      columns.push_back(spread(inner.atom().column(low.at + bit), inner.outs(), nullptr, outs));
    for (uint32_t bit = 0; bit < high.count; ++bit)
      columns.push_back(spread(outer.atom().column(high.at + bit), outer.outs(), &inner, outs));
  }
  return columns;
}

uint32_t indexOf(std::span<const Dim> dims, const std::string &name) {
  uint32_t i = 0;
  while (dims[i].name != name)
    ++i;
  return i;
}

Fail notTiled(const Layout &whole, const Layout &tile) {
  return fail(Code::Unsupported,
              "the layout " + whole.toString() + " is not tiled by " + tile.toString());
}

// Grows the atom of `whole` to at least the tile's bits on each dim of the tile.
Result<Layout> grownTo(Layout whole, const Layout &tile) {
  for (const Dim &dim : tile.ins()) {
    auto in = whole.findIn(dim.name);
    if (!in)
      return notTiled(whole, tile);
    SINTER_ASSIGN(whole, whole.withInAtom(*in, dim.atomBits));
  }
  for (const Dim &dim : tile.outs()) {
    auto out = whole.findOut(dim.name);
    if (!out)
      return notTiled(whole, tile);
    SINTER_ASSIGN(whole, whole.withOutAtom(*out, dim.atomBits));
  }
  return whole;
}

// `dims` with the tile's bits taken away; nothing where a dim is no whole number of tiles.
std::optional<std::vector<Dim>> divided(std::span<const Dim> dims, std::span<const Dim> tile) {
  std::vector<Dim> result(dims.begin(), dims.end());
  for (Dim &dim : result) {
    uint32_t bits = bitsOf(tile, dim.name).count;
    if ((dim.extent & ((uint64_t(1) << bits) - 1)) != 0)
      return std::nullopt;
    dim.extent >>= bits;
    dim.atomBits -= bits;
  }
  return result;
}

// What `column` of whole's atom holds above the tile's bits, placed for `outs`; nothing where the
// tile's bits are not those of `expected`, a column of the tile.
std::optional<uint64_t> columnAbove(uint64_t column, uint64_t expected, const Layout &whole,
                                    const Layout &tile, std::span<const Dim> outs) {
  uint64_t rest = 0;
  for (const Dim &out : outs) {
    uint64_t bits = extract(column, bitsOf(whole.outs(), out.name));
    BitRange below = bitsOf(tile.outs(), out.name);
    if (extract(bits, {0, below.count}) != extract(expected, below))
      return std::nullopt;
    rest |= bits >> below.count << bitsOf(outs, out.name).at;
  }
  return rest;
}

} // namespace

Result<Layout> product(const Layout &given, const Layout &outer) {
  SINTER_ASSIGN(Layout inner, makeRoom(given, outer));
  SINTER_ASSIGN(std::vector<Dim> ins, stacked(inner.ins(), outer.ins()));
  SINTER_ASSIGN(std::vector<Dim> outs, stacked(inner.outs(), outer.outs()));
  if (inner.atom().inBits() + outer.atom().inBits() > LinearMap::kMaxBits ||
      inner.atom().outBits() + outer.atom().outBits() > LinearMap::kMaxBits)
    return fail(Code::Unsupported, "the product of two layouts has more than 62 atom bits");
  SINTER_ASSIGN(LinearMap atom,
                LinearMap::fromColumns(productColumns(inner, outer, ins, outs),
                                       inner.atom().outBits() + outer.atom().outBits()));
  std::vector<Repeat> repeats(inner.repeats().begin(), inner.repeats().end());
  for (Repeat repeat : outer.repeats()) {
    const std::string &in = outer.ins()[repeat.in].name, &out = outer.outs()[repeat.out].name;
    const Dim *below = dimOf(inner.outs(), out);
    if (__builtin_mul_overflow(repeat.stride, below ? below->atoms() : 1, &repeat.stride))
      return fail(Code::Unsupported, "the product of two layouts is too large along '" + out + "'");
    repeat.in = indexOf(ins, in);
    repeat.out = indexOf(outs, out);
    repeats.push_back(repeat);
  }
  return Layout::make(std::move(ins), std::move(outs), std::move(atom), std::move(repeats));
}

Result<Layout> quotient(const Layout &given, const Layout &tile) {
  SINTER_ASSIGN(Layout whole, grownTo(given, tile));
  auto ins = divided(whole.ins(), tile.ins()), outs = divided(whole.outs(), tile.outs());
  if (!ins || !outs || !tile.repeats().empty())
    return notTiled(given, tile);
  std::vector<uint64_t> columns;
  for (const Dim &dim : whole.ins()) {
    BitRange all = bitsOf(whole.ins(), dim.name), low = bitsOf(tile.ins(), dim.name);
    for (uint32_t bit = 0; bit < all.count; ++bit) {
      bool ofTile = bit < low.count;
      auto rest = columnAbove(whole.atom().column(all.at + bit),
                              ofTile ? tile.atom().column(low.at + bit) : 0, whole, tile, *outs);
      if (!rest || (ofTile && *rest != 0))
        return notTiled(given, tile);
      if (!ofTile)
        columns.push_back(*rest);
    }
  }
  uint32_t outBits = whole.atom().outBits() - tile.atom().outBits();
  SINTER_ASSIGN(LinearMap atom, LinearMap::fromColumns(std::move(columns), outBits));
  std::vector<Repeat> repeats(whole.repeats().begin(), whole.repeats().end());
  return Layout::make(std::move(*ins), std::move(*outs), std::move(atom), std::move(repeats));
}

} // namespace sinter::layout
