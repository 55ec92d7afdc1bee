// The table of rates, from the CUDA C++ Programming Guide (f32) and the architectures' white papers
// (matrix units).
#include "hal/cuda/cuda_peak.h"

#include <string>

namespace sinter::hal::cuda {
namespace {

struct Rates {
  uint32_t capability;
  uint32_t f32, f16, i8; // bf16 as f16
};

constexpr Rates kRates[] = {
    {80, 64, 1024, 2048},  {86, 128, 512, 1024},   {87, 128, 512, 1024},  {89, 128, 512, 1024},
    {90, 128, 2048, 4096}, {100, 128, 4096, 8192}, {120, 128, 512, 1024},
};

} // namespace

Result<uint32_t> productsPerClock(uint32_t capability, Arithmetic arithmetic) {
  for (const Rates &rates : kRates)
    if (rates.capability == capability)
      return arithmetic == Arithmetic::F32  ? rates.f32
             : arithmetic == Arithmetic::I8 ? rates.i8
                                            : rates.f16;
  return fail(Code::Unsupported, "no rate of " + std::string(arithmeticName(arithmetic)) +
                                     " is known for sm_" + std::to_string(capability));
}

} // namespace sinter::hal::cuda
