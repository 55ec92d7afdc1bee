// Decode steps that begin before the token of the step before is chosen.
#include "llm/choose_token.h"
#include "llm/session.h"

#include <utility>

namespace sinter {

// `follows`: the row comes after one that is under way.
RowOrder Session::orderOf(const GenerateOptions &options, bool follows) const {
  RowOrder order;
  order.isKept = keepsRows_;
  if (guesses_.isGood())
    order.guess = options.sampler ? options.sampler->guessRule(follows) : GuessRule{.topK = 1};
  return order;
}

bool Session::mayRunAhead(const GenerateOptions &options) const {
  return runner_.runsAhead() && (!underWay_.empty() || orderOf(options, false).guess.isAny());
}

// The step of `token`, or behind a step under way that of the token which that guesses.
Result<void> Session::beginStep(TokenId token, const GenerateOptions &options) {
  const bool follows = !underWay_.empty();
  const size_t row = cached_.size() + follows;
  SINTER_TRY(pages_.reserve(row + 1));
  const BatchPart part{
      {&token, 1}, static_cast<uint32_t>(row), &pages_, LogitsWanted::Last, Phase::Decode};
  SINTER_TRY(buildBatch({&part, 1}, runner_.limits().batchShape(), batch_));
  const RowOrder order = orderOf(options, follows);
  const int32_t source = follows ? 0 : -1;
  SINTER_TRY(runner_.begin(batch_, {{&source, 1}, {&order, 1}}));
  underWay_.push_back({token, order.guess.isAny()});
  return {};
}

void Session::dropUnderWay() {
  for (; !underWay_.empty(); underWay_.pop_front())
    (void)runner_.finish().has_value(); // nobody waits for its rows
}

// The token after `token`, which is the last one. `goesOn`: another one may follow that.
Result<TokenId> Session::nextAhead(TokenId token, bool goesOn, const GenerateOptions &options) {
  static constexpr TokenId kUnknown = 0;
  if (!underWay_.empty() && underWay_.front().token != token)
    dropUnderWay();
  auto begun = underWay_.empty() ? beginStep(token, options) : Result<void>();
  const bool hasGuess = begun && underWay_.front().hasGuess;
  if (hasGuess && goesOn && pages_.reserve(cached_.size() + 2))
    begun = beginStep(kUnknown, options);
  auto rows = begun ? runner_.finish() : Fail(begun.error());
  if (begun)
    underWay_.pop_front();
  if (!rows) {
    dropUnderWay();
    forget();
    return Fail(std::move(rows).error());
  }
  const TokenId guess = rows->guess(0);
  SINTER_ASSIGN(const std::optional<TokenId> chosen,
                chooseIfThere(*rows, 0, options.sampler, tokenizer_.suppressed(), scratch_));
  if (!chosen) { // all logits decide, which a later step has replaced
    keepsRows_ = true;
    dropUnderWay();
    return nextAhead(token, goesOn, options);
  }
  cached_.push_back(token);
  pages_.stateWritten();
  if (hasGuess)
    guesses_.note(*chosen == guess);
  if (!underWay_.empty())
    underWay_.front().token = guess;
  if (options.sampler)
    options.sampler->accept(*chosen);
  return *chosen;
}

} // namespace sinter
