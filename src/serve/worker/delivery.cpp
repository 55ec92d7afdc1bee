// Tokens in, calls of sinks out.
#include "serve/worker/delivery.h"

#include "serve/worker/token_likelihoods.h"

#include <algorithm>
#include <iterator>

namespace sinter::serve {
namespace {

// Rows of logits that wait for this thread. Beyond them the step thread computes likelihoods.
constexpr uint64_t kMostRowFloats = uint64_t{8} << 20;

double secondsBetween(JobClock::time_point from, JobClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

AnswerEnd endOf(StopReason reason) {
  switch (reason) {
  case StopReason::EndToken:
    return AnswerEnd::EndToken;
  case StopReason::StopText:
    return AnswerEnd::StopText;
  case StopReason::TokenLimit:
    return AnswerEnd::TokenLimit;
  case StopReason::ContextFull:
    return AnswerEnd::ContextFull;
  case StopReason::Cancelled:
    break;
  }
  return AnswerEnd::Cancelled;
}

} // namespace

void Delivery::Batch::clear() {
  tokens.clear();
  rows.clear();
  ends.clear();
}

void Delivery::Batch::append(Batch &&later) {
  const int64_t before = std::ssize(rows);
  for (Token &token : later.tokens) {
    token.row += token.row >= 0 ? before : 0;
    tokens.push_back(token);
  }
  std::ranges::move(later.rows, std::back_inserter(rows));
  std::ranges::move(later.ends, std::back_inserter(ends));
  later.clear();
}

Result<std::unique_ptr<Delivery>> Delivery::start(const Tokenizer &tokenizer,
                                                  std::function<void(uint64_t)> cancel) {
  std::unique_ptr<Delivery> made(new Delivery(tokenizer, std::move(cancel)));
  SINTER_ASSIGN(made->thread_,
                JoiningThread::start("sinter-answers", [self = made.get()] { self->run(); }));
  return made;
}

void Delivery::close() {
  flush();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

// ---- the step thread ----

void Delivery::addToken(LiveJob &job, TokenId token, std::span<const float> logits) {
  out_.tokens.push_back({&job, token});
  if (logits.empty())
    return;
  out_.tokens.back().row = std::ssize(out_.rows);
  Row &row = out_.rows.emplace_back();
  if (rowFloats_.load(std::memory_order_relaxed) + logits.size() > kMostRowFloats) {
    row.likelihoods = likelihoodsOf(logits, token, *job.likelihoods, tokenizer_);
    return;
  }
  row.logits.assign(logits.begin(), logits.end());
  rowFloats_.fetch_add(logits.size(), std::memory_order_relaxed);
}

void Delivery::addEnd(std::unique_ptr<LiveJob> job, Result<Generation> end) {
  out_.ends.push_back({std::move(job), std::move(end)});
}

void Delivery::flush() {
  if (out_.empty())
    return;
  {
    const std::lock_guard lock(mutex_);
    if (inbox_.empty())
      std::swap(inbox_, out_);
    else
      inbox_.append(std::move(out_));
  }
  wake_.notify_one();
}

EndCounters Delivery::counters() const {
  const std::lock_guard lock(mutex_);
  EndCounters counters = counters_;
  counters.answerTokens = answerTokens_.load(std::memory_order_relaxed);
  return counters;
}

// ---- the delivery thread ----

void Delivery::run() {
  while (takeBatch()) {
    for (Token &token : work_.tokens)
      say(token);
    for (LiveJob *job : touched_)
      sayPiece(*job);
    touched_.clear();
    for (End &end : work_.ends)
      sayEnd(end);
    for (const Row &row : work_.rows)
      rowFloats_.fetch_sub(row.logits.size(), std::memory_order_relaxed);
    work_.clear();
  }
}

bool Delivery::takeBatch() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [&] { return closing_ || !inbox_.empty(); });
  std::swap(inbox_, work_);
  return !work_.empty();
}

// Several tokens of a job become one piece.
void Delivery::say(Token &token) {
  LiveJob &job = *token.job;
  if (!job.sink)
    return;
  auto text = job.text.push(token.token);
  if (!text)
    return finish(job, Fail(std::move(text).error()));
  if (job.piece.tokens.empty())
    touched_.push_back(&job);
  job.piece.tokens.push_back(token.token);
  ++job.summary.answerTokens;
  answerTokens_.fetch_add(1, std::memory_order_relaxed);
  addLikelihoods(job, token);
  job.piece.text += job.stops.push(*text);
  if (const std::string *stop = job.stops.found()) {
    job.summary.stopText = *stop;
    finishWith(job, AnswerEnd::StopText);
    cancel_(job.number);
  }
}

void Delivery::addLikelihoods(LiveJob &job, Token &token) {
  if (token.row < 0)
    return;
  Row &row = work_.rows[static_cast<size_t>(token.row)];
  if (!row.logits.empty())
    row.likelihoods = likelihoodsOf(row.logits, token.token, *job.likelihoods, tokenizer_);
  job.piece.likelihoods.push_back(std::move(row.likelihoods));
}

void Delivery::sayPiece(LiveJob &job) {
  if (!job.sink || (job.piece.tokens.empty() && job.piece.text.empty()))
    return;
  if (job.sink->onPiece(std::exchange(job.piece, {})))
    return;
  finishWith(job, AnswerEnd::Cancelled);
  cancel_(job.number);
}

void Delivery::sayEnd(End &end) {
  LiveJob &job = *end.job;
  if (!job.sink)
    return;
  if (!end.result)
    return finish(job, Fail(std::move(end.result).error()));
  job.piece.text += job.stops.push(job.text.finish());
  if (const std::string *stop = job.stops.found()) {
    job.summary.stopText = *stop;
    return finishWith(job, AnswerEnd::StopText);
  }
  job.piece.text += job.stops.finish();
  finishWith(job, endOf(end.result->reason));
}

// Says what is left of the answer, unless nobody listens, and that it ended so.
void Delivery::finishWith(LiveJob &job, AnswerEnd end) {
  AnswerSummary &summary = job.summary;
  summary.end = end;
  const bool left = !job.piece.tokens.empty() || !job.piece.text.empty();
  if (left && !job.sink->onPiece(std::exchange(job.piece, {})))
    summary.end = AnswerEnd::Cancelled;
  summary.reusedTokens = job.reusedTokens;
  const auto now = JobClock::now();
  const bool begun = job.began != JobClock::time_point();
  const bool answered = job.firstToken != JobClock::time_point();
  summary.queueSeconds = secondsBetween(job.submitted, begun ? job.began : now);
  if (begun)
    summary.prefillSeconds = secondsBetween(job.began, answered ? job.firstToken : now);
  if (answered)
    summary.decodeSeconds = secondsBetween(job.firstToken, now);
  finish(job, std::move(summary));
}

// Counted first, so that whoever hears of the end finds it counted.
void Delivery::finish(LiveJob &job, Result<AnswerSummary> end) {
  {
    const std::lock_guard lock(mutex_);
    ++(!end                               ? counters_.failed
       : end->end == AnswerEnd::Cancelled ? counters_.cancelled
                                          : counters_.finished);
  }
  const std::shared_ptr<AnswerSink> sink = std::exchange(job.sink, nullptr);
  sink->onEnd(std::move(end));
}

} // namespace sinter::serve
