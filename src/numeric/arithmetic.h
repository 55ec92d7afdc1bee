// The kinds of arithmetic that kernels spend their time in, as far as processors do them at
// different rates.
#pragma once

#include <array>
#include <cstdint>

namespace sinter {

// What is multiplied; sums are f32, of I8 i32. An operation is one multiplication or addition.
enum class Arithmetic : uint8_t { F32, F16, Bf16, I8 };

inline constexpr std::array kArithmetics = {Arithmetic::F32, Arithmetic::F16, Arithmetic::Bf16,
                                            Arithmetic::I8};

// "f32", "f16", "bf16" or "i8".
constexpr const char *arithmeticName(Arithmetic arithmetic) {
  constexpr std::array kNames = {"f32", "f16", "bf16", "i8"};
  return kNames[static_cast<uint8_t>(arithmetic)];
}

} // namespace sinter
