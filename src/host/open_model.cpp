// A plan, the cache of packed weights, and the runner on both.
#include "host/open_model.h"

#include "host/plan_file.h"
#include "host/plan_store.h"
#include "plan/contract.h"
#include "runtime/plan_cache.h"
#include "runtime/weight_cache.h"

namespace sinter::host {
namespace {

// None where plans cannot be kept either, which is noted of these.
std::optional<runtime::WeightCache> weightCache(const ModelRequest &request, Observer &observer) {
  const auto plans = runtime::PlanCache::open();
  if (!request.keepsWeights || !plans)
    return std::nullopt;
  return runtime::WeightCache(plans->folder(),
                              [&observer](const std::string &line) { observer.note(line); });
}

// What the plan gives is what is asked for.
Result<void> checkOutput(const ModelRequest &request, const plan::Plan &plan) {
  const bool embeddings = &contract::outputOf(plan) == &contract::kEmbeddings;
  if (embeddings == request.embeddings)
    return {};
  return fail(Code::Unsupported,
              embeddings ? "the plan gives embeddings and no logits; `sinter embed` and `sinter "
                           "rerank` use it"
                         : "the plan gives logits, expected one that gives embeddings");
}

} // namespace

Result<OpenedModel> openModel(ModelFile file, std::unique_ptr<hal::Device> device,
                              const ModelRequest &request, Observer &observer) {
  SINTER_TRY(file.contextTokens(request.context)); // before minutes are spent on a plan
  if (!request.embeddings)
    SINTER_TRY(file.givesLogits());
  Precision precision = request.precision;
  precision.output = request.embeddings ? kEmbeddingsOutput : "";
  SINTER_ASSIGN(ObtainedPlan obtained, request.plan.empty()
                                           ? obtainPlan(file, device->info(), precision, observer)
                                           : readPlanFile(request.plan, *device, precision));
  SINTER_TRY(checkOutput(request, *obtained.plan));
  const auto unused = obtained.plan->texts.find(contract::kUnusedKeys);
  if (unused != obtained.plan->texts.end())
    observer.note("'" + file.path() +
                  "' has metadata that this architecture does not use: " + unused->second);
  PlanRunnerOptions options;
  options.contextTokens = request.context;
  options.sequences = request.sequences;
  if (!request.embeddings)
    options.overlap = request.overlap;
  if (request.embeddings) // a text is embedded whole
    options.maxStepTokens = UINT32_MAX;
  if (request.chooseSizes)
    SINTER_TRY(request.chooseSizes(*obtained.plan, options));
  const auto cache = weightCache(request, observer);
  options.weightCache = cache ? &*cache : nullptr;
  OpenedModel opened{std::move(device), nullptr, obtained.buildSeconds};
  SINTER_ASSIGN(opened.model,
                Model::create(std::move(file), std::move(obtained.plan), *opened.device, options));
  return opened;
}

} // namespace sinter::host
