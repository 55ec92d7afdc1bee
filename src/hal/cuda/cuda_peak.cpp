// The table of rates: what the data sheets of A100, H100 and B200 come to by their units and
// clocks. Architectures whose boards differ among themselves (GeForce adds up in f32 at half the
// rate) are left out.
#include "hal/cuda/cuda_peak.h"

#include <string>

namespace sinter::hal::cuda {
namespace {

struct Rates {
  uint32_t capability;
  uint32_t f32, f16, i8; // bf16 as f16
};

constexpr Rates kRates[] = {
    {80, 64, 1024, 2048},
    {90, 128, 2048, 4096},
    {100, 128, 4096, 8192},
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
