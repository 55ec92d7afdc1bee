// The table of processors: AMD's instruction set documents for CDNA2, CDNA3, RDNA3 and RDNA4, and
// LLVM's User Guide for AMDGPU Backend.
#include "targets/amd/facts.h"

namespace sinter::targets::amd {

static constexpr std::string_view kCdna2[] = {
    "amd.mfma.f32.32x32x8.f16",   "amd.mfma.f32.32x32x8.bf16", "amd.mfma.f32.16x16x16.f16",
    "amd.mfma.f32.16x16x16.bf16", "amd.mfma.i32.32x32x8.i8",   "amd.mfma.f32.32x32x2.f32"};
static constexpr std::string_view kCdna3[] = {
    "amd.mfma.f32.32x32x8.f16",   "amd.mfma.f32.32x32x8.bf16", "amd.mfma.f32.16x16x16.f16",
    "amd.mfma.f32.16x16x16.bf16", "amd.mfma.i32.16x16x32.i8",  "amd.mfma.f32.32x32x2.f32"};
static constexpr std::string_view kRdna3[] = {"amd.wmma.gfx11.f32.16x16x16.f16",
                                              "amd.wmma.gfx11.f32.16x16x16.bf16",
                                              "amd.wmma.gfx11.i32.16x16x16.iu8"};
static constexpr std::string_view kRdna4[] = {"amd.wmma.gfx12.f32.16x16x16.f16",
                                              "amd.wmma.gfx12.f32.16x16x16.bf16",
                                              "amd.wmma.gfx12.i32.16x16x16.iu8"};

// Of CDNA's registers half are accumulators, which LLVM takes as it needs. On RDNA a block runs on
// one compute unit (+cumode), so that its shared memory needs no wider fences.
static constexpr AmdFacts kFacts[] = {
    {"gfx90a", "", kCdna2, 64, 512, 512, 8, 8, 4},
    {"gfx942", "", kCdna3, 64, 512, 512, 8, 8, 4},
    {"gfx1100", "+wavefrontsize32,+cumode", kRdna3, 32, 256, 1536, 24, 16, 2},
    {"gfx1201", "+wavefrontsize32,+cumode", kRdna4, 32, 256, 1536, 24, 16, 2},
};

const AmdFacts *findFacts(std::string_view processor) {
  for (const AmdFacts &facts : kFacts)
    if (facts.processor == processor)
      return &facts;
  return nullptr;
}

std::string amdTargetNames() {
  std::string names;
  for (const AmdFacts &facts : kFacts)
    names += (names.empty() ? "amd:" : ", amd:") + std::string(facts.processor);
  return names;
}

} // namespace sinter::targets::amd
