// One loop of independent sums for each instruction that kernels multiply with, and their timing.
#include "hal/cpu/cpu_peak.h"

#include "hal/cpu/host_cpu.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace sinter::hal {
namespace {

constexpr int kPasses = 20;
constexpr uint64_t kRounds = 20000; // of a pass: about half a millisecond
constexpr int kSums = 12;           // enough to hide an instruction's latency on two ports

// Runs `rounds` rounds; the sums' sum, which is of no interest, is what keeps them alive.
struct PeakLoop {
  Arithmetic arithmetic;
  std::string_view feature;
  uint64_t operationsOfRound;
  int64_t (*run)(uint64_t rounds);
};

#if defined(__x86_64__)

__attribute__((target("avx512f"))) int64_t fmaOf512(uint64_t rounds) {
  const __m512 half = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1.0f);
  __m512 sums[kSums] = {};
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
    for (__m512 &sum : sums) {
      sum = _mm512_fmadd_ps(sum, half, one);
      asm("" : "+v"(sum));
    }
  }
  __m512 all = sums[0];
  for (const __m512 &sum : sums)
    all = _mm512_add_ps(all, sum);
  return static_cast<int64_t>(all[0]);
}

__attribute__((target("avx2,fma"))) int64_t fmaOf256(uint64_t rounds) {
  const __m256 half = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1.0f);
  __m256 sums[kSums] = {};
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
    for (__m256 &sum : sums) {
      sum = _mm256_fmadd_ps(sum, half, one);
      asm("" : "+v"(sum));
    }
  }
  __m256 all = sums[0];
  for (const __m256 &sum : sums)
    all = _mm256_add_ps(all, sum);
  return static_cast<int64_t>(all[0]);
}

__attribute__((target("avx512f,avx512bf16"))) int64_t bfloatsOf512(uint64_t rounds) {
  const auto halves = (__m512bh)_mm512_set1_epi16(0x3f00);
  __m512 sums[kSums] = {};
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
    for (__m512 &sum : sums) {
      sum = _mm512_dpbf16_ps(sum, halves, halves);
      asm("" : "+v"(sum));
    }
  }
  __m512 all = sums[0];
  for (const __m512 &sum : sums)
    all = _mm512_add_ps(all, sum);
  return static_cast<int64_t>(all[0]);
}

__attribute__((target("avx512f,avx512vnni"))) int64_t bytesOf512(uint64_t rounds) {
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sums[kSums] = {};
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
    for (__m512i &sum : sums) {
      sum = _mm512_dpbusd_epi32(sum, ones, ones);
      asm("" : "+v"(sum));
    }
  }
  __m512i all = sums[0];
  for (const __m512i &sum : sums)
    all = _mm512_add_epi32(all, sum);
  return all[0];
}

__attribute__((target("avx2,avxvnni"))) int64_t bytesOf256(uint64_t rounds) {
  const __m256i ones = _mm256_set1_epi8(1);
  __m256i sums[kSums] = {};
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
    for (__m256i &sum : sums) {
      sum = _mm256_dpbusd_avx_epi32(sum, ones, ones);
      asm("" : "+v"(sum));
    }
  }
  __m256i all = sums[0];
  for (const __m256i &sum : sums)
    all = _mm256_add_epi32(all, sum);
  return all[0];
}

// Bytes are widened to words, whose products no addition of pairs overflows.
__attribute__((target("avx2"))) int64_t wordsOf256(uint64_t rounds) {
  __m256i words = _mm256_set1_epi16(1);
  __m256i sums[kSums] = {};
  for (uint64_t round = 0; round < rounds; ++round) {
    asm("" : "+x"(words));
#pragma clang loop unroll(full)
    for (__m256i &sum : sums) {
      __m256i products = _mm256_madd_epi16(words, words);
      asm("" : "+x"(products));
      sum = _mm256_add_epi32(sum, products);
    }
  }
  __m256i all = sums[0];
  for (const __m256i &sum : sums)
    all = _mm256_add_epi32(all, sum);
  return all[0];
}

constexpr PeakLoop kLoops[] = {
    {Arithmetic::F32, "avx512f", 2 * 16 * kSums, fmaOf512},
    {Arithmetic::F32, "fma", 2 * 8 * kSums, fmaOf256},
    {Arithmetic::Bf16, "avx512bf16", 2 * 32 * kSums, bfloatsOf512},
    {Arithmetic::I8, "avx512vnni", 2 * 64 * kSums, bytesOf512},
    {Arithmetic::I8, "avxvnni", 2 * 32 * kSums, bytesOf256},
    {Arithmetic::I8, "avx2", 2 * 16 * kSums, wordsOf256},
};

#elif defined(__aarch64__)

int64_t fmaOf128(uint64_t rounds) {
  const float32x4_t half = vdupq_n_f32(0.5f);
  float32x4_t sums[kSums] = {};
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
    for (float32x4_t &sum : sums) {
      sum = vfmaq_f32(sum, half, half);
      asm("" : "+w"(sum));
    }
  }
  float32x4_t all = sums[0];
  for (const float32x4_t &sum : sums)
    all = vaddq_f32(all, sum);
  return static_cast<int64_t>(all[0]);
}

// Products of words, pairs of which are added up.
int64_t wordsOf128(uint64_t rounds) {
  int16x8_t words = vdupq_n_s16(1);
  int32x4_t sums[kSums] = {};
  for (uint64_t round = 0; round < rounds; ++round) {
    asm("" : "+w"(words));
#pragma clang loop unroll(full)
    for (int32x4_t &sum : sums) {
      int16x8_t products = vmlaq_s16(vmulq_s16(words, words), words, words);
      asm("" : "+w"(products));
      sum = vpadalq_s16(sum, products);
    }
  }
  int32x4_t all = sums[0];
  for (const int32x4_t &sum : sums)
    all = vaddq_s32(all, sum);
  return all[0];
}

__attribute__((target("dotprod"))) int64_t bytesOf128(uint64_t rounds) {
  const int8x16_t ones = vdupq_n_s8(1);
  int32x4_t sums[kSums] = {};
  for (uint64_t round = 0; round < rounds; ++round) {
#pragma clang loop unroll(full)
    for (int32x4_t &sum : sums) {
      sum = vdotq_s32(sum, ones, ones);
      asm("" : "+w"(sum));
    }
  }
  int32x4_t all = sums[0];
  for (const int32x4_t &sum : sums)
    all = vaddq_s32(all, sum);
  return all[0];
}

constexpr PeakLoop kLoops[] = {
    {Arithmetic::F32, "neon", 2 * 4 * kSums, fmaOf128},
    {Arithmetic::I8, "dotprod", 2 * 16 * kSums, bytesOf128},
    {Arithmetic::I8, "neon", 2 * 16 * kSums, wordsOf128},
};

#else
constexpr std::array<PeakLoop, 0> kLoops = {};
#endif

const PeakLoop *loopFor(Arithmetic arithmetic) {
  const auto features = hostFeatures();
  for (const PeakLoop &loop : kLoops)
    if (loop.arithmetic == arithmetic && std::ranges::count(features, loop.feature) > 0)
      return &loop;
  return nullptr;
}

struct Pass {
  const PeakLoop *loop;
  std::atomic<int64_t> sum = 0;
};

void runLoop(void *context, int64_t) {
  auto &pass = *static_cast<Pass *>(context);
  pass.sum += pass.loop->run(kRounds);
}

} // namespace

Result<PeakRate> measurePeak(Device &device, Arithmetic arithmetic) {
  const PeakLoop *loop = loopFor(arithmetic);
  if (!loop)
    return fail(Code::Unsupported, std::string("kernels have no products of ") +
                                       arithmeticName(arithmetic) + " on this processor");
  Pass pass{loop};
  const uint32_t threads = device.info().computeUnits;
  const double operations = static_cast<double>(kRounds * loop->operationsOfRound) * threads;
  double best = 0;
  for (int i = 0; i < kPasses; ++i) {
    const auto start = std::chrono::steady_clock::now();
    device.parallelFor(threads, runLoop, &pass);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, operations / std::max(taken.count(), 1e-9));
  }
  return PeakRate{best, "measured just now by " + std::string(loop->feature) + " on " +
                            std::to_string(threads) + (threads == 1 ? " thread" : " threads")};
}

} // namespace sinter::hal
