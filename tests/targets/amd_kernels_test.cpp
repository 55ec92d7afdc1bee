// Every registered kernel compiles for every AMD processor to a code object that agrees with it;
// with each processor's facts SIMT IR, matrix fragments lane by lane, lies near the tile
// interpreter.
#include "tile/mlir_pch.h"

#include "sched/simt/schedule.h"
#include "targets/amd/amd_target.h"
#include "targets/amd/code_object.h"
#include "targets/amd/schedule.h"
#include "targets/conformance_cases.h"

using namespace mlir;

namespace sinter::targets::amd {
namespace {

using cpu::conformanceCases;
using cpu::KernelCase;

constexpr const char *kProcessors[] = {"gfx90a", "gfx942", "gfx1100", "gfx1201"};

std::string nameOf(size_t test, const char *processor) {
  return conformanceCases()[test].label + "_" + processor;
}

// ---- code objects ----

class AmdCompiles : public testing::TestWithParam<std::tuple<size_t, size_t>> {};

TEST_P(AmdCompiles, ToACodeObjectThatAgrees) {
  const size_t test = std::get<0>(GetParam());
  const char *processor = kProcessors[std::get<1>(GetParam())];
  tile::KernelModule source = cpu::buildCase(conformanceCases()[test]);
  ASSERT_TRUE(source.ok()) << source.diagnosticText();
  std::string diagnostics;
  ScopedDiagnosticHandler handler(source.module().getContext(), [&](Diagnostic &d) {
    diagnostics += d.str() + "\n";
    return success();
  });
  auto target = findAmdTarget(processor);
  ASSERT_TRUE(target.has_value());
  auto code = compileKernels(**target, source.module());
  ASSERT_TRUE(code.has_value()) << code.error().toString() << "\n" << diagnostics;
  auto object = readCodeObject(code->code);
  ASSERT_TRUE(object.has_value()) << object.error().toString();
  ASSERT_EQ(object->kernels.size(), 1u);
  ASSERT_EQ(code->kernels.size(), 1u);
  const KernelMetadata &found = object->kernels.front();
  const EmittedKernel &emitted = code->kernels.front();
  EXPECT_EQ(found.name, emitted.symbol);
  EXPECT_EQ(found.words, emitted.bufferCount + emitted.scalarCount);
  EXPECT_EQ(found.threads, emitted.threads);
  EXPECT_EQ(found.subgroup, findFacts(processor)->subgroup);
  EXPECT_LE(found.sharedBytes, emitted.sharedBytes);
  EXPECT_EQ(found.scratchBytes > 0, diagnostics.find("in memory") != std::string::npos)
      << "spills are right, never silent: " << diagnostics;
  EXPECT_LE(found.vectorRegisters, findFacts(processor)->registers);
}

INSTANTIATE_TEST_SUITE_P(Kernels, AmdCompiles,
                         testing::ValuesIn(cpu::casesInWays(
                             conformanceCases(), {std::begin(kProcessors), std::end(kProcessors)})),
                         [](const auto &info) {
                           return nameOf(std::get<0>(info.param),
                                         kProcessors[std::get<1>(info.param)]);
                         });

// ---- SIMT IR ----

// Each case for one processor, each processor for a quarter of the cases.
const char *processorOf(size_t test) {
  return kProcessors[test % std::size(kProcessors)];
}

class AmdSimtConformance : public testing::TestWithParam<size_t> {
protected:
  const char *processor() const { return processorOf(GetParam()); }
};

TEST_P(AmdSimtConformance, Holds) {
  const KernelCase &c = conformanceCases()[GetParam()];
  const AmdFacts &facts = *findFacts(processor());
  tile::KernelModule source = cpu::buildCase(c);
  ASSERT_TRUE(source.ok()) << source.diagnosticText();
  auto scheduled = scheduleSimt(source.module(), facts);
  ASSERT_TRUE(scheduled.has_value()) << scheduled.error().toString();
  tile::KernelOp kernel = *source.module().getOps<tile::KernelOp>().begin();
  tile::KernelOp lanes = *(*scheduled)->getOps<tile::KernelOp>().begin();
  sched::InterpreterOptions options;
  options.lanes.subgroup = facts.subgroup;
  options.lanes.maxThreads = facts.maxThreads;
  options.lanes.maxShared = facts.sharedBytes;
  cpu::Random random(GetParam());
  cpu::Extents extents = cpu::mixExtents(c.extents, c.rounds, random).back();
  if (c.derive)
    c.derive(extents);
  cpu::LaunchArguments arguments = cpu::caseArguments(c, kernel, extents, false, random);
  cpu::LaunchArguments reference = cpu::interpreted(arguments, kernel, false);
  cpu::LaunchArguments found = cpu::interpreted(arguments, lanes, true, options);
  EXPECT_EQ(cpu::firstBeyond(found, reference, cpu::boundOnThreads(c)), "")
      << cpu::extentsText(extents);
}

std::vector<size_t> casesOfSimt() {
  std::vector<size_t> all(conformanceCases().size());
  std::iota(all.begin(), all.end(), size_t(0));
  return sampled(all, [](size_t test) {
    std::vector<std::string> properties = propertiesOf(conformanceCases()[test]);
    properties.push_back(processorOf(test));
    return properties;
  });
}

INSTANTIATE_TEST_SUITE_P(Kernels, AmdSimtConformance, testing::ValuesIn(casesOfSimt()),
                         [](const auto &info) {
                           return nameOf(info.param, processorOf(info.param));
                         });

} // namespace
} // namespace sinter::targets::amd
