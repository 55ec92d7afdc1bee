// Tiles of short prompts in the interpreter: a row has the bits that the tile of long prompts gives
// it, whatever runs ahead.
#include "tile/mlir_pch.h"

#include "sched/simt/decisions.h"
#include "sched/simt/layout.h"
#include "sched/simt/schedule.h"
#include "targets/conformance_cases.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

constexpr int64_t kShared = 232448, kRows = 70, kColumns = 72, kDepth = 512, kAhead = 4;

struct ShortPrompt {
  const char *type;   // of activations
  const char *format; // of weights
  int64_t columns;    // of a tile
  bool groupMatmuls;  // the processor multiplies from shared memory
};

sched::SimtFacts factsOf(const ShortPrompt &c) {
  sched::SimtFacts facts;
  facts.maxShared = kShared;
  facts.asyncCopies = facts.matrixLoads = true;
  const std::string type = c.type;
  if (c.groupMatmuls)
    for (const char *columns : {"256", "128", "64", "32", "16"})
      facts.instructions.push_back(std::string("nvidia.wgmma.m64n") + columns + "k16.f32." + type);
  facts.instructions.push_back("nvidia.mma.m16n8k16.f32." + type);
  return facts;
}

bool isPlain(const ShortPrompt &c) {
  return std::string_view(c.type) == c.format;
}

KernelCase tileCase(const ShortPrompt &c, int64_t rows, int64_t columns) {
  KernelCase made = gemmCase(c.type, c.format, true, rows, columns, 64);
  made.settings["k"] = std::to_string(kDepth);
  if (isPlain(c))
    return made;
  const BlockFormat *format = findBlockFormat(llvm::StringRef(c.format).upper());
  made.settings["block_k"] = std::to_string(std::max<int64_t>(64, format->blockLength));
  made.settings["activation"] = c.type;
  made.settings["constant_b"] = "true";
  made.settings["interleave"] = "8";
  return made;
}

struct Scheduled {
  Scheduled(const KernelCase &c, const sched::SimtFacts &facts,
            std::vector<std::pair<std::string, int64_t>> decided = {})
      : source(buildCase(c)) {
    if (!decided.empty())
      tile::setSchedule(plain(), decided);
    auto made = sched::scheduleSimt(source.module(), facts);
    EXPECT_TRUE(made) << made.error().toString();
    if (made)
      lanes = std::move(*made);
  }
  tile::KernelOp plain() { return *source.module().getOps<tile::KernelOp>().begin(); }
  std::vector<uint8_t> run(const LaunchArguments &arguments) {
    sched::InterpreterOptions options;
    options.lanes.maxShared = kShared;
    LaunchArguments ended =
        interpreted(arguments, *lanes->getOps<tile::KernelOp>().begin(), true, options);
    return argumentNamed(ended, "out").bytes;
  }
  // Matmul instructions in loops.
  int64_t multiplications() {
    int64_t found = 0;
    lanes->walk([&](Operation *op) {
      found += isa<sched::MatrixAsyncOp, sched::MatrixOp>(op) && op->getParentOfType<scf::ForOp>();
    });
    return found;
  }
  int64_t threads() {
    tile::KernelOp kernel = *lanes->getOps<tile::KernelOp>().begin();
    return kernel->getAttrOfType<IntegerAttr>(sched::kThreadsName).getInt();
  }
  // Groups of copies that a wait leaves under way at most.
  int64_t pending() {
    int64_t most = 0;
    lanes->walk([&](sched::CopyWaitOp wait) {
      most = std::max<int64_t>(most, static_cast<int64_t>(wait.getPending()));
    });
    return most;
  }

  tile::KernelModule source;
  OwningOpRef<ModuleOp> lanes;
};

class ShortPrompts : public testing::TestWithParam<ShortPrompt> {};

TEST_P(ShortPrompts, HaveTheBitsOfLongOnes) {
  const ShortPrompt &c = GetParam();
  const sched::SimtFacts facts = factsOf(c);
  Scheduled large(isPlain(c) ? tileCase(c, 128, 256) : tileCase(c, 256, 128), facts);
  const KernelCase tile = tileCase(c, 64, c.columns);
  std::vector<std::pair<std::string, int64_t>> decided = {{"threads", 128}, {"stages", 8}};
  if (!isPlain(c))
    decided.emplace_back("steps_ahead", kAhead);
  Scheduled small(tile, facts, decided);
  EXPECT_EQ(small.threads(), 128);
  Random random(3);
  const LaunchArguments arguments = makeArguments(
      large.plain(), tile.views, {{"M", kRows}, {"N", kColumns}, {"K", kDepth}}, 0, random);
  EXPECT_EQ(small.run(arguments), large.run(arguments));
}

TEST_P(ShortPrompts, RunAheadAsTheirSourceDecides) {
  const ShortPrompt &c = GetParam();
  const sched::SimtFacts facts = factsOf(c);
  const KernelCase tile = tileCase(c, 64, 64);
  Scheduled usual(tile, facts);
  if (isPlain(c)) {
    EXPECT_EQ(Scheduled(tile, facts, {{"stages", 8}}).pending(), usual.pending() + 4);
  } else {
    EXPECT_EQ(Scheduled(tile, facts, {{"steps_ahead", kAhead}}).multiplications(),
              kAhead * usual.multiplications());
    EXPECT_EQ(Scheduled(tile, facts, {{"steps_ahead", 3}}).multiplications(),
              usual.multiplications())
        << "steps do not come out even";
  }
}

// 128 threads have registers for four steps of a tile of 64 x 128 of Q5_K, and for two of Q6_K.
TEST(ShortPromptSteps, AreAsManyAsRegistersHold) {
  auto multiplications = [](const char *format, int64_t ahead) {
    const ShortPrompt c = {"bf16", format, 128, true};
    return Scheduled(tileCase(c, 64, 128), factsOf(c), {{"steps_ahead", ahead}, {"threads", 128}})
        .multiplications();
  };
  EXPECT_EQ(multiplications("q5_k", 4), 4 * multiplications("q5_k", 1));
  EXPECT_EQ(multiplications("q6_k", 4), 2 * multiplications("q6_k", 1));
}

TEST(ShortPromptThreads, AreWholeSubgroupsThatAProcessorHas) {
  const ShortPrompt c = {"f16", "f16", 32, true};
  for (int64_t threads : {0, -32, 16, 48, 96, 2048}) {
    const KernelCase tile = tileCase(c, 64, 32);
    tile::KernelModule source = buildCase(tile);
    tile::setSchedule(*source.module().getOps<tile::KernelOp>().begin(), {{"threads", threads}});
    auto made = sched::scheduleSimt(source.module(), factsOf(c));
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, "kernel 'gemm' decides on " + std::to_string(threads) +
                                        " threads, expected a power of two from 32 to 1024");
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, ShortPrompts,
                         testing::Values(ShortPrompt{"bf16", "q8_0", 32, true},
                                         ShortPrompt{"bf16", "q4_k", 16, true},
                                         ShortPrompt{"bf16", "q4_k", 64, false},
                                         ShortPrompt{"f16", "f16", 32, true},
                                         ShortPrompt{"bf16", "bf16", 64, true}),
                         [](const auto &info) {
                           return std::string(info.param.format) +
                                  (info.param.groupMatmuls ? "_from_shared_memory" : "");
                         });

} // namespace
} // namespace sinter::targets::cpu
