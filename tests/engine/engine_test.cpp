// From model file to plan: what a plan says of its model, that equal models give equal bytes, and
// one sentence for each model that cannot run.
#include "engine/engine.h"
#include "engine/tiny_gguf.h"
#include "numeric/formats/activation_format.h"
#include "plan/contract.h"
#include "plan/file.h"
#include "plan/validate.h"
#include "plan/walk.h"
#include "tile/mlir_pch.h"

#include <gmock/gmock.h>
#include <set>

namespace sinter::engine {
namespace {

using models::FakeSource;

std::string refusal(const FakeSource &source, const EngineOptions &options = quickOptions()) {
  auto plan = planOf(source, options);
  return plan ? "" : plan.error().message;
}

// A plan, and what was said while it was built.
struct WatchedPlan {
  Result<plan::Plan> plan = fail(Code::NotFound, "not built");
  std::vector<std::tuple<std::string, uint32_t, uint32_t>> progress;
};

WatchedPlan buildWatched() {
  WatchedPlan watched;
  std::vector<uint8_t> bytes = ggufOf(tinyLlama());
  auto file = GgufFile::parse(bytes);
  EXPECT_TRUE(file);
  watched.plan =
      buildPlan(*file, quickOptions(), [&](std::string_view stage, uint32_t done, uint32_t total) {
        watched.progress.emplace_back(stage, done, total);
      });
  return watched;
}

// Built once for the tests that only look at it.
const WatchedPlan &watchedPlan() {
  static const WatchedPlan watched = buildWatched();
  return watched;
}
const Result<plan::Plan> &tinyPlan() {
  return watchedPlan().plan;
}

TEST(Engine, ProgressOfEachStageEndsWithAllWorkDone) {
  std::map<std::string, std::pair<uint32_t, uint32_t>> last;
  for (const auto &[stage, done, total] : watchedPlan().progress)
    last[stage] = {done, total};
  ASSERT_TRUE(last.contains("building the graph"));
  ASSERT_TRUE(last.contains("compiling kernels"));
  for (const auto &[stage, counts] : last)
    EXPECT_EQ(counts.first, counts.second) << stage;
}

TEST(Engine, PlanOfASmallModelIsValidAndReadsBack) {
  const Result<plan::Plan> &plan = tinyPlan();
  ASSERT_TRUE(plan) << plan.error().toString();
  ASSERT_TRUE(plan::validate(*plan));
  auto bytes = plan::serialize(*plan);
  ASSERT_TRUE(bytes) << bytes.error().toString();
  auto back = plan::parse(*bytes);
  ASSERT_TRUE(back) << back.error().toString();
  EXPECT_TRUE(*back == *plan);
}

TEST(Engine, PlanNamesItsModelAndShape) {
  std::vector<uint8_t> bytes = ggufOf(tinyLlama());
  const Result<plan::Plan> &plan = tinyPlan();
  ASSERT_TRUE(plan) << plan.error().toString();
  EXPECT_EQ(plan->modelDigest, GgufFile::parse(bytes)->digest()->hex());
  EXPECT_EQ(plan->modelBytes, bytes.size());
  const std::map<std::string, int64_t> expected = {
      {"vocab_size", 100},     {"context_length", 256},
      {"page_rows", 16},       {"query_block", 1},
      {"layers", 1},           {"heads", 4},
      {"kv_heads", 2},         {"head_dim", 16},
      {"rope_dims", 16},       {"kv_bytes", 16 * 2 * 2 * 16 * 2},
      {"graph_operations", 24}};
  EXPECT_EQ(plan->properties, expected);
  EXPECT_EQ(plan->texts.at("architecture"), "llama");
}

// Two heads of 32 instead of four of 16.
FakeSource widerHeads() {
  FakeSource source = tinyLlama();
  source.values["llama.attention.head_count"] = int64_t(2);
  source.values["llama.attention.head_count_kv"] = int64_t(1);
  return source;
}

EngineOptions kvOptions(const std::string &kvType) {
  EngineOptions options = quickOptions();
  options.kvType = kvType;
  return options;
}

TEST(Engine, PlanKeepsKeysAndValuesInTheTypeThatIsAskedFor) {
  for (auto [type, rowBytes] :
       {std::pair{"f16", 2 * 2 * 32}, {"bf16", 2 * 2 * 32}, {"q8_0", 2 * 34}, {"fp8", 2 * 32}}) {
    auto plan = outlineOf(widerHeads(), kvOptions(type));
    ASSERT_TRUE(plan) << plan.error().toString();
    EXPECT_EQ(plan->texts.at("kv_type"), type);
    EXPECT_EQ(plan->properties.at("kv_bytes"), 16 * rowBytes) << type;
    auto keys = plan::findBuffer(*plan, "kv.0.keys");
    ASSERT_TRUE(keys) << type;
    std::vector<int64_t> sizes(plan->symbols.size(), 1);
    sizes[plan::findSymbol(*plan, "N")->index] = 3;
    EXPECT_EQ(*plan::evaluate(plan->buffers[keys->index].bytes, sizes), 3 * 16 * rowBytes / 2);
  }
}

TEST(Engine, AKvStateOfNoKnownTypeOrForOtherHeadsIsRefusedInOneSentence) {
  EXPECT_EQ(refusal(tinyLlama(), kvOptions("q4_1")),
            "the type of the KV cache is 'q4_1', expected one of auto, f16, q8_0, bf16, fp8");
  EXPECT_EQ(refusal(tinyLlama(), kvOptions("q8_0")),
            "heads have 16 elements, a KV cache in Q8_0 takes multiples of 32");
}

EngineOptions activationOptions(const std::string &activations) {
  EngineOptions options = quickOptions();
  options.activations = activations;
  return options;
}

TEST(Engine, ActivationsAreRoundedOnlyWhereTheyMayBe) {
  for (auto [asked, found] : {std::pair{"fastest", "q8a"}, {"f32", "f32"}}) {
    auto plan = outlineOf(tinyLlama(), activationOptions(asked));
    ASSERT_TRUE(plan) << plan.error().toString();
    EXPECT_EQ(plan->texts.at("asked_activations"), asked);
    EXPECT_EQ(plan->texts.at("activations"), found) << asked;
  }
  EXPECT_EQ(refusal(tinyLlama(), activationOptions("bf16")),
            "activations are 'bf16', expected one of fastest, f32");
}

TEST(Engine, NormsMoveIntoMatmulsOnlyWhereTheseShareK) {
  EngineOptions options;
  options.decodeNorms = "merged";
  EXPECT_EQ(refusal(tinyLlama(), options),
            "norms of decode are 'merged', expected one of apart, estimated, fused");
  options.decodeNorms = "fused";
  EXPECT_THAT(refusal(tinyLlama(), options),
              testing::AllOf(testing::HasSubstr("norms of decode are 'fused', but matmuls for "
                                                "target 'cpu:"),
                             testing::HasSubstr("share no K")));
}

TEST(Engine, DeclaresTheContractsSymbolsInOrder) {
  const Result<plan::Plan> &plan = tinyPlan();
  ASSERT_TRUE(plan) << plan.error().toString();
  // Its sequences have no states, its layers no windows, and it lists no partitions.
  ASSERT_EQ(plan->symbols.size(), contract::kSymbols.size() - 4);
  EXPECT_EQ(contract::kSymbols[plan->symbols.size()].id, contract::Symbol::StateSlots);
  EXPECT_EQ(contract::kSymbols.back().id, contract::Symbol::WindowPartitions);
  for (size_t i = 0; i < plan->symbols.size(); ++i) {
    EXPECT_EQ(plan->symbols[i].name, contract::kSymbols[i].name);
    EXPECT_EQ(plan->symbols[i].min, contract::kSymbols[i].min) << plan->symbols[i].name;
  }
  // A context of 256 positions in pages of 16.
  EXPECT_EQ(plan->symbols[plan::findSymbol(*plan, "P")->index].max, 16);
}

// Bytes of a contract's tensor where symbol i is `symbols[i]`.
int64_t bytesOf(const plan::Plan &plan, const contract::TensorRow &row,
                const std::vector<int64_t> &symbols) {
  const auto valueOf = [&](const contract::Extent &extent) {
    if (extent.property)
      return plan.properties.at(extent.property->name);
    return extent.symbol ? symbols.at(static_cast<size_t>(*extent.symbol)) : extent.size;
  };
  return 4 * valueOf(row.rows) * (row.columns ? valueOf(*row.columns) : 1);
}

TEST(Engine, GivesInputsAndOutputTheContractsShapes) {
  const Result<plan::Plan> &plan = tinyPlan();
  ASSERT_TRUE(plan) << plan.error().toString();
  const std::vector<int64_t> symbols = {3, 5, 7, 11, 13, 15, 19, 1, 0, 0, 512};
  std::set<std::string> edges;
  const auto expectShape = [&](const contract::TensorRow &row) {
    edges.insert(row.name);
    const auto id = plan::findBuffer(*plan, row.name);
    ASSERT_TRUE(id) << row.name;
    EXPECT_EQ(*plan::evaluate(plan->buffers[id->index].bytes, symbols),
              bytesOf(*plan, row, symbols))
        << row.name;
  };
  for (const contract::TensorRow &row : contract::kInputs)
    if (&row != &contract::rowOf(contract::Input::StateSpans) &&
        !std::string_view(row.name).ends_with(".1") && // of layers with a window
        !std::string_view(row.name).ends_with("partitions"))
      expectShape(row);
  expectShape(contract::kLogits);
  for (const plan::Buffer &buffer : plan->buffers)
    if (buffer.kind == plan::BufferKind::Input || buffer.kind == plan::BufferKind::Output)
      EXPECT_TRUE(edges.contains(buffer.name)) << buffer.name;
}

TEST(Engine, EveryTensorOfTheFileHasAPlace) {
  FakeSource source = tinyLlama();
  const Result<plan::Plan> &plan = tinyPlan();
  ASSERT_TRUE(plan) << plan.error().toString();
  std::set<std::string> named;
  for (const plan::Buffer &buffer : plan->buffers)
    named.insert(buffer.tensors.begin(), buffer.tensors.end());
  std::set<std::string> expected;
  for (const std::string &name : source.tensorNames())
    expected.insert(name);
  EXPECT_EQ(named, expected);
}

// A model with two heads over one, of `headDim` elements each.
FakeSource headsOf(int64_t headDim, TensorType type) {
  FakeSource source = tinyLlama(type);
  source.values["llama.attention.head_count"] = int64_t(2);
  source.values["llama.attention.head_count_kv"] = int64_t(1);
  source.values["llama.attention.key_length"] = headDim;
  source.values["llama.attention.value_length"] = headDim;
  source.matrix("blk.0.attn_q.weight", {2 * headDim, 64}, type);
  source.matrix("blk.0.attn_k.weight", {headDim, 64}, type);
  source.matrix("blk.0.attn_v.weight", {headDim, 64}, type);
  source.matrix("blk.0.attn_output.weight", {64, 2 * headDim}, type);
  return source;
}

struct CompiledFormat {
  TensorType weights;
  const char *target, *kv;
};
class EngineFormats : public testing::TestWithParam<CompiledFormat> {};

TEST_P(EngineFormats, MakeAPlan) {
  const auto [weights, target, kv] = GetParam();
  EngineOptions options = kvOptions(kv);
  options.target = target;
  auto plan = planOf(headsOf(64, weights), options);
  EXPECT_TRUE(plan) << plan.error().toString();
}

constexpr const char *kVulkanTarget = "vulkan:1.3+subgroup32+int8+int16+shared32768";
// Room for the places of a product's operands, or for what its epilogue exchanges.
constexpr const char *kMatrixTarget =
    "vulkan:1.4+subgroup32+bfloat16+coop16x16x16_bf16_bf16_f32_f32+coop16x16x16_f16_f16_f32_f32+"
    "float16+float64+int16+int8+threads1024+shared49152";
constexpr const char *kF16MatrixTarget =
    "vulkan:1.3+subgroup32+coop16x16x16_f16_f16_f32_f32+float16+int16+int8+shared49152";

// Every format with kernels and every level, in few plans; thread blocks with every format; KV
// caches of every type on CPUs and as thread blocks.
INSTANTIATE_TEST_SUITE_P(Engine, EngineFormats,
                         testing::Values(CompiledFormat{TensorType::F32, "avx512", "fp8"},
                                         CompiledFormat{TensorType::F16, "avx512vnni", "f16"},
                                         CompiledFormat{TensorType::BF16, "avx2", "bf16"},
                                         CompiledFormat{TensorType::Q8_0, "avx512vnni", "q8_0"},
                                         CompiledFormat{TensorType::Q4_1, "avx512", "fp8"},
                                         CompiledFormat{TensorType::Q4_0, "avx2", "bf16"},
                                         CompiledFormat{TensorType::Q8_0, "dotprod", "f16"},
                                         CompiledFormat{TensorType::Q4_1, "avxvnni", "q8_0"},
                                         CompiledFormat{TensorType::F32, "cuda:sm_90a", "f16"},
                                         CompiledFormat{TensorType::F32, kVulkanTarget, "f16"},
                                         CompiledFormat{TensorType::F16, "cuda:sm_90a", "bf16"},
                                         CompiledFormat{TensorType::F16, kVulkanTarget, "q8_0"},
                                         CompiledFormat{TensorType::F16, kMatrixTarget, "f16"},
                                         CompiledFormat{TensorType::F32, kMatrixTarget, "bf16"},
                                         CompiledFormat{TensorType::Q8_0, "cuda:sm_90a", "fp8"},
                                         CompiledFormat{TensorType::Q8_0, kVulkanTarget, "fp8"},
                                         CompiledFormat{TensorType::Q4_1, "cuda:sm_90a", "q8_0"},
                                         CompiledFormat{TensorType::Q4_1, kVulkanTarget, "bf16"},
                                         CompiledFormat{TensorType::MXFP4, "cuda:sm_90a", "f16"},
                                         CompiledFormat{TensorType::Q5_1, kVulkanTarget, "q8_0"},
                                         CompiledFormat{TensorType::Q4_1, kMatrixTarget, "fp8"},
                                         CompiledFormat{TensorType::Q5_0, "amd:gfx942", "fp8"},
                                         CompiledFormat{TensorType::IQ4_NL, "metal:apple9",
                                                        "bf16"}),
                         [](const auto &info) {
                           std::string name = std::string(blockFormat(info.param.weights).name) +
                                              "_" + info.param.target + "_" + info.param.kv;
                           for (char &c : name)
                             c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

std::vector<uint8_t> bytesWith(uint32_t threads) {
  EngineOptions options = quickOptions();
  options.threads = threads;
  auto plan = planOf(tinyLlama(), options);
  EXPECT_TRUE(plan) << plan.error().toString();
  return plan ? *plan::serialize(*plan) : std::vector<uint8_t>();
}

TEST(Engine, EqualModelsGiveEqualBytesWhateverTheThreads) {
  std::vector<uint8_t> first = bytesWith(4), second = bytesWith(4), alone = bytesWith(1);
  ASSERT_FALSE(first.empty() || alone.empty());
  EXPECT_TRUE(first == second);
  auto withoutModules = [](const std::vector<uint8_t> &bytes) {
    plan::Plan plan = *plan::parse(bytes);
    plan.modules.clear(); // how kernels share modules depends on the number of threads
    for (plan::Kernel &kernel : plan.kernels)
      kernel.module = {};
    return plan;
  };
  EXPECT_TRUE(withoutModules(first) == withoutModules(alone));
}

// Launches of one layer and of all that is around them, in the branch for many rows.
size_t launchesOf(const plan::Plan &plan) {
  return plan.procedures.at(0).steps.size();
}

// What attention's kernels compute in, by name.
std::set<std::string> attentionOf(TensorType weights, const std::string &activations,
                                  const std::string &target) {
  EngineOptions options = activationOptions(activations);
  options.target = target;
  options.pageRows = 64;
  auto plan = outlineOf(headsOf(64, weights), options);
  std::set<std::string> found;
  for (const plan::Kernel &kernel : plan ? plan->kernels : std::vector<plan::Kernel>())
    for (const plan::KernelParameter &parameter : kernel.parameters)
      if (parameter.name == "compute")
        found.insert("compute=" + parameter.format);
  return found;
}

TEST(Engine, AttentionRoundsNoMoreThanRowsDoWhereTheyMeetWeights) {
  const std::set<std::string> bfloats = {"compute=bf16"};
  EXPECT_EQ(attentionOf(TensorType::Q8_0, "fastest", "cpu:avx512bf16"), bfloats);
  EXPECT_NE(attentionOf(TensorType::Q8_0, "fastest", "cpu:avx512vnni"), bfloats);
  EXPECT_NE(attentionOf(TensorType::Q8_0, "f32", "cpu:avx512bf16"), bfloats);
  EXPECT_NE(attentionOf(TensorType::F16, "fastest", "cpu:avx512bf16"), bfloats);
}

TEST(Engine, KeysAndValuesOfSixteenBitsAreOfTheTypeThatAttentionMultiplies) {
  auto kvType = [](TensorType weights, const std::string &asked, const std::string &target,
                   const std::string &activations = "fastest", int64_t pageRows = 64,
                   int64_t headDim = 64) {
    EngineOptions options = kvOptions(asked);
    options.target = target;
    options.activations = activations;
    options.pageRows = pageRows;
    auto plan = outlineOf(headsOf(headDim, weights), options);
    return plan ? plan->texts.at("kv_type") : plan.error().message;
  };
  EXPECT_EQ(kvType(TensorType::Q8_0, "auto", "cpu:avx512bf16"), "bf16");
  EXPECT_EQ(kvType(TensorType::Q8_0, "f16", "cpu:avx512bf16"), "f16");
  EXPECT_EQ(kvType(TensorType::Q8_0, "auto", "cpu:avx512vnni"), "f16");
  EXPECT_EQ(kvType(TensorType::Q8_0, "bf16", "cpu:avx2"), "bf16");
  EXPECT_EQ(kvType(TensorType::Q8_0, "auto", "cpu:avx512bf16", "f32"), "f16");
  EXPECT_EQ(kvType(TensorType::Q8_0, "auto", "cpu:avx512bf16", "fastest", 16), "f16");
  EXPECT_EQ(kvType(TensorType::Q8_0, "auto", "cpu:avx512bf16", "fastest", 64, 16), "f16");
  EXPECT_EQ(kvType(TensorType::F16, "auto", "cpu:avx512bf16"), "f16");
  EXPECT_EQ(kvType(TensorType::F16, "auto", "cuda:sm_90a"), "f16");
  EXPECT_EQ(kvType(TensorType::F16, "bf16", "cuda:sm_90a"), "bf16");
}

TEST(Engine, AttentionOnGpusComputesInWhatHoldsItsKeys) {
  auto computes = [](const char *kv) {
    EngineOptions options = kvOptions(kv);
    options.target = "cuda:sm_90a";
    auto plan = outlineOf(headsOf(64, TensorType::F16), options);
    EXPECT_TRUE(plan) << plan.error().toString();
    std::set<std::string> found;
    for (const plan::Kernel &kernel : plan->kernels)
      for (const plan::KernelParameter &parameter : kernel.parameters)
        if (parameter.name == "compute" || parameter.name == "cache")
          found.insert(parameter.format);
    return found;
  };
  EXPECT_EQ(computes("fp8"), (std::set<std::string>{"f16", "f8e4m3"}));
  EXPECT_EQ(computes("bf16"), std::set<std::string>{"bf16"});
}

// The same with a layer more, of the first one's tensors' shapes.
FakeSource withLayerMore(FakeSource source) {
  const auto tensors = source.tensors;
  const std::string first = "blk.0.";
  const int64_t layers = std::get<int64_t>(source.values["llama.block_count"]);
  for (const auto &[name, info] : tensors)
    if (name.starts_with(first))
      source.tensors["blk." + std::to_string(layers) + "." + name.substr(first.size())] = info;
  source.values["llama.block_count"] = layers + 1;
  return source;
}

TEST(Engine, ALayerOfWholeHeadsIsSevenLaunchesOrFewer) {
  const FakeSource one = headsOf(64, TensorType::Q4_1);
  auto plan = outlineOf(one), longer = outlineOf(withLayerMore(one));
  ASSERT_TRUE(plan) << plan.error().toString();
  ASSERT_TRUE(longer) << longer.error().toString();
  EXPECT_LE(launchesOf(*longer) - launchesOf(*plan), 7u);
  // The last layer's rows have a gather, a norm and a product of queries of their own, and
  // rotations; embedding and rotations come before, norm and logits behind.
  EXPECT_LE(launchesOf(*plan), 7u + 4u + 4u);
}

TEST(Engine, HeadsOfAnySizeMakeAPlan) {
  for (int64_t headDim : {16, 48, 80}) {
    auto plan = planOf(headsOf(headDim, TensorType::Q8_0));
    EXPECT_TRUE(plan) << headDim << ": " << plan.error().toString();
  }
}

TEST(Engine, KernelsOfBlocksOfThreadsCarryTheirThreadsAndSharedMemory) {
  EngineOptions options = quickOptions();
  options.target = "cuda:sm_90a";
  auto plan = planOf(tinyLlama(), options);
  ASSERT_TRUE(plan) << plan.error().toString();
  EXPECT_EQ(plan::targetOf(*plan), "cuda:sm_90a");
  uint64_t shared = 0;
  for (const plan::Kernel &kernel : plan->kernels) {
    EXPECT_GE(kernel.threads, 32u) << kernel.symbol;
    EXPECT_EQ(kernel.scratchBytes, 0u) << kernel.symbol;
    shared += kernel.sharedBytes;
  }
  EXPECT_GT(shared, 0u);
}

// What Vulkan asks of every device: no plan may need more.
TEST(Engine, KernelsTakeNoMoreThanTheLeastDeviceOfVulkanHas) {
  EngineOptions options;
  options.target = "vulkan:1.2+subgroup32+threads128+shared16384";
  for (auto [headDim, type, kv] :
       {std::tuple(64, TensorType::Q4_0, "q8_0"), std::tuple(128, TensorType::F16, "f16")}) {
    options.kvType = kv;
    auto plan = planOf(headsOf(headDim, type), options);
    ASSERT_TRUE(plan) << headDim << ": " << plan.error().toString();
    for (const plan::Kernel &kernel : plan->kernels) {
      EXPECT_LE(kernel.threads, 128u) << kernel.symbol;
      EXPECT_LE(kernel.sharedBytes, 16384u) << kernel.symbol;
    }
  }
}

// ---- what explain tells ----

// Every launch of the plan, in either branch.
std::vector<plan::Launch> allLaunches(const plan::Plan &plan) {
  std::vector<plan::Launch> launches;
  for (const plan::Procedure &procedure : plan.procedures)
    for (plan::StepWalker walker(procedure.steps); walker.next();)
      if (walker.event() == plan::WalkEvent::Step)
        if (const auto *launch = std::get_if<plan::Launch>(&walker.step().op))
          launches.push_back(*launch);
  return launches;
}

TEST(Engine, LaunchesNameTheOperationsThatTheyCover) {
  const auto plan = outlineOf(withLayerMore(headsOf(64, TensorType::Q8_0)));
  ASSERT_TRUE(plan) << plan.error().toString();
  std::set<std::vector<std::string>> covered;
  for (const plan::Launch &launch : allLaunches(*plan))
    covered.insert(launch.covers);
  EXPECT_THAT(covered, testing::IsSupersetOf(std::vector<std::vector<std::string>>{
                           {"gather"},
                           {"norm", "quantize to q8a"},
                           {"dot_general (3 joined)", "rope", "rope", "kv_append", "kv_append"},
                           {"dot_general (2 joined)", "rope", "kv_append", "kv_append"},
                           {"dot_general", "rope"},
                           {"paged_attention", "quantize to q8a"}}));
  for (const std::vector<std::string> &operations : covered)
    EXPECT_FALSE(operations.empty());
}

// Queries, keys and values in all mixes of two formats: each product puts its heads where they
// belong.
TEST(Engine, HeadsOfMixedFormatsRotateAndScatterInTheirProducts) {
  for (int mix = 0; mix < 8; ++mix) {
    FakeSource source = headsOf(64, TensorType::Q8_0);
    const auto type = [&](int bit) { return mix >> bit & 1 ? TensorType::Q4_1 : TensorType::Q8_0; };
    source.matrix("blk.0.attn_q.weight", {128, 64}, type(0));
    source.matrix("blk.0.attn_k.weight", {64, 64}, type(1));
    source.matrix("blk.0.attn_v.weight", {64, 64}, type(2));
    const auto plan = outlineOf(source);
    ASSERT_TRUE(plan) << mix << ": " << plan.error().toString();
    int ropes = 0, scatters = 0;
    for (const plan::Launch &launch : allLaunches(*plan)) {
      EXPECT_NE(launch.covers.front(), "rope") << mix;
      EXPECT_NE(launch.covers.front(), "kv_append") << mix;
      ropes += std::ranges::count(launch.covers, "rope");
      scatters += std::ranges::count(launch.covers, "kv_append");
    }
    EXPECT_EQ(ropes, 2 * 2) << mix; // for one row and for many
    EXPECT_EQ(scatters, 2 * 2) << mix;
  }
}

TEST(Engine, ActivationsAreNamedByWhatMeetsTheWeights) {
  const auto activations = [](TensorType type, const char *target) {
    EngineOptions options = quickOptions();
    options.target = target;
    auto plan = outlineOf(headsOf(64, type), options);
    EXPECT_TRUE(plan) << plan.error().toString();
    return plan ? plan->texts.at("activations") : "";
  };
  EXPECT_EQ(activations(TensorType::Q8_0, "host"), "q8a");
  EXPECT_EQ(activations(TensorType::F16, "host"), "f32");
  EXPECT_THAT(activations(TensorType::Q8_0, kVulkanTarget),
              testing::MatchesRegex("q8a in prefill, .*f32.* in decode"));
  for (const char *target : {"cuda:sm_90a", kMatrixTarget})
    EXPECT_THAT(activations(TensorType::Q8_0, target),
                testing::MatchesRegex("bf16 in prefill, .*f32.* in decode"));
  EXPECT_THAT(activations(TensorType::Q8_0, kF16MatrixTarget),
              testing::MatchesRegex("q8a in prefill, .*f32.* in decode"))
      << "activations go beyond the range of f16";
}

// The formats of activations among the arguments of a plan's kernels.
std::set<std::string> activationsOf(const char *target) {
  EngineOptions options = quickOptions();
  options.target = target;
  const auto plan = outlineOf(headsOf(64, TensorType::Q8_0), options);
  EXPECT_TRUE(plan) << plan.error().toString();
  std::set<std::string> found;
  for (const plan::Kernel &kernel : plan ? plan->kernels : std::vector<plan::Kernel>())
    for (const ActivationFormat &format : activationFormats()) {
      const std::string name = llvm::StringRef(format.name).lower();
      for (const plan::KernelParameter &parameter : kernel.parameters)
        if (parameter.kind == plan::ParameterKind::BlockFormat && parameter.format == name)
          found.insert(name);
    }
  return found;
}

TEST(Engine, CpuAndVulkanTargetsQuantizeActivationsToTheSameFormat) {
  using testing::ElementsAre;
  EXPECT_THAT(activationsOf("host"), ElementsAre("q8a"));
  EXPECT_THAT(activationsOf(kVulkanTarget), ElementsAre("q8a"));
}

TEST(Engine, RowsOfPromptsMeetBlocksAsBfloatWhereMatrixInstructionsMultiplyIt) {
  EXPECT_THAT(activationsOf("cuda:sm_90a"), testing::IsEmpty());
  EngineOptions options = quickOptions();
  options.target = "cuda:sm_90a";
  for (const char *activations : {"fastest", "f32"}) {
    options.activations = activations;
    const auto plan = outlineOf(headsOf(64, TensorType::Q8_0), options);
    ASSERT_TRUE(plan) << plan.error().toString();
    const bool multiplies = std::ranges::any_of(plan->kernels, [](const plan::Kernel &kernel) {
      return kernel.source == "gemm" && kernel.arithmetic == Arithmetic::Bf16;
    });
    EXPECT_EQ(multiplies, options.activations == "fastest") << activations;
  }
}

TEST(Engine, KernelsSayWhatTheirProductsMultiply) {
  const auto plan = outlineOf(headsOf(64, TensorType::Q8_0));
  ASSERT_TRUE(plan) << plan.error().toString();
  for (const plan::Kernel &kernel : plan->kernels)
    EXPECT_EQ(kernel.arithmetic, kernel.source == "gemm" ? Arithmetic::I8 : Arithmetic::F32)
        << kernel.symbol;
}

// ---- refusals ----

TEST(Engine, UnknownArchitectureIsNamed) {
  FakeSource source = tinyLlama();
  source.values["general.architecture"] = std::string("mamba");
  EXPECT_THAT(refusal(source),
              testing::MatchesRegex("the model's architecture is 'mamba', expected one of the "
                                    "[0-9]+ that `sinter-compiler architectures` lists.*"));
}

TEST(Engine, MissingTensorIsNamedWithItsShape) {
  FakeSource source = tinyLlama();
  source.tensors.erase("blk.0.ffn_up.weight");
  EXPECT_EQ(refusal(source),
            "the model has no tensor 'blk.0.ffn_up.weight', expected one of shape [96, 64]");
}

TEST(Engine, TensorOfAnotherShapeIsNamedWithBoth) {
  FakeSource source = tinyLlama();
  source.matrix("blk.0.attn_k.weight", {64, 64}, TensorType::Q4_1);
  EXPECT_EQ(refusal(source), "tensor 'blk.0.attn_k.weight' has shape [64, 64], expected [32, 64]");
}

TEST(Engine, HeadsOfAnOddSizeAreRefused) {
  FakeSource source = tinyLlama(TensorType::F32);
  source.values["llama.attention.key_length"] = int64_t(15);
  EXPECT_EQ(refusal(source),
            "'llama.rope.dimension_count' is 15, expected an even number of at most 15");
}

TEST(Engine, HeadsOfAnOddSizeRotateInPart) {
  FakeSource source = tinyLlama(TensorType::F32);
  source.values["llama.attention.key_length"] = int64_t(15);
  source.values["llama.attention.value_length"] = int64_t(15);
  source.values["llama.rope.dimension_count"] = int64_t(14);
  source.matrix("blk.0.attn_q.weight", {60, 64}, TensorType::F32);
  source.matrix("blk.0.attn_k.weight", {30, 64}, TensorType::F32);
  source.matrix("blk.0.attn_v.weight", {30, 64}, TensorType::F32);
  source.matrix("blk.0.attn_output.weight", {64, 60}, TensorType::F32);
  EXPECT_EQ(refusal(source), "");
}

TEST(Engine, TargetThatIsNoneIsRefused) {
  EngineOptions options = quickOptions();
  options.target = "avx1024";
  EXPECT_THAT(refusal(tinyLlama(), options),
              testing::StartsWith("found target 'avx1024', expected host, cpu:host, cpu:avx2"));
}

TEST(Engine, OptionsOutOfRangeAreRefused) {
  EngineOptions pages = quickOptions(), queries = quickOptions();
  pages.pageRows = 24;
  queries.queryTile = 257;
  EXPECT_EQ(refusal(tinyLlama(), pages),
            "the number of page rows is 24, expected a multiple of 16 of at most 1024");
  EXPECT_EQ(refusal(tinyLlama(), queries),
            "the query tile is 257, expected a multiple of 1 of at most 256");
}

TEST(Engine, PartsOfASplitModelAreRefused) {
  FakeSource source = tinyLlama();
  source.values["split.count"] = int64_t(3);
  source.values["split.no"] = int64_t(1);
  EXPECT_EQ(refusal(source), "the file is part 2 of 3 of a split model, expected the whole "
                             "model");
  source.values["split.count"] = int64_t(1);
  std::vector<uint8_t> bytes = ggufOf(source);
  EXPECT_TRUE(GgufFile::parse(bytes)->checkWhole());
}

// Integers are no weights.
TEST(Engine, MatricesOfIntegersAreRefused) {
  EngineOptions threads = quickOptions();
  threads.target = "cuda:sm_90a";
  FakeSource source = tinyLlama(TensorType::F32);
  source.matrix("blk.0.ffn_up.weight", {96, 64}, TensorType::I8);
  for (const EngineOptions &options : {quickOptions(), threads})
    EXPECT_NE(refusal(source, options).find("tensor 'blk.0.ffn_up.weight'"), std::string::npos);
}

} // namespace
} // namespace sinter::engine
