// Layouts of arrays, swizzles and interleaved rows.
#include "layout/layout_make.h"

#include "base/checked.h"

namespace sinter::layout {
namespace {

Fail tooLarge(const std::string &name) {
  return fail(Code::InvalidArgument, "the extents of the layout into '" + name + "' overflow");
}

} // namespace

Result<Layout> strided(const std::vector<StridedDim> &dims, const std::string &out,
                       uint64_t outExtent) {
  std::vector<Dim> ins;
  std::vector<Repeat> repeats;
  for (const StridedDim &dim : dims) {
    repeats.push_back({static_cast<uint32_t>(ins.size()), dim.extent, 0, dim.stride});
    ins.push_back({dim.name, dim.extent, 0});
  }
  return Layout::make(std::move(ins), {{out, outExtent, 0}}, LinearMap(), std::move(repeats));
}

Result<Layout> rowMajor(const std::vector<Dim> &dims, const std::string &out) {
  std::vector<StridedDim> axes;
  CheckedSize stride = 1, size = 1;
  for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
    if (!stride.valid())
      return tooLarge(out);
    axes.insert(axes.begin(), {dim->name, dim->extent, *stride.value()});
    size = size * dim->extent;
    stride = stride * (dim->extent == 0 ? 1 : dim->extent);
  }
  return size.valid() ? strided(axes, out, *size.value()) : tooLarge(out);
}

Result<Layout> columnMajor(const std::vector<Dim> &dims, const std::string &out) {
  std::vector<StridedDim> axes;
  CheckedSize stride = 1, size = 1;
  for (const Dim &dim : dims) {
    if (!stride.valid())
      return tooLarge(out);
    axes.push_back({dim.name, dim.extent, *stride.value()});
    size = size * dim.extent;
    stride = stride * (dim.extent == 0 ? 1 : dim.extent);
  }
  return size.valid() ? strided(axes, out, *size.value()) : tooLarge(out);
}

Result<Layout> identityLayout(const std::vector<Dim> &dims) {
  std::vector<Repeat> repeats;
  CheckedSize bits = 0;
  for (uint32_t i = 0; i < dims.size(); ++i) {
    bits = bits + dims[i].atomBits;
    if (dims[i].atomBits > LinearMap::kMaxBits || *bits.value() > LinearMap::kMaxBits)
      return tooLarge(dims[i].name);
    repeats.push_back({i, dims[i].atoms(), i, 1});
  }
  return Layout::make(dims, dims, LinearMap::identity(*bits.value()), std::move(repeats));
}

Result<Layout> atomLayout(std::vector<Dim> ins, std::vector<Dim> outs, LinearMap atom) {
  return Layout::make(std::move(ins), std::move(outs), std::move(atom), {});
}

Result<Layout> swizzle(const std::string &dim, uint64_t extent, Swizzle pattern) {
  uint64_t bits = uint64_t(pattern.bits) + pattern.base + pattern.shift;
  if (pattern.shift < pattern.bits || bits > LinearMap::kMaxBits)
    return fail(Code::InvalidArgument, "a swizzle of " + std::to_string(pattern.bits) +
                                           " bits by a shift of " + std::to_string(pattern.shift) +
                                           ", expected a shift at least that wide within 62 bits");
  std::vector<uint64_t> columns(bits);
  for (uint32_t i = 0; i < bits; ++i)
    columns[i] = uint64_t(1) << i;
  for (uint32_t i = 0; i < pattern.bits; ++i)
    columns[pattern.base + pattern.shift + i] |= uint64_t(1) << (pattern.base + i);
  SINTER_ASSIGN(LinearMap atom, LinearMap::fromColumns(std::move(columns), bits));
  Dim axis{dim, extent, static_cast<uint32_t>(bits)};
  return Layout::make({axis}, {axis}, std::move(atom), {{0, axis.atoms(), 0, 1}});
}

Result<Layout> interleavedRows(const std::string &row, uint64_t rows, uint32_t rowBits,
                               const std::string &byte, uint64_t rowBytes, uint32_t unitBits,
                               const std::string &out) {
  uint64_t bits = uint64_t(rowBits) + unitBits;
  if (bits > LinearMap::kMaxBits)
    return tooLarge(out);
  std::vector<uint64_t> columns;
  for (uint32_t i = 0; i < bits; ++i) // rows' bits come first, and lie above the unit's
    columns.push_back(uint64_t(1) << (i < rowBits ? unitBits + i : i - rowBits));
  SINTER_ASSIGN(LinearMap atom, LinearMap::fromColumns(std::move(columns), bits));
  Dim rowDim{row, rows, rowBits}, byteDim{byte, rowBytes, unitBits};
  uint64_t units = byteDim.atoms();
  auto atoms = (CheckedSize(rowDim.atoms()) * units).value();
  if (!atoms || *atoms > (uint64_t(1) << LinearMap::kMaxBits >> bits))
    return tooLarge(out);
  return Layout::make({rowDim, byteDim}, {{out, *atoms << bits, static_cast<uint32_t>(bits)}},
                      std::move(atom), {{1, units, 0, 1}, {0, rowDim.atoms(), 0, units}});
}

} // namespace sinter::layout
