// Register-resident loops in intrinsics; empty asm statements keep operands opaque, so that nothing
// folds.
#include "peaks.h"

#include <immintrin.h>

namespace sinter::bench {
namespace {

// Independent accumulators: two issue ports times a latency of four or five, and as many as leave
// room for operands.
constexpr int kAccumulators512 = 24;
constexpr int kAccumulators256 = 12;
constexpr double kFloats512 = 16, kFloats256 = 8, kBytes512 = 64;

template <class Vector> void keep(const Vector &value) {
  asm volatile("" : : "m"(value));
}

__attribute__((target("avx512f"), noinline)) void fma512(uint64_t trips) {
  __m512 acc[kAccumulators512], factor = _mm512_set1_ps(0.5f), term = _mm512_set1_ps(1.0f);
#pragma clang loop unroll(full)
  for (int i = 0; i < kAccumulators512; ++i)
    acc[i] = _mm512_set1_ps(static_cast<float>(i));
  for (uint64_t trip = 0; trip < trips; ++trip) {
    asm volatile("" : "+v"(factor), "+v"(term));
#pragma clang loop unroll(full)
    for (int i = 0; i < kAccumulators512; ++i)
      acc[i] = _mm512_fmadd_ps(acc[i], factor, term);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < kAccumulators512; ++i)
    keep(acc[i]);
}

__attribute__((target("avx2,fma"), noinline)) void fma256(uint64_t trips) {
  __m256 acc[kAccumulators256], factor = _mm256_set1_ps(0.5f), term = _mm256_set1_ps(1.0f);
#pragma clang loop unroll(full)
  for (int i = 0; i < kAccumulators256; ++i)
    acc[i] = _mm256_set1_ps(static_cast<float>(i));
  for (uint64_t trip = 0; trip < trips; ++trip) {
    asm volatile("" : "+x"(factor), "+x"(term));
#pragma clang loop unroll(full)
    for (int i = 0; i < kAccumulators256; ++i)
      acc[i] = _mm256_fmadd_ps(acc[i], factor, term);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < kAccumulators256; ++i)
    keep(acc[i]);
}

__attribute__((target("avx512f,avx512vnni"), noinline)) void byteDot512(uint64_t trips) {
  __m512i acc[kAccumulators512], a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-5);
#pragma clang loop unroll(full)
  for (int i = 0; i < kAccumulators512; ++i)
    acc[i] = _mm512_set1_epi32(i);
  for (uint64_t trip = 0; trip < trips; ++trip) {
    asm volatile("" : "+v"(a), "+v"(b));
#pragma clang loop unroll(full)
    for (int i = 0; i < kAccumulators512; ++i)
      acc[i] = _mm512_dpbusd_epi32(acc[i], a, b);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < kAccumulators512; ++i)
    keep(acc[i]);
}

} // namespace

std::vector<PeakLoop> fmaLoops() {
  std::vector<PeakLoop> loops;
  if (__builtin_cpu_supports("avx512f"))
    loops.push_back({"FMA peak, AVX-512", 2 * kFloats512 * kAccumulators512, fma512});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    loops.push_back({"FMA peak, AVX2", 2 * kFloats256 * kAccumulators256, fma256});
  return loops;
}

std::vector<PeakLoop> byteDotLoops() {
  if (!__builtin_cpu_supports("avx512vnni"))
    return {};
  return {{"VNNI peak, AVX-512", 2 * kBytes512 * kAccumulators512, byteDot512}};
}

// The caller's function is compiled for several processors, so this must be part of it.
__attribute__((always_inline)) static inline uint64_t sum(std::span<const uint64_t> words) {
  using Vector = uint64_t __attribute__((vector_size(64), aligned(8)));
  constexpr size_t kVectors = 4, kWords = sizeof(Vector) / sizeof(uint64_t);
  Vector sums[kVectors] = {};
  for (size_t i = 0; i + kVectors * kWords <= words.size(); i += kVectors * kWords)
    for (size_t v = 0; v < kVectors; ++v)
      sums[v] += *reinterpret_cast<const Vector *>(words.data() + i + v * kWords);
  uint64_t total = 0;
  for (const Vector &vector : sums)
    for (size_t word = 0; word < kWords; ++word)
      total += vector[word];
  return total;
}

__attribute__((target("avx512f"))) static uint64_t sum512(std::span<const uint64_t> words) {
  return sum(words);
}

__attribute__((target("avx2"))) static uint64_t sum256(std::span<const uint64_t> words) {
  return sum(words);
}

uint64_t readAll(std::span<const uint64_t> words) {
  if (__builtin_cpu_supports("avx512f"))
    return sum512(words);
  return __builtin_cpu_supports("avx2") ? sum256(words) : sum(words);
}

} // namespace sinter::bench
