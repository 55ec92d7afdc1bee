// Conformance of the lane form: every registered kernel, distributed over blocks of threads of
// several kinds of processor, lies near the tile interpreter on shapes around every edge.
#include "tile/mlir_pch.h"

#include "sched/schedule_lanes.h"
#include "target/conformance_cases.h"

using namespace mlir;

namespace sinter::target::cpu {
namespace {

struct LaneKind {
  std::string name;
  sched::LaneFacts facts;
};

const std::vector<LaneKind> &laneKinds() {
  static const std::vector<LaneKind> kinds = {
      {"plain32", {}},
      {"plain8", {.subgroup = 8, .maxThreads = 256, .maxShared = 32768}},
      {"nvidia",
       {.maxShared = 232448,
        .ownExp2 = true,
        .ownDivision = true,
        .instructions = {"nvidia.mma.m16n8k16.f32.f16", "nvidia.mma.m16n8k16.f32.bf16",
                         "nvidia.mma.m16n8k32.s32.s8"}}},
      {"amd64",
       {.subgroup = 64,
        .maxShared = 65536,
        .instructions = {"amd.mfma.f32.32x32x8.f16", "amd.mfma.f32.32x32x8.bf16",
                         "amd.mfma.i32.16x16x32.i8"}}},
      {"metal",
       {.maxShared = 32768,
        .instructions = {"metal.simdgroup.8x8x8.f32.f16", "metal.simdgroup.8x8x8.f32.f32"}}},
  };
  return kinds;
}

class LaneConformance : public testing::TestWithParam<std::tuple<size_t, size_t>> {};

TEST_P(LaneConformance, Holds) {
  const KernelCase &c = allCases()[std::get<0>(GetParam())];
  const LaneKind &kind = laneKinds()[std::get<1>(GetParam())];
  tile::KernelModule source = buildCase(c);
  ASSERT_TRUE(source.ok()) << source.diagnosticText();
  std::string diagnostics;
  ScopedDiagnosticHandler handler(source.module().getContext(), [&](Diagnostic &d) {
    diagnostics += d.str() + "\n";
    return success();
  });
  auto scheduled = sched::scheduleForLanes(source.module(), kind.facts);
  ASSERT_TRUE(scheduled.has_value()) << scheduled.error().toString() << "\n" << diagnostics;
  tile::KernelOp kernel = *source.module().getOps<tile::KernelOp>().begin();
  tile::KernelOp lanes = *(*scheduled)->getOps<tile::KernelOp>().begin();
  sched::InterpreterOptions options;
  options.lanes.subgroup = kind.facts.subgroup;
  options.lanes.maxThreads = kind.facts.maxThreads;
  options.lanes.maxShared = kind.facts.maxShared;
  Random random(std::get<0>(GetParam()));
  for (Extents &extents : mixExtents(c.extents, c.rounds, random)) {
    if (c.derive)
      c.derive(extents);
    LaunchArguments arguments = caseArguments(c, kernel, extents, false, random);
    SCOPED_TRACE(extentsText(extents));
    LaunchArguments reference = interpreted(arguments, kernel, false);
    LaunchArguments found = interpreted(arguments, lanes, true, options);
    EXPECT_EQ(firstBeyond(found, reference, c.bound), "") << "lanes against the tile interpreter";
    if (HasFailure())
      return;
  }
}

std::string caseName(const testing::TestParamInfo<std::tuple<size_t, size_t>> &info) {
  return allCases()[std::get<0>(info.param)].label + "_" +
         laneKinds()[std::get<1>(info.param)].name;
}

INSTANTIATE_TEST_SUITE_P(Kernels, LaneConformance,
                         testing::Combine(testing::Range(size_t(0), allCases().size()),
                                          testing::Range(size_t(0), laneKinds().size())),
                         caseName);

} // namespace
} // namespace sinter::target::cpu
