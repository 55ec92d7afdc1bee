// Every kernel of the registry builds, verifies, and survives a trip through the textual form.
#include "kernels/registry.h"
#include "tile/front/front.h"
#include "tile/mlir_pch.h"

#include <gtest/gtest.h>

namespace sinter::kernels {
namespace {

tile::KernelModule build(const std::string &name, const Settings &settings = {}) {
  return tile::KernelModule::build([&](kernel::Module &module) {
    auto entry = findKernel(name);
    ASSERT_TRUE(entry.has_value()) << entry.error().toString();
    auto defined = entry->define(module, name, settings);
    ASSERT_TRUE(defined.has_value()) << defined.error().toString();
  });
}

void expectRoundTrip(tile::KernelModule built) {
  ASSERT_TRUE(built.ok()) << built.diagnosticText();
  std::string text = built.text();
  auto parsed = tile::KernelModule::parse(text, "kernel.mlir");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().toString() << "\n" << text;
  EXPECT_EQ(parsed->text(), text);
  EXPECT_NE(text.find("tile.kernel @"), std::string::npos);
}

TEST(KernelText, EveryKernelOfTheRegistryRoundTripsThroughItsText) {
  auto registry = kernelRegistry();
  ASSERT_GE(registry.size(), 6u);
  for (const KernelEntry &entry : registry) {
    SCOPED_TRACE(entry.name);
    expectRoundTrip(build(entry.name));
  }
}

} // namespace
} // namespace sinter::kernels
