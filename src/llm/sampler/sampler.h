// Choosing the next token from a row of logits.
//
// The steps of a Sampler, always in this order; each is off unless its setting says otherwise:
//   logit bias, penalties, DRY          change the logits of single tokens
//   what the tokenizer suppresses       gets the logit -infinity
//   what the constraint does not allow  gets the logit -infinity
//   temperature 0: the token with the largest logit is chosen, and nothing below matters
//   top-k, typical, top-p, min-p, XTC   take candidates away
//   temperature                         divides what is left
//   Mirostat 2                          takes candidates away by its own state
//   a draw from the softmax of what is left
#pragma once

#include "llm/sampler/constraint.h"
#include "llm/sampler/dry.h"
#include "llm/sampler/known_logits.h"
#include "llm/sampler/penalties.h"
#include "llm/sampler/random.h"
#include "llm/sampler/steps.h"
#include "llm/token_guess.h"
#include "llm/tokenizer/tokenizer.h"

#include <optional>

namespace sinter {

// The token with the largest logit, the lowest id among equals, but for the suppressed ones, which
// ascend. Internal: the row is empty or holds a NaN, which says that the step computed nonsense; an
// answer is not made up from that. Corrupt: all tokens are suppressed.
Result<TokenId> sampleGreedy(std::span<const float> logits,
                             std::span<const TokenId> suppressed = {});

// The same from the largest logits of a row; nothing: they do not decide, but all logits may.
std::optional<TokenId> sampleGreedyOfTop(const TopLogits &top,
                                         std::span<const TokenId> suppressed = {});

// Memory that choosing a token needs, kept from token to token; samplers of one thread share one.
struct SamplerScratch {
  std::vector<float> logits;
  RowScan scan;
  KnownLogits known;
  Candidates candidates;
  HeadFinder finder;
  DryScratch dry;
};

// Chooses the tokens of one sequence. Movable; for one thread.
class Sampler {
public:
  // Tokens below `vocabulary` may be chosen, whatever else a row has. The tokenizer, which must
  // outlive the sampler, knows the bytes of tokens for sequence breakers and tokens that are never
  // chosen; null: there are none.
  // InvalidArgument: as SamplerSettings::check and checkVocabulary.
  static Result<Sampler> create(SamplerSettings settings, size_t vocabulary,
                                const Tokenizer *tokenizer);

  // Holds the answer, what accept() tells of, to a form; its own, since it moves along with it.
  void setConstraint(std::shared_ptr<TokenConstraint> constraint) {
    constraint_ = std::move(constraint);
  }
  // Null: none.
  TokenConstraint *constraint() const { return constraint_.get(); }
  // From now on the sequence is this one, and Mirostat starts anew. Random numbers go on.
  void begin(std::span<const TokenId> history);
  // The sequence has one more token.
  void accept(TokenId token);

  // A token to follow the sequence. Internal: the row is shorter than the vocabulary, holds a NaN
  // or nothing but -infinity. InvalidArgument: biases exclude all that is left. Errors of the
  // constraint.
  Result<TokenId> sample(std::span<const float> logits, SamplerScratch &scratch);
  // The token that sample() would choose from the whole row; nothing, and the sampler is as before,
  // where its largest logits do not decide that or sample() would fail. They do not where
  // candidates are all tokens (no top-k, and no min-p by itself), where a logit is raised or
  // +infinity, and where too few are left of them.
  Result<std::optional<TokenId>> sampleTop(const TopLogits &top, SamplerScratch &scratch);

  // For the token after the next `tokens` ones. None where a device cannot follow: with penalties,
  // DRY, a constraint, typical sampling, Mirostat, or candidates that may be all tokens.
  GuessRule guessRule(uint64_t tokens) const;

  const SamplerSettings &settings() const { return settings_; }
  // The surprise in bits up to which Mirostat keeps candidates at the next token.
  double mirostatMu() const { return mu_; }

private:
  Sampler(SamplerSettings settings, size_t vocabulary, const Tokenizer *tokenizer);

  std::span<const TokenId> suppressed() const;
  bool adjusts() const;
  Result<void> adjust(SamplerScratch &scratch) const;
  Result<void> applyConstraint(std::span<float> logits) const;
  template <class Find> void applyDry(DryScratch &scratch, Find logitOf) const;
  Result<void> adjustKnown(SamplerScratch &scratch) const;
  bool isDecidedBy(const KnownLogits &known, bool isWhole) const;
  void noteBreaker(TokenId token);
  std::string_view pieceOf(TokenId token) const;
  Result<TokenId> chooseGreedily(std::span<const float> logits) const;
  int32_t floorOf(RowScan &scan) const;
  bool keepsByRatioAlone() const;
  void narrow(SamplerScratch &scratch, double xtcDraw) const;
  TokenId draw(SamplerScratch &scratch);
  void noteSurprise(double bits);
  Fail nothingLeft() const;

  SamplerSettings settings_;
  size_t vocabulary_;
  const Tokenizer *tokenizer_;
  std::vector<TokenId> history_;
  WindowCounts counts_;
  BreakerMatcher breakers_;
  size_t sinceBreaker_ = 0; // tokens after the last one in which a sequence breaker ended
  bool lowers_;             // biases and penalties raise no logit
  double mu_;
  SamplerRandom random_;
  std::shared_ptr<TokenConstraint> constraint_; // null: none
  std::optional<Status> broken_;                // what the constraint said to a token
};

} // namespace sinter
