// A model and the engine that runs it.
#include "serve/worker/worker.h"

#include "serve/worker/generation_engine.h"
#include "serve/worker/vector_engine.h"

namespace sinter::serve {
namespace {

class GenerationWorker : public ModelWorker {
public:
  static Result<std::unique_ptr<ModelWorker>> create(host::OpenedModel opened,
                                                     const WorkerOptions &options) {
    std::unique_ptr<GenerationWorker> made(new GenerationWorker(std::move(opened)));
    Model &model = *made->opened_.model;
    SINTER_ASSIGN(made->engine_, GenerationEngine::start(model.runner(), model.pages(),
                                                         model.tokenizer(), options));
    return made;
  }

  const ModelFile &file() const override { return opened_.model->file(); }
  uint32_t contextTokens() const override { return contextTokens_; }
  Result<JobId> submit(GenerationJob job) override { return engine_->submit(std::move(job)); }
  uint32_t retrySeconds(const std::string &queue) const override {
    return engine_->retrySeconds(queue);
  }
  void cancel(JobId id) override { engine_->cancel(id); }
  WorkerState state() const override {
    WorkerState state = engine_->state();
    const GrammarForms &forms = file().grammarForms();
    state.grammarBytes = forms.bytes();
    state.evictedGrammars = forms.dropped();
    return state;
  }
  bool isLost() const override { return engine_->isLost(); }
  void stop() override { engine_->stop(); }

private:
  explicit GenerationWorker(host::OpenedModel opened)
      : opened_(std::move(opened)), contextTokens_(opened_.model->runner().limits().contextTokens) {
  }

  host::OpenedModel opened_;
  uint32_t contextTokens_;
  std::unique_ptr<GenerationEngine> engine_;
};

class VectorWorker : public ModelWorker {
public:
  static Result<std::unique_ptr<ModelWorker>> create(host::OpenedModel opened,
                                                     const WorkerOptions &options) {
    std::unique_ptr<VectorWorker> made(new VectorWorker(std::move(opened)));
    Model &model = *made->opened_.model;
    SINTER_ASSIGN(VectorHeads heads, VectorHeads::of(model.file().gguf(), model.runner().limits()));
    SINTER_ASSIGN(made->engine_,
                  VectorEngine::start(model.runner(), model.pages(), std::move(heads), options));
    return made;
  }

  const ModelFile &file() const override { return opened_.model->file(); }
  uint32_t contextTokens() const override { return contextTokens_; }
  Result<JobId> submit(GenerationJob) override {
    return fail(Code::Unsupported, "the model was loaded for vectors of texts and generates none");
  }
  Result<JobId> submitVectors(VectorJob job) override { return engine_->submit(std::move(job)); }
  void cancel(JobId id) override { engine_->cancel(id); }
  WorkerState state() const override { return engine_->state(); }
  bool isLost() const override { return engine_->isLost(); }
  void stop() override { engine_->stop(); }

private:
  explicit VectorWorker(host::OpenedModel opened)
      : opened_(std::move(opened)), contextTokens_(opened_.model->runner().limits().contextTokens) {
  }

  host::OpenedModel opened_;
  uint32_t contextTokens_;
  std::unique_ptr<VectorEngine> engine_;
};

} // namespace

void writePoolFigures(const PagePool &pool, WorkerState &state) {
  state.kvGroups.resize(pool.groupCount());
  for (size_t group = 0; group < pool.groupCount(); ++group)
    state.kvGroups[group] = {pool.pageCount(group), pool.availablePages(group)};
  state.stateSlots = pool.stateSlots();
  state.freeStates = pool.availableStates();
}

Result<JobId> ModelWorker::submitVectors(VectorJob) {
  return fail(Code::Unsupported, "the model was loaded to generate text and gives no vectors");
}

uint32_t ModelWorker::retrySeconds(const std::string &) const {
  return 1;
}

Result<void> ModelWorker::checkContext(uint32_t asked) const {
  SINTER_TRY(file().contextTokens(asked));
  return {};
}

Result<std::unique_ptr<ModelWorker>> ModelWorker::create(host::OpenedModel opened,
                                                         const WorkerOptions &options) {
  if (opened.model->runner().limits().embeddingLength > 0)
    return VectorWorker::create(std::move(opened), options);
  return GenerationWorker::create(std::move(opened), options);
}

} // namespace sinter::serve
