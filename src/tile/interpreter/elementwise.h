// Loops over the elements of tiles for one operation each: the operation is a template argument, so
// that a tile costs one call. f32 is computed in float, every other float type in double and
// rounded once (exact enough for + - * / sqrt of the small types: 53 bits exceed twice their
// precision).
#pragma once

#include "tile/interpreter/engine.h"

namespace sinter::tile {

/// Calls body(start, count) for chunks of `count` elements.
template <typename Body> void forChunks(int64_t count, Body body) {
  for (int64_t start = 0; start < count; start += kChunk)
    body(start, std::min(kChunk, count - start));
}

/// out[i] = F(operand[i]...) on floats: F takes as many floats, or doubles, as there are operands.
template <auto F> Result<void> floatUnary(OpCall &call) {
  const Tile &a = call.tile(0);
  Tile &out = call.out();
  if (a.element().kind == ElementKind::F32) {
    const float *from = a.as<float>();
    float *to = out.as<float>();
    for (int64_t i = 0; i < out.count(); ++i)
      to[i] = F(from[i]);
    return {};
  }
  double x[kChunk];
  forChunks(out.count(), [&](int64_t start, int64_t n) {
    readDoubles(a, start, {x, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      x[i] = F(x[i]);
    writeDoubles(out, start, {x, size_t(n)});
  });
  return {};
}

template <auto F> Result<void> floatBinary(OpCall &call) {
  const Tile &a = call.tile(0), &b = call.tile(1);
  Tile &out = call.out();
  if (a.element().kind == ElementKind::F32) {
    const float *left = a.as<float>(), *right = b.as<float>();
    float *to = out.as<float>();
    for (int64_t i = 0; i < out.count(); ++i)
      to[i] = F(left[i], right[i]);
    return {};
  }
  double x[kChunk], y[kChunk];
  forChunks(out.count(), [&](int64_t start, int64_t n) {
    readDoubles(a, start, {x, size_t(n)});
    readDoubles(b, start, {y, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      x[i] = F(x[i], y[i]);
    writeDoubles(out, start, {x, size_t(n)});
  });
  return {};
}

/// Computed in double for every float type and rounded once.
template <auto F> Result<void> doubleUnary(OpCall &call) {
  double x[kChunk];
  forChunks(call.out().count(), [&](int64_t start, int64_t n) {
    readDoubles(call.tile(0), start, {x, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      x[i] = F(x[i]);
    writeDoubles(call.out(), start, {x, size_t(n)});
  });
  return {};
}

template <auto F> Result<void> doubleBinary(OpCall &call) {
  double x[kChunk], y[kChunk];
  forChunks(call.out().count(), [&](int64_t start, int64_t n) {
    readDoubles(call.tile(0), start, {x, size_t(n)});
    readDoubles(call.tile(1), start, {y, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      x[i] = F(x[i], y[i]);
    writeDoubles(call.out(), start, {x, size_t(n)});
  });
  return {};
}

/// out[i] = F(a[i], bits) on zero-extended integers; the result is cut to the width.
template <auto F> Result<void> intUnary(OpCall &call) {
  unsigned bits = call.tile(0).element().bits;
  uint64_t x[kChunk];
  forChunks(call.out().count(), [&](int64_t start, int64_t n) {
    readInts(call.tile(0), start, {x, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      x[i] = F(x[i], bits);
    writeInts(call.out(), start, {x, size_t(n)});
  });
  return {};
}

/// out[i] = F(a[i], b[i], bits) on zero-extended integers; the result is cut to the width.
template <auto F> Result<void> intBinary(OpCall &call) {
  unsigned bits = call.tile(0).element().bits;
  uint64_t x[kChunk], y[kChunk];
  forChunks(call.out().count(), [&](int64_t start, int64_t n) {
    readInts(call.tile(0), start, {x, size_t(n)});
    readInts(call.tile(1), start, {y, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      x[i] = F(x[i], y[i], bits);
    writeInts(call.out(), start, {x, size_t(n)});
  });
  return {};
}

/// intBinary that refuses a zero divisor.
template <auto F> Result<void> intDivision(OpCall &call) {
  const Tile &divisor = call.tile(1);
  uint64_t y[kChunk];
  for (int64_t start = 0; start < divisor.count(); start += kChunk) {
    int64_t n = std::min(kChunk, divisor.count() - start);
    readInts(divisor, start, {y, size_t(n)});
    for (int64_t i = 0; i < n; ++i)
      if (y[i] == 0)
        return call.fail(Code::InvalidArgument,
                         "divides by zero at element " + llvm::Twine(start + i));
  }
  return intBinary<F>(call);
}

} // namespace sinter::tile
