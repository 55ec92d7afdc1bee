// Every format whose blocks threads read in the file's order, dequantized in matmuls and gathered:
// SIMT IR of several kinds of processor in the interpreter, SPIR-V on the software device, MSL in
// the emulation, and what the back ends of NVIDIA and AMD make of it.
#include "tile/mlir_pch.h"

#include "numeric/formats/dot_packing.h"
#include "sched/simt/layout.h"
#include "sched/simt/schedule.h"
#include "targets/conformance_cases.h"
#include "targets/device_launch.h"
#include "targets/metal_object.h"
#include "targets/registry.h"
#include "targets/vulkan_device.h"

#include <gmock/gmock.h>

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

std::vector<const BlockFormat *> formatsInFileOrder() {
  std::vector<const BlockFormat *> formats;
  for (const BlockFormat &format : blockFormats())
    if (!format.isPlain() && !plainDotPacking(format))
      formats.push_back(&format);
  return formats;
}

std::string lower(const BlockFormat &format) {
  return llvm::StringRef(format.name).lower();
}

// Rows and columns are no whole tiles; K has two blocks and a step of its own length.
KernelCase matmulCase(const BlockFormat &format, int64_t m, int64_t n, int64_t k,
                      const std::string &activation) {
  KernelCase c = gemmCase(activation, lower(format), true, m, n, k);
  c.settings["activation"] = activation;
  c.extents = {{"M", {m == 1 ? 2 : 17}}, {"N", {n + 1}}, {"K", {2 * format.blockLength}}};
  c.rounds = 1;
  // Values are as large as 300, and rows of one and instructions add in orders of their own.
  if (m == 1 || activation != "f32")
    c.bound = {2e-5, 4e-3};
  return c;
}

KernelCase gatherCase(const BlockFormat &format) {
  KernelCase c = embedCase(lower(format), 2 * format.blockLength);
  c.extents = {{"T", {3}}, {"V", {7}}, {"K", {3 * format.blockLength}}};
  c.rounds = 1;
  return c;
}

// A row, many rows whose blocks are taken in parts, and a gather.
KernelCases casesOf(const BlockFormat &format) {
  const int64_t block = format.blockLength;
  return {matmulCase(format, 1, 8, block, "f32"),
          matmulCase(format, 32, 32, std::max<int64_t>(block, 128), "f32"), gatherCase(format)};
}

Extents extentsOf(const KernelCase &c) {
  Extents extents;
  for (const auto &[name, values] : c.extents)
    extents[name] = values.front();
  return extents;
}

tile::KernelOp kernelOf(ModuleOp module) {
  return *module.getOps<tile::KernelOp>().begin();
}

// ---- SIMT IR ----

struct SimtKind {
  std::string name;
  sched::SimtFacts facts;
};

const std::vector<SimtKind> &kinds() {
  static const std::vector<SimtKind> all = {
      {"plain32", {}},
      {"vulkan8",
       {.subgroup = 8,
        .maxThreads = 128,
        .maxShared = 16384,
        .ownExp2 = sched::OwnExp2::NearZero,
        .ownMaximum = false,
        .ownDivision = true,
        .instructions = {}}},
      {"amd64", {.subgroup = 64, .maxShared = 65536, .instructions = {"amd.mfma.f32.32x32x8.f16"}}},
      {"metal", {.maxShared = 32768, .instructions = {"metal.simdgroup.8x8x8.f32.f32"}}},
  };
  return all;
}

// The case in SIMT IR lies near the tile interpreter, and has matrix instructions or none.
void expectNear(const KernelCase &c, const sched::SimtFacts &facts, bool byInstructions = false) {
  SCOPED_TRACE(c.label);
  tile::KernelModule source = buildCase(c);
  ASSERT_TRUE(source.ok()) << source.diagnosticText();
  auto simt = sched::scheduleSimt(source.module(), facts);
  ASSERT_TRUE(simt) << simt.error().toString();
  int64_t instructions = 0;
  (*simt)->walk([&](sched::MatrixOp) { ++instructions; });
  EXPECT_EQ(instructions > 0, byInstructions);
  sched::InterpreterOptions options;
  options.lanes.subgroup = facts.subgroup;
  options.lanes.maxThreads = facts.maxThreads;
  options.lanes.maxShared = facts.maxShared;
  Random random(11);
  LaunchArguments arguments =
      caseArguments(c, kernelOf(source.module()), extentsOf(c), false, random);
  EXPECT_EQ(firstBeyond(interpreted(arguments, kernelOf(**simt), true, options),
                        interpreted(arguments, kernelOf(source.module()), false),
                        boundOnThreads(c)),
            "");
}

class FileBlocks : public testing::TestWithParam<const BlockFormat *> {
protected:
  const BlockFormat &format() const { return *GetParam(); }
  // Each format for some of so many ways in a sample, and all of them for some format.
  bool runs(size_t way, size_t ways) const {
    return testsInFull() || static_cast<size_t>(format().type) % ways == way;
  }
};

TEST_P(FileBlocks, AreDequantizedInSimtIr) {
  for (size_t kind = 0; kind < kinds().size(); ++kind)
    if (runs(kind, kinds().size())) {
      SCOPED_TRACE(kinds()[kind].name);
      for (const KernelCase &c : casesOf(format()))
        expectNear(c, kinds()[kind].facts,
                   c.kernel == "gemm" && c.settings.at("block_m") != "1" &&
                       kinds()[kind].name == "metal");
    }
}

// bf16 operands of matrix instructions: few rows whose subgroups share K, and many.
TEST_P(FileBlocks, FeedMatrixInstructions) {
  sched::SimtFacts facts;
  facts.maxShared = 232448;
  facts.sharesDepth = facts.overlapsLaunches = true;
  facts.instructions = {"nvidia.mma.m16n8k16.f32.bf16"};
  expectNear(matmulCase(format(), 16, 16, 256, "bf16"), facts, true);
  if (runs(0, 2))
    expectNear(matmulCase(format(), 64, 16, 256, "bf16"), facts, true);
}

// Rows of such a case are interleaved word by word.
KernelCase inWords(KernelCase c) {
  c.label += "_words";
  c.settings["interleave"] = "8";
  return c;
}

TEST_P(FileBlocks, AreDequantizedFromWords) {
  const KernelCases cases = casesOf(format());
  for (size_t way = 0; way < cases.size(); ++way)
    if (runs(way, cases.size()))
      expectNear(inWords(cases[way]), kinds().front().facts);
}

// ---- back ends ----

TEST_P(FileBlocks, CompileForNvidiaAndAmd) {
  const char *targets[] = {"cuda:sm_90a", "amd:gfx942", "cuda:sm_80", "amd:gfx1100"};
  const KernelCases cases = casesOf(format());
  for (size_t way = 0; way < std::size(targets); ++way)
    for (const KernelCase &c : testsInFull() ? cases : KernelCases{cases[way % cases.size()]}) {
      if (!runs(way, std::size(targets)))
        continue;
      SCOPED_TRACE(c.label + " for " + targets[way]);
      tile::KernelModule source = buildCase(c);
      ASSERT_TRUE(source.ok()) << source.diagnosticText();
      auto target = findTarget(targets[way]);
      ASSERT_TRUE(target) << target.error().toString();
      auto code = compileKernels(**target, source.module());
      ASSERT_TRUE(code) << code.error().toString();
      EXPECT_EQ(code->kernels.front().scratchBytes, 0);
    }
}

TEST_P(FileBlocks, RunOnTheSoftwareDevice) {
  auto device = vulkan::softwareDevice(8);
  if (!device)
    GTEST_SKIP() << device.error().toString();
  auto target = findTarget((*device)->info().target);
  ASSERT_TRUE(target) << target.error().toString();
  for (const KernelCase &c : casesOf(format())) {
    SCOPED_TRACE(c.label);
    tile::KernelModule source = buildCase(c);
    ASSERT_TRUE(source.ok()) << source.diagnosticText();
    auto kernel = DeviceKernel::load(source.module(), **target, **device);
    ASSERT_TRUE(kernel) << kernel.error().toString();
    Random random(13);
    LaunchArguments arguments = caseArguments(c, kernel->source(), extentsOf(c), false, random);
    auto found = kernel->launch(arguments);
    ASSERT_TRUE(found) << found.error().toString();
    EXPECT_EQ(
        firstBeyond(*found, interpreted(arguments, kernel->source(), false), boundOnThreads(c)),
        "");
  }
}

TEST_P(FileBlocks, RunInTheEmulationOfMetal) {
  const KernelCases cases = casesOf(format());
  for (const KernelCase &c : testsInFull() ? cases : KernelCases{cases[runs(0, 2) ? 0 : 2]}) {
    SCOPED_TRACE(c.label);
    tile::KernelModule source = buildCase(c);
    ASSERT_TRUE(source.ok()) << source.diagnosticText();
    auto target = findTarget("metal:apple9");
    ASSERT_TRUE(target) << target.error().toString();
    auto code = compileKernels(**target, source.module());
    ASSERT_TRUE(code) << code.error().toString();
    std::string_view text(reinterpret_cast<const char *>(code->code.data()), code->code.size());
    auto object = metal::MetalObject::compile(text, code->kernels);
    ASSERT_TRUE(object) << object.error().toString();
    tile::KernelOp kernel = kernelOf(source.module());
    Random random(15);
    LaunchArguments arguments = caseArguments(c, kernel, extentsOf(c), false, random);
    LaunchArguments found = object->launch(arguments, code->kernels.front(),
                                           gridOf(kernel, arguments), GuardedEnd::Back, false);
    EXPECT_EQ(firstBeyond(found, interpreted(arguments, kernel, false), boundOnThreads(c)), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, FileBlocks, testing::ValuesIn(formatsInFileOrder()),
                         [](const auto &info) { return std::string(info.param->name); });

} // namespace
} // namespace sinter::targets::cpu
