// Schedules that tuning may choose: each gives the bits that the rules' schedule gives, at every
// CPU level of this host.
#include "tile/mlir_pch.h"

#include "targets/conformance_cases.h"
#include "targets/cpu/schedule.h"

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

// Products of what people multiply, in many rows and in one.
KernelCases matmulCases() {
  return {blockGemmCase("q8a", "q4_1", 40, 64, 96),
          blockGemmCase("q8a", "q4_1", 1, 128, 96),
          blockGemmCase("q8a", "q8_0", 40, 64, 96),
          interleaved(gemmCase("f32", "f16", true, 40, 64, 48)),
          gemmCase("f32", "f32", false, 40, 64, 48),
          interleaved(gemmCase("f32", "f16", true, 1, 64, 48))};
}

using Parameters = std::tuple<size_t, std::string>;

class Schedules : public testing::TestWithParam<Parameters> {
protected:
  void SetUp() override {
    level_ = hostLevel(std::get<1>(GetParam()));
    if (!level_.missing.empty())
      GTEST_SKIP() << level_.missing;
    rules_.emplace(buildCase(case_));
    ASSERT_TRUE(rules_->ok()) << rules_->diagnosticText();
  }
  tile::KernelOp kernelOf(tile::KernelModule &module) const {
    return *module.module().getOps<tile::KernelOp>().begin();
  }
  // What compiled code writes, for odd extents with the same numbers each time.
  std::vector<LaunchArguments> results(tile::KernelModule &module) {
    std::vector<LaunchArguments> all;
    auto compiled = CompiledKernels::compile(module.module(), level_);
    EXPECT_TRUE(compiled.has_value()) << compiled.error().toString();
    Random random(31);
    for (const auto &[m, n, k] :
         {std::tuple{1, 48, 192}, {7, 64, 32}, {61, 160, 96}, {83, 33, 224}}) {
      LaunchArguments arguments =
          caseArguments(case_, kernelOf(*rules_), {{"M", m}, {"N", n}, {"K", k}}, false, random);
      if (compiled)
        all.push_back(compiled->run(arguments));
    }
    return all;
  }
  void expectSameBits(tile::KernelModule &module) {
    if (expected_.empty())
      expected_ = results(*rules_);
    for (auto [a, b] : llvm::zip_equal(results(module), expected_))
      EXPECT_EQ(firstDifference(a, b), "");
  }

  KernelCase case_ = matmulCases()[std::get<0>(GetParam())];
  HostLevel level_;
  std::optional<tile::KernelModule> rules_;
  std::vector<LaunchArguments> expected_;
};

TEST_P(Schedules, OfTheTargetGiveTheSameBits) {
  std::vector<ScheduleDecision> decisions = decisionsOf(kernelOf(*rules_), level_.facts);
  ASSERT_FALSE(decisions.empty());
  for (const ScheduleDecision &decision : decisions)
    for (int64_t value : decision.values) {
      SCOPED_TRACE(decision.name + "=" + std::to_string(value));
      tile::KernelModule other = buildCase(case_);
      tile::setSchedule(kernelOf(other), {{decision.name, value}});
      expectSameBits(other);
    }
}

TEST_P(Schedules, OfOtherBlocksGiveTheSameBits) {
  const kernels::Settings rules = case_.settings;
  for (const auto &[name, value] :
       {std::pair{"block_m", "24"}, {"block_m", "80"}, {"block_n", "32"}, {"block_k", "192"}}) {
    if (rules.at("block_m") == "1" && std::string_view(name) == "block_m")
      continue;
    SCOPED_TRACE(std::string(name) + "=" + value);
    case_.settings = rules;
    case_.settings[name] = value;
    tile::KernelModule other = buildCase(case_);
    expectSameBits(other);
  }
}

TEST(CpuSchedule, SaysWhatTheKernelsAttributeSays) {
  tile::KernelModule module = buildCase(matmulCases().front());
  tile::KernelOp kernel = *module.module().getOps<tile::KernelOp>().begin();
  EXPECT_EQ(cpuScheduleOf(kernel).vectors, 0);
  EXPECT_EQ(cpuScheduleOf(kernel).inPlaceRows, 8);
  EXPECT_EQ(cpuScheduleOf(kernel).inPlaceBlockRows, -1);
  EXPECT_EQ(cpuScheduleOf(kernel).prefetchBytes, -1);
  tile::setSchedule(
      kernel, {{"prefetch", 0}, {"small_m", 4}, {"in_place", 8}, {"rows", 6}, {"vectors", 2}});
  EXPECT_EQ(cpuScheduleOf(kernel).prefetchBytes, 0);
  EXPECT_EQ(cpuScheduleOf(kernel).vectors, 2);
  EXPECT_EQ(cpuScheduleOf(kernel).rows, 6);
  EXPECT_EQ(cpuScheduleOf(kernel).inPlaceRows, 4);
  EXPECT_EQ(cpuScheduleOf(kernel).inPlaceBlockRows, 8);
}

TEST(CpuSchedule, OfWhatHasNoProductsHasNothingToDecide) {
  KernelCases cases;
  addRowCases(cases, "q8a");
  tile::KernelModule module = buildCase(cases.front());
  tile::KernelOp kernel = *module.module().getOps<tile::KernelOp>().begin();
  EXPECT_TRUE(decisionsOf(kernel, *factsFor("avx2")).empty());
}

// Each product at each level; a sample shows each product, and its kind at each level.
std::vector<Parameters> matmulsAtLevels() {
  std::vector<Parameters> all;
  for (size_t i = 0; i < matmulCases().size(); ++i)
    for (const char *level : {"avx512vnni", "avx512", "avx2"})
      all.emplace_back(i, level);
  return sampled(all, [](const Parameters &one) {
    const KernelCase c = matmulCases()[std::get<0>(one)];
    const std::string level = std::get<1>(one) + " ";
    return std::vector<std::string>{c.label, level + c.settings.at("a"),
                                    level + (c.settings.at("block_m") == "1" ? "a row" : "rows")};
  });
}

INSTANTIATE_TEST_SUITE_P(Products, Schedules, testing::ValuesIn(matmulsAtLevels()),
                         [](const auto &info) {
                           return matmulCases()[std::get<0>(info.param)].label + "_" +
                                  std::get<1>(info.param);
                         });

} // namespace
} // namespace sinter::targets::cpu
