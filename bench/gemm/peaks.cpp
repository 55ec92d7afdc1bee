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

// Equal dots that stay apart.
template <size_t Count>
__attribute__((target("avx512f"), always_inline)) inline void startDots(__m512i (&dots)[Count],
                                                                        __m512i start) {
#pragma clang loop unroll(full)
  for (__m512i &dot : dots) {
    dot = start;
    asm volatile("" : "+v"(dot));
  }
}

constexpr int kScaled512 = 12;  // sums, and as many dots
constexpr int kDotsOfGroup = 8; // 32 products a lane

__attribute__((target("avx512f,avx512vnni"), noinline)) void scaledDot512(uint64_t trips) {
  __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-5), start = _mm512_set1_epi32(7);
  __m512 sums[kScaled512], scale = _mm512_set1_ps(0.5f);
#pragma clang loop unroll(full)
  for (int i = 0; i < kScaled512; ++i)
    sums[i] = _mm512_set1_ps(static_cast<float>(i));
  for (uint64_t trip = 0; trip < trips; ++trip) {
    __m512i dots[kScaled512];
    asm volatile("" : "+v"(a), "+v"(b), "+v"(start), "+v"(scale));
    startDots(dots, start);
#pragma clang loop unroll(full)
    for (int dot = 0; dot < kDotsOfGroup; ++dot)
#pragma clang loop unroll(full)
      for (int i = 0; i < kScaled512; ++i)
        dots[i] = _mm512_dpbusd_epi32(dots[i], a, b);
#pragma clang loop unroll(full)
    for (int i = 0; i < kScaled512; ++i)
      sums[i] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[i]), scale, sums[i]);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < kScaled512; ++i)
    keep(sums[i]);
}

constexpr int kPairs512 = 8; // totals, and twice as many dots
constexpr int kShift = 4;    // makes a dot of 32 signed bytes fit a word

__attribute__((target("avx512f,avx512bw,avx512vnni"), noinline)) void pairedDot512(uint64_t trips) {
  __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(-5), start = _mm512_set1_epi32(7);
  __m512i totals[kPairs512], scales = _mm512_set1_epi16(21);
  const __mmask32 second = 0xaaaaaaaa;
#pragma clang loop unroll(full)
  for (int i = 0; i < kPairs512; ++i)
    totals[i] = _mm512_set1_epi32(i);
  for (uint64_t trip = 0; trip < trips; ++trip) {
    __m512i dots[2][kPairs512];
    asm volatile("" : "+v"(a), "+v"(b), "+v"(start), "+v"(scales));
#pragma clang loop unroll(full)
    for (auto &group : dots) {
      startDots(group, start);
#pragma clang loop unroll(full)
      for (int dot = 0; dot < kDotsOfGroup; ++dot)
#pragma clang loop unroll(full)
        for (int i = 0; i < kPairs512; ++i)
          group[i] = _mm512_dpbusd_epi32(group[i], a, b);
    }
#pragma clang loop unroll(full)
    for (int i = 0; i < kPairs512; ++i) {
      const __m512i low = _mm512_srli_epi32(dots[0][i], kShift);
      const __m512i high = _mm512_slli_epi32(dots[1][i], 16 - kShift);
      totals[i] =
          _mm512_dpwssd_epi32(totals[i], _mm512_mask_blend_epi16(second, low, high), scales);
    }
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < kPairs512; ++i)
    keep(totals[i]);
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

std::vector<PeakLoop> scaledDotLoops() {
  if (!__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512bw"))
    return {};
  const double group = 2 * kBytes512 * kDotsOfGroup;
  return {{"  every 32 scaled", group * kScaled512, scaledDot512},
          {"  two times 32 scaled at once", group * 2 * kPairs512, pairedDot512}};
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
