// What families cost in launches: features ride in the slots of the kernels that are there anyway.
#include "engine/choice/fusion.h"
#include "engine/choice/precision.h"
#include "engine/gguf_source.h"
#include "engine/lowering.h"
#include "golden_model.h"
#include "graph/rewrite/passes.h"
#include "models/decoder.h"
#include "targets/registry.h"

#include <gtest/gtest.h>

namespace sinter::engine {
namespace {

// Launches from the first layer's attention to the second's, which works on the rows of logits
// alone: those of a layer, the gather of these rows, their norm, and queries apart from keys.
int64_t launchesOfALayer(const std::string &golden) {
  const GoldenModel model =
      GoldenModel::read(SINTER_TEST_DIR "/data/architectures/" + golden + ".txt");
  const std::vector<uint8_t> bytes = model.bytesOfZeros(TensorType::Q8_0);
  const Result<GgufFile> file = GgufFile::parse(bytes);
  const auto target = targets::findTarget("avx2");
  if (!file || !target)
    return -1;
  const GgufSource source(*file);
  const auto features = models::readDecoder(source);
  mlir::MLIRContext context;
  graph::loadDialects(context);
  auto module = models::buildDecoder(context, *features, source);
  const MatmulPrecision rules = choosePrecision((*target)->profile(), Activations::Fastest);
  graph::decomposeNorms(**module, [](graph::NormOp norm) { return !hasRowKernel(norm); });
  graph::joinMatmuls(**module);
  graph::joinMaps(**module);
  graph::quantizeActivations(
      **module,
      [&](mlir::Type weights) { return activationFor(tile::blockFormatOf(weights), rules); },
      rules.weightTypeRows);
  graph::fuse(**module, fuseOptions((*target)->profile()));
  std::vector<int64_t> attentions;
  int64_t count = 0;
  (*module)->walk([&](graph::LaunchOp launch) {
    if (graph::runs<graph::PagedAttentionOp>(launch))
      attentions.push_back(count);
    ++count;
  });
  return attentions.size() == 2 ? attentions[1] - attentions[0] : -1;
}

TEST(FamilyLaunches, AreThoseOfTheSimplestDecoderWhereNoNormFollowsAMatmul) {
  constexpr int64_t kSimplest = 10;
  EXPECT_EQ(launchesOfALayer("llama"), kSimplest);
  EXPECT_EQ(launchesOfALayer("phi3"), kSimplest);
  EXPECT_EQ(launchesOfALayer("starcoder2"), kSimplest);
  EXPECT_EQ(launchesOfALayer("granite"), kSimplest);
  EXPECT_EQ(launchesOfALayer("gemma"), kSimplest);
}

TEST(FamilyLaunches, ANormOfWhatABlockAddsTakesTwoOfEachBlock) {
  EXPECT_LE(launchesOfALayer("gemma2"), 10 + 4);
}

} // namespace
} // namespace sinter::engine
