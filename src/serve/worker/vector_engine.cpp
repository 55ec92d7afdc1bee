// Texts of many jobs in one step.
#include "serve/worker/vector_engine.h"

#include "base/check.h"

#include <algorithm>
#include <tuple>

namespace sinter::serve {
namespace {

// Of a step of several texts: where matmuls are near their best.
constexpr size_t kStepTokens = 512;

double secondsBetween(JobClock::time_point from, JobClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

bool areAlike(const EmbeddingOptions &a, const EmbeddingOptions &b) {
  return a.pooling == b.pooling && a.normalize == b.normalize && a.head == b.head;
}

} // namespace

Result<VectorHeads> VectorHeads::of(const GgufFile &file, const RunnerLimits &limits) {
  SINTER_ASSIGN(EmbeddingHead dense, EmbeddingHead::dense(file, limits.embeddingLength));
  return VectorHeads{std::move(dense), poolingOf(file),
                     EmbeddingHead::ranking(file, limits.embeddingLength), rankPoolingOf(file)};
}

Result<std::unique_ptr<VectorEngine>> VectorEngine::start(StepRunner &runner, PagePool &pages,
                                                          VectorHeads heads,
                                                          const WorkerOptions &options) {
  SINTER_CHECK(runner.limits().embeddingLength > 0);
  std::unique_ptr<VectorEngine> made(new VectorEngine(runner, pages, std::move(heads), options));
  made->publish();
  SINTER_ASSIGN(made->thread_,
                JoiningThread::start("sinter-steps", [self = made.get()] { self->run(); }));
  return made;
}

void VectorEngine::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

// ---- any thread ----

Result<VectorEngine::LivePtr> VectorEngine::prepare(VectorJob job) const {
  SINTER_CHECK(job.onEnd != nullptr);
  if (job.texts.empty())
    return fail(Code::InvalidArgument, "there is no text to embed");
  auto made = std::make_unique<Live>();
  if (job.ranks) {
    if (!heads_.ranking)
      return Fail(heads_.ranking.error());
    SINTER_ASSIGN(const Pooling pooling, heads_.rankPooling);
    made->options = {pooling, false, &*heads_.ranking};
  } else {
    SINTER_ASSIGN(const Pooling pooling,
                  job.pooling ? Result<Pooling>(*job.pooling) : heads_.pooling);
    made->options = {pooling, job.normalize, &heads_.dense};
  }
  for (size_t i = 0; i < job.texts.size(); ++i) {
    SINTER_TRY(checkText(limits_, job.texts[i], i + 1));
    made->answer.promptTokens += job.texts[i].size();
  }
  made->answer.width = made->options.head->width();
  made->answer.rows.resize(job.texts.size());
  made->job = std::move(job);
  return made;
}

Result<JobId> VectorEngine::submit(VectorJob job) {
  auto made = prepare(std::move(job));
  JobId id;
  {
    const std::lock_guard lock(mutex_);
    const auto refused = [&](Status error) {
      ++refused_;
      return Fail(std::move(error));
    };
    if (!made)
      return refused(std::move(made).error());
    if (lost_)
      return refused(*lost_);
    if (stopping_)
      return refused({Code::Cancelled, "the model is being unloaded"});
    if (waiting_ >= options_.waiting)
      return refused({Code::Exhausted, std::to_string(waiting_) +
                                           " requests wait already, expected fewer than " +
                                           std::to_string(options_.waiting)});
    id.number = (*made)->number = nextNumber_++;
    mailedJobs_.push_back(std::move(*made));
    ++waiting_;
    ++accepted_;
  }
  wake_.notify_one();
  return id;
}

void VectorEngine::cancel(JobId id) {
  {
    const std::lock_guard lock(mutex_);
    mailedCancels_.push_back(id.number);
  }
  wake_.notify_one();
}

WorkerState VectorEngine::state() const {
  const std::lock_guard lock(mutex_);
  WorkerState state = state_;
  state.accepted = accepted_;
  state.refused = refused_;
  state.waiting = waiting_;
  return state;
}

bool VectorEngine::isLost() const {
  const std::lock_guard lock(mutex_);
  return lost_.has_value();
}

// ---- the step thread ----

void VectorEngine::run() {
  while (takeMail()) {
    if (isLost()) { // what was mailed before the device went
      endAll(*lost_);
      publish();
      continue;
    }
    endExpired();
    planStep();
    if (!parts_.empty())
      runStep();
    publish();
  }
  endAll({Code::Cancelled, "the model was unloaded"});
  publish();
}

// Sleeps while there is nothing to do. False: the engine is to end.
bool VectorEngine::takeMail() {
  bool going = true;
  {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] {
      return stopping_ || !mailedJobs_.empty() || !mailedCancels_.empty() || !live_.empty();
    });
    takenJobs_.swap(mailedJobs_);
    takenCancels_.swap(mailedCancels_);
    going = !stopping_;
  }
  for (LivePtr &job : takenJobs_) {
    job->share = queues_.join(job->job.queue);
    live_.push_back(std::move(job));
  }
  for (const uint64_t number : takenCancels_)
    if (const auto found = find(number); found != live_.end())
      end(**found, fail(Code::Cancelled, "the request was cancelled"));
  takenJobs_.clear();
  takenCancels_.clear();
  return going;
}

std::vector<VectorEngine::LivePtr>::iterator VectorEngine::find(uint64_t number) {
  return std::ranges::find(live_, number, [](const LivePtr &job) { return job->number; });
}

void VectorEngine::endExpired() {
  const auto now = JobClock::now();
  for (size_t i = 0; i < live_.size();) {
    Live &job = *live_[i];
    if (job.next > 0 || !job.job.deadline || now < *job.job.deadline) {
      ++i;
      continue;
    }
    end(job, fail(Code::Timeout, "the request's turn did not come before its deadline: " +
                                     std::to_string(live_.size()) + " requests run or wait"));
  }
}

// The highest priority, then the queue that was served least, then the first that came.
VectorEngine::Live *VectorEngine::chooseNext(const EmbeddingOptions *like) const {
  Live *best = nullptr;
  const auto rank = [](const Live &job) {
    return std::tuple(-int64_t{job.job.priority}, job.share->served, job.number);
  };
  for (const LivePtr &job : live_)
    if (job->isLeft() && (!like || areAlike(*like, job->options)) &&
        (!best || rank(*job) < rank(*best)))
      best = job.get();
  return best;
}

// Texts that are pooled alike; one at least.
void VectorEngine::planStep() {
  parts_.clear();
  texts_.clear();
  size_t tokens = 0;
  const size_t most = std::min<size_t>(kStepTokens, limits_.stepTokens);
  for (Live *job = chooseNext(nullptr); job; job = chooseNext(&parts_.front().job->options)) {
    TextTokens &text = job->job.texts[job->next];
    if (!parts_.empty() && (tokens + text.size() > most || parts_.size() >= limits_.stepSequences))
      return;
    if (job->next == 0) {
      job->began = JobClock::now();
      const std::lock_guard lock(mutex_);
      --waiting_;
    }
    tokens += text.size();
    job->share->served += text.size();
    parts_.push_back({job, job->next++});
    texts_.push_back(std::move(text));
  }
}

void VectorEngine::runStep() {
  const EmbeddingOptions options = parts_.front().job->options;
  const auto keep = [&](size_t number, std::span<const float> rows) -> Result<void> {
    const Part &part = parts_[number];
    part.job->answer.rows[part.text].assign(rows.begin(), rows.end());
    return {};
  };
  auto done = embed(runner_, pool_, texts_, options, keep);
  ++counts_.prefillSteps;
  for (const TextTokens &text : texts_) {
    counts_.promptTokens += text.size();
    counts_.stepRows += text.size();
  }
  if (!done && done.error().code == Code::DeviceLost) {
    {
      const std::lock_guard lock(mutex_);
      lost_ = done.error();
    }
    return endAll(done.error());
  }
  std::ranges::sort(parts_, {}, [](const Part &part) { return part.job->number; });
  const auto last = std::ranges::unique(parts_, {}, &Part::job).begin();
  for (auto part = parts_.begin(); part != last; ++part)
    if (!done)
      end(*part->job, Fail(done.error()));
    else if (!part->job->isLeft())
      end(*part->job, std::move(part->job->answer));
}

void VectorEngine::end(Live &job, Result<VectorAnswer> result) {
  const auto place = find(job.number);
  const LivePtr owned = std::move(*place);
  live_.erase(place);
  queues_.leave(owned->share);
  ++(result                                   ? counts_.finished
     : result.error().code == Code::Cancelled ? counts_.cancelled
                                              : counts_.failed);
  if (owned->next == 0) {
    const std::lock_guard lock(mutex_);
    --waiting_;
  }
  if (result) {
    result->queueSeconds = secondsBetween(owned->submitted, owned->began);
    result->runSeconds = secondsBetween(owned->began, JobClock::now());
  }
  publish(); // whoever hears of the end finds it counted
  owned->job.onEnd(std::move(result));
}

void VectorEngine::endAll(const Status &error) {
  while (!live_.empty())
    end(*live_.front(), Fail(error));
}

void VectorEngine::publish() {
  const std::lock_guard lock(mutex_);
  state_ = counts_;
  state_.running = static_cast<uint64_t>(
      std::ranges::count_if(live_, [](const LivePtr &job) { return job->next > 0; }));
  writePoolFigures(pool_, state_);
}

} // namespace sinter::serve
