// From target strings to targets, and what these say of themselves.
#include "tile/mlir_pch.h"

#include "hal/target_choice.h"
#include "targets/registry.h"

#include <gtest/gtest.h>
#include <set>

namespace sinter::targets {
namespace {

TEST(Registry, KnowsTheTargetThatEachFamilysNameAloneStandsFor) {
  for (const hal::TargetFamily &family : hal::targetFamilies()) {
    const auto target = findTarget(family.target);
    ASSERT_TRUE(target) << target.error().toString();
    EXPECT_EQ((*target)->name(), family.target);
  }
}

// All that the registry's error for an unknown name lists.
std::vector<std::string> registered() {
  const std::string message = findTarget("none").error().message;
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(message).split("expected ").second.split(names, ", ");
  return {names.begin(), names.end()};
}

TEST(Registry, EveryTargetDescribesItselfByASaneProfile) {
  const std::vector<std::string> names = registered();
  ASSERT_GE(names.size(), 20u);
  for (const std::string &name : names) {
    SCOPED_TRACE(name);
    const auto target = findTarget(name);
    if (name.ends_with("host") && !target)
      continue; // this machine is none that the CPU target knows
    ASSERT_TRUE(target) << target.error().toString();
    const TargetProfile &profile = (*target)->profile();
    const bool cpu = profile.kind == TargetKind::Cpu;
    EXPECT_EQ(cpu, (*target)->name().starts_with("cpu:"));
    EXPECT_TRUE(llvm::isPowerOf2_64(static_cast<uint64_t>(profile.lanes)));
    EXPECT_GE(profile.registers, 16);
    EXPECT_EQ(profile.sharedBytes == 0, cpu);
    EXPECT_TRUE(cpu || profile.sharedBytes >= 16 * 1024);
    EXPECT_NE(profile.besideQuantized, ActivationPrecision::WeightType);
    EXPECT_EQ(profile.besideUnquantized,
              cpu ? ActivationPrecision::F32 : ActivationPrecision::WeightType);
  }
}

TEST(Registry, MatrixInstructionsOfAProfileAreWhole) {
  for (const std::string &name : registered()) {
    SCOPED_TRACE(name);
    const auto target = findTarget(name);
    if (!target)
      continue; // the host: see above
    const TargetProfile &profile = (*target)->profile();
    for (const MatrixShape &shape : profile.matrixInstructions) {
      EXPECT_GE(std::min({shape.m, shape.n, shape.k}), 1);
      const bool cpu = profile.kind == TargetKind::Cpu;
      EXPECT_EQ(shape.threads % (cpu ? 1 : profile.lanes), 0);
      EXPECT_EQ(shape.threads == 1, cpu);
    }
  }
}

// Elements that a target's instructions multiply; a plus where they read shared memory.
std::set<std::string> multiplied(const char *name) {
  std::set<std::string> elements;
  const auto target = findTarget(name);
  EXPECT_TRUE(target);
  for (const MatrixShape &shape : (*target)->profile().matrixInstructions)
    if (shape.element == sched::MatrixElement::F16 || shape.element == sched::MatrixElement::BF16)
      elements.insert(std::string(shape.element == sched::MatrixElement::F16 ? "f16" : "bf16") +
                      (shape.sharedOperands ? "+" : ""));
  return elements;
}

TEST(Registry, ProfilesTellProcessorsOfOneFamilyApart) {
  using Elements = std::set<std::string>;
  EXPECT_EQ(multiplied("cuda:sm_80"), (Elements{"bf16", "f16"}));
  EXPECT_EQ(multiplied("cuda:sm_90a"), (Elements{"bf16", "bf16+", "f16", "f16+"}));
  EXPECT_EQ(multiplied("cpu:avx2"), Elements{});
  EXPECT_EQ(multiplied("cpu:avx512bf16"), Elements{"bf16"});
  EXPECT_EQ(multiplied("metal:apple7"), Elements{"f16"});
  EXPECT_EQ(multiplied("amd:gfx942"), (Elements{"bf16", "f16"}));
  EXPECT_EQ(multiplied("vulkan:1.3+subgroup32"), Elements{});
}

} // namespace
} // namespace sinter::targets
