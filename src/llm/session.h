// One conversation with a model: takes prompts, generates token by token, and keeps what the KV
// memory holds so that a prompt that continues the last one is not computed again. With a prefix
// cache, a prompt that begins as an earlier one did is not computed again either.
//
// Where the runner runs ahead, a decode step begins before the token of the step before is chosen,
// from the device's guess of it, and runs while the sink has that token. A step that followed a
// wrong guess is thrown away.
#pragma once

#include "llm/generation.h"
#include "llm/prefix_cache.h"
#include "llm/sampler/sampler.h"

#include <atomic>
#include <deque>

namespace sinter {

struct GenerateOptions {
  uint64_t maxTokens = UINT64_MAX;
  // Read before each step; null: cannot be cancelled.
  const std::atomic<bool> *cancel = nullptr;
  // Called with the prompt's tokens in the KV cache and all of the prompt's: before each step of
  // the prompt, and when it is whole. Empty: nobody asks.
  std::function<void(uint64_t done, uint64_t total)> onPrefill = {};
  // Chooses the tokens, and begins with the prompt; null: greedy choice.
  Sampler *sampler = nullptr;
  // Asked after the sink had a token: whether the answer's text ends there. Empty: it does not.
  std::function<bool()> isStopped = {};
  // Goes on after end tokens, for benchmarks.
  bool ignoreEndTokens = false;
};

struct SessionOptions {
  // Ignored for models that PrefixCache::check() refuses, and for those with states: their
  // conversation keeps checkpoints.
  bool prefixCache = false;
};

// Borrows all that it is given. For one thread.
class Session {
public:
  Session(StepRunner &runner, PagePool &pages, const Tokenizer &tokenizer,
          const SessionOptions &options = {});

  // Continues `prompt`, the whole of it. InvalidArgument, with the numbers: the prompt is empty or
  // longer than the context. Exhausted: the pool has too few pages. Errors of the runner, the
  // sampler and the sink are passed on; the session is usable after any of them.
  Result<Generation> generate(std::span<const TokenId> prompt, const GenerateOptions &options,
                              const TokenSink &sink);

  // Forgets the conversation and gives its pages back, but for those that the prefix cache keeps.
  void clear();

  // Tokens whose keys and values are in the KV cache.
  std::span<const TokenId> cached() const { return cached_; }

private:
  void keepCommonPrefix(std::span<const TokenId> prompt);
  void keepInCache();
  void adoptFromCache(std::span<const TokenId> prompt);
  void forget();
  size_t prefillStep(size_t promptTokens);
  Result<StepRows> advance(std::span<const TokenId> tokens, LogitsWanted wanted,
                           Phase phase = Phase::Prefill);
  // session_ahead.cpp
  Result<TokenId> nextAhead(TokenId token, bool goesOn, const GenerateOptions &options);
  RowOrder orderOf(const GenerateOptions &options, bool follows) const;
  bool mayRunAhead(const GenerateOptions &options) const;
  Result<void> beginStep(TokenId token, const GenerateOptions &options);
  void dropUnderWay();
  Result<TokenId> choose(const StepRows &rows, const GenerateOptions &options);
  Result<TokenId> prefill(std::span<const TokenId> prompt, const GenerateOptions &options,
                          Generation &result);
  Result<void> decode(TokenId first, const GenerateOptions &options, const TokenSink &sink,
                      Generation &result);

  StepRunner &runner_;
  const Tokenizer &tokenizer_;
  std::unique_ptr<PrefixCache> cache_; // null: none
  SequencePages pages_;
  std::vector<TokenId> cached_;
  size_t prefillRows_ = 0; // first ones of these, that prefill computed
  // A decode step that the runner has begun.
  struct StepUnderWay {
    TokenId token; // whose row it computes: chosen, or guessed of the step before
    bool hasGuess; // of the token after it
  };
  std::deque<StepUnderWay> underWay_; // at most two; the first is that of a token that is chosen
  GuessRecord guesses_;
  bool keepsRows_ = false; // the largest logits did not decide once
  Batch batch_;
  SamplerScratch scratch_;
};

} // namespace sinter
