// The texts of helpers, and joining of parts: one header, each helper once, all kernels.
#include "targets/metal/source.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace sinter::targets::metal {

using llvm::StringRef;

static constexpr StringRef kPartStart = "// helpers:";
static constexpr StringRef kKernelStart = "kernel void ";

// Arithmetic is exact: no contraction, no approximations but those asked for by name.
static constexpr const char *kHeader = R"(#include <metal_stdlib>
#include <metal_simdgroup>
#include <metal_simdgroup_matrix>
#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)
#pragma clang fp contract(off)
using namespace metal;
)";

namespace {
struct Helper {
  const char *name;
  const char *text;
};
} // namespace

static constexpr Helper kHelpers[] = {
    {"from_bits", R"(// bf16 as its bits, for processors without the type.
inline float from_bits(ushort x) {
  return as_type<float>(uint(x) << 16);
}
)"},
    {"to_bits", R"(// To bf16, to nearest even; NaN stays NaN.
inline ushort to_bits(float x) {
  uint bits = as_type<uint>(x);
  return x != x ? ushort(bits >> 16 | 0x40u) : ushort((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
)"},
    {"maximum", R"(// NaN where either is; -0 is below +0.
inline float maximum(float a, float b) {
  float same = as_type<float>(as_type<uint>(a) & as_type<uint>(b));
  return a == b ? same : a > b || a != a ? a : b;
}
)"},
    {"minimum", R"(// NaN where either is; -0 is below +0.
inline float minimum(float a, float b) {
  float same = as_type<float>(as_type<uint>(a) | as_type<uint>(b));
  return a == b ? same : a < b || a != a ? a : b;
}
)"},
    {"maxnum", R"(// The other where one is NaN; -0 is below +0.
inline float maxnum(float a, float b) {
  float same = as_type<float>(as_type<uint>(a) & as_type<uint>(b));
  return a == b ? same : a > b || b != b ? a : b;
}
)"},
    {"minnum", R"(// The other where one is NaN; -0 is below +0.
inline float minnum(float a, float b) {
  float same = as_type<float>(as_type<uint>(a) | as_type<uint>(b));
  return a == b ? same : a < b || b != b ? a : b;
}
)"},
    {"saturated",
     R"(// To an integer, towards zero, from [low, high); beyond them `least` and `most`, 0 for NaN.
template <typename T> inline T saturated(float x, float low, float high, T least, T most) {
  return x != x ? T(0) : x < low ? least : x >= high ? most : T(x);
}
)"},
    {"permute_bytes",
     R"(// Bytes of both words by four bits each: three number a byte, the last asks for its sign.
inline uint permute_bytes(uint low, uint high, uint selector) {
  uint bytes = 0u;
  for (uint at = 0u; at < 32u; at += 8u) {
    uint number = selector >> (at >> 1u) & 15u;
    uint byte = ((number & 4u) ? high : low) >> ((number & 3u) << 3u) & 255u;
    bytes |= ((number & 8u) ? (byte & 128u) ? 255u : 0u : byte) << at;
  }
  return bytes;
}
)"},
    {"multiply_accumulate",
     R"(// acc + a . b of 8 by 8 matrices; a lane's two elements of each as thread_elements() has them.
template <typename T> inline float2 multiply_accumulate(vec<T, 2> a, vec<T, 2> b, float2 acc) {
  simdgroup_matrix<T, 8, 8> left, right;
  simdgroup_matrix<float, 8, 8> sums;
  reinterpret_cast<thread vec<T, 2> &>(left.thread_elements()) = a;
  reinterpret_cast<thread vec<T, 2> &>(right.thread_elements()) = b;
  reinterpret_cast<thread float2 &>(sums.thread_elements()) = acc;
  simdgroup_multiply_accumulate(sums, left, right, sums);
  return reinterpret_cast<thread float2 &>(sums.thread_elements());
}
)"},
};

// Words of C++ and of MSL, and names that kernels' texts use.
static constexpr StringRef kReserved =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
    "char32_t class compl const const_cast constant constexpr continue decltype default delete "
    "device do double dynamic_cast else enum explicit export extern false float for friend "
    "fragment goto half if inline int kernel lanes long main metal mutable namespace new noexcept "
    "not not_eq nullptr object_data operator or or_eq private protected public ray_data register "
    "reinterpret_cast return short signed sizeof static static_assert static_cast struct switch "
    "template this thread thread_local threadgroup threadgroup_imageblock throw true try typedef "
    "typeid typename uchar uint ulong union unsigned ushort using vec vertex virtual void volatile "
    "wchar_t while xor xor_eq bfloat as_type simd_shuffle_xor simdgroup_matrix fast precise "
    "mem_flags threadgroup_barrier simdgroup_multiply_accumulate ";

bool isKernelName(std::string_view name) {
  StringRef text(name.data(), name.size());
  bool identifier = !text.empty() && !llvm::isDigit(text.front()) &&
                    llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  bool ours = text.ends_with("_arguments") || text.starts_with("_") || text.contains("__");
  return identifier && !ours && !kReserved.contains((" " + text + " ").str());
}

std::string partText(const Helpers &helpers, std::string_view kernels) {
  std::string text = kPartStart.str();
  for (const std::string &name : helpers)
    text += " " + name;
  return text + "\n" + std::string(kernels);
}

// Adds the names of a part's kernels.
static Result<void> takeNames(StringRef kernels, std::set<std::string, std::less<>> &names) {
  for (StringRef line : llvm::split(kernels, '\n')) {
    size_t at = line.find(kKernelStart);
    if (at == StringRef::npos || line.starts_with(" "))
      continue;
    std::string name = line.substr(at + kKernelStart.size()).split('(').first.str();
    if (!names.insert(name).second)
      return fail(Code::Internal, "two parts have a kernel '" + name + "', expected one");
  }
  return {};
}

Result<std::string> joinSource(std::span<const std::string_view> parts) {
  Helpers needed;
  std::set<std::string, std::less<>> names;
  std::string kernels;
  for (std::string_view part : parts) {
    auto [first, rest] = StringRef(part.data(), part.size()).split('\n');
    if (!first.consume_front(kPartStart))
      return fail(Code::Internal, "a part begins with '" + first.take_front(40).str() +
                                      "', expected '" + kPartStart.str() + "'");
    SINTER_TRY(takeNames(rest, names));
    llvm::SmallVector<StringRef> list;
    first.split(list, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef name : list)
      needed.insert(name.str());
    kernels += rest.str();
  }
  std::string functions;
  for (const Helper &helper : kHelpers)
    if (needed.erase(helper.name))
      functions += "\n" + std::string(helper.text);
  if (!needed.empty())
    return fail(Code::Internal, "a part needs '" + *needed.begin() + "', which is no helper");
  if (!functions.empty())
    functions = "\nnamespace lanes {\n" + functions + "\n} // namespace lanes\n";
  return kHeader + functions + kernels;
}

} // namespace sinter::targets::metal
