// Prefill in chunks, then one token a step.
#include "llm/session.h"

#include "base/check.h"
#include "llm/choose_token.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace sinter {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool cancelled(const GenerateOptions &options) {
  return options.cancel && options.cancel->load(std::memory_order_relaxed);
}

} // namespace

Session::Session(StepRunner &runner, PagePool &pages, const Tokenizer &tokenizer,
                 const SessionOptions &options)
    : runner_(runner), tokenizer_(tokenizer), pages_(pages) {
  const RunnerLimits &limits = runner.limits();
  if (options.prefixCache && limits.stateSlots == 0 && PrefixCache::check(limits))
    cache_ = std::make_unique<PrefixCache>(pages, limits);
}

void Session::clear() {
  keepInCache();
  forget();
}

void Session::forget() {
  cached_.clear();
  prefillRows_ = 0;
  pages_.shrink(0);
}

// Where phases differ, a turn's rows follow those of the answer before it, and no other prompt has
// such rows.
void Session::keepInCache() {
  if (!cache_)
    return;
  const size_t rows = runner_.limits().phasesAgree ? cached_.size() : prefillRows_;
  PrefixCache::Place place = nullptr;
  cache_->insert({"", cached_, rows}, rows, place, pages_);
}

void Session::adoptFromCache(std::span<const TokenId> prompt) {
  if (!cache_)
    return;
  PrefixCache::Place place = nullptr;
  const auto found =
      cache_->adopt({"", prompt, prompt.size()}, cached_.size(), prompt.size() - 1, place, pages_);
  if (found.rows <= cached_.size())
    return;
  cached_.assign(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(found.rows));
  prefillRows_ = cached_.size();
}

// At least the prompt's last token is computed again, for its logits. A state is that of all cached
// tokens or of those of a checkpoint.
void Session::keepCommonPrefix(std::span<const TokenId> prompt) {
  keepInCache();
  const auto ends = std::mismatch(cached_.begin(), cached_.end(), prompt.begin(), prompt.end());
  const size_t common = static_cast<size_t>(ends.first - cached_.begin());
  const size_t kept = std::min(common, prompt.size() - 1);
  if (kept < cached_.size())
    cached_.resize(pages_.resumeAt(kept));
  pages_.shrink(cached_.size());
  prefillRows_ = std::min(prefillRows_, cached_.size());
  adoptFromCache(prompt);
}

// The most tokens of the prompt that the next step takes. Where there are states, one step ends
// some tokens before the prompt does, and its state is kept: a next turn has the same text up to
// there, while templates write the end of a prompt otherwise once there is an answer.
size_t Session::prefillStep(size_t promptTokens) {
  const RunnerLimits &limits = runner_.limits();
  const size_t at = cached_.size();
  const size_t checkpoint =
      promptTokens > kTokensAfterCheckpoint ? promptTokens - kTokensAfterCheckpoint : 0;
  if (limits.stateSlots > 0 && checkpoint > 0 && at <= checkpoint) {
    const size_t before = (checkpoint - at) / limits.chunkRows * limits.chunkRows;
    if (before > 0)
      return limits.prefillTokens(before, limits.stepTokens);
    if (at > 0)
      pages_.keepCheckpoint(at);
  }
  return limits.prefillTokens(promptTokens - at, limits.stepTokens);
}

Result<StepRows> Session::advance(std::span<const TokenId> tokens, LogitsWanted wanted,
                                  Phase phase) {
  SINTER_TRY(pages_.reserve(cached_.size() + tokens.size()));
  const BatchPart part{tokens, static_cast<uint32_t>(cached_.size()), &pages_, wanted, phase};
  SINTER_TRY(buildBatch({&part, 1}, runner_.limits().batchShape(), batch_));
  auto rows = runner_.stepToChoose(batch_);
  if (rows) {
    if (phase == Phase::Prefill && prefillRows_ == cached_.size())
      prefillRows_ += tokens.size();
    cached_.insert(cached_.end(), tokens.begin(), tokens.end());
    pages_.stateWritten();
  } else {
    forget();
  }
  return rows;
}

Result<TokenId> Session::choose(const StepRows &rows, const GenerateOptions &options) {
  SINTER_ASSIGN(const TokenId token,
                chooseToken(rows, 0, options.sampler, tokenizer_.suppressed(), scratch_));
  if (options.sampler)
    options.sampler->accept(token);
  return token;
}

// Returns the first token of the answer, or -1 when cancelled.
Result<TokenId> Session::prefill(std::span<const TokenId> prompt, const GenerateOptions &options,
                                 Generation &result) {
  keepCommonPrefix(prompt);
  result.promptTokens = prompt.size();
  result.reusedTokens = cached_.size();
  const auto tell = [&] {
    if (options.onPrefill)
      options.onPrefill(cached_.size(), prompt.size());
  };
  std::optional<StepRows> rows; // of the last step; the prompt's last token is always computed
  while (cached_.size() < prompt.size()) {
    tell();
    if (cancelled(options))
      return TokenId{-1};
    const size_t count = prefillStep(prompt.size());
    const bool last = cached_.size() + count == prompt.size();
    SINTER_ASSIGN(rows, advance(prompt.subspan(cached_.size(), count),
                                last ? LogitsWanted::Last : LogitsWanted::None));
  }
  tell();
  return choose(*rows, options);
}

Result<void> Session::decode(TokenId token, const GenerateOptions &options, const TokenSink &sink,
                             Generation &result) {
  while (true) {
    if (!options.ignoreEndTokens && endsAnswer(tokenizer_, token)) {
      result.reason = StopReason::EndToken;
      return {};
    }
    result.tokens.push_back(token);
    SINTER_TRY(sink(token));
    if (options.isStopped && options.isStopped()) {
      result.reason = StopReason::StopText;
      return {};
    }
    if (result.tokens.size() >= options.maxTokens) {
      result.reason = StopReason::TokenLimit;
      return {};
    }
    if (cached_.size() >= runner_.limits().contextTokens) {
      result.reason = StopReason::ContextFull;
      return {};
    }
    if (cancelled(options)) {
      result.reason = StopReason::Cancelled;
      return {};
    }
    if (mayRunAhead(options)) {
      const bool goesOn = result.tokens.size() + 1 < options.maxTokens &&
                          cached_.size() + 1 < runner_.limits().contextTokens;
      SINTER_ASSIGN(token, nextAhead(token, goesOn, options));
    } else {
      SINTER_ASSIGN(const StepRows rows, advance({&token, 1}, LogitsWanted::Last, Phase::Decode));
      SINTER_ASSIGN(token, choose(rows, options));
    }
    ++result.decodeSteps;
  }
}

Result<Generation> Session::generate(std::span<const TokenId> prompt,
                                     const GenerateOptions &options, const TokenSink &sink) {
  SINTER_TRY(checkPrompt(prompt, runner_.limits().contextTokens));
  Generation result;
  const Clock::time_point start = Clock::now();
  guesses_ = {};
  keepsRows_ = false;
  if (options.sampler)
    options.sampler->begin(prompt);
  SINTER_ASSIGN(const TokenId first, prefill(prompt, options, result));
  result.prefillSeconds = secondsSince(start);
  if (first < 0 || options.maxTokens == 0) {
    result.reason = first < 0 ? StopReason::Cancelled : StopReason::TokenLimit;
    return result;
  }
  const Clock::time_point decodeStart = Clock::now();
  auto decoded = decode(first, options, sink, result);
  dropUnderWay();
  SINTER_TRY(std::move(decoded));
  result.decodeSeconds = secondsSince(decodeStart);
  return result;
}

} // namespace sinter
