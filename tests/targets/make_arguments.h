// Arguments for a kernel by the names of its extents: random contents, poisoned outputs, gaps
// between rows.
#pragma once

#include "targets/fill_blocks.h"
#include "targets/launch.h"

namespace sinter::targets::cpu {

// Extents by name; "1" and other numbers stand for themselves.
using Extents = std::map<std::string, int64_t>;

// The views of a kernel: argument name to the names of its extents.
using ViewShapes = std::map<std::string, std::vector<std::string>>;

inline int64_t extentOf(const std::string &name, const Extents &extents) {
  int64_t number = 0;
  if (auto it = extents.find(name); it != extents.end())
    return it->second;
  EXPECT_FALSE(llvm::StringRef(name).getAsInteger(10, number)) << "no extent '" << name << "'";
  return number;
}

// Every byte that no element of an input view occupies, and every output: a signalling NaN for f32
// and f64, a NaN for f16 and bf16.
inline void poison(std::vector<uint8_t> &bytes) {
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = i % 4 == 3 ? 0x7f : 0xa1;
  for (size_t i = 1; i < bytes.size(); i += 2)
    bytes[i] = 0x7f;
}

// Writes the float `value` as element `index`.
inline void setElement(mlir::Type element, std::vector<uint8_t> &bytes, int64_t index,
                       double value) {
  auto write = [&](auto v) { std::memcpy(bytes.data() + index * sizeof v, &v, sizeof v); };
  if (element.isF32())
    write(static_cast<float>(value));
  else if (element.isF64())
    write(value);
  else if (element.isF16())
    write(f32ToF16(static_cast<float>(value)));
  else if (element.isBF16())
    write(f32ToBf16(static_cast<float>(value)));
  else if (llvm::isa<mlir::Float8E4M3FNType>(element))
    write(f32ToE4m3(static_cast<float>(value)));
  else if (element.isInteger(32))
    write(static_cast<int32_t>(value));
  else if (element.isInteger(16))
    write(static_cast<int16_t>(value));
  else if (element.isInteger(64) || element.isIndex())
    write(static_cast<int64_t>(value));
  else
    write(static_cast<int8_t>(value));
}

// Calls f(index of the element in the view's memory, its number in row-major order) for each
// element.
template <class F> void forEachElement(const LaunchArgument &a, F f) {
  int64_t count = 1;
  for (int64_t extent : a.shape)
    count *= extent;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0;
    if (int64_t rows = a.view().getInterleave()) {
      int64_t row = i / a.shape[1], column = i % a.shape[1];
      f((row / rows * a.strides[0] + column) * rows + row % rows, i);
      continue;
    }
    for (size_t axis = a.shape.size(); axis-- > 0; rest /= a.shape[axis])
      at += rest % a.shape[axis] * a.strides[axis];
    f(at, i);
  }
}

inline void fillNormal(LaunchArgument &a, Random &random) {
  mlir::Type element = a.view().getElementType();
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> small(element.isInteger(1) ? 0 : -9,
                                           element.isInteger(1) ? 1 : 9);
  bool floating = llvm::isa<mlir::FloatType>(element);
  forEachElement(a, [&](int64_t at, int64_t) {
    setElement(element, a.bytes, at, floating ? normal(random) : small(random));
  });
}

// Replaces one element in five by NaN, an infinity, a zero, a subnormal or a huge number; with
// `small` by a zero or a subnormal.
inline void sprinkleSpecials(LaunchArgument &a, Random &random, bool small = false) {
  mlir::Type element = a.view().getElementType();
  if (llvm::isa<tile::BlockType>(element))
    fillBlocks(a, true, random);
  if (!llvm::isa<mlir::FloatType>(element))
    return;
  const double values[] = {0.0, -0.0, 1e-41, -3e-42, NAN, INFINITY, -INFINITY, 3e38, -88.9, 89.0};
  const size_t count = small ? 4 : std::size(values);
  forEachElement(a, [&](int64_t at, int64_t) {
    if (random() % 5 == 0)
      setElement(element, a.bytes, at, values[random() % count]);
  });
}

// Strides without gaps but for `gap` elements after each line. Lines run along the innermost axis,
// in a strided view of more than two along the second, as a pool of keys lies in memory; of blocks,
// which keep to the innermost axis, the second and third change places.
inline void layOut(LaunchArgument &a, int64_t gap) {
  std::vector<size_t> order(a.shape.size());
  std::iota(order.begin(), order.end(), size_t(0));
  if (a.view().getStrided() && llvm::isa<tile::BlockType>(a.view().getElementType()))
    std::swap(order.at(1), order.at(2));
  else if (a.view().getStrided() && order.size() > 2)
    std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  a.strides.assign(a.shape.size(), 1);
  for (size_t i = order.size() - 1; i > 0; --i)
    a.strides[order[i - 1]] =
        a.strides[order[i]] * a.shape[order[i]] + (i + 1 == order.size() ? gap : 0);
  a.bytes.resize(bytesOf(a.view().getElementType(), spanOf(a)));
}

inline std::string argumentName(tile::KernelOp kernel, unsigned index) {
  auto name = kernel.getArgAttrOfType<mlir::StringAttr>(index, "tile.name");
  return name ? name.str() : "arg" + std::to_string(index);
}

// Random arguments; scalars are 1e-5 or 1 and can be set afterwards.
inline LaunchArguments makeArguments(tile::KernelOp kernel, const ViewShapes &shapes,
                                     const Extents &extents, int64_t gap, Random &random) {
  LaunchArguments arguments;
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes())) {
    LaunchArgument a{argumentName(kernel, index), type, {}};
    if (a.view()) {
      auto it = shapes.find(a.name);
      EXPECT_NE(it, shapes.end()) << "no shape for view '" << a.name << "'";
      if (it == shapes.end())
        return {};
      for (const std::string &extent : it->second)
        a.shape.push_back(extentOf(extent, extents));
      bool block = llvm::isa<tile::BlockType>(a.view().getElementType());
      layOut(a, block || a.view().getInterleave() ? 0 : gap);
      poison(a.bytes);
      if (a.view().isReadable() && block)
        fillBlocks(a, false, random);
      else if (a.view().isReadable())
        fillNormal(a, random);
    } else {
      a.scalar = a.type.isF32() ? std::bit_cast<int32_t>(1e-5f) : 1;
    }
    arguments.push_back(std::move(a));
  }
  return arguments;
}

inline LaunchArgument &argumentNamed(LaunchArguments &arguments, const std::string &name) {
  for (LaunchArgument &a : arguments)
    if (a.name == name)
      return a;
  ADD_FAILURE() << "no argument '" << name << "'";
  return arguments.front();
}

// Extents that have caught bugs: none, one, a prime, and around one tile.
inline std::vector<int64_t> oddExtents(int64_t tile) {
  std::vector<int64_t> extents = {0, 1, 7, tile - 1, tile, tile + 1, 2 * tile + 3};
  llvm::erase_if(extents, [](int64_t e) { return e < 0; });
  return extents;
}

// Combinations in which every extent has each of its values, `rounds` times, beside random others.
inline std::vector<Extents> mixExtents(const std::map<std::string, std::vector<int64_t>> &lists,
                                       int rounds, Random &random) {
  std::vector<Extents> mixed;
  size_t longest = 0;
  for (const auto &[name, list] : lists)
    longest = std::max(longest, list.size());
  for (int round = 0; round < rounds; ++round) {
    size_t first = mixed.size();
    mixed.resize(first + longest);
    for (auto [name, list] : lists) {
      std::shuffle(list.begin(), list.end(), random);
      for (size_t i = 0; i < longest; ++i)
        mixed[first + i][name] = list[i % list.size()];
    }
  }
  return mixed;
}

} // namespace sinter::targets::cpu
