// Code for ARM: what it is made of, that processors which lack something refuse it by name, and
// what the driver finds there. Kernels themselves run in the tests of all levels.
#include "tile/mlir_pch.h"

#include "hal/cpu/host_cpu.h"
#include "targets/conformance_cases.h"
#include "targets/registry.h"
#include <elf.h>
#include <gmock/gmock.h>

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

using testing::HasSubstr;

// A small product of blocks, compiled for a level.
struct Compiled {
  explicit Compiled(const std::string &level) : facts(*factsFor(level)) {
    test = blockGemmCase("q8a", "q4_0", 1, 16, 32);
    module.emplace(buildCase(test));
    code = compileKernels(module->module(), facts);
  }
  hal::KernelCase launch() {
    Random random(5);
    tile::KernelOp kernel = *module->module().getOps<tile::KernelOp>().begin();
    LaunchArguments arguments =
        caseArguments(test, kernel, {{"M", 1}, {"N", 16}, {"K", 32}}, false, random);
    const EmittedKernel &emitted = code->kernels.front();
    return emulatedCase(guardedLaunch(arguments, emitted, {1, 1, 1}), emitted, *code,
                        facts.targetName());
  }

  CpuFacts facts;
  KernelCase test;
  std::optional<tile::KernelModule> module;
  Result<CompiledModule> code = fail(Code::Internal, "not compiled");
};

// What a processor says to code of a level; empty where it runs it.
std::string refusal(const std::string &processor, const std::string &level) {
  Compiled compiled(level);
  EXPECT_TRUE(compiled.code.has_value());
  EmulatedRunner runner(processor, nullptr);
  auto views = runner.run(compiled.launch(), GuardedEnd::Back);
  return views ? "" : views.error().message;
}

TEST(Aarch64, TargetStringsNameFeatures) {
  for (auto [level, name] : {std::pair("neon", "cpu:aarch64"),
                             {"dotprod", "cpu:aarch64+dotprod"},
                             {"i8mm", "cpu:aarch64+dotprod+i8mm"}}) {
    EXPECT_EQ(factsFor(level)->targetName(), name);
    auto found = findTarget(name);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_EQ((*found)->name(), name);
  }
}

TEST(Aarch64, CodeIsOfItsArchitecture) {
  Compiled compiled("dotprod");
  ASSERT_TRUE(compiled.code.has_value()) << compiled.code.error().message;
  Elf64_Ehdr header;
  std::memcpy(&header, compiled.code->sharedObject.data(), sizeof header);
  EXPECT_EQ(header.e_machine, EM_AARCH64);
  EXPECT_EQ(header.e_type, ET_DYN);
}

TEST(Aarch64, OtherArchitecturesRefuseIt) {
  if (factsFor("dotprod")->arch == hostFacts()->arch)
    GTEST_SKIP() << "this processor is of that architecture";
  const std::string target = factsFor("dotprod")->targetName();
  EXPECT_EQ(hal::checkTarget(target).error().message,
            "code for '" + target + "' does not run here: the processor is '" + hostFacts()->arch +
                "'");
  Compiled compiled("dotprod");
  auto loaded = hal::SharedObject::load(compiled.code->sharedObject);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().message, "code is for ELF machine 183, expected 62");
}

class EmulatedAarch64 : public testing::Test {
protected:
  void SetUp() override {
    if (std::string missing = emulatorMissing(); !missing.empty())
      GTEST_SKIP() << missing;
  }
};

TEST_F(EmulatedAarch64, ProcessorsRefuseWhatTheyLackByName) {
  EXPECT_EQ(refusal("cortex-a76", "i8mm"), "code for 'cpu:aarch64+dotprod+i8mm' does not run here: "
                                           "the processor has no 'i8mm'");
  EXPECT_EQ(refusal("cortex-a53", "dotprod"), "code for 'cpu:aarch64+dotprod' does not run here: "
                                              "the processor has no 'dotprod'");
  EXPECT_EQ(refusal("cortex-a76", "dotprod"), "");
  EXPECT_EQ(refusal("max", "avx2"), "code for '" + factsFor("avx2")->targetName() +
                                        "' does not run here: the processor is 'aarch64'");
}

// The driver with its threads, and each loop of the peaks.
TEST_F(EmulatedAarch64, DriverFindsFeaturesAndRates) {
  const std::string threads = " on 2 threads\n", measured = "measured just now by ";
  EXPECT_EQ(EmulatedRunner("cortex-a53", "describe").text(),
            "cpu:aarch64+neon\n" + measured + "neon" + threads + measured + "neon" + threads);
  EXPECT_EQ(EmulatedRunner("cortex-a76", "describe").text(), "cpu:aarch64+neon+fullfp16+dotprod\n" +
                                                                 measured + "neon" + threads +
                                                                 measured + "dotprod" + threads);
  EXPECT_THAT(EmulatedRunner("max", "describe").text(), HasSubstr("+i8mm"));
}

} // namespace
} // namespace sinter::targets::cpu
