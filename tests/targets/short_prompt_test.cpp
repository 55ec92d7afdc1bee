// Tiles of short prompts in the interpreter: a row has the bits that the tile of long prompts gives
// it, whatever runs ahead.
#include "tile/mlir_pch.h"

#include "sched/simt/decisions.h"
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
  bool groupMatmuls;  // the processor multiplies from shared memory
};

sched::SimtFacts factsOf(const ShortPrompt &c) {
  sched::SimtFacts facts;
  facts.maxShared = kShared;
  facts.asyncCopies = facts.matrixLoads = true;
  const std::string type = c.type;
  if (c.groupMatmuls)
    for (const char *columns : {"256", "128", "64"})
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
  const KernelCase tile = tileCase(c, 64, 64);
  Scheduled small(tile, facts, {{isPlain(c) ? "stages" : "steps_ahead", isPlain(c) ? 8 : kAhead}});
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

INSTANTIATE_TEST_SUITE_P(Weights, ShortPrompts,
                         testing::Values(ShortPrompt{"bf16", "q8_0", true},
                                         ShortPrompt{"bf16", "q4_k", true},
                                         ShortPrompt{"bf16", "q4_k", false},
                                         ShortPrompt{"f16", "f16", true},
                                         ShortPrompt{"bf16", "bf16", true}),
                         [](const auto &info) {
                           return std::string(info.param.format) +
                                  (info.param.groupMatmuls ? "_from_shared_memory" : "");
                         });

} // namespace
} // namespace sinter::targets::cpu
