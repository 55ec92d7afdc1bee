// What a Vulkan device can run and what a module needs, as text: "vulkan:1.3+subgroup8+int8+...".
//
// After the version come features, each at most once, in any order:
//   subgroupN   every subgroup has N invocations (pinned by the driver where the device varies it)
//   threadsN    a workgroup has at most N invocations
//   sharedN     a workgroup has at most N bytes of workgroup memory
//   int8, int16, float16, float64, bfloat16   arithmetic on the type
//   fma         GLSL's Fma rounds once
//   even16      all widths of floats together round to nearest even on demand, and NaN stays NaN in
//               16 bits
//   dot         the integer dot product instructions
//   coopMxNxK_A_B_C_R   subgroup cooperative matrices of this shape, with these element types
//               (f16 f32 f64 bf16 s8 s16 s32 s64 u8 u16 u32 u64) of a, b, c and the result
// 64-bit integers, 8- and 16-bit storage, buffer addresses and the Vulkan memory model are always
// there.
#pragma once

#include "base/status.h"

#include <set>
#include <string>
#include <string_view>

namespace sinter::hal::vulkan {

struct TargetText {
  uint32_t major = 0;
  uint32_t minor = 0;
  uint32_t subgroup = 0;                       // 0: not named
  uint32_t threads = 0;                        // likewise
  uint32_t shared = 0;                         // likewise
  std::set<std::string, std::less<>> features; // the others

  std::string text() const;
};

// Unsupported: not of this form.
Result<TargetText> parseTarget(std::string_view text);

// Unsupported: `needed` asks for more than `device` has; names the first thing that is missing.
Result<void> checkTarget(const TargetText &needed, const TargetText &device);

} // namespace sinter::hal::vulkan
