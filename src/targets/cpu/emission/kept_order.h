// Functions whose instructions stay in the order in which they were emitted: LLVM's scheduler reads
// ahead, which spills where code was laid out for few registers (avx2 on a Zen 3, 512 rows: q8_0
// 1.12 times as fast, q4_1 1.06; f16, which has room, 0.68).
#pragma once

namespace sinter::targets::cpu {

/// The attribute of such functions.
inline constexpr char kKeepOrder[] = "sinter-keep-order";

/// Makes LLVM heed it. Call before the first code is generated; more calls do nothing.
void enableKeptOrder();

} // namespace sinter::targets::cpu
