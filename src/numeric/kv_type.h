// Types that the KV state may be kept in: F16, and block formats that kernels round to.
#pragma once

#include "numeric/block_format.h"

#include <string>

namespace sinter {

// Their names in options and in plans are those of the format table in lower case.
inline constexpr std::string_view kDefaultKvType = "f16";

// Null where no type that the KV state may have is called so.
const BlockFormat *findKvType(std::string_view name);
// "f16, q8_0"
std::string kvTypeNames();

} // namespace sinter
