// One layout after another. Atoms are first brought to the same size, then bits compose as matrices
// and repeats as loops.
#include "layout/layout.h"

#include "base/check.h"

namespace sinter::layout {
namespace {

Fail unsupported(const Layout &layout, const std::string &what) {
  return fail(Code::Unsupported, what + " of the layout " + layout.toString());
}

// Where the bits of dim `index` begin in the atom's word.
uint32_t bitsBefore(std::span<const Dim> dims, uint32_t index) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < index; ++i)
    bits += dims[i].atomBits;
  return bits;
}

// The position of the innermost repeat of input `in`, or nothing.
std::optional<uint32_t> innermost(const Layout &layout, uint32_t in) {
  for (uint32_t r = 0; r < layout.repeats().size(); ++r)
    if (layout.repeats()[r].in == in)
      return r;
  return std::nullopt;
}

// The repeat that moves `out` by single atoms, or nothing.
std::optional<uint32_t> finest(const Layout &layout, uint32_t out) {
  for (uint32_t r = 0; r < layout.repeats().size(); ++r)
    if (layout.repeats()[r].out == out && layout.repeats()[r].stride == 1)
      return r;
  return std::nullopt;
}

// Whether half of repeat `r`'s steps can become a bit of the atom: it is the innermost of its
// input, has an even count, and is a broadcast or moves by single atoms while all others into its
// output move by even numbers.
bool canAbsorb(const Layout &layout, uint32_t r) {
  const Repeat &repeat = layout.repeats()[r];
  bool half = innermost(layout, repeat.in) == r && repeat.count != 0 && repeat.count % 2 == 0;
  if (!half || repeat.stride > 1)
    return false;
  if (repeat.stride == 0)
    return true;
  for (uint32_t other = 0; other < layout.repeats().size(); ++other)
    if (other != r && layout.repeats()[other].out == repeat.out &&
        layout.repeats()[other].stride % 2 != 0)
      return false;
  return true;
}

// `word` with the bits from `at` on moved up by one.
uint64_t insertZero(uint64_t word, uint32_t at) {
  uint64_t low = word & ((uint64_t(1) << at) - 1);
  return low | (word ^ low) << 1;
}

// The same map with the lowest bit of repeat `r` moved into the atom.
Result<Layout> absorb(const Layout &layout, uint32_t r) {
  std::vector<Dim> ins(layout.ins().begin(), layout.ins().end());
  std::vector<Dim> outs(layout.outs().begin(), layout.outs().end());
  std::vector<Repeat> repeats(layout.repeats().begin(), layout.repeats().end());
  uint32_t in = repeats[r].in, out = repeats[r].out;
  uint32_t inBit = bitsBefore(ins, in) + ins[in].atomBits++;
  std::vector<uint64_t> columns(layout.atom().columns().begin(), layout.atom().columns().end());
  uint32_t outBits = layout.atom().outBits();
  repeats[r].count /= 2;
  if (repeats[r].stride == 0) {
    columns.insert(columns.begin() + inBit, 0);
  } else {
    uint32_t outBit = bitsBefore(outs, out) + outs[out].atomBits++;
    for (uint64_t &column : columns)
      column = insertZero(column, outBit);
    columns.insert(columns.begin() + inBit, uint64_t(1) << outBit);
    ++outBits;
    for (uint32_t other = 0; other < repeats.size(); ++other)
      if (other != r && repeats[other].out == out)
        repeats[other].stride /= 2;
  }
  SINTER_ASSIGN(LinearMap atom, LinearMap::fromColumns(std::move(columns), outBits));
  return Layout::make(std::move(ins), std::move(outs), std::move(atom), std::move(repeats));
}

// The repeat to absorb next so that the atom grows on input `in`, or, where that is nothing, on
// output `out`. A repeat that is blocked by another one leads there; nothing when that leads
// nowhere.
std::optional<uint32_t> nextToAbsorb(const Layout &layout, std::optional<uint32_t> in,
                                     uint32_t out) {
  for (size_t step = 0; step <= layout.repeats().size(); ++step) {
    auto r = in ? innermost(layout, *in) : finest(layout, out);
    if (!r || canAbsorb(layout, *r))
      return r;
    const Repeat &repeat = layout.repeats()[*r];
    if (innermost(layout, repeat.in) != r)
      in = repeat.in;
    else if (repeat.stride > 1) {
      in = std::nullopt;
      out = repeat.out;
    } else
      return std::nullopt;
  }
  return std::nullopt;
}

// For each output of `inner`, the input of `outer` of the same name.
Result<std::vector<uint32_t>> matchByName(const Layout &inner, const Layout &outer) {
  std::vector<uint32_t> match;
  for (const Dim &dim : inner.outs())
    if (auto in = outer.findIn(dim.name))
      match.push_back(*in);
  if (match.size() != inner.outs().size() || match.size() != outer.ins().size())
    return fail(Code::InvalidArgument, "the layout " + inner.toString() +
                                           " cannot be followed by " + outer.toString() +
                                           ": their dims differ");
  return match;
}

// Makes the atoms of both agree on the dims between them, growing the smaller one.
Result<void> alignAtoms(Layout &inner, Layout &outer, std::span<const uint32_t> match) {
  for (uint32_t o = 0; o < match.size();) {
    uint32_t have = inner.outs()[o].atomBits, want = outer.ins()[match[o]].atomBits;
    if (have == want) {
      ++o;
      continue;
    }
    if (have < want) {
      SINTER_ASSIGN(inner, inner.withOutAtom(o, want));
    } else {
      SINTER_ASSIGN(outer, outer.withInAtom(match[o], have));
    }
    o = 0; // growing one dim may grow another
  }
  return {};
}

// The atom of `inner` with its output bits in the order of outer's inputs.
LinearMap reordered(const Layout &inner, const Layout &outer, std::span<const uint32_t> match) {
  std::vector<uint64_t> columns;
  for (uint64_t column : inner.atom().columns()) {
    uint64_t moved = 0;
    for (uint32_t o = 0; o < match.size(); ++o) {
      uint32_t bits = inner.outs()[o].atomBits;
      moved |= (column & ((uint64_t(1) << bits) - 1)) << bitsBefore(outer.ins(), match[o]);
      column >>= bits;
    }
    columns.push_back(moved);
  }
  return *LinearMap::fromColumns(std::move(columns), inner.atom().outBits());
}

// Splits a repeat into ones that each step within one repeat of the next layout, and adds what they
// move.
class RepeatSplitter {
public:
  // `input`: the dim of `outer` that the repeats given to split() move.
  RepeatSplitter(const Layout &outer, uint32_t input) {
    uint64_t step = 1;
    for (const Repeat &repeat : outer.repeats())
      if (repeat.in == input) {
        parts_.push_back({step, repeat.count, 0, repeat});
        step *= repeat.count;
      }
  }

  // Whether `repeat` could be split; its parts are appended to `result`.
  bool split(const Repeat &repeat, std::vector<Repeat> &result) {
    uint64_t count = repeat.count, stride = repeat.stride;
    if (stride == 0) {
      result.push_back({repeat.in, count, 0, 0});
      return true;
    }
    for (Part &part : parts_) {
      uint64_t end = part.step * part.count;
      if (stride >= end || count == 1)
        continue;
      // A last part that the next layout's repeat holds in full needs no even division.
      bool fits = (count - 1) <= (end - 1) / stride;
      uint64_t here = fits ? count : end / stride;
      if (stride % part.step != 0 || (!fits && (end % stride != 0 || count % here != 0)))
        return false;
      uint64_t move = stride / part.step;
      part.reach += (here - 1) * move;
      if (part.reach >= part.count)
        return false; // two repeats would carry into the next part
      result.push_back({repeat.in, here, part.into.out, move * part.into.stride});
      count /= here;
      stride *= here;
    }
    return count == 1;
  }

private:
  struct Part {
    uint64_t step, count; // it counts steps of `step` atoms, `count` of them
    uint64_t reach;       // how far the repeats seen so far get together
    Repeat into;
  };
  std::vector<Part> parts_;
};

} // namespace

Result<Layout> Layout::withOutAtom(uint32_t out, uint32_t bits) const {
  SINTER_CHECK(out < outs_.size());
  Layout grown = *this;
  while (grown.outs_[out].atomBits < bits) {
    auto next = nextToAbsorb(grown, std::nullopt, out);
    if (!next)
      return unsupported(*this, "output '" + outs_[out].name + "' cannot have " +
                                    std::to_string(bits) + " atom bits: it is that");
    SINTER_ASSIGN(grown, absorb(grown, *next));
  }
  return grown;
}

Result<Layout> Layout::withInAtom(uint32_t in, uint32_t bits) const {
  SINTER_CHECK(in < ins_.size());
  Layout grown = *this;
  while (grown.ins_[in].atomBits < bits) {
    auto next = nextToAbsorb(grown, in, 0);
    if (!next)
      return unsupported(*this, "input '" + ins_[in].name + "' cannot have " +
                                    std::to_string(bits) + " atom bits: it is that");
    SINTER_ASSIGN(grown, absorb(grown, *next));
  }
  return grown;
}

Result<Layout> Layout::then(const Layout &next) const {
  SINTER_ASSIGN(std::vector<uint32_t> match, matchByName(*this, next));
  if (isEmpty())
    return empty(ins_, next.outs_);
  if (next.isEmpty())
    return unsupported(*this, "a layout without elements cannot follow the elements");
  Layout inner = *this, outer = next;
  SINTER_TRY(alignAtoms(inner, outer, match));
  std::vector<RepeatSplitter> splitters;
  for (uint32_t o = 0; o < match.size(); ++o)
    splitters.emplace_back(outer, match[o]);
  std::vector<Repeat> repeats;
  for (const Repeat &repeat : inner.repeats_)
    if (!splitters[repeat.out].split(repeat, repeats))
      return unsupported(*this, "the repeats of " + outer.toString() + " do not divide those");
  return make(inner.ins_, outer.outs_, outer.atom_.after(reordered(inner, outer, match)),
              std::move(repeats));
}

} // namespace sinter::layout
