// Measures answers on their way from a worker to a route.
#include "serve/status/request_metrics.h"

#include <span>

namespace sinter::serve {
namespace {

// Seconds. A token of a small model takes a millisecond, a queue may take minutes.
const std::vector<double> kTokenBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                          0.1,   0.25,   0.5,   1,    2.5};
const std::vector<double> kAnswerBounds = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                           1,     2.5,  5,     10,   30,  60,   300};

double secondsBetween(JobClock::time_point from, JobClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Those of one model; references into the registry.
struct AnswerMetrics {
  AnswerMetrics(Metrics &metrics, const std::string &model)
      : firstToken(metrics.histogram("sinter_time_to_first_token_seconds",
                                     "From a request's arrival at the model to its first token.",
                                     kAnswerBounds, {{"model", model}})),
        betweenTokens(metrics.histogram("sinter_inter_token_latency_seconds",
                                        "From one token of an answer to the next.", kTokenBounds,
                                        {{"model", model}})),
        queue(metrics.histogram("sinter_queue_seconds",
                                "From a request's arrival at the model to its first step.",
                                kAnswerBounds, {{"model", model}})) {}

  Histogram &firstToken, &betweenTokens, &queue;
};

class MeasuredSink final : public AnswerSink {
public:
  MeasuredSink(std::shared_ptr<AnswerSink> inner, std::shared_ptr<AnswerMetrics> metrics)
      : inner_(std::move(inner)), metrics_(std::move(metrics)) {}

  bool onPiece(AnswerPiece piece) override {
    const JobClock::time_point now = JobClock::now();
    const double seconds = secondsBetween(last_, now);
    const size_t tokens = piece.tokens.size();
    if (tokens > 0) {
      // Tokens that come together share the time since the one before.
      for (size_t i = 0; i < tokens && hasToken_; ++i)
        metrics_->betweenTokens.observe(seconds / static_cast<double>(tokens));
      if (!hasToken_)
        metrics_->firstToken.observe(seconds);
      hasToken_ = true;
      last_ = now;
    }
    return inner_->onPiece(std::move(piece));
  }
  void onEnd(Result<AnswerSummary> end) override {
    if (end)
      metrics_->queue.observe(end->queueSeconds);
    inner_->onEnd(std::move(end));
  }

private:
  const std::shared_ptr<AnswerSink> inner_;
  const std::shared_ptr<AnswerMetrics> metrics_;
  JobClock::time_point last_ = JobClock::now();
  bool hasToken_ = false;
};

class MeasuredWorker final : public ModelWorker {
public:
  MeasuredWorker(std::shared_ptr<ModelWorker> inner, std::shared_ptr<AnswerMetrics> metrics)
      : inner_(std::move(inner)), metrics_(std::move(metrics)) {}

  const ModelFile &file() const override { return inner_->file(); }
  uint32_t contextTokens() const override { return inner_->contextTokens(); }
  Result<JobId> submit(GenerationJob job) override {
    job.sink = std::make_shared<MeasuredSink>(std::move(job.sink), metrics_);
    return inner_->submit(std::move(job));
  }
  uint32_t retrySeconds(const std::string &queue) const override {
    return inner_->retrySeconds(queue);
  }
  void cancel(JobId id) override { inner_->cancel(id); }
  Result<JobId> submitVectors(VectorJob job) override {
    return inner_->submitVectors(std::move(job));
  }
  WorkerState state() const override { return inner_->state(); }
  Result<void> checkContext(uint32_t asked) const override { return inner_->checkContext(asked); }
  void stop() override { inner_->stop(); }

private:
  const std::shared_ptr<ModelWorker> inner_; // held for as long as a route holds this
  const std::shared_ptr<AnswerMetrics> metrics_;
};

class MeasuredPool final : public ModelPool {
public:
  MeasuredPool(ModelPool &inner, Metrics &metrics) : inner_(inner), metrics_(metrics) {}

  void get(const std::string &name, const LoadWishes &wishes, OnModel then) override {
    inner_.get(
        name, wishes,
        [&metrics = metrics_, name, then = std::move(then)](
            Result<std::shared_ptr<ModelWorker>> worker) {
          if (!worker)
            return then(std::move(worker));
          auto measured = std::make_shared<AnswerMetrics>(metrics, name);
          then(std::make_shared<MeasuredWorker>(std::move(*worker), std::move(measured)));
        });
  }
  std::vector<std::string> names() const override { return inner_.names(); }
  std::vector<LoadedModel> loaded() const override { return inner_.loaded(); }
  bool unload(const std::string &name) override { return inner_.unload(name); }
  void forget(const std::string &name) override { inner_.forget(name); }

private:
  ModelPool &inner_;
  Metrics &metrics_;
};

struct ModelFigure {
  const char *name, *type, *help;
  uint64_t WorkerState::*value;
};
constexpr ModelFigure kModelFigures[] = {
    {"sinter_sequences_running", "gauge", "Sequences that steps work on.", &WorkerState::running},
    {"sinter_sequences_waiting", "gauge", "Sequences that wait.", &WorkerState::waiting},
    {"sinter_sequences_most", "gauge",
     "Sequences that steps work on at once, if there are as many.", &WorkerState::mostRunning},
    {"sinter_state_slots", "gauge", "Slots for states of recurrent layers.",
     &WorkerState::stateSlots},
    {"sinter_state_slots_free", "gauge", "Slots that no sequence has.", &WorkerState::freeStates},
    {"sinter_answers_accepted_total", "counter", "Answers begun.", &WorkerState::accepted},
    {"sinter_answers_refused_total", "counter", "Answers refused.", &WorkerState::refused},
    {"sinter_answers_finished_total", "counter", "Answers finished.", &WorkerState::finished},
    {"sinter_answers_failed_total", "counter", "Answers that failed.", &WorkerState::failed},
    {"sinter_answers_cancelled_total", "counter", "Answers cancelled.", &WorkerState::cancelled},
    {"sinter_prompt_tokens_total", "counter", "Tokens of prompts.", &WorkerState::promptTokens},
    {"sinter_reused_tokens_total", "counter", "Tokens of prompts that the prefix cache had.",
     &WorkerState::reusedTokens},
    {"sinter_prefix_hits_total", "counter", "Prompts of which the prefix cache had a part.",
     &WorkerState::prefixHits},
    {"sinter_prefix_pages", "gauge", "Pages in the prefix cache.", &WorkerState::cachedPages},
    {"sinter_prefix_evictions_total", "counter", "Pages that the prefix cache let go.",
     &WorkerState::evictedPages},
    {"sinter_grammar_bytes", "gauge", "Memory of grammars that answers were held to.",
     &WorkerState::grammarBytes},
    {"sinter_grammar_evictions_total", "counter", "Grammars let go for their memory.",
     &WorkerState::evictedGrammars},
    {"sinter_answer_tokens_total", "counter", "Tokens of answers.", &WorkerState::answerTokens},
    {"sinter_prefill_steps_total", "counter", "Steps over prompts.", &WorkerState::prefillSteps},
    {"sinter_decode_steps_total", "counter", "Steps that make tokens.", &WorkerState::decodeSteps},
    {"sinter_preemptions_total", "counter", "Sequences that gave up their pages to others.",
     &WorkerState::preemptions},
    {"sinter_step_rows_total", "counter", "Rows of all steps: a prompt's tokens, a token made.",
     &WorkerState::stepRows},
    {"sinter_recomputed_rows_total", "counter", "Rows that preempted sequences took again.",
     &WorkerState::recomputedRows},
};

MetricLabels labelsOf(const LoadedModel &model) {
  return {{"model", model.name}, {"gives", model.embeddings ? "embeddings" : "text"}};
}

// Of each KV cache group: layers that look back less than others have pages of their own.
void writePages(std::span<const LoadedModel> models, MetricsText &text, const char *name,
                const char *help, uint64_t PageFigures::*value) {
  text.family(name, "gauge", help);
  for (const LoadedModel &model : models)
    for (size_t group = 0; group < model.state.kvGroups.size(); ++group) {
      MetricLabels labels = labelsOf(model);
      labels.emplace_back("kv_group", std::to_string(group));
      text.sample(labels, static_cast<double>(model.state.kvGroups[group].*value));
    }
}

} // namespace

void countRequest(Metrics &metrics, const RequestRecord &record) {
  // Paths without a route are a client's to choose: they share one label.
  const std::string route = record.route.empty() ? "none" : record.route;
  metrics
      .counter("sinter_http_requests_total", "Requests by route and code; code 0: the client went.",
               {{"route", route}, {"code", std::to_string(record.answer.status)}})
      .add();
  metrics
      .histogram("sinter_http_request_seconds", "From a request's head to its answer's end.",
                 kAnswerBounds, {{"route", route}})
      .observe(record.seconds);
}

std::unique_ptr<ModelPool> makeMeasuredPool(ModelPool &models, Metrics &metrics) {
  return std::make_unique<MeasuredPool>(models, metrics);
}

void writeModelMetrics(const ModelPool &models, MetricsText &text) {
  const std::vector<LoadedModel> loaded = models.loaded();
  writePages(loaded, text, "sinter_pages", "Pages of the KV cache.", &PageFigures::pages);
  writePages(loaded, text, "sinter_pages_free",
             "Pages that no sequence has, those in the prefix cache included.",
             &PageFigures::freePages);
  for (const ModelFigure &figure : kModelFigures) {
    text.family(figure.name, figure.type, figure.help);
    for (const LoadedModel &model : loaded)
      text.sample(labelsOf(model), static_cast<double>(model.state.*figure.value));
  }
  text.family("sinter_wait_seconds", "gauge", "What a request that comes now waits, about.");
  for (const LoadedModel &model : loaded)
    text.sample(labelsOf(model), model.state.waitSeconds);
  text.family("sinter_model_bytes", "gauge", "Memory of weights, KV cache and buffers.");
  for (const LoadedModel &model : loaded)
    text.sample(labelsOf(model), static_cast<double>(model.bytes));
}

} // namespace sinter::serve
