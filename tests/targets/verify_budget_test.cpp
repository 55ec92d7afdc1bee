// What the CPU has is a limit that scheduled kernels are held to.
#include "tile/mlir_pch.h"

#include "targets/cpu/blocking/verify_budget.h"
#include "targets/cpu/codegen.h"
#include "tile/front/front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

// The message of the first error that scheduling the kernel gives; empty when it succeeds.
std::string scheduleError(const std::string &body, const char *level) {
  auto module = tile::KernelModule::parse(body, "test");
  EXPECT_TRUE(module.has_value()) << (module ? "" : module.error().message);
  std::string message;
  ScopedDiagnosticHandler handler(&module->context(), [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
  auto facts = factsFor(level);
  EXPECT_TRUE(facts.has_value());
  return scheduleKernels(module->module(), *facts) ? "" : message;
}

// A tile that a concatenation keeps in scratch, of rows x 2 * columns elements.
std::string concatKernel(int64_t rows, int64_t columns) {
  std::string r = std::to_string(rows), c = std::to_string(columns),
              d = std::to_string(2 * columns);
  std::string tile = "tensor<" + r + "x" + c + "xf32>", wide = "tensor<" + r + "x" + d + "xf32>";
  return "tile.kernel @k(%in: !tile.view<?x?xf32, in>, %out: !tile.view<?x?xf32, out>) {\n"
         "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
         "  tile.grid %c1, %c1, %c1\n"
         "  %a = tile.load %in[%c0, %c0] : <?x?xf32, in> -> " +
         tile +
         "\n"
         "  %b = tile.concat %a, %a axis 1 : " +
         tile + ", " + tile + " -> " + wide +
         "\n"
         "  tile.store %b, %out[%c0, %c0] : " +
         wide + ", <?x?xf32, out>\n}\n";
}

TEST(VerifyBudget, ScratchThatFitsIsScheduled) {
  EXPECT_EQ(scheduleError(concatKernel(64, 64), "avx2"), "");
}

TEST(VerifyBudget, ScratchBeyondTheLimitIsRefused) {
  EXPECT_THAT(scheduleError(concatKernel(1 << 20, 256), "avx2"),
              ::testing::HasSubstr("takes the kernel's scratch beyond 1073741824 bytes a thread"));
}

TEST(VerifyBudget, ScratchWhoseSizeOverflowsIsRefused) {
  EXPECT_THAT(scheduleError(concatKernel(int64_t(1) << 56, 64), "avx2"),
              ::testing::HasSubstr("takes the kernel's scratch beyond 1073741824 bytes a thread"));
}

// A scheduled kernel whose loop carries a block of `rows` rows of 16 lanes.
std::string blockKernel(int64_t rows) {
  std::string tile = "tensor<" + std::to_string(rows) + "x16xf32>";
  return "tile.kernel @k(%out: !tile.view<?x?xf32, out>) {\n"
         "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
         "  tile.grid %c1, %c1, %c1\n"
         "  %a = arith.constant dense<1.0> : " +
         tile +
         "\n"
         "  tile.store %a, %out[%c0, %c0] : " +
         tile + ", <?x?xf32, out>\n}\n";
}

bool fitsRegisters(int64_t rows, const char *level) {
  auto module = tile::KernelModule::parse(blockKernel(rows), "test");
  EXPECT_TRUE(module.has_value());
  ScopedDiagnosticHandler quiet(&module->context(), [](Diagnostic &) { return success(); });
  return succeeded(
      verifyBudget(*module->module().getOps<tile::KernelOp>().begin(), *factsFor(level)));
}

TEST(VerifyBudget, ThreeQuartersOfTheRegistersAreTheMost) {
  EXPECT_TRUE(fitsRegisters(24, "avx512"));
  EXPECT_FALSE(fitsRegisters(25, "avx512"));
  EXPECT_TRUE(fitsRegisters(6, "avx2")); // two vectors a row
  EXPECT_FALSE(fitsRegisters(7, "avx2"));
}

} // namespace
} // namespace sinter::targets::cpu
