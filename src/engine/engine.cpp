// The engine's table of contents: read features, build the graph, rewrite it, lower it, compile its
// kernels.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/ahead_step.h"
#include "engine/choice/attention.h"
#include "engine/choice/fusion.h"
#include "engine/choice/rows.h"
#include "engine/constant_views.h"
#include "engine/engine.h"
#include "engine/gguf_source.h"
#include "engine/lowering.h"
#include "graph/rewrite/passes.h"
#include "mlir/IR/Verifier.h"
#include "models/decoder.h"
#include "numeric/formats/dot_packing.h"
#include "numeric/formats/kv_type.h"
#include "plan/contract.h"
#include "plan/normal_form.h"
#include "plan/validate.h"
#include "plan/walk.h"
#include "targets/registry.h"

#include <algorithm>
#include <thread>

namespace sinter::engine {

static Result<void> checkOptions(const EngineOptions &options) {
  auto check = [](const char *name, int64_t value, int64_t most, int64_t multiple) -> Result<void> {
    if (value >= 1 && value <= most && value % multiple == 0)
      return {};
    return fail(Code::InvalidArgument, std::string(name) + " is " + std::to_string(value) +
                                           ", expected a multiple of " + std::to_string(multiple) +
                                           " of at most " + std::to_string(most));
  };
  if (!findKvType(options.kvType))
    return fail(Code::InvalidArgument, "the type of the KV cache is '" + options.kvType +
                                           "', expected one of " + kvTypeNames());
  if (!findActivations(options.activations))
    return fail(Code::InvalidArgument, "activations are '" + options.activations +
                                           "', expected one of " + activationsNames());
  if (!findDecodeNorms(options.decodeNorms))
    return fail(Code::InvalidArgument, "norms of decode are '" + options.decodeNorms +
                                           "', expected one of " + decodeNormsNames());
  if (!options.output.empty() && options.output != kEmbeddingsOutput)
    return fail(Code::InvalidArgument, "the output is '" + options.output + "', expected '" +
                                           std::string(kEmbeddingsOutput) + "' or nothing");
  if (options.pageRows)
    SINTER_TRY(check("the number of page rows", options.pageRows, 1024, 16));
  return options.queryTile ? check("the query tile", options.queryTile, 256, 1) : Result<void>();
}

static void describeKvGroups(const models::DecoderFeatures &f, int64_t pageRows,
                             const BlockFormat &kv, plan::Plan &plan) {
  plan.properties[contract::kKvBytesPerPage.name] = 0; // where no layer attends
  for (const models::LayerFeatures &layer : f.layers)
    if (layer.attends() && layer.kvOf < 0)
      plan.properties[contract::kKvGroups[f.kvGroupOf(layer)].bytesPerPage.name] +=
          layer.kvHeads * (layer.headDim + layer.valueDim) / kv.blockLength * kv.blockBytes *
          pageRows;
}

static void describe(const models::DecoderFeatures &f, const EngineOptions &options,
                     const BlockFormat &kv, plan::Plan &plan) {
  plan.properties.insert({{contract::kVocabSize.name, f.vocabulary},
                          {contract::kContextLength.name, f.contextLength},
                          {contract::kPageRows.name, options.pageRows},
                          {contract::kQueryTile.name, options.queryTile},
                          {contract::kLayers, static_cast<int64_t>(f.layers.size())},
                          {contract::kHeads, f.heads},
                          {contract::kKvHeads, f.kvHeads},
                          {contract::kHeadDim, f.headDim},
                          {contract::kRopeDims, f.ropeDims}});
  describeKvGroups(f, options.pageRows, kv, plan);
  if (f.hasStates())
    plan.properties[contract::kStateBytes.name] = f.stateBytes();
  if (!options.output.empty())
    plan.texts[contract::kAskedOutput] = options.output;
  if (!options.output.empty() || !f.givesLogits())
    plan.properties[contract::kEmbeddingLength.name] = f.width;
  if (f.bothWays)
    plan.properties[contract::kBothWays.name] = 1;
  plan.texts[contract::kArchitecture] = f.family.architecture;
  plan.texts[contract::kKvType] = kvTypeName(kv);
  plan.texts[contract::kAskedActivations] = options.activations;
  std::string unused;
  for (const std::string &key : f.unusedKeys)
    unused += (unused.empty() ? "" : ", ") + key;
  if (!unused.empty())
    plan.texts[contract::kUnusedKeys] = unused;
  plan.texts[contract::kRopeBase] = std::to_string(f.rope.base);
}

// What would be launched if each operation had a kernel of its own, for explain.
static int64_t countOperations(mlir::ModuleOp module) {
  int64_t count = 0;
  for (auto function : module.getOps<mlir::func::FuncOp>())
    count += llvm::count_if(function.getBody().front(),
                            [](mlir::Operation &op) { return graph::isLaunched(&op); });
  return count;
}

// The same step with other schedules, on the same buffers, as procedures of their own.
static Result<void> addVariants(const std::vector<Tuning> &variants, mlir::ModuleOp step,
                                const LoweringOptions &lowering, KernelSet &kernels,
                                plan::Plan &plan) {
  for (const Tuning &tuning : variants) {
    kernels.useTuning(tuning);
    SINTER_ASSIGN(plan::Plan other, Lowering(kernels, lowering).run(step));
    SINTER_CHECK(other.buffers == plan.buffers && other.procedures.size() == 1);
    plan::Procedure &variant = other.procedures.front();
    variant.name += "." + std::to_string(plan.procedures.size());
    plan.procedures.push_back(std::move(variant));
  }
  return {};
}

static bool quantizesRows(mlir::ModuleOp module) {
  return module.walk([](graph::QuantizeOp) { return mlir::WalkResult::interrupt(); })
      .wasInterrupted();
}

static Result<plan::Plan> lowerModel(const GgufFile &file, EngineOptions options,
                                     const targets::Target &target, mlir::MLIRContext &context,
                                     KernelSet &kernels) {
  const TargetProfile &profile = target.profile();
  const Activations activations = *findActivations(options.activations);
  const MatmulPrecision rules = choosePrecision(profile, activations);
  const DecodeNorms norms = *findDecodeNorms(options.decodeNorms);
  if (norms != DecodeNorms::Apart && !rules.sharesDepth)
    return fail(Code::InvalidArgument,
                "norms of decode are '" + options.decodeNorms + "', but matmuls for target '" +
                    target.name() + "' and activations '" + options.activations +
                    "' share no K, so that none makes its norm: expected apart");
  GgufSource source(file);
  SINTER_ASSIGN(models::DecoderFeatures features, models::readDecoder(source));
  const BlockFormat *kv = findKvType(options.kvType); // the options are checked
  const int64_t rows = backToBackRows(features.headDim, *kv, profile);
  if (!options.queryTile)
    options.queryTile = chooseQueryTile(features.heads / features.kvHeads, rows);
  if (!options.pageRows)
    options.pageRows = choosePageRows(rows, profile);
  models::DecoderOptions decoder{options.pageRows, kv, options.output == kEmbeddingsOutput,
                                 chooseTopLogits(profile)};
  SINTER_ASSIGN(mlir::OwningOpRef<mlir::ModuleOp> module,
                models::buildDecoder(context, features, source, decoder));
  const int64_t operationCount = countOperations(*module);
  graph::decomposeNorms(*module, [](graph::NormOp norm) { return !hasRowKernel(norm); });
  graph::joinMatmuls(*module);
  graph::joinExperts(*module);
  graph::joinMaps(*module);
  graph::quantizeActivations(
      *module,
      [&](mlir::Type weights) { return activationFor(tile::blockFormatOf(weights), rules); },
      rules.weightTypeRows, rules.bfloatRows ? mlir::BFloat16Type::get(&context) : mlir::Type());
  LoweringOptions lowering{profile, activations};
  lowering.decodeNorms = norms;
  // Where activations are quantized, attention in bf16 loses nothing (perplexity of SmolLM2 in Q8_0
  // and Q4_1: 1.0001 and 1.0003 times that with f32 and F16).
  lowering.quantizes = quantizesRows(*module);
  // A step of tasks is a page.
  if (options.kvType == kDefaultKvType && lowering.quantizes &&
      attendsInBfloat(features.headDim, options.pageRows, profile)) {
    kv = &blockFormat(TensorType::BF16);
    graph::keepPools(*module, mlir::BFloat16Type::get(&context));
  }
  lowering.queryTile = options.queryTile;
  lowering.listsPartitions = listsPartitions(profile);
  graph::fuse(*module, fuseOptions(profile, activations, norms));
  if (failed(mlir::verify(*module)))
    return fail(Code::Internal, "fusion left a graph that is not well formed");
  kernels.useTuning(options.tuning);
  SINTER_ASSIGN(plan::Plan plan, Lowering(kernels, lowering).run(*module));
  SINTER_TRY(addVariants(options.variants, *module, lowering, kernels, plan));
  describe(features, options, *kv, plan);
  if (plan::findBuffer(plan, contract::kTopLogits.name))
    plan.properties[contract::kTopCount.name] = std::min(decoder.topLogits, features.vocabulary);
  if (options.variants.empty()) // those are for timing steps by themselves
    SINTER_TRY(addAheadStep(kernels, plan));
  markConstantViews(plan, kernels);
  plan.properties[contract::kGraphOperations] = operationCount;
  return plan;
}

namespace {
// A plan without code, and the kernels that it launches.
struct Lowered {
  std::unique_ptr<targets::Target> target;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<KernelSet> kernels;
  plan::Plan plan;
  uint32_t threads; // that compile
};
} // namespace

static Result<Lowered> lowerFile(const GgufFile &file, const EngineOptions &options,
                                 const Progress &progress) {
  SINTER_TRY(checkOptions(options));
  SINTER_TRY(file.checkWhole());
  Lowered lowered;
  SINTER_ASSIGN(lowered.target, targets::findTarget(options.target));
  lowered.context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  graph::loadDialects(*lowered.context);
  lowered.kernels = std::make_unique<KernelSet>(*lowered.context, lowered.target.get());
  progress("building the graph", 0, 1);
  SINTER_ASSIGN(lowered.plan,
                lowerModel(file, options, *lowered.target, *lowered.context, *lowered.kernels));
  progress("building the graph", 1, 1);
  lowered.threads =
      std::max(1u, options.threads ? options.threads : std::thread::hardware_concurrency());
  return lowered;
}

Result<plan::Plan> buildPlan(const GgufFile &file, const EngineOptions &options,
                             const Progress &progress) {
  SINTER_ASSIGN(Lowered lowered, lowerFile(file, options, progress));
  plan::Plan &plan = lowered.plan;
  SINTER_TRY(lowered.kernels->compile(*lowered.target, lowered.threads, plan, progress));
  SINTER_ASSIGN(Sha256Digest digest, file.digest());
  plan.modelDigest = digest.hex();
  plan.modelBytes = file.totalBytes();
  SINTER_TRY(plan::validate(plan));
  SINTER_TRY(contract::check(plan));
  return std::move(plan);
}

Result<plan::Plan> buildOutline(const GgufFile &file, const EngineOptions &options,
                                const Progress &progress) {
  SINTER_ASSIGN(Lowered lowered, lowerFile(file, options, progress));
  lowered.kernels->outline(lowered.plan);
  return std::move(lowered.plan);
}

Result<std::string> buildNormalForm(const GgufFile &file, const EngineOptions &options,
                                    const Progress &progress) {
  SINTER_ASSIGN(Lowered lowered, lowerFile(file, options, progress));
  lowered.plan.properties.erase(contract::kGraphOperations); // for explain alone
  SINTER_ASSIGN(const std::vector<std::string> digests,
                lowered.kernels->digests(*lowered.target, lowered.threads, progress));
  return plan::normalForm(lowered.plan, digests);
}

} // namespace sinter::engine
