// Conformance of SIMT IR: every registered kernel, distributed over thread blocks of
// several kinds of processor, lies near the tile interpreter on shapes around every edge.
#include "tile/mlir_pch.h"

#include "sched/simt/layout.h"
#include "sched/simt/schedule.h"
#include "targets/conformance_cases.h"

#include <gmock/gmock.h>

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

struct SimtKind {
  std::string name;
  sched::SimtFacts facts;
};

// Bytes of shared memory for pipelines of the most places, and for the fewest, of which products
// that read shared memory want more.
constexpr int64_t kDeep = 166912, kShallow = 58 * 1024, kShallowShared = 74 * 1024;

// Of operands of 64 x 64, or of what is made of their sums, but not of both.
constexpr int64_t kCooperativeShared = 48 * 1024;

// Facts of a processor with copies that threads need not wait for.
sched::SimtFacts asyncFacts(int64_t maxShared, bool groupMatmuls) {
  sched::SimtFacts facts;
  facts.maxShared = maxShared;
  facts.asyncCopies = facts.matrixLoads = true;
  if (groupMatmuls)
    for (const char *type : {"f16", "bf16"})
      for (const char *columns : {"256", "128", "64"})
        for (const char *operands : {"", "ra."})
          facts.instructions.push_back(std::string("nvidia.wgmma.") + operands + "m64n" + columns +
                                       "k16.f32." + type);
  for (const char *type : {"f16", "bf16"})
    facts.instructions.push_back(std::string("nvidia.mma.m16n8k16.f32.") + type);
  return facts;
}

// Facts of a processor with products whose sums no register holds.
sched::SimtFacts cooperativeFacts(int64_t maxShared) {
  sched::SimtFacts facts;
  facts.maxShared = maxShared;
  facts.instructions = {"vulkan.cooperative.16x16x16.f32.f16",
                        "vulkan.cooperative.16x16x16.f32.bf16"};
  return facts;
}

const std::vector<SimtKind> &simtKinds() {
  static const std::vector<SimtKind> kinds = {
      {"plain32", {}},
      {"plain8", {.subgroup = 8, .maxThreads = 256, .maxShared = 32768, .instructions = {}}},
      {"vulkan8", // no device of Vulkan has less
       {.subgroup = 8,
        .maxThreads = 128,
        .maxShared = 16384,
        .ownExp2 = sched::OwnExp2::NearZero,
        .ownMaximum = false,
        .ownDivision = true,
        .instructions = {}}},
      {"nvidia",
       {.maxShared = 232448,
        .ownExp2 = sched::OwnExp2::Everywhere,
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

// Kinds that bring operands to shared memory ahead of their use: as deep as their pipelines go, and
// with shared memory for the fewest places.
const std::vector<SimtKind> &asyncKinds() {
  static const std::vector<SimtKind> kinds = {
      {"ampere", asyncFacts(kDeep, false)},
      {"hopper", asyncFacts(232448, true)},
      {"ampere_shallow", asyncFacts(kShallow, false)},
      {"hopper_shallow", asyncFacts(kShallowShared, true)},
      {"vulkan", cooperativeFacts(131072)},
  };
  return kinds;
}

// Kinds that bring operands to shared memory by way of registers.
const std::vector<SimtKind> &storingKinds() {
  static const std::vector<SimtKind> kinds = {
      {"mfma",
       {.subgroup = 64,
        .maxShared = 65536,
        .bfloatPairs = false,
        .instructions = {"amd.mfma.f32.32x32x8.f16", "amd.mfma.f32.32x32x8.bf16"}}},
      {"wmma",
       {.maxShared = 65536,
        .bfloatPairs = false,
        .instructions = {"amd.wmma.gfx11.f32.16x16x16.f16", "amd.wmma.gfx11.f32.16x16x16.bf16"}}},
      {"mfma_roomy",
       {.subgroup = 64,
        .maxShared = 131072,
        .bfloatPairs = false,
        .instructions = {"amd.mfma.f32.32x32x8.f16", "amd.mfma.f32.32x32x8.bf16"}}},
      {"simdgroup",
       {.maxShared = 32768,
        .instructions = {"metal.simdgroup.8x8x8.f32.f16", "metal.simdgroup.8x8x8.f32.bf16"}}},
  };
  return kinds;
}

// A kernel for thread blocks; without it, why there is none.
struct Scheduled {
  tile::KernelModule source;
  OwningOpRef<ModuleOp> lanes;
  std::string message;
};

Scheduled schedule(const KernelCase &c, const sched::SimtFacts &facts) {
  Scheduled s{buildCase(c), nullptr, ""};
  s.message = s.source.diagnosticText();
  if (!s.source.ok())
    return s;
  ScopedDiagnosticHandler handler(s.source.module().getContext(), [&](Diagnostic &d) {
    s.message += d.str() + "\n";
    return success();
  });
  auto lanes = sched::scheduleSimt(s.source.module(), facts);
  if (lanes)
    s.lanes = std::move(*lanes);
  else
    s.message += lanes.error().toString();
  return s;
}

tile::KernelOp kernelOf(ModuleOp module) {
  return *module.getOps<tile::KernelOp>().begin();
}

void expectNearTileInterpreter(const KernelCase &c, const SimtKind &kind, unsigned seed) {
  Scheduled s = schedule(c, kind.facts);
  ASSERT_TRUE(s.lanes) << s.message;
  tile::KernelOp kernel = kernelOf(s.source.module()), lanes = kernelOf(*s.lanes);
  sched::InterpreterOptions options;
  options.lanes.subgroup = kind.facts.subgroup;
  options.lanes.maxThreads = kind.facts.maxThreads;
  options.lanes.maxShared = kind.facts.maxShared;
  Random random(seed);
  for (Extents &extents : mixExtents(c.extents, inFullOr(c.rounds, 1), random)) {
    if (c.derive)
      c.derive(extents);
    LaunchArguments arguments = caseArguments(c, kernel, extents, false, random);
    SCOPED_TRACE(extentsText(extents));
    LaunchArguments reference = interpreted(arguments, kernel, false);
    LaunchArguments found = interpreted(arguments, lanes, true, options);
    EXPECT_EQ(firstBeyond(found, reference, boundOnThreads(c)), "")
        << "lanes against the tile interpreter";
    if (testing::Test::HasFailure())
      return;
  }
}

using Indices = testing::TestParamInfo<std::tuple<size_t, size_t>>;

class SimtConformance : public testing::TestWithParam<std::tuple<size_t, size_t>> {};
TEST_P(SimtConformance, Holds) {
  auto [at, kind] = GetParam();
  expectNearTileInterpreter(conformanceCases()[at], simtKinds()[kind], static_cast<unsigned>(at));
}
std::vector<std::string> simtKindNames() {
  std::vector<std::string> names;
  for (const SimtKind &kind : simtKinds())
    names.push_back(kind.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Kernels, SimtConformance,
                         testing::ValuesIn(casesInWays(conformanceCases(), simtKindNames())),
                         [](const Indices &info) {
                           return conformanceCases()[std::get<0>(info.param)].label + "_" +
                                  simtKinds()[std::get<1>(info.param)].name;
                         });

// ---- products ahead of their operands ----

// Rows of whole vectors, so that operands are copied, or rows of any length, so that they are not.
KernelCase pipelineCase(const std::string &type, int64_t m, int64_t n, bool whole) {
  KernelCase c = gemmCase(type, type, true, m, n, 64);
  c.label = "pipeline_" + c.label + (whole ? "_whole" : "_odd");
  c.rounds = 1;
  c.extents["M"] = {1, m - 1, m, m + 1};
  c.extents["N"] =
      whole ? std::vector<int64_t>{8, n, n + 8, 24} : std::vector<int64_t>{1, n - 1, n + 1, 17};
  c.extents["K"] = whole ? std::vector<int64_t>{0, 8, 64, 72, 200, 256, 328}
                         : std::vector<int64_t>{1, 63, 65, 127, 200};
  return c;
}

KernelCase pipelineSlotCase(int64_t m, int64_t n) {
  KernelCase c = pipelineCase("bf16", m, n, true);
  c.views["residual"] = {"M", "N"};
  c.bound = {4e-6, 4e-6};
  kernels::Gemm p = gemmParams(kernel::BF16, kernel::BF16, m, n, 64, 0);
  p.epilogue = siluAndAddSlot("residual");
  return withSlots(c, "epilogue", p, kernels::gemm);
}

// The right operand is dequantized from such blocks, beside the matmul of the step before.
KernelCase pipelineBlockCase(const std::string &format, int64_t interleave, int64_t m, int64_t n) {
  const int64_t block = findBlockFormat(llvm::StringRef(format).upper())->blockLength;
  KernelCase c = gemmCase("bf16", format, true, m, n, std::max<int64_t>(64, block));
  c.label = "pipeline_" + c.label + "_rows_" + std::to_string(interleave);
  c.settings["activation"] = "bf16";
  c.settings["constant_b"] = "true";
  c.settings["interleave"] = std::to_string(interleave);
  c.rounds = 1;
  c.extents = {{"M", {1, m + 1}}, {"N", {8, n + 8}}, {"K", {block, 3 * block}}};
  c.bound = {2e-5, 4e-3};
  return c;
}

// Attention whose products processors' instructions make, in 16 bits.
KernelCase backToBackCase(AttentionCase a) {
  a.cache = "bf16";
  KernelCase c = attentionCase(a);
  c.label = "back_to_back_" + c.label;
  c.settings["compute"] = "bf16";
  c.extents = {{"S", {1, 3}}, {"L", {1, 64, 65, 200, 330, 449}}, {"seed", {1, 2, 3, 4, 5}}};
  c.bound = {2e-3, 2e-3}; // weights are rounded to bf16 after an exp of their own
  return c;
}

// Partitions of decode tokens: few of a group's rows.
KernelCase decodeCase(int64_t window) {
  return backToBackCase({.kernel = "attention_partitions_ragged",
                         .groupHeads = 4,
                         .headDim = 128,
                         .pageRows = 64,
                         .queryTile = 16,
                         .window = window,
                         .partitionSteps = 4});
}

// Whole instructions and ones with rows or columns to spare; too many sums for a thread; few rows,
// which take several pages at a time.
KernelCases backToBackCases() {
  KernelCases cases;
  for (AttentionCase a : {AttentionCase{.headDim = 64, .queryTile = 64},
                          AttentionCase{.headDim = 64, .queryTile = 64, .window = 70},
                          AttentionCase{.headDim = 128, .queryTile = 128},
                          AttentionCase{.headDim = 96, .queryTile = 64},
                          AttentionCase{.headDim = 80, .queryTile = 100}}) {
    a.groupHeads = 1;
    a.pageRows = 64;
    cases.push_back(backToBackCase(a));
  }
  cases.push_back(
      backToBackCase({.groupHeads = 1, .headDim = 128, .pageRows = 128, .queryTile = 128}));
  cases.push_back(backToBackCase({.headDim = 64, .pageRows = 64, .queryTile = 21}));
  cases.push_back(backToBackCase({.headDim = 64, .pageRows = 64, .queryTile = 42}));
  cases.push_back(backToBackCase({.headDim = 64, .pageRows = 64, .stepPages = 4}));
  for (const int64_t window : {0, 70})
    cases.push_back(decodeCase(window));
  return cases;
}

// Keys and values in types that GPUs multiply in another type or their own.
KernelCases cacheCases() {
  KernelCases cases;
  for (auto [cache, compute] : {std::pair("f8e4m3", "f16"), {"bf16", "bf16"}, {"bf16", "f32"}})
    for (int64_t queries : {1, 5}) {
      cases.push_back(attentionCase({.cache = cache,
                                     .headDim = 32,
                                     .pageRows = 32,
                                     .queryTile = queries,
                                     .compute = compute}));
      cases.back().label = "cache_" + cases.back().label;
      cases.back().bound = {4e-3, 2e-3};
    }
  return cases;
}

// Whose epilogue hands sums on through the bytes that operands had.
KernelCase pipelineStoreCase() {
  kernels::QkvEpilogue heads;
  heads.heads = 3;
  heads.kvHeads = 1;
  heads.pageRows = 16;
  heads.headDim = 64;
  KernelCase c = qkvEpilogueCase("f16", 64, heads, "f16");
  c.label = "pipeline_" + c.label;
  c.rounds = 2;
  return c;
}

struct PipelineRun {
  KernelCase c;
  SimtKind kind;
};

const std::vector<PipelineRun> &pipelineRuns() {
  static const std::vector<PipelineRun> runs = [] {
    KernelCases cases = {pipelineSlotCase(64, 64), pipelineStoreCase(),
                         pipelineCase("bf16", 128, 128, true), pipelineCase("bf16", 64, 256, true),
                         pipelineCase("bf16", 256, 128, true)};
    cases.back().extents = {{"M", {1, 257}}, {"N", {8, 136}}, {"K", {72, 200}}};
    for (bool whole : {true, false}) {
      cases.push_back(pipelineCase("f16", 64, 64, whole));
      for (auto [m, n] : {std::pair(64, 64), std::pair(128, 64), std::pair(64, 128)})
        cases.push_back(pipelineCase("bf16", m, n, whole));
    }
    std::vector<PipelineRun> made;
    for (const KernelCase &c : cases)
      for (const SimtKind &kind : asyncKinds())
        made.push_back({c, kind});
    for (const KernelCase &c :
         {pipelineBlockCase("q8_0", 8, 128, 64), pipelineBlockCase("q4_0", 16, 64, 64),
          pipelineBlockCase("q4_k", 8, 64, 64), pipelineBlockCase("iq4_xs", 8, 64, 64)})
      for (const SimtKind &kind : ArrayRef(asyncKinds()).take_front(2))
        made.push_back({c, kind});
    for (const KernelCase &c :
         {pipelineBlockCase("q8_0", 16, 128, 64), pipelineBlockCase("q4_0", 16, 64, 64),
          pipelineBlockCase("q4_k", 0, 128, 64), pipelineBlockCase("q4_k", 8, 64, 64),
          pipelineBlockCase("iq4_xs", 8, 64, 64)})
      made.push_back({c, {"vulkan_shallow", cooperativeFacts(kCooperativeShared)}});
    for (const KernelCase &c : backToBackCases())
      for (const SimtKind &kind : ArrayRef(asyncKinds()).drop_back()) // which copies nothing
        made.push_back({c, kind});
    for (const KernelCase &c : cacheCases())
      for (const SimtKind &kind : simtKinds())
        made.push_back({c, kind});
    for (const SimtKind &kind : storingKinds()) {
      made.push_back({pipelineBlockCase("q4_k", 8, 64, 64), kind});
      made.push_back({pipelineCase("bf16", 64, 64, true), kind});
    }
    made.push_back({pipelineStoreCase(), storingKinds().front()});
    made.push_back(
        {pipelineSlotCase(64, 64), {"vulkan_shallow", cooperativeFacts(kCooperativeShared)}});
    made.push_back({pipelineStoreCase(), {"vulkan_shallow", cooperativeFacts(kCooperativeShared)}});
    for (const KernelCase &c : conformanceCases())
      for (const SimtKind &kind : ArrayRef(asyncKinds()).take_front(2))
        if (c.kernel == "gemm" && c.settings.at("a") != "q8a")
          made.push_back({c, kind});
    return sampled(made, [](const PipelineRun &run) {
      std::vector<std::string> properties = propertiesOf(run.c, run.kind.name);
      const std::string &label = run.c.label;
      const std::string family = label.substr(0, label.find('_'));
      if (family == "pipeline" || family == "chain" || family == "cache") {
        properties.push_back(label);
        properties.push_back(family + (label.ends_with("_odd") ? " odd " : " ") + run.kind.name);
      }
      return properties;
    });
  }();
  return runs;
}

// Counts operations of such a case's loop.
template <class Op> int64_t inLoops(const KernelCase &c, const SimtKind &kind) {
  Scheduled s = schedule(c, kind.facts);
  EXPECT_TRUE(s.lanes) << s.message;
  int64_t found = 0;
  if (s.lanes)
    s.lanes->walk([&](Op op) { found += op->template getParentOfType<scf::ForOp>() ? 1 : 0; });
  return found;
}

TEST(Pipelines, StepsOfDequantizedBlocksFeedInstructionsFromSharedMemory) {
  const SimtKind &ampere = asyncKinds()[0], &hopper = asyncKinds()[1];
  for (const char *format : {"q8_0", "q4_k"}) {
    const KernelCase c = pipelineBlockCase(format, 8, 64, 64);
    EXPECT_EQ(inLoops<sched::MatrixAsyncOp>(c, hopper) / 2, 4) << format << ": aligned or not";
    EXPECT_EQ(inLoops<sched::SharedLoadOp>(c, hopper), 0) << format;
    EXPECT_GT(inLoops<sched::SharedMatricesOp>(c, ampere), 0) << format;
  }
}

// Without matrix instructions of their own, one loop too: its steps are parts of longer blocks.
TEST(Pipelines, StepsOfDequantizedBlocksFeedOpaqueAccumulators) {
  const SimtKind vulkan{"vulkan", cooperativeFacts(kCooperativeShared)};
  for (auto [format, interleave, m] : {std::tuple("q8_0", 16, 64), {"q4_k", 0, 128}}) {
    const KernelCase c = pipelineBlockCase(format, interleave, m, 64);
    EXPECT_EQ(inLoops<sched::BarrierOp>(c, vulkan) / 2, 1) << format << ": aligned or not";
    EXPECT_GT(inLoops<sched::AccAddOp>(c, vulkan), 0) << format;
    EXPECT_EQ(inLoops<sched::SharedLoadOp>(c, vulkan), 0) << format;
    EXPECT_EQ(inLoops<scf::ForOp>(c, vulkan), 0) << format;
  }
}

// What is dequantized was loaded a step before: no matmul waits for memory.
TEST(Pipelines, DequantizedBlocksAreReadAStepAheadOfOpaqueAccumulators) {
  Scheduled s =
      schedule(pipelineBlockCase("q4_k", 0, 64, 64), cooperativeFacts(kCooperativeShared));
  ASSERT_TRUE(s.lanes) << s.message;
  s.lanes->walk([](sched::ViewLoadOp load) {
    if (!load->getParentOfType<scf::ForOp>() ||
        !isa<tile::BlockType>(cast<tile::ViewType>(load.getView().getType()).getElementType()))
      return;
    for (Operation *user : load->getUsers())
      EXPECT_TRUE(isa<scf::YieldOp>(user));
  });
}

// One barrier a step where shared memory has two places for it and for another thread block.
TEST(Pipelines, OperandsGoThroughRegistersOneStepAhead) {
  const SimtKind &mfma = storingKinds().front();
  SimtKind roomy = mfma;
  roomy.facts.maxShared *= 2;
  for (const KernelCase &c :
       {pipelineBlockCase("q8_0", 8, 64, 64), pipelineBlockCase("q4_k", 8, 64, 64),
        pipelineCase("bf16", 64, 64, true)}) {
    constexpr int64_t kBodies = 2; // aligned or not
    EXPECT_EQ(inLoops<sched::BarrierOp>(c, roomy), kBodies) << c.label;
    EXPECT_EQ(inLoops<sched::BarrierOp>(c, mfma), 2 * kBodies) << c.label;
    EXPECT_GT(inLoops<sched::SharedStoreOp>(c, mfma), 0) << c.label;
    EXPECT_GT(inLoops<sched::MatrixOp>(c, mfma), 0) << c.label;
  }
}

TEST(Pipelines, AThreadBlockOfOneGroupLeavesRoomForAnother) {
  const SimtKind &hopper = asyncKinds()[1];
  Scheduled s = schedule(decodeCase(0), hopper.facts);
  ASSERT_TRUE(s.lanes) << s.message;
  EXPECT_GT(inLoops<sched::MatrixTileAsyncOp>(decodeCase(0), hopper), 0);
  const auto shared = kernelOf(*s.lanes)->getAttrOfType<IntegerAttr>(sched::kSharedName);
  EXPECT_LE(shared.getInt(), hopper.facts.maxShared / 2);
}

// Attention of a sequence's last rows, in query tiles of so many.
std::vector<uint8_t> outInTilesOf(int64_t rows) {
  const SimtKind &hopper = asyncKinds()[1];
  const AttentionCase a{
      .cache = "bf16", .groupHeads = 4, .headDim = 64, .pageRows = 64, .queryTile = 16};
  AttentionCase tiles = a;
  tiles.queryTile = rows;
  KernelCase c = backToBackCase(a);
  c.derive = [tiles](Extents &extents) { deriveAttention(tiles, extents); };
  c.prepare = [tiles](LaunchArguments &arguments, const Extents &extents, Random &) {
    Random same(5);
    prepareAttention(tiles, arguments, extents, same);
  };
  Scheduled s = schedule(c, hopper.facts);
  EXPECT_TRUE(s.lanes) << s.message;
  if (!s.lanes)
    return {};
  Extents extents = {{"S", 1}, {"L", 200}, {"seed", 3}};
  c.derive(extents);
  EXPECT_GT(extents.at("T"), 3);
  sched::InterpreterOptions options;
  options.lanes.maxShared = hopper.facts.maxShared;
  Random random(7);
  LaunchArguments arguments = caseArguments(c, kernelOf(s.source.module()), extents, false, random);
  LaunchArguments found = interpreted(arguments, kernelOf(*s.lanes), true, options);
  return argumentNamed(found, "out").bytes;
}

TEST(Pipelines, ARowOfAttentionHasTheSameBitsInAnyQueryTile) {
  const std::vector<uint8_t> alone = outInTilesOf(1);
  EXPECT_FALSE(alone.empty());
  EXPECT_EQ(outInTilesOf(3), alone);
  EXPECT_EQ(outInTilesOf(16), alone);
}

class PipelineConformance : public testing::TestWithParam<size_t> {};
TEST_P(PipelineConformance, Holds) {
  const PipelineRun &run = pipelineRuns()[GetParam()];
  expectNearTileInterpreter(run.c, run.kind, static_cast<unsigned>(GetParam()));
}
INSTANTIATE_TEST_SUITE_P(Kernels, PipelineConformance,
                         testing::Range(size_t(0), pipelineRuns().size()),
                         [](const testing::TestParamInfo<size_t> &info) {
                           return pipelineRuns()[info.param].c.label + "_" +
                                  pipelineRuns()[info.param].kind.name;
                         });

// ---- one row by weights in words, whose products threads add up by multiply-adds ----

sched::SimtFacts fusedFacts(int64_t subgroup) {
  sched::SimtFacts facts;
  facts.subgroup = subgroup;
  facts.fusesSums = facts.selectsAddresses = true;
  return facts;
}

KernelCase rowCase(const std::string &format, int64_t step) {
  const int64_t block = findBlockFormat(llvm::StringRef(format).upper())->blockLength;
  KernelCase c = gemmCase("f32", format, true, 1, 8, step);
  c.label = "row_" + c.label + "_words";
  c.settings["activation"] = "f32";
  c.settings["constant_b"] = "true";
  c.settings["interleave"] = "8";
  c.rounds = 1;
  c.extents = {{"M", {1, 3}}, {"N", {8, 20}}, {"K", {block, step, 2 * step, 3 * step - block}}};
  c.bound = {2e-5, 4e-3};
  return c;
}

const KernelCases &rowCases() {
  static const KernelCases cases = {rowCase("q4_k", 1024),  rowCase("q6_k", 512),
                                    rowCase("q8_0", 1024),  rowCase("q4_0", 256),
                                    rowCase("mxfp4", 1024), rowCase("iq4_xs", 1536)};
  return cases;
}

class FusedSums : public testing::TestWithParam<std::tuple<size_t, int64_t>> {};
TEST_P(FusedSums, AreNearTheTileInterpreters) {
  auto [at, subgroup] = GetParam();
  expectNearTileInterpreter(rowCases()[at], {"fused", fusedFacts(subgroup)},
                            static_cast<unsigned>(at));
}
INSTANTIATE_TEST_SUITE_P(Kernels, FusedSums,
                         testing::Combine(testing::Range(size_t(0), rowCases().size()),
                                          testing::Values(8, 32)));

TEST(FusedSums, MeetOtherThreadsOnceBehindTheLoop) {
  const SimtKind kind{"fused", fusedFacts(32)};
  for (const char *format : {"q4_k", "q8_0"}) {
    const KernelCase c = rowCase(format, 1024);
    EXPECT_EQ(inLoops<sched::ShuffleOp>(c, kind), 0) << format;
    EXPECT_EQ(inLoops<sched::BarrierOp>(c, kind), 0) << format;
    constexpr int64_t kElements = 64; // of a thread
    EXPECT_GE(inLoops<math::FmaOp>(c, kind), kElements) << format;
  }
}

// The same kernel with so many rows in a program.
KernelCase besideOneAnother(KernelCase c, int64_t rows) {
  c.settings["row_tiles"] = std::to_string(rows);
  return c;
}

// In float values that the loop of steps carries. Weights of the next step go around as integers.
int64_t sumsCarried(const KernelCase &c, const SimtKind &kind) {
  Scheduled s = schedule(c, kind.facts);
  EXPECT_TRUE(s.lanes) << s.message;
  int64_t most = 0;
  s.lanes->walk([&](scf::ForOp loop) {
    most =
        std::max<int64_t>(most, llvm::count_if(loop.getResultTypes(), llvm::IsaPred<Float32Type>));
  });
  return most;
}

TEST(FusedSums, TakeFourRegistersOfEachRow) {
  const SimtKind kind{"fused", fusedFacts(32)};
  for (int64_t rows : {1, 8})
    EXPECT_EQ(sumsCarried(besideOneAnother(rowCase("q4_k", 256), rows), kind), 4 * rows);
}

TEST(FusedSums, DequantizeWeightsOnceForAllRows) {
  const SimtKind kind{"fused", fusedFacts(32)};
  const KernelCase c = rowCase("q4_k", 256);
  EXPECT_EQ(inLoops<arith::ShRUIOp>(besideOneAnother(c, 8), kind),
            inLoops<arith::ShRUIOp>(c, kind));
}

KernelCases besideCases() {
  return {rowCase("q4_k", 256), rowCase("q8_0", 256), gemmCase("f16", "f16", true, 1, 8, 256)};
}

class RowTiles : public testing::TestWithParam<SimtKind> {};
TEST_P(RowTiles, HaveTheBitsOfRowsAlone) {
  const SimtKind &kind = GetParam();
  sched::InterpreterOptions options;
  options.lanes.subgroup = kind.facts.subgroup;
  options.lanes.maxThreads = kind.facts.maxThreads;
  options.lanes.maxShared = kind.facts.maxShared;
  for (const auto &[number, c] : llvm::enumerate(besideCases())) {
    Scheduled alone = schedule(c, kind.facts);
    ASSERT_TRUE(alone.lanes) << alone.message;
    Random random(5);
    const Extents extents = {{"M", 9}, {"N", 11}, {"K", 512}};
    LaunchArguments arguments =
        caseArguments(c, kernelOf(alone.source.module()), extents, false, random);
    const LaunchArguments expected = interpreted(arguments, kernelOf(*alone.lanes), true, options);
    for (int64_t rows : {4, 8}) {
      const bool isOther = (number + (rows == 8) + (kind.facts.subgroup == 4)) % 2 != 0;
      if (!testsInFull() && isOther) // each length of tiles with each kind of weights and threads
        continue;
      Scheduled beside = schedule(besideOneAnother(c, rows), kind.facts);
      ASSERT_TRUE(beside.lanes) << beside.message;
      EXPECT_EQ(
          firstDifference(interpreted(arguments, kernelOf(*beside.lanes), true, options), expected),
          "")
          << c.label << " in tiles of " << rows;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Kernels, RowTiles,
                         testing::Values(SimtKind{"fused32", fusedFacts(32)},
                                         SimtKind{"fused4", fusedFacts(4)}),
                         [](const auto &info) { return info.param.name; });

// Where a select would choose each address, weights are read without a condition.
TEST(FusedSums, ReadWeightsOfWholeStepsWithoutConditions) {
  KernelCase c = rowCase("q4_k", 1024);
  c.settings["n"] = "64";
  c.settings["k"] = "4096";
  int64_t loads = 0;
  for (bool selects : {true, false}) {
    sched::SimtFacts facts = fusedFacts(32);
    facts.selectsAddresses = selects;
    Scheduled s = schedule(c, facts);
    ASSERT_TRUE(s.lanes) << s.message;
    int64_t conditions = 0;
    s.lanes->walk([&](sched::ViewLoadOp load) {
      const bool weights =
          isa<tile::BlockType>(cast<tile::ViewType>(load.getView().getType()).getElementType());
      loads += weights;
      conditions +=
          weights && load->getParentOfType<scf::ForOp>() && !matchPattern(load.getWhen(), m_One());
    });
    EXPECT_EQ(conditions == 0, selects);
  }
  EXPECT_GT(loads, 0);
}

// ---- tiles that shared memory does not hold whole ----

// Products of two tiles in shared memory; a new layout, a shape and tiles side by side through it.
KernelCases windowCases() {
  return {gemmCase("f32", "f32", true, 24, 64, 16),
          attentionCase({.headDim = 32, .pageRows = 8, .queryTile = 3, .stepPages = 2}),
          pipelineStoreCase()};
}

class SimtWindows : public testing::TestWithParam<size_t> {};
TEST_P(SimtWindows, GiveTheBitsOfWholeTiles) {
  KernelCase c = windowCases()[GetParam()];
  auto sharedOf = [](ModuleOp module) {
    return kernelOf(module)->getAttrOfType<IntegerAttr>(sched::kSharedName).getInt();
  };
  sched::SimtFacts facts;
  facts.maxThreads = 64;
  Scheduled whole = schedule(c, facts);
  ASSERT_TRUE(whole.lanes) << whole.message;
  facts.maxShared = sharedOf(*whole.lanes) / 2;
  Scheduled parts = schedule(c, facts);
  ASSERT_TRUE(parts.lanes) << parts.message;
  EXPECT_LE(sharedOf(*parts.lanes), facts.maxShared);
  Random random(3);
  Extents extents = mixExtents(c.extents, 1, random).front();
  if (c.derive)
    c.derive(extents);
  LaunchArguments arguments =
      caseArguments(c, kernelOf(whole.source.module()), extents, false, random);
  LaunchArguments expected = interpreted(arguments, kernelOf(*whole.lanes), true),
                  found = interpreted(arguments, kernelOf(*parts.lanes), true);
  for (auto [a, b] : llvm::zip_equal(expected, found))
    EXPECT_EQ(a.bytes, b.bytes) << a.name;
}
INSTANTIATE_TEST_SUITE_P(Kernels, SimtWindows, testing::Range(size_t(0), windowCases().size()));

TEST(SimtSharing, IsRefusedWhereWindowsWouldBeMany) {
  sched::SimtFacts facts;
  facts.maxThreads = facts.maxShared = 64;
  Scheduled s = schedule(gemmCase("f32", "f32", true, 24, 64, 16), facts);
  EXPECT_FALSE(s.lanes);
  EXPECT_THAT(s.message, testing::HasSubstr("expected at most 64: choose smaller blocks"));
}

// What a kernel in SIMT IR is made of.
struct Parts {
  int copies = 0, products = 0, instructions = 0, matrixLoads = 0, sharedLoads = 0;
  int pending = -1; // the most groups that a wait leaves, -1 without waits
  std::string message;
};

Parts partsOf(const KernelCase &c, const sched::SimtFacts &facts) {
  Parts parts;
  Scheduled s = schedule(c, facts);
  parts.message = s.message;
  if (!s.lanes)
    return parts;
  s.lanes->walk([&](Operation *op) {
    parts.copies += isa<sched::CopyAsyncOp>(op);
    parts.products += isa<sched::MatrixAsyncOp>(op);
    parts.instructions += isa<sched::MatrixOp>(op);
    parts.matrixLoads += isa<sched::SharedMatricesOp>(op);
    parts.sharedLoads += isa<sched::SharedLoadOp>(op);
    if (auto wait = dyn_cast<sched::CopyWaitOp>(op))
      parts.pending = std::max(parts.pending, static_cast<int>(wait.getPending()));
  });
  return parts;
}

// The names of the matrix instructions of a kernel.
std::set<std::string> instructionsOf(const KernelCase &c, const sched::SimtFacts &facts) {
  std::set<std::string> names;
  Scheduled s = schedule(c, facts);
  EXPECT_TRUE(s.lanes) << s.message;
  if (s.lanes)
    s.lanes->walk([&](sched::MatrixOp op) { names.insert(op.getInstruction().str()); });
  return names;
}

TEST(SimtMatmuls, GiveFewRowsTheInstructionOfFewestRows) {
  const std::string large = "amd.mfma.f32.32x32x8.f16", small = "amd.mfma.f32.16x16x16.f16";
  sched::SimtFacts facts = storingKinds().front().facts;
  facts.instructions = {large, small};
  for (auto [rows, instruction] : {std::pair(16, small), std::pair(64, large)})
    EXPECT_THAT(instructionsOf(gemmCase("f16", "f16", true, rows, 64, 32), facts),
                testing::ElementsAre(instruction))
        << rows;
}

TEST(PipelineSchedules, MultiplyFromSharedMemoryWhereAnInstructionDoes) {
  Parts parts = partsOf(pipelineCase("bf16", 128, 64, true), asyncFacts(kDeep, true));
  EXPECT_GT(parts.copies, 0) << parts.message;
  EXPECT_GT(parts.products, 0);
  EXPECT_EQ(parts.instructions + parts.matrixLoads, 0);
}

TEST(PipelineSchedules, LoadMatricesWhereInstructionsTakeRegisters) {
  for (auto [m, n] : {std::pair(128, 64), std::pair(16, 64), std::pair(32, 32)}) {
    SCOPED_TRACE(m);
    Parts parts = partsOf(pipelineCase("bf16", m, n, true), asyncFacts(kDeep, false));
    EXPECT_GT(parts.copies, 0) << parts.message;
    EXPECT_GT(parts.instructions, 0);
    EXPECT_GT(parts.matrixLoads, 0);
    EXPECT_EQ(parts.sharedLoads, 0); // nor words of operands
    EXPECT_EQ(parts.products, 0);
  }
}

TEST(PipelineSchedules, FetchAsFarAheadAsSharedMemoryAllows) {
  KernelCase c = pipelineCase("bf16", 128, 64, true);
  EXPECT_EQ(partsOf(c, asyncFacts(kDeep, false)).pending, 3);
  EXPECT_EQ(partsOf(c, asyncFacts(kShallow, false)).pending, 1);
  EXPECT_EQ(partsOf(c, asyncFacts(kDeep, true)).pending, 1);
  EXPECT_EQ(partsOf(c, asyncFacts(kShallowShared, true)).pending, 0);
}

TEST(PipelineSchedules, DeclineWhereSharedMemoryHoldsTooFewPlaces) {
  for (bool groupMatmuls : {false, true}) {
    Parts parts = partsOf(pipelineCase("bf16", 128, 128, true), asyncFacts(kShallow, groupMatmuls));
    EXPECT_EQ(parts.copies + parts.products, 0);
    EXPECT_GT(parts.instructions, 0) << parts.message;
  }
}

} // namespace
} // namespace sinter::targets::cpu
