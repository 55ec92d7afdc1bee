// The Vulkan target apart from what its code computes: names, launch facts, joining of parts.
#include "hal/vulkan/spirv_code.h"
#include "kernels/elementwise.h"
#include "kernels/rows.h"
#include "targets/registry.h"
#include "targets/vulkan/binary.h"
#include "targets/vulkan/facts.h"
#include "tile/front/front.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>

namespace sinter::targets::vulkan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr const char *kTarget = "vulkan:1.3+subgroup32+float16+int16+int8+threads1024+shared32768";

Result<CompiledModule> partOf(const tile::KernelSource &source) {
  tile::KernelModule module = tile::KernelModule::build(source);
  SINTER_ASSIGN(std::unique_ptr<Target> target, findTarget(kTarget));
  return target->compilePart(module.module(), nullptr);
}

Result<CompiledModule> addPart(const char *name) {
  return partOf([&](kernel::Module &module) {
    module.kernel(name, [](kernel::KernelBuilder &k) { kernels::add(k, kernels::Add()); });
  });
}

Result<CompiledModule> normPart(const char *name) {
  return partOf([&](kernel::Module &module) {
    module.kernel(name, [](kernel::KernelBuilder &k) {
      kernels::RmsNorm p;
      p.columns = p.blockColumns = 4096;
      p.blockRows = 1;
      kernels::rmsNorm(k, p);
    });
  });
}

// ---- target strings ----

TEST(VulkanFacts, AreFoundAgainByTheirName) {
  auto facts =
      parseFacts("1.3+int8+subgroup16+threads512+coop16x16x16_f16_f16_f32_f32+shared49152");
  ASSERT_TRUE(facts) << facts.error().toString();
  EXPECT_EQ(facts->subgroup, 16);
  EXPECT_EQ(facts->threads, 512);
  EXPECT_EQ(facts->sharedBytes, 49152);
  EXPECT_THAT(facts->features, UnorderedElementsAre("int8", "coop16x16x16_f16_f16_f32_f32"));
  auto again = findTarget(facts->name());
  ASSERT_TRUE(again) << again.error().toString();
  EXPECT_EQ((*again)->name(), facts->name());
}

TEST(VulkanFacts, RefuseWhatNoDeviceIs) {
  for (const char *name : {"", "1", "1.", "1.1", "2.0", "1.x", "1.-3", "1.3+", "1.3++int8",
                           "1.3+int 8", "1.3+subgroup0", "1.3+subgroup24", "1.3+subgroup4294967328",
                           "1.3+threads0", "1.3+threads99999999999999999999", "1.3+shared16777217",
                           "1.3+subgroup64+threads32", "1.3+int8\n"}) {
    auto facts = parseFacts(name);
    ASSERT_FALSE(facts) << name;
    EXPECT_EQ(facts.error().code, Code::InvalidArgument) << name;
    EXPECT_THAT(facts.error().message, HasSubstr("found")) << name;
  }
}

// ---- parts ----

TEST(VulkanParts, SayWhatALaunchNeeds) {
  auto part = normPart("rows");
  ASSERT_TRUE(part) << part.error().toString();
  ASSERT_EQ(part->kernels.size(), 1u);
  const EmittedKernel &kernel = part->kernels.front();
  EXPECT_EQ(kernel.symbol, "rows");
  EXPECT_EQ(kernel.bufferCount, 3);
  EXPECT_EQ(kernel.scalarCount, 3 * 3 + 1);
  EXPECT_GT(kernel.threads, 32) << "a row's sum crosses subgroups";
  EXPECT_GT(kernel.sharedBytes, 0) << "a row's sum crosses subgroups";
  EXPECT_EQ(kernel.scratchBytes, 0);
}

TEST(VulkanParts, JoinToOneModuleWithAllEntryPoints) {
  std::vector<std::vector<uint8_t>> parts;
  std::vector<uint32_t> threads;
  for (auto part : {addPart("one"), normPart("two"), normPart("three")}) {
    ASSERT_TRUE(part) << part.error().toString();
    parts.push_back(part->code);
    threads.push_back(static_cast<uint32_t>(part->kernels.front().threads));
  }
  auto linked = linkParts(parts);
  ASSERT_TRUE(linked) << linked.error().toString();
  auto code = hal::vulkan::readSpirv(*linked);
  ASSERT_TRUE(code) << code.error().toString();
  std::vector<std::string> names;
  std::vector<uint32_t> sizes;
  for (const hal::vulkan::EntryPoint &entry : code->entryPoints) {
    names.push_back(entry.name);
    sizes.push_back(entry.localSize[0]);
  }
  EXPECT_THAT(names, ElementsAre("one", "two", "three"));
  EXPECT_EQ(sizes, threads);
}

TEST(VulkanParts, DeclareEachCapabilityOnce) {
  std::vector<std::vector<uint8_t>> parts;
  for (auto part : {addPart("one"), normPart("two"), normPart("three")}) {
    ASSERT_TRUE(part) << part.error().toString();
    parts.push_back(part->code);
  }
  auto linked = linkParts(parts);
  ASSERT_TRUE(linked) << linked.error().toString();
  auto code = hal::vulkan::readSpirv(*linked);
  ASSERT_TRUE(code) << code.error().toString();
  constexpr uint32_t kShuffle = 65;
  EXPECT_THAT(code->capabilities, testing::Contains(kShuffle))
      << "only parts after the first shuffle";
  std::set<uint32_t> distinct(code->capabilities.begin(), code->capabilities.end());
  EXPECT_EQ(distinct.size(), code->capabilities.size());
}

TEST(VulkanParts, OfOneNameAreRefused) {
  auto part = addPart("same");
  ASSERT_TRUE(part) << part.error().toString();
  auto linked = linkParts(std::vector{part->code, part->code});
  ASSERT_FALSE(linked);
  EXPECT_THAT(linked.error().message, HasSubstr("'same'"));
}

TEST(VulkanParts, ThatAreNoneAreRefused) {
  for (const std::vector<uint8_t> &part : {std::vector<uint8_t>(), std::vector<uint8_t>(100, 7)}) {
    auto linked = linkParts(std::vector<std::vector<uint8_t>>{part});
    ASSERT_FALSE(linked);
    EXPECT_THAT(linked.error().message, HasSubstr(std::to_string(part.size()) + " bytes"));
  }
  EXPECT_FALSE(linkParts({}));
}

} // namespace
} // namespace sinter::targets::vulkan
