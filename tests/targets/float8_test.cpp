// 8-bit floats on targets that have no instructions for them: every code and every f16 input has
// the bits of numeric/half.h, on thread blocks and on this host's CPU.
#include "tile/mlir_pch.h"

#include "sched/simt/schedule.h"
#include "targets/conformance_cases.h"

#include <gmock/gmock.h>

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

// Outputs of a kernel by each way of running it.
std::vector<std::vector<uint8_t>>
outputs(tile::KernelModule &source, const LaunchArguments &arguments, const std::string &out) {
  EXPECT_TRUE(source.ok()) << source.diagnosticText();
  auto lanes = sched::scheduleSimt(source.module(), {});
  EXPECT_TRUE(lanes) << lanes.error().toString();
  const tile::KernelOp kernel = *(*lanes)->getOps<tile::KernelOp>().begin();
  std::vector<std::vector<uint8_t>> found;
  LaunchArguments ended = interpreted(arguments, kernel, true);
  found.push_back(argumentNamed(ended, out).bytes);
  auto compiled = CompiledKernels::compile(source.module(), hostLevel("avx2"));
  EXPECT_TRUE(compiled.has_value()) << compiled.error().toString();
  ended = interpreted(arguments, compiled->scheduledKernel(), true);
  found.push_back(argumentNamed(ended, out).bytes);
  return found;
}

// They hold types of the source's.
LaunchArguments argumentsOf(tile::KernelModule &source, const KernelCase &c,
                            const Extents &extents) {
  Random random(1);
  return makeArguments(*source.module().getOps<tile::KernelOp>().begin(), c.views, extents, 0,
                       random);
}

TEST(Float8, EveryCodeReadsAsItsNumber) {
  constexpr int64_t kCodes = 256;
  KernelCase c = embedCase("f8e4m3", kCodes);
  tile::KernelModule source = buildCase(c);
  LaunchArguments arguments = argumentsOf(source, c, {{"T", 1}, {"V", 1}, {"K", kCodes}});
  setIntegers(arguments, "ids", {0});
  std::vector<uint8_t> &table = argumentNamed(arguments, "table").bytes;
  ASSERT_EQ(table.size(), size_t(kCodes));
  std::iota(table.begin(), table.end(), uint8_t{0});
  for (const std::vector<uint8_t> &bytes : outputs(source, arguments, "out"))
    for (int64_t code = 0; code < kCodes; ++code) {
      uint32_t bits;
      std::memcpy(&bits, bytes.data() + code * sizeof bits, sizeof bits);
      ASSERT_EQ(bits, std::bit_cast<uint32_t>(e4m3ToF32(static_cast<uint8_t>(code)))) << code;
    }
}

// Every f16, as f32, and what lies beside each tie.
std::vector<float> inputsOfRounding() {
  std::vector<float> inputs;
  for (uint32_t half = 0; half < 0x10000; ++half)
    inputs.push_back(f16ToF32(static_cast<uint16_t>(half)));
  for (uint32_t code = 0; code < 0x7e; ++code) {
    const float tie =
        (e4m3ToF32(static_cast<uint8_t>(code)) + e4m3ToF32(static_cast<uint8_t>(code + 1))) / 2;
    for (float value : {std::nextafter(tie, 0.0F), tie, std::nextafter(tie, 1e9F)})
      inputs.insert(inputs.end(), {value, -value});
  }
  for (float value : {1e-45F, 1e-40F, 463.9F, 464.0F, 479.9F, 3e38F})
    inputs.insert(inputs.end(), {value, -value});
  return inputs;
}

TEST(Float8, EveryInputIsStoredAsItsNearestCode) {
  constexpr int64_t kHeadDim = 256, kPageRows = 16;
  std::vector<float> inputs = inputsOfRounding();
  inputs.resize(llvm::alignTo(inputs.size(), kHeadDim * kPageRows));
  const auto rows = static_cast<int64_t>(inputs.size()) / kHeadDim;
  KernelCase c = kvAppendCase("f8e4m3", 1, kHeadDim, kPageRows);
  tile::KernelModule source = buildCase(c);
  LaunchArguments arguments = argumentsOf(source, c, {{"T", rows}, {"P", rows / kPageRows}});
  std::vector<int32_t> slots(rows);
  std::iota(slots.begin(), slots.end(), 0);
  setIntegers(arguments, "slots", slots);
  std::memcpy(argumentNamed(arguments, "rows").bytes.data(), inputs.data(),
              inputs.size() * sizeof(float));
  std::vector<uint8_t> expected(inputs.size());
  llvm::transform(inputs, expected.begin(), f32ToE4m3);
  for (const std::vector<uint8_t> &bytes : outputs(source, arguments, "cache"))
    for (size_t i = 0; i < inputs.size(); ++i)
      ASSERT_EQ(bytes[i], expected[i]) << inputs[i];
}

TEST(Float8, ArithmeticInTheTypeIsRefused) {
  tile::KernelModule source = buildCase(gemmCase("f8e4m3", "f8e4m3", true, 16, 16, 32));
  ASSERT_TRUE(source.ok()) << source.diagnosticText();
  std::string message;
  ScopedDiagnosticHandler handler(source.module().getContext(), [&](Diagnostic &d) {
    message += d.str();
    return success();
  });
  EXPECT_FALSE(sched::scheduleSimt(source.module(), {}));
  EXPECT_THAT(message, testing::HasSubstr("computes in f8E4M3FN, expected a conversion"));
}

} // namespace
} // namespace sinter::targets::cpu
