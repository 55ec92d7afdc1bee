// Models of files: a plan, sizes that fit the memory, a worker.
#include "base/number_text.h"
#include "host/known_model.h"
#include "host/model_store.h"
#include "llm/prefix_cache.h"
#include "serve/worker/model_loader.h"

#include <algorithm>
#include <filesystem>

namespace sinter::serve {
namespace {

class LoadObserver : public host::Observer {
public:
  LoadObserver(const PoolOptions &options, const std::atomic<bool> &cancel)
      : options_(options), cancel_(cancel) {}
  void note(const std::string &line) override {
    if (options_.note)
      options_.note(line);
  }
  const std::atomic<bool> &cancel() const override { return cancel_; }

private:
  const PoolOptions &options_;
  const std::atomic<bool> &cancel_;
};

std::string bytesOf(uint64_t bytes) {
  return bytesText(static_cast<double>(bytes));
}

// Most of the device's memory: programs beside this one need some, too.
uint64_t budgetOf(const PoolOptions &options, const hal::DeviceInfo &device) {
  return options.memoryBytes ? options.memoryBytes : device.memoryBytes / 10 * 9;
}

// What the server's context is for a model that may have been made for less.
Result<uint32_t> defaultContext(const ModelFile &file, uint32_t context) {
  SINTER_ASSIGN(const auto architecture, file.gguf().getString("general.architecture"));
  const auto most = file.gguf().getU64(std::string(architecture) + ".context_length");
  if (!most || context == 0)
    return context;
  return static_cast<uint32_t>(std::min<uint64_t>(*most, context));
}

class HostLoader : public ModelLoader {
public:
  explicit HostLoader(PoolOptions options) : options_(std::move(options)) {}

  std::vector<std::string> names() const override;
  Result<std::string> find(const std::string &name) const override;
  Result<std::unique_ptr<ModelWorker>> load(const LoadOrder &order, const TakeMemory &take,
                                            const std::atomic<bool> &cancel) override;

private:
  Result<std::unique_ptr<ModelWorker>> open(const LoadOrder &order, const TakeMemory &take,
                                            const std::atomic<bool> &cancel) const;
  bool isToBeFetched(const std::string &name) const {
    return options_.fetchesKnownModel && name == host::kKnownModel && !host::storedName(name);
  }
  Result<void> chooseSizes(const std::string &name, const hal::DeviceInfo &device,
                           const TakeMemory &take, const plan::Plan &plan,
                           PlanRunnerOptions &sizes) const;
  std::string prefixCacheText(const RunnerLimits &limits) const;

  const PoolOptions options_;
};

// The known model is fetched when it is asked for first.
std::vector<std::string> HostLoader::names() const {
  std::vector<std::string> names = host::storedModels();
  if (isToBeFetched(host::kKnownModel))
    names.push_back(host::kKnownModel);
  return names;
}

// One path for each file, however it is spelled.
Result<std::string> HostLoader::find(const std::string &name) const {
  std::string path;
  if (isToBeFetched(name)) {
    SINTER_ASSIGN(const store::Store models, host::modelStore());
    path = models.folder() + "/" + name + ".gguf";
  } else {
    SINTER_ASSIGN(path, host::modelPath(name));
  }
  std::error_code failed;
  const auto canonical = std::filesystem::weakly_canonical(path, failed);
  return failed ? path : canonical.string();
}

// Clients read the message: a stored model has its name there, another file has no folder.
Status withoutFolder(Status status, const LoadOrder &order) {
  const std::string &path = order.path;
  const std::string shown =
      host::storedName(order.name) ? order.name : path.substr(path.rfind('/') + 1);
  for (size_t at = 0; (at = status.message.find(path, at)) != std::string::npos; at += shown.size())
    status.message.replace(at, path.size(), shown);
  return status;
}

Result<std::unique_ptr<ModelWorker>>
HostLoader::load(const LoadOrder &order, const TakeMemory &take, const std::atomic<bool> &cancel) {
  auto worker = open(order, take, cancel);
  if (!worker)
    return Fail(withoutFolder(std::move(worker).error(), order));
  return worker;
}

Result<std::unique_ptr<ModelWorker>> HostLoader::open(const LoadOrder &order,
                                                      const TakeMemory &take,
                                                      const std::atomic<bool> &cancel) const {
  LoadObserver observer(options_, cancel);
  if (isToBeFetched(order.name)) {
    observer.note(std::string("fetching '") + host::kKnownModel + "', as ./demo does");
    SINTER_TRY(host::fetchKnownModel(cancel));
  }
  SINTER_ASSIGN(ModelFile file, host::openModelFile(order.name, observer));
  if (!options_.chatTemplate.empty()) {
    SINTER_ASSIGN(ChatTemplate made, ChatTemplate::parse(options_.chatTemplate));
    file.useChatTemplate(std::move(made));
  }
  uint32_t context = order.context;
  if (context == 0) {
    SINTER_ASSIGN(context, defaultContext(file, options_.context));
  }
  SINTER_ASSIGN(host::DeviceChoice choice, host::openDevice(options_.device, options_.threads));
  host::ModelRequest request;
  request.context = context;
  request.sequences = order.embeddings ? 1 : options_.parallel;
  request.precision = options_.precision;
  request.keepsWeights = options_.keepsWeights;
  request.embeddings = order.embeddings;
  request.overlap = options_.overlap;
  request.chooseSizes = [&, device = choice.device->info()](const plan::Plan &plan,
                                                            PlanRunnerOptions &sizes) {
    return chooseSizes(order.name, device, take, plan, sizes);
  };
  SINTER_ASSIGN(host::OpenedModel opened,
                host::openModel(std::move(file), std::move(choice.device), request, observer));
  return ModelWorker::create(std::move(opened), options_.worker);
}

// Nothing where there is one, or was none wanted.
std::string HostLoader::prefixCacheText(const RunnerLimits &limits) const {
  const auto cached = PrefixCache::check(limits);
  const bool wanted = options_.worker.prefixCache && limits.embeddingLength == 0;
  return cached || !wanted ? "" : "; no prefix cache: " + cached.error().message;
}

// As many contexts as were asked for, or as many as the budget has room for.
Result<void> HostLoader::chooseSizes(const std::string &name, const hal::DeviceInfo &device,
                                     const TakeMemory &take, const plan::Plan &plan,
                                     PlanRunnerOptions &sizes) const {
  const uint64_t budget = budgetOf(options_, device);
  const auto needOf = [&](uint32_t sequences) -> Result<runtime::MemoryNeed> {
    sizes.sequences = sequences;
    SINTER_ASSIGN(const RunnerLimits limits, limitsOf(plan, sizes));
    return memoryNeedOf(plan, limits);
  };
  const uint32_t asked = std::max(sizes.sequences, 1u);
  uint32_t fits = 1, over = asked + 1; // at least one, whose refusal has the numbers
  while (fits + 1 < over) {
    const uint32_t middle = over == asked + 1 && fits == 1 ? asked : fits + (over - fits) / 2;
    const auto need = needOf(middle);
    (need && need->all() <= budget ? fits : over) = middle;
  }
  SINTER_ASSIGN(const runtime::MemoryNeed need, needOf(fits));
  SINTER_ASSIGN(const RunnerLimits limits, limitsOf(plan, sizes));
  const std::string contexts =
      std::to_string(fits) + " contexts of " + std::to_string(limits.contextTokens) + " tokens";
  if (options_.note)
    options_.note("loading '" + name + "' on " + device.name + ": " + bytesOf(need.weights) +
                  " of weights, " + bytesOf(need.state) + " of KV cache at most (" + contexts +
                  (fits < asked ? ", " + std::to_string(asked) + " were asked for" : "") + "), " +
                  bytesOf(need.all() - need.weights - need.state) + " of buffers; of " +
                  bytesOf(budget) + prefixCacheText(limits));
  return take(need.all(), budget);
}

} // namespace

std::unique_ptr<ModelLoader> makeHostLoader(const PoolOptions &options) {
  return std::make_unique<HostLoader>(options);
}

Result<std::unique_ptr<ModelPool>> openModelPool(const PoolOptions &options) {
  return makeModelPool(makeHostLoader(options), options);
}

} // namespace sinter::serve
