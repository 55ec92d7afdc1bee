// A model and the engine that runs it.
#include "serve/worker/worker.h"

#include "serve/worker/generation_engine.h"

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
  void cancel(JobId id) override { engine_->cancel(id); }
  WorkerState state() const override { return engine_->state(); }

private:
  explicit GenerationWorker(host::OpenedModel opened)
      : opened_(std::move(opened)), contextTokens_(opened_.model->runner().limits().contextTokens) {
  }

  host::OpenedModel opened_;
  uint32_t contextTokens_;
  std::unique_ptr<GenerationEngine> engine_;
};

} // namespace

Result<std::unique_ptr<ModelWorker>> ModelWorker::create(host::OpenedModel opened,
                                                         const WorkerOptions &options) {
  return GenerationWorker::create(std::move(opened), options);
}

} // namespace sinter::serve
