// The element types of matrix instructions' operands.
#pragma once

#include <cstdint>

namespace sinter::sched {

/// What an operand's numbers are. TF32 lies in f32, of which the 13 lowest bits do not count; S8
/// and U8 lie in i8.
enum class MatrixElement : uint8_t { F16, BF16, TF32, F32, S8, U8, S32 };

} // namespace sinter::sched
