// The NVIDIA target apart from what it prints of single kernels: joining parts, launch facts,
// names.
#include "targets/nvidia/facts.h"
#include "targets/nvidia/nvidia_target.h"
#include "targets/nvidia/ptx.h"
#include "targets/registry.h"

#include "kernels/elementwise.h"
#include "kernels/rows.h"
#include "tile/front/front.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>

namespace sinter::targets::nvidia {
namespace {

using testing::HasSubstr;

constexpr const char *kFirst = "//\n// Generated\n.version 7.8\n.target sm_90\n.address_size 64\n"
                               ".extern .shared .align 128 .b8 sinter_shared[];\n"
                               ".visible .entry first(\n)\n{\n\tret;\n}\n";
constexpr const char *kSecond = ".version 7.8\n.target sm_90\n.address_size 64\n"
                                ".extern .shared .align 128 .b8 sinter_shared[];\n"
                                ".visible .entry second(\n)\n{\n\tret;\n}\n";

size_t countOf(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; ++at)
    ++count;
  return count;
}

Result<std::string> join(std::vector<std::string_view> texts) {
  return joinPtx(texts);
}

Result<CompiledModule> compile(const char *target, const tile::KernelSource &source) {
  tile::KernelModule module = tile::KernelModule::build(source);
  SINTER_ASSIGN(std::unique_ptr<Target> found, findTarget(target));
  return compileKernels(*found, module.module());
}

TEST(JoinPtx, KeepsOneHeaderOneSharedArrayAndAllEntries) {
  auto joined = join({kFirst, kSecond});
  ASSERT_TRUE(joined) << joined.error().toString();
  for (const char *once : {".version", ".target", ".address_size", ".extern .shared",
                           ".entry first(", ".entry second("})
    EXPECT_EQ(countOf(*joined, once), 1u) << once << " in\n" << *joined;
}

TEST(JoinPtx, RefusesTwoEntriesOfOneName) {
  auto joined = join({kFirst, kFirst});
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message, HasSubstr("'first'"));
}

TEST(JoinPtx, RefusesPartsForDifferentArchitectures) {
  std::string other = kSecond;
  other.replace(other.find("sm_90"), 5, "sm_80");
  auto joined = join({kFirst, other});
  ASSERT_FALSE(joined);
  EXPECT_THAT(joined.error().message, HasSubstr("different headers"));
}

TEST(NvidiaTarget, SaysWhatALaunchNeeds) {
  auto code = compile("cuda:sm_90", [](kernel::Module &module) {
    module.kernel("rows", [](kernel::KernelBuilder &k) {
      kernels::RmsNorm p;
      p.columns = p.blockColumns = 4096;
      p.blockRows = 1;
      kernels::rmsNorm(k, p);
    });
  });
  ASSERT_TRUE(code) << code.error().toString();
  ASSERT_EQ(code->kernels.size(), 1u);
  const EmittedKernel &kernel = code->kernels.front();
  EXPECT_EQ(kernel.symbol, "rows");
  EXPECT_EQ(kernel.bufferCount, 3);
  EXPECT_EQ(kernel.scalarCount, 3 * 3 + 1);
  EXPECT_GT(kernel.threads, 32) << "a row's sum crosses subgroups";
  EXPECT_GT(kernel.sharedBytes, 0) << "a row's sum crosses subgroups";
  EXPECT_EQ(kernel.scratchBytes, 0);
}

TEST(NvidiaTarget, LinksPartsThatWereCompiledApart) {
  auto target = findTarget("cuda:sm_90");
  ASSERT_TRUE(target);
  std::vector<std::vector<uint8_t>> parts;
  for (const char *name : {"one", "two"}) {
    tile::KernelModule module = tile::KernelModule::build([&](kernel::Module &m) {
      m.kernel(name, [](kernel::KernelBuilder &k) { kernels::add(k, kernels::Add()); });
    });
    auto part = (*target)->compilePart(module.module(), nullptr);
    ASSERT_TRUE(part) << part.error().toString();
    parts.push_back(part->code);
  }
  auto linked = (*target)->link(parts);
  ASSERT_TRUE(linked) << linked.error().toString();
  std::string text(linked->begin(), linked->end());
  EXPECT_EQ(countOf(text, ".version"), 1u);
  EXPECT_EQ(countOf(text, ".visible .entry one("), 1u);
  EXPECT_EQ(countOf(text, ".visible .entry two("), 1u);
}

TEST(NvidiaTarget, IsThereForEachArchitectureThatTheErrorNames) {
  std::string names = nvidiaTargetNames();
  llvm::SmallVector<llvm::StringRef> list;
  llvm::StringRef(names).split(list, ", ");
  ASSERT_GE(list.size(), 6u);
  for (llvm::StringRef name : list) {
    auto code = compile(name.str().c_str(), [](kernel::Module &module) {
      module.kernel("add", [](kernel::KernelBuilder &k) { kernels::add(k, kernels::Add()); });
    });
    ASSERT_TRUE(code) << name.str() << ": " << code.error().toString();
    std::string text(code->code.begin(), code->code.end());
    EXPECT_THAT(text, HasSubstr(".target " + name.substr(5).str() + "\n"));
  }
}

// The driver's assembler refuses instructions that are newer than the version that the text names.
TEST(NvidiaTarget, CodeNamesAVersionThatHasWhatHintsCaches) {
  std::string names = nvidiaTargetNames();
  llvm::SmallVector<llvm::StringRef> list;
  llvm::StringRef(names).split(list, ", ");
  for (llvm::StringRef name : list) {
    auto code = compile(name.str().c_str(), [](kernel::Module &module) {
      module.kernel("rows", [](kernel::KernelBuilder &k) {
        kernels::RmsNorm p;
        p.columns = p.blockColumns = 256;
        kernels::rmsNorm(k, p);
      });
    });
    ASSERT_TRUE(code) << name.str() << ": " << code.error().toString();
    llvm::StringRef text(reinterpret_cast<const char *>(code->code.data()), code->code.size());
    EXPECT_TRUE(text.contains("createpolicy.fractional")) << name.str();
    double version = 0;
    text.split(".version ").second.split('\n').first.trim().getAsDouble(version);
    EXPECT_GE(version, 7.4) << name.str();
  }
}

TEST(NvidiaFacts, OccupancyIsWhatTheScarcestResourceAllows) {
  const NvidiaFacts *facts = findFacts("sm_90");
  ASSERT_NE(facts, nullptr);
  EXPECT_EQ(blocksPerMultiprocessor(*facts, 256, 32, 0), 8) << "2,048 threads";
  EXPECT_EQ(blocksPerMultiprocessor(*facts, 32, 16, 0), 32) << "32 blocks";
  EXPECT_EQ(blocksPerMultiprocessor(*facts, 256, 128, 0), 2) << "65,536 registers";
  EXPECT_EQ(blocksPerMultiprocessor(*facts, 128, 32, 113 * 1024), 2) << "228 KiB shared";
  EXPECT_EQ(blocksPerMultiprocessor(*facts, 1024, 128, 0), 0) << "twice the registers there are";
}

TEST(Registry, NamesTheTargetsThatThereAreWhereOneIsUnknown) {
  for (const char *name : {"", "cuda", "cuda:", "cuda:sm_1", "tpu:v5", "cpu:z80", "sm_90"}) {
    auto found = findTarget(name);
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().code, Code::InvalidArgument) << name;
    EXPECT_THAT(found.error().message, HasSubstr("expected")) << name;
  }
}

TEST(Registry, FindsACpuTargetAgainByItsFullName) {
  for (const char *name : {"avx2", "cpu:avx512", "cpu:avx512vnni"}) {
    auto found = findTarget(name);
    ASSERT_TRUE(found) << name;
    auto again = findTarget((*found)->name());
    ASSERT_TRUE(again) << (*found)->name();
    EXPECT_EQ((*again)->name(), (*found)->name());
  }
}

} // namespace
} // namespace sinter::targets::nvidia
