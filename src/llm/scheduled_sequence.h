// What the scheduler keeps of one request from its submission to its end.
#pragma once

#include "llm/fair_shares.h"
#include "llm/prefix_cache.h"
#include "llm/scheduler.h"

namespace sinter {

struct ScheduledSequence {
  ScheduledSequence(RequestId number, Request submittedRequest, PagePool &pool, FairShare *queue)
      : id(number), request(std::move(submittedRequest)), tokens(std::move(request.prompt)),
        promptTokens(tokens.size()), prefillRows(promptTokens), pages(pool), share(queue),
        submitted(SchedulerClock::now()) {}

  RequestId id;
  Request request;             // but for its prompt
  std::vector<TokenId> tokens; // the prompt, then what was generated
  size_t promptTokens;
  size_t prefillRows;      // first tokens that are prefill tokens, recomputed ones included
  size_t cachedRows = 0;   // in the KV cache
  size_t mostRows = 0;     // that were ever there
  size_t reusedTokens = 0; // of the prompt, whose rows others computed
  size_t branchRows = 0;   // that the prefix cache has, but for a state at their end
  SequencePages pages;
  PrefixCache::Place place = nullptr; // of its pages
  FairShare *share;
  uint64_t rank = UINT64_MAX; // in the order in which requests first began
  SchedulerClock::time_point submitted, began{}, firstToken{};
  uint64_t decodeSteps = 0;
  bool cancelled = false;
  // The logits of the last row, until its constraint's mask is made; else empty.
  std::vector<float> heldLogits = {};
  uint32_t draftRows = 0; // of the next step: tokens that its constraint drafted
  bool lostDraftTurn = false;
  uint32_t lateMasks = 0; // that a step did not wait for
  size_t draftedTokens = 0, acceptedDrafts = 0;
  // Of steps that are under way: rows of an earlier epoch are thrown away.
  uint64_t epoch = 0;
  int32_t rowUnderWay = -1; // while the step after it is planned; -1: none
  bool keepsRow = false;    // the largest logits did not decide once
  GuessRecord guesses;
  std::optional<Result<Generation>> result; // once it has ended

  bool hasBegun() const { return rank != UINT64_MAX; }
  bool generates() const { return cachedRows >= prefillRows; }
  PrefixRows rows() const { return {request.cacheScope, tokens, prefillRows}; }
  size_t generatedTokens() const { return tokens.size() - promptTokens; }
  bool isCancelled() const {
    return cancelled || (request.cancel && request.cancel->load(std::memory_order_relaxed));
  }
  bool awaitsMask() const { return !heldLogits.empty(); }
  // Whether a step of this phase may have rows of it.
  bool isDue(Phase phase) const {
    return !awaitsMask() && (phase == Phase::Decode) == (generates() && draftRows == 0);
  }
  // Null: none.
  TokenConstraint *constraint() const {
    return request.sampler ? request.sampler->constraint() : nullptr;
  }
};

} // namespace sinter
