// Mailbox, step, hand-over.
#include "serve/worker/generation_engine.h"

#include "base/check.h"
#include "llm/prefix_cache.h"
#include "llm/sampler/constraint_ahead.h"

#include <algorithm>

namespace sinter::serve {
namespace {

constexpr uint32_t kMostLikelihoods = 1000; // of one token

} // namespace

GenerationEngine::GenerationEngine(StepRunner &runner, PagePool &pages, const Tokenizer &tokenizer,
                                   const WorkerOptions &options)
    : limits_(runner.limits()), pool_(pages), tokenizer_(tokenizer), options_(options),
      scheduler_(runner, pages, tokenizer,
                 {.sequences = options.running,
                  .leastSequences = options.surelyRunning,
                  .waiting = UINT32_MAX,
                  .promptTokens = options.promptTokens,
                  .prefillRatio = options.prefillRatio,
                  .prefixCache = options.prefixCache}),
      admission_({.mostWaiting = options.waiting, .mostWaitSeconds = options.waitSeconds}) {
  publish();
}

Result<std::unique_ptr<GenerationEngine>> GenerationEngine::start(StepRunner &runner,
                                                                  PagePool &pages,
                                                                  const Tokenizer &tokenizer,
                                                                  const WorkerOptions &options) {
  std::unique_ptr<GenerationEngine> made(new GenerationEngine(runner, pages, tokenizer, options));
  SINTER_ASSIGN(made->delivery_, Delivery::start(tokenizer, [self = made.get()](uint64_t number) {
                  self->cancel({number});
                }));
  SINTER_ASSIGN(made->thread_,
                JoiningThread::start("sinter-steps", [self = made.get()] { self->run(); }));
  return made;
}

void GenerationEngine::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  if (delivery_)
    delivery_->close();
}

// ---- any thread ----

Result<Request> GenerationEngine::requestOf(GenerationJob &job) const {
  Request request{.prompt = std::move(job.prompt),
                  .maxTokens = job.maxTokens,
                  .ignoreEndTokens = job.ignoreEndTokens,
                  .contextTokens = job.context,
                  .queue = std::move(job.queue),
                  .usesPrefixCache = job.usesPrefixCache,
                  .cacheScope = std::move(job.cacheScope),
                  .priority = job.priority,
                  .deadline = job.deadline};
  const size_t vocabulary = std::min<size_t>(tokenizer_.size(), limits_.vocabSize);
  SINTER_ASSIGN(request.sampler, Sampler::create(std::move(job.sampler), vocabulary, &tokenizer_));
  if (job.constraint)
    request.sampler->setConstraint(std::make_shared<ConstraintAhead>(
        std::move(job.constraint),
        [&tasks = maskTasks_](TaskPool::Task task) { tasks.postAlways(std::move(task)); }));
  SINTER_TRY(checkFits(request));
  return request;
}

// What can never fit is refused for good: Exhausted would tell clients to try again.
Result<void> GenerationEngine::checkFits(const Request &request) const {
  auto checked = scheduler_.check(request);
  if (!checked && checked.error().code == Code::Exhausted)
    checked.error().code = Code::InvalidArgument;
  return checked;
}

Result<GenerationEngine::NewJob> GenerationEngine::prepare(GenerationJob &job) const {
  SINTER_CHECK(job.sink != nullptr);
  if (job.likelihoods.value_or(0) > kMostLikelihoods)
    return fail(Code::InvalidArgument, "the likelihoods of " + std::to_string(*job.likelihoods) +
                                           " tokens were asked for at each place, expected at "
                                           "most " +
                                           std::to_string(kMostLikelihoods));
  NewJob made{std::make_unique<LiveJob>(0, tokenizer_), {}};
  SINTER_ASSIGN(made.job->stops, StopTexts::create(std::move(job.stops)));
  SINTER_ASSIGN(made.request, requestOf(job));
  made.job->likelihoods = job.likelihoods;
  made.job->text.show(std::move(job.shownTokens));
  made.job->sink = std::move(job.sink);
  made.job->summary.promptTokens = made.request.prompt.size();
  return made;
}

Result<JobId> GenerationEngine::submit(GenerationJob job) {
  auto made = prepare(job);
  JobId id;
  {
    const std::lock_guard lock(mutex_);
    auto refused = [&](Status error) {
      ++state_.refused;
      return Fail(std::move(error));
    };
    if (!made)
      return refused(std::move(made).error());
    if (lost_)
      return refused(*lost_);
    if (stopping_)
      return refused({Code::Cancelled, "the model is being unloaded"});
    const Request &request = made->request;
    const JobClock::time_point now = JobClock::now();
    if (auto admitted = admission_.ask(request.queue, now); !admitted)
      return refused(std::move(admitted).error());
    id.number = nextNumber_++;
    made->job->number = id.number;
    made->job->ticket = {request.queue,
                         admission_.tokensOf(request.prompt.size(), request.maxTokens)};
    admission_.add(made->job->ticket, now);
    mail_.jobs.push_back(std::move(*made));
    ++state_.accepted;
  }
  wake_.notify_one();
  return id;
}

uint32_t GenerationEngine::retrySeconds(const std::string &queue) const {
  const std::lock_guard lock(mutex_);
  return admission_.retrySeconds(queue);
}

void GenerationEngine::cancel(JobId id) {
  {
    const std::lock_guard lock(mutex_);
    mail_.cancelled.push_back(id.number);
  }
  wake_.notify_one();
}

WorkerState GenerationEngine::state() const {
  const EndCounters ends = delivery_->counters();
  const std::lock_guard lock(mutex_);
  WorkerState state = state_;
  state.waiting += mail_.jobs.size();
  state.waitSeconds = admission_.waitSeconds();
  state.finished = ends.finished;
  state.failed = ends.failed;
  state.cancelled = ends.cancelled;
  state.answerTokens = ends.answerTokens;
  return state;
}

bool GenerationEngine::isLost() const {
  const std::lock_guard lock(mutex_);
  return lost_.has_value();
}

// ---- the step thread ----

void GenerationEngine::run() {
  while (takeMail()) {
    readMail();
    const JobClock::time_point began = JobClock::now();
    scheduler_.step();
    measureStep(std::chrono::duration<double>(JobClock::now() - began).count());
    if (const auto &lost = scheduler_.deviceLost())
      scheduler_.endAll(*lost);
    publish(); // before anyone hears of an end
    delivery_->flush();
  }
  endAll();
}

// Sleeps while there is nothing to do. False: the engine is to end.
bool GenerationEngine::takeMail() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return stopping_ || !mail_.empty() || !scheduler_.idle(); });
  std::swap(mail_, taken_);
  return !stopping_;
}

void GenerationEngine::readMail() {
  for (NewJob &added : taken_.jobs)
    accept(std::move(added));
  for (const uint64_t number : taken_.cancelled)
    if (const auto found = live_.find(number); found != live_.end())
      scheduler_.cancel(found->second->request);
  taken_.jobs.clear();
  taken_.cancelled.clear();
}

void GenerationEngine::accept(NewJob added) {
  LiveJob &job = *added.job;
  connect(added.request, job);
  promptTokens_ += added.request.prompt.size();
  live_.emplace(job.number, std::move(added.job));
  auto id = scheduler_.deviceLost() ? Fail(*scheduler_.deviceLost())
                                    : scheduler_.submit(std::move(added.request));
  if (id)
    job.request = *id;
  else
    end(job, Fail(std::move(id).error()));
}

void GenerationEngine::connect(Request &request, LiveJob &job) {
  request.onBegin = [this, &job] {
    job.began = JobClock::now();
    job.hasBegun = true;
    const std::lock_guard lock(mutex_);
    admission_.begin(job.ticket);
  };
  request.onReuse = [&job](uint64_t tokens) { job.reusedTokens = tokens; };
  if (job.likelihoods)
    request.onLogits = [this, &job](TokenId token, std::span<const float> logits) {
      delivery_->addToken(job, token, logits);
    };
  request.onToken = [this, &job](TokenId token) -> Result<void> {
    if (job.firstToken == JobClock::time_point())
      job.firstToken = JobClock::now();
    if (!job.likelihoods)
      delivery_->addToken(job, token, {});
    return {};
  };
  request.onEnd = [this, &job](Result<Generation> result) { end(job, std::move(result)); };
}

void GenerationEngine::end(LiveJob &job, Result<Generation> result) {
  {
    const std::lock_guard lock(mutex_);
    admission_.end(job.ticket, job.hasBegun);
    if (job.hasBegun && result && result->reason != StopReason::Cancelled)
      admission_.addAnswer(result->tokens.size());
  }
  auto owned = live_.extract(job.number);
  delivery_->addEnd(std::move(owned.mapped()), std::move(result));
}

// A step without sequences only says the ends.
void GenerationEngine::endAll() {
  readMail();
  for (const auto &[number, job] : live_)
    scheduler_.cancel(job->request);
  scheduler_.step();
  SINTER_CHECK(live_.empty());
  publish();
  delivery_->flush();
}

// Rows that were computed again are no progress; those that the prefix cache had are.
void GenerationEngine::measureStep(double seconds) {
  const SchedulerCounters &counters = scheduler_.counters();
  const uint64_t tokens = counters.rows - counters.recomputedRows + counters.reusedTokens;
  const std::lock_guard lock(mutex_);
  admission_.addStep(tokens - measuredTokens_, seconds);
  measuredTokens_ = tokens;
}

void GenerationEngine::publish() {
  const SchedulerCounters &counters = scheduler_.counters();
  const std::lock_guard lock(mutex_);
  state_.running = scheduler_.runningCount();
  state_.mostRunning = scheduler_.mostRunning();
  state_.waiting = live_.size() - state_.running;
  writePoolFigures(pool_, state_);
  state_.promptTokens = promptTokens_;
  state_.prefillSteps = counters.prefillSteps;
  state_.decodeSteps = counters.decodeSteps;
  state_.preemptions = counters.preemptions;
  state_.stepRows = counters.rows;
  state_.recomputedRows = counters.recomputedRows;
  state_.reusedTokens = counters.reusedTokens;
  state_.prefixHits = counters.prefixHits;
  if (const PrefixCache *cache = scheduler_.prefixCache()) {
    state_.cachedPages = cache->pages();
    state_.evictedPages = cache->evicted();
  }
  if (scheduler_.deviceLost() && !lost_)
    lost_ = scheduler_.deviceLost();
}

} // namespace sinter::serve
