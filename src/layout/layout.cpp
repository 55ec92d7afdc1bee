// Layouts: checking, applying, and what their form says about the map.
#include "layout/layout.h"

#include "base/check.h"
#include "base/checked.h"

#include <algorithm>
#include <iterator>

namespace sinter::layout {
namespace {

constexpr uint64_t kMaxSize = uint64_t(1) << LinearMap::kMaxBits;
constexpr size_t kMaxDims = 16;
constexpr size_t kMaxRepeats = 64;

Fail invalid(std::string message) {
  return fail(Code::InvalidArgument, std::move(message));
}

Result<void> checkDims(const std::vector<Dim> &dims, const char *side, uint32_t mapBits) {
  if (dims.size() > kMaxDims)
    return invalid("a layout with " + std::to_string(dims.size()) + " " + side +
                   " dims, expected at most " + std::to_string(kMaxDims));
  uint64_t bits = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Dim &dim = dims[i];
    auto sameName = [&](const Dim &other) { return other.name == dim.name; };
    if (dim.name.empty() || std::any_of(dims.begin(), dims.begin() + i, sameName))
      return invalid(std::string("the layout's ") + side + " dim '" + dim.name +
                     "' is nameless or there twice");
    if (dim.atomBits > LinearMap::kMaxBits || dim.extent >= kMaxSize || dim.padded() >= kMaxSize)
      return invalid("the layout's dim '" + dim.name + "' has " + std::to_string(dim.extent) +
                     " elements in atoms of " + std::to_string(dim.atomBits) +
                     " bits, expected less than 2^62");
    bits += dim.atomBits;
  }
  if (bits != mapBits)
    return invalid(std::string("the layout's ") + side + " dims have " + std::to_string(bits) +
                   " atom bits, its atom " + std::to_string(mapBits));
  return {};
}

Result<void> checkRepeats(const std::vector<Dim> &ins, const std::vector<Dim> &outs,
                          const std::vector<Repeat> &repeats) {
  if (repeats.size() > kMaxRepeats)
    return invalid("a layout with " + std::to_string(repeats.size()) +
                   " repeats, expected at most " + std::to_string(kMaxRepeats));
  std::vector<CheckedSize> counts(ins.size(), 1), reach(outs.size(), 0);
  for (const Repeat &repeat : repeats) {
    if (repeat.in >= ins.size() || repeat.out >= outs.size())
      return invalid("a repeat from input " + std::to_string(repeat.in) + " to output " +
                     std::to_string(repeat.out) + " of a layout with " +
                     std::to_string(ins.size()) + " inputs and " + std::to_string(outs.size()) +
                     " outputs");
    counts[repeat.in] = counts[repeat.in] * repeat.count;
    if (repeat.count > 1)
      reach[repeat.out] = reach[repeat.out] + CheckedSize(repeat.count - 1) * repeat.stride;
  }
  bool empty = false;
  for (size_t i = 0; i < ins.size(); ++i) {
    if (counts[i].value() != ins[i].atoms())
      return invalid("the repeats of the layout's input '" + ins[i].name +
                     "' do not multiply to its " + std::to_string(ins[i].atoms()) + " atoms");
    empty |= ins[i].extent == 0;
  }
  for (size_t o = 0; o < outs.size() && !empty; ++o)
    if (!reach[o].valid() || *reach[o].value() >= outs[o].atoms())
      return invalid("the repeats into the layout's output '" + outs[o].name +
                     "' reach beyond its " + std::to_string(outs[o].atoms()) + " atoms");
  return {};
}

// By input dim; loops of one step dropped; neighbours that are one loop merged.
std::vector<Repeat> merged(const std::vector<Repeat> &given, size_t inputs) {
  std::vector<Repeat> repeats;
  for (uint32_t in = 0; in < inputs; ++in)
    std::copy_if(given.begin(), given.end(), std::back_inserter(repeats),
                 [&](const Repeat &repeat) { return repeat.in == in; });
  std::vector<Repeat> result;
  for (const Repeat &next : repeats) {
    if (next.count == 1)
      continue;
    Repeat *last = result.empty() ? nullptr : &result.back();
    bool one =
        last && last->in == next.in && last->out == next.out && last->count != 0 && next.count != 0;
    if (one && (CheckedSize(last->stride) * last->count).value() == next.stride)
      last->count *= next.count;
    else
      result.push_back(next);
  }
  return result;
}

std::optional<uint32_t> find(const std::vector<Dim> &dims, std::string_view name) {
  for (uint32_t i = 0; i < dims.size(); ++i)
    if (dims[i].name == name)
      return i;
  return std::nullopt;
}

std::string describe(const std::vector<Dim> &dims) {
  std::string text;
  for (const Dim &dim : dims)
    text += (text.empty() ? "" : ", ") + dim.name + " " + std::to_string(dim.extent) + "/" +
            std::to_string(uint64_t(1) << dim.atomBits);
  return "(" + text + ")";
}

} // namespace

Result<Layout> Layout::make(std::vector<Dim> ins, std::vector<Dim> outs, LinearMap atom,
                            std::vector<Repeat> repeats) {
  SINTER_TRY(checkDims(ins, "input", atom.inBits()));
  SINTER_TRY(checkDims(outs, "output", atom.outBits()));
  SINTER_TRY(checkRepeats(ins, outs, repeats));
  repeats = merged(repeats, ins.size());
  return Layout(std::move(ins), std::move(outs), std::move(atom), std::move(repeats));
}

Result<Layout> Layout::empty(std::vector<Dim> ins, std::vector<Dim> outs) {
  uint32_t inBits = 0, outBits = 0;
  std::vector<Repeat> repeats;
  for (uint32_t i = 0; i < ins.size(); ++i) {
    repeats.push_back({i, ins[i].atoms(), 0, 0});
    inBits += ins[i].atomBits;
  }
  for (const Dim &dim : outs)
    outBits += dim.atomBits;
  LinearMap atom = LinearMap::zero(inBits, outBits);
  return make(std::move(ins), std::move(outs), std::move(atom), std::move(repeats));
}

std::optional<uint32_t> Layout::findIn(std::string_view name) const {
  return find(ins_, name);
}
std::optional<uint32_t> Layout::findOut(std::string_view name) const {
  return find(outs_, name);
}

bool Layout::isEmpty() const {
  return std::any_of(ins_.begin(), ins_.end(), [](const Dim &dim) { return dim.extent == 0; });
}

Coords Layout::apply(std::span<const uint64_t> in) const {
  SINTER_CHECK(in.size() == ins_.size());
  Coords atomOf(ins_.size()), out(outs_.size());
  uint64_t low = 0;
  for (uint32_t i = 0, at = 0; i < ins_.size(); at += ins_[i++].atomBits) {
    SINTER_CHECK(in[i] < ins_[i].padded());
    atomOf[i] = in[i] >> ins_[i].atomBits;
    low |= (in[i] ^ (atomOf[i] << ins_[i].atomBits)) << at;
  }
  for (const Repeat &repeat : repeats_) {
    out[repeat.out] += atomOf[repeat.in] % repeat.count * repeat.stride;
    atomOf[repeat.in] /= repeat.count;
  }
  low = atom_.apply(low);
  for (uint32_t o = 0; o < outs_.size(); ++o) {
    uint64_t mask = (uint64_t(1) << outs_[o].atomBits) - 1;
    out[o] = out[o] << outs_[o].atomBits | (low & mask);
    low >>= outs_[o].atomBits;
  }
  return out;
}

uint64_t Layout::offset(std::span<const uint64_t> in) const {
  SINTER_CHECK(outs_.size() == 1);
  return apply(in)[0];
}

bool Layout::isReal(std::span<const uint64_t> in) const {
  SINTER_CHECK(in.size() == ins_.size());
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i] >= ins_[i].extent)
      return false;
  return true;
}

std::string Layout::toString() const {
  std::string text = describe(ins_) + " -> " + describe(outs_) + " atom " + atom_.toString();
  for (const Repeat &repeat : repeats_)
    text += ", " + ins_[repeat.in].name + " " + std::to_string(repeat.count) + " -> " +
            outs_[repeat.out].name + " * " + std::to_string(repeat.stride);
  return text;
}

} // namespace sinter::layout
