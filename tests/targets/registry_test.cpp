// From target strings to targets.
#include "tile/mlir_pch.h"

#include "hal/target_choice.h"
#include "targets/registry.h"

#include <gtest/gtest.h>

namespace sinter::targets {
namespace {

TEST(Registry, KnowsTheTargetThatEachFamilysNameAloneStandsFor) {
  for (const hal::TargetFamily &family : hal::targetFamilies()) {
    const auto target = findTarget(family.target);
    ASSERT_TRUE(target) << target.error().toString();
    EXPECT_EQ((*target)->name(), family.target);
  }
}

} // namespace
} // namespace sinter::targets
