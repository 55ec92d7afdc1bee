// Types that the KV cache may be kept in: floats of 16 and 8 bits, and block formats that kernels
// round to.
#pragma once

#include "numeric/formats/block_format.h"

#include <string>

namespace sinter {

// Their names in options and in plans are those of the format table in lower case; in options this
// one too: 16 bits, BF16 where attention multiplies numbers of that type, else F16.
inline constexpr std::string_view kDefaultKvType = "auto";

// Null where no type that the KV cache may have is called so; F16 for the default.
const BlockFormat *findKvType(std::string_view name);
// "auto, f16, q8_0, bf16, fp8"
std::string kvTypeNames();
// In options and in plans.
std::string kvTypeName(const BlockFormat &format);

} // namespace sinter
