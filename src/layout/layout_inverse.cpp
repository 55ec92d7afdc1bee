// Reading layouts backwards: which inputs an output comes from, and whether each output has one.
#include "layout/layout.h"

#include "base/check.h"

#include <algorithm>

namespace sinter::layout {
namespace {

// The repeats that move output `out`, by ascending stride.
std::vector<uint32_t> byStride(std::span<const Repeat> repeats, uint32_t out) {
  std::vector<uint32_t> order;
  for (uint32_t r = 0; r < repeats.size(); ++r)
    if (repeats[r].out == out && repeats[r].stride != 0)
      order.push_back(r);
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return repeats[a].stride < repeats[b].stride; });
  return order;
}

// How many atoms of its input one step of each repeat passes over.
std::vector<uint64_t> inputStrides(std::span<const Repeat> repeats) {
  std::vector<uint64_t> strides(repeats.size(), 1);
  for (size_t r = 1; r < repeats.size(); ++r)
    if (repeats[r].in == repeats[r - 1].in)
      strides[r] = strides[r - 1] * repeats[r - 1].count;
  return strides;
}

uint64_t joinBits(std::span<const Dim> dims, std::span<const uint64_t> coords) {
  uint64_t low = 0;
  for (uint32_t i = 0, at = 0; i < dims.size(); at += dims[i++].atomBits)
    low |= (coords[i] & ((uint64_t(1) << dims[i].atomBits) - 1)) << at;
  return low;
}

// Coordinates from the atom's bits and the number of the atom along each dim.
Coords placeBits(std::span<const Dim> dims, uint64_t low, Coords atoms) {
  for (size_t i = 0; i < dims.size(); ++i) {
    atoms[i] = atoms[i] << dims[i].atomBits | (low & ((uint64_t(1) << dims[i].atomBits) - 1));
    low >>= dims[i].atomBits;
  }
  return atoms;
}

} // namespace

bool Layout::isSeparable() const {
  for (uint32_t o = 0; o < outs_.size() && !isEmpty(); ++o) {
    uint64_t reach = 0; // the furthest that the smaller strides get
    for (uint32_t r : byStride(repeats_, o)) {
      if (repeats_[r].stride <= reach)
        return false;
      reach += (repeats_[r].count - 1) * repeats_[r].stride;
    }
  }
  return true;
}

bool Layout::isInjective() const {
  if (isEmpty())
    return true;
  auto moves = [](const Repeat &repeat) { return repeat.stride != 0; };
  return atom_.isInjective() && isSeparable() &&
         std::all_of(repeats_.begin(), repeats_.end(), moves);
}

bool Layout::isSurjective() const {
  auto none = [](const Dim &dim) { return dim.extent == 0; };
  if (isEmpty())
    return std::any_of(outs_.begin(), outs_.end(), none);
  for (uint32_t o = 0; o < outs_.size(); ++o) {
    uint64_t reach = 0;
    for (uint32_t r : byStride(repeats_, o)) {
      if (repeats_[r].stride > reach + 1)
        return false;
      reach += (repeats_[r].count - 1) * repeats_[r].stride;
    }
    if (reach + 1 != outs_[o].atoms())
      return false;
  }
  return atom_.isSurjective();
}

std::optional<Coords> Layout::preimage(std::span<const uint64_t> out) const {
  SINTER_CHECK(out.size() == outs_.size() && isSeparable());
  auto low = atom_.preimage(joinBits(outs_, out));
  if (isEmpty() || !low)
    return std::nullopt;
  std::vector<uint64_t> strides = inputStrides(repeats_);
  Coords atoms(ins_.size());
  for (uint32_t o = 0; o < outs_.size(); ++o) {
    uint64_t left = out[o] >> outs_[o].atomBits;
    std::vector<uint32_t> order = byStride(repeats_, o);
    for (auto r = order.rbegin(); r != order.rend(); ++r) {
      uint64_t digit = std::min(left / repeats_[*r].stride, repeats_[*r].count - 1);
      left -= digit * repeats_[*r].stride;
      atoms[repeats_[*r].in] += digit * strides[*r];
    }
    if (left != 0)
      return std::nullopt;
  }
  return placeBits(ins_, *low, std::move(atoms));
}

Result<Layout> Layout::rightInverse() const {
  auto atom = atom_.rightInverse();
  if (!isSeparable() || !isSurjective() || !atom)
    return fail(Code::Unsupported, "the layout " + toString() +
                                       " has no inverse: it does not reach each output just once");
  if (isEmpty())
    return empty(outs_, ins_);
  std::vector<Repeat> repeats;
  std::vector<uint64_t> strides = inputStrides(repeats_);
  for (uint32_t o = 0; o < outs_.size(); ++o) {
    for (uint32_t r : byStride(repeats_, o))
      repeats.push_back({o, repeats_[r].count, repeats_[r].in, strides[r]});
  }
  return make(outs_, ins_, std::move(*atom), std::move(repeats));
}

uint64_t Layout::contiguousRun(uint32_t in, uint32_t out) const {
  SINTER_CHECK(in < ins_.size() && out < outs_.size());
  if (isEmpty())
    return 0;
  uint32_t inAt = 0, outAt = 0;
  for (uint32_t i = 0; i < in; ++i)
    inAt += ins_[i].atomBits;
  for (uint32_t o = 0; o < out; ++o)
    outAt += outs_[o].atomBits;
  // Low bits count as long as they map to themselves and nothing else touches those places.
  uint32_t bits = 0, most = std::min(ins_[in].atomBits, outs_[out].atomBits);
  auto sole = [&](uint32_t bit) {
    for (uint32_t c = 0; c < atom_.inBits(); ++c) {
      bool set = (atom_.column(c) >> (outAt + bit) & 1) != 0;
      if (set != (c == inAt + bit))
        return false;
    }
    return atom_.column(inAt + bit) == uint64_t(1) << (outAt + bit);
  };
  while (bits < most && sole(bits))
    ++bits;
  bool whole = bits == ins_[in].atomBits && bits == outs_[out].atomBits;
  for (const Repeat &repeat : repeats_)
    if (repeat.in == in)
      return whole && repeat.out == out && repeat.stride == 1 ? repeat.count << bits
                                                              : uint64_t(1) << bits;
  return uint64_t(1) << bits;
}

} // namespace sinter::layout
