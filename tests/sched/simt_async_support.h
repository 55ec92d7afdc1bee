// Textual kernels whose copies and products threads need not wait for.
#pragma once

#include "sched/simt_support.h"

namespace sinter::sched {

/// Before copies of 16 bytes of each thread: %b16 and %s16, sixteen times the thread's number. The
/// body goes on at line 25.
inline const std::string kCopying = "%c16 = arith.constant 16 : index\n"
                                    "%b16 = arith.muli %ti, %c16 : index\n"
                                    "%s16 = arith.muli %t, %i16 : i32\n";
inline std::string copy(const std::string &byte, const std::string &shared,
                        const std::string &when = "%yes") {
  return "sched.copy_async %x[" + byte + "] when " + when + " to " + shared +
         " : !tile.view<16xf32, in>\n";
}
inline const std::string kCommit = "sched.copy_commit\n";
inline std::string copyWait(int pending) {
  return "sched.copy_wait " + std::to_string(pending) + "\n";
}

/// Of kernels with products: four subgroups, 64 rows of a and of b.
inline constexpr Block kMatmuls = {.threads = 128, .shared = 16384};
inline const std::string kMatmul = "nvidia.wgmma.m64n64k16.f32.bf16";

/// Every operand is 0, 1, 0, 1 along k: a product adds 8. %s16 as above, %ib where b begins, %v1 16
/// bytes of that pattern, %zero accumulators. The body goes on at line 36.
inline const std::string kOperands = "%s16 = arith.muli %t, %i16 : i32\n"
                                     "%ib = arith.constant 8192 : i32\n"
                                     "%step = arith.constant 2048 : i32\n"
                                     "%c8 = arith.constant 8 : index\n"
                                     "%v1 = arith.constant dense<1.0> : vector<4xf32>\n"
                                     "%zero = arith.constant dense<0.0> : vector<32xf32>\n"
                                     "%end = scf.for %i = %c0 to %c8 step %c1 iter_args(%at = "
                                     "%s16) -> i32 {\n"
                                     "  sched.shared_store %v1, [%at] when %yes : vector<4xf32>\n"
                                     "  %next = arith.addi %at, %step : i32\n"
                                     "  scf.yield %next : i32\n"
                                     "} {of = \"pieces\"}\n";
/// The same, ready for products. The body goes on at line 39.
inline const std::string kReady = kOperands + copyWait(0) + kBarrier + "sched.matrix_fence\n";

inline std::string multiply(const std::string &result, const std::string &acc,
                            const std::string &a = "%i0", const std::string &b = "%ib") {
  return result + " = sched.matrix_async \"" + kMatmul + "\" [" + a + "], [" + b + "], " + acc +
         " : vector<32xf32>\n";
}
inline std::string matrixWait(const std::string &result, const std::string &acc,
                              const std::string &how = "0 commit") {
  return result + " = sched.matrix_wait " + how + " " + acc + " : vector<32xf32>\n";
}
inline std::string extract(const std::string &result, const std::string &accumulators, int at = 0) {
  return result + " = vector.extract " + accumulators + "[" + std::to_string(at) +
         "] : f32 from vector<32xf32>\n";
}
/// Stores a number of the first 16 threads to %y.
inline std::string publish(const std::string &value) {
  return "%few = arith.cmpi ult, %t, %i16 : i32\n" + store(value, "%y", "%b4", "%few");
}

} // namespace sinter::sched
