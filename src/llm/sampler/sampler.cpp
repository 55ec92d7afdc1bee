// The chain of steps, and what a sequence carries from token to token.
#include "llm/sampler/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace sinter {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

bool isAmong(std::span<const TokenId> ascending, size_t token) {
  return std::ranges::binary_search(ascending, static_cast<TokenId>(token));
}

// An infinite logit too; a NaN stays, to be told.
void never(float &logit) {
  if (!std::isnan(logit))
    logit = kNever;
}

Fail notNumbers() {
  return fail(Code::Internal, "the model's logits are not numbers (NaN): the weights or a kernel "
                              "must be damaged");
}

struct Greatest {
  float value = kNever;
  bool anyNan = false;
};

// Integers that are ordered as the numbers are, so that the loop becomes vectors; -0 lies below +0.
int32_t orderOf(int32_t bits) {
  return bits ^ ((bits >> 31) & INT32_MAX);
}

Greatest greatestOf(std::span<const float> logits) {
  constexpr int32_t kInfinity = 0x7f800000;
  int32_t most = INT32_MIN, nan = 0;
  for (float logit : logits) {
    const auto bits = std::bit_cast<int32_t>(logit);
    nan |= (bits & INT32_MAX) > kInfinity;
    most = std::max(most, orderOf(bits));
  }
  return {std::bit_cast<float>(orderOf(most)), nan != 0};
}

// A logit with a bias.
float biased(float logit, float bias) {
  if (bias != kNever)
    return keptFinite(logit, logit + bias);
  never(logit);
  return logit;
}

bool isAllowed(std::span<const uint64_t> mask, TokenId token) {
  const auto at = static_cast<size_t>(token);
  return at / 64 < mask.size() && (mask[at / 64] >> at % 64 & 1) != 0;
}

// Whether the largest logit is a number below +infinity.
bool isOfNumbers(const TopLogits &top) {
  return !top.tokens.empty() && top.logits.front() < std::numeric_limits<float>::infinity();
}

// The first of the greatest logits, among `logits` that are not empty; nothing where one is NaN.
std::optional<size_t> firstGreatest(std::span<const float> logits) {
  constexpr size_t kRun = 1024; // is looked through again
  size_t first = 0;
  float value = 0;
  for (size_t at = 0; at < logits.size(); at += kRun) {
    const Greatest run = greatestOf(logits.subspan(at, std::min(kRun, logits.size() - at)));
    if (run.anyNan)
      return std::nullopt;
    if (at == 0 || run.value > value) {
      first = at;
      value = run.value;
    }
  }
  const std::span<const float> run = logits.subspan(first);
  return first + static_cast<size_t>(std::ranges::find(run, value) - run.begin());
}

} // namespace

Result<TokenId> sampleGreedy(std::span<const float> logits, std::span<const TokenId> suppressed) {
  if (logits.empty())
    return fail(Code::Internal, "no logits to choose a token from");
  const std::optional<size_t> greatest = firstGreatest(logits);
  if (!greatest)
    return notNumbers();
  if (!isAmong(suppressed, *greatest))
    return static_cast<TokenId>(*greatest);
  size_t best = logits.size();
  for (size_t i = 0; i < logits.size(); ++i)
    if (!isAmong(suppressed, i) && (best == logits.size() || logits[i] > logits[best]))
      best = i;
  if (best == logits.size())
    return fail(Code::Corrupt, "the model file suppresses every token, expected one to choose");
  return static_cast<TokenId>(best);
}

std::optional<TokenId> sampleGreedyOfTop(const TopLogits &top,
                                         std::span<const TokenId> suppressed) {
  if (!isOfNumbers(top))
    return std::nullopt;
  const auto first = std::ranges::find_if(
      top.tokens, [&](TokenId token) { return !std::ranges::binary_search(suppressed, token); });
  return first == top.tokens.end() ? std::nullopt : std::optional(*first);
}

Result<Sampler> Sampler::create(SamplerSettings settings, size_t vocabulary,
                                const Tokenizer *tokenizer) {
  if (vocabulary == 0)
    return fail(Code::InvalidArgument, "the vocabulary is empty, expected at least 1 token");
  SINTER_TRY(settings.check());
  SINTER_TRY(settings.checkVocabulary(vocabulary));
  return Sampler(std::move(settings), vocabulary, tokenizer);
}

Sampler::Sampler(SamplerSettings settings, size_t vocabulary, const Tokenizer *tokenizer)
    : settings_(std::move(settings)), vocabulary_(vocabulary), tokenizer_(tokenizer),
      counts_(settings_.repeatLastN), breakers_(settings_.drySequenceBreakers),
      lowers_(settings_.onlyLowers()), mu_(2 * settings_.mirostatTau), random_(settings_.seed) {}

void Sampler::begin(std::span<const TokenId> history) {
  mu_ = 2 * settings_.mirostatTau;
  history_.assign(history.begin(), history.end());
  if (settings_.penalises())
    counts_.begin(history_);
  breakers_.reset();
  sinceBreaker_ = 0;
  if (settings_.usesDry())
    for (const TokenId token : history_)
      noteBreaker(token);
}

void Sampler::accept(TokenId token) {
  if (constraint_ && !broken_)
    if (auto accepted = constraint_->accept(token); !accepted)
      broken_ = std::move(accepted).error();
  history_.push_back(token);
  if (settings_.penalises())
    counts_.add(history_);
  if (settings_.usesDry())
    noteBreaker(token);
}

std::string_view Sampler::pieceOf(TokenId token) const {
  return tokenizer_ && tokenizer_->contains(token) ? tokenizer_->piece(token) : std::string_view();
}

void Sampler::noteBreaker(TokenId token) {
  sinceBreaker_ = breakers_.endsIn(pieceOf(token)) ? 0 : sinceBreaker_ + 1;
}

std::span<const TokenId> Sampler::suppressed() const {
  return tokenizer_ ? tokenizer_->suppressed() : std::span<const TokenId>();
}

bool Sampler::adjusts() const {
  return !settings_.logitBias.empty() || settings_.penalises() || settings_.usesDry() ||
         !suppressed().empty() || constraint_;
}

// `logitOf` a token of the vocabulary; null: nobody asks for it.
template <class Find> void Sampler::applyDry(DryScratch &scratch, Find logitOf) const {
  const size_t window = settings_.dryPenaltyLastN < 0
                            ? history_.size()
                            : static_cast<size_t>(settings_.dryPenaltyLastN);
  const auto recent = std::span(history_).last(std::min(window, history_.size()));
  findRepetitions(recent, sinceBreaker_, static_cast<size_t>(settings_.dryAllowedLength),
                  vocabulary_, scratch);
  for (const TokenId token : scratch.tokens) {
    uint32_t &run = scratch.longest[static_cast<size_t>(token)];
    float *logit = logitOf(token);
    if (logit && !breakers_.holds(pieceOf(token)))
      *logit = keptFinite(*logit, *logit - dryPenalty(settings_, run));
    run = 0;
  }
}

Result<void> Sampler::adjust(SamplerScratch &scratch) const {
  for (const LogitBias &bias : settings_.logitBias) {
    float &logit = scratch.logits[static_cast<size_t>(bias.token)];
    logit = biased(logit, bias.bias);
  }
  if (settings_.penalises())
    penalise(counts_.entries(), settings_, scratch.logits);
  if (settings_.usesDry())
    applyDry(scratch.dry,
             [&](TokenId token) { return &scratch.logits[static_cast<size_t>(token)]; });
  for (const TokenId token : suppressed())
    if (static_cast<size_t>(token) < scratch.logits.size())
      never(scratch.logits[static_cast<size_t>(token)]);
  return constraint_ ? applyConstraint(scratch.logits) : Result<void>();
}

Result<void> Sampler::applyConstraint(std::span<float> logits) const {
  if (broken_)
    return Fail(*broken_);
  SINTER_ASSIGN(const std::span<const uint64_t> allowed, constraint_->allowed());
  for (size_t at = 0; at < logits.size(); at += 64) { // most words are all ones or all zeros
    const uint64_t word = at / 64 < allowed.size() ? allowed[at / 64] : 0;
    const size_t count = std::min<size_t>(64, logits.size() - at);
    for (size_t bit = 0; ~word != 0 && bit < count; ++bit)
      if (!(word >> bit & 1))
        never(logits[at + bit]);
  }
  return {};
}

// What adjust() does, to logits that are known.
Result<void> Sampler::adjustKnown(SamplerScratch &scratch) const {
  KnownLogits &known = scratch.known;
  for (const LogitBias &bias : settings_.logitBias)
    if (float *logit = known.find(bias.token))
      *logit = biased(*logit, bias.bias);
  for (size_t i = 0; settings_.penalises() && i < known.size(); ++i)
    if (const uint32_t count = counts_.countOf(known.tokens()[i]))
      known.logits()[i] = penalised(known.logits()[i], count, settings_);
  if (settings_.usesDry())
    applyDry(scratch.dry, [&](TokenId token) { return known.find(token); });
  std::span<const uint64_t> allowed;
  if (constraint_) {
    SINTER_ASSIGN(allowed, constraint_->allowed());
  }
  for (size_t i = 0; i < known.size(); ++i)
    if (const TokenId token = known.tokens()[i];
        isAmong(suppressed(), static_cast<size_t>(token)) ||
        (constraint_ && !isAllowed(allowed, token)))
      never(known.logits()[i]);
  return {};
}

Fail Sampler::nothingLeft() const {
  const bool excluded = std::any_of(settings_.logitBias.begin(), settings_.logitBias.end(),
                                    [](const LogitBias &bias) { return bias.bias == kNever; });
  if (excluded)
    return fail(Code::InvalidArgument,
                "logit biases of -inf leave no token to choose, expected at least one");
  if (!suppressed().empty())
    return fail(Code::Corrupt, "tokens that the model file suppresses leave none to choose");
  if (constraint_)
    return fail(Code::Unsupported, "the answer's form leaves no token of this model's vocabulary");
  return fail(Code::Internal, "the model's logits are all -infinity: the weights or a kernel must "
                              "be damaged");
}

Result<TokenId> Sampler::chooseGreedily(std::span<const float> logits) const {
  SINTER_ASSIGN(const TokenId token, sampleGreedy(logits));
  if (logits[static_cast<size_t>(token)] == kNever)
    return nothingLeft();
  return token;
}

bool Sampler::keepsByRatioAlone() const {
  return settings_.topK == 0 && settings_.minP > 0 && settings_.typicalP == 1 &&
         settings_.topP == 1;
}

// What the first steps would take away anyway need not be gathered.
int32_t Sampler::floorOf(RowScan &scan) const {
  if (settings_.topK > 0)
    return scan.floorOfTop(static_cast<size_t>(settings_.topK));
  if (keepsByRatioAlone())
    return scan.floorOfRatio(settings_.minP);
  return std::numeric_limits<int32_t>::min();
}

void Sampler::narrow(SamplerScratch &scratch, double xtcDraw) const {
  Candidates &candidates = scratch.candidates;
  if (settings_.topK > 0)
    keepTopK(candidates, static_cast<size_t>(settings_.topK), scratch.finder);
  if (settings_.typicalP < 1)
    keepTypical(candidates, settings_.typicalP, scratch.finder);
  if (settings_.topP < 1)
    keepTopP(candidates, settings_.topP, scratch.finder);
  if (settings_.minP > 0)
    keepMinP(candidates, settings_.minP);
  if (xtcDraw < settings_.xtcProbability)
    excludeTopChoices(candidates, settings_.xtcThreshold);
  if (settings_.temperature != 1)
    candidates.divide(settings_.temperature);
  if (settings_.mirostat != 0)
    keepUnsurprising(candidates, mu_);
}

void Sampler::noteSurprise(double bits) {
#pragma clang fp contract(off)
  mu_ -= settings_.mirostatEta * (bits - settings_.mirostatTau);
}

Result<TokenId> Sampler::sample(std::span<const float> logits, SamplerScratch &scratch) {
  if (logits.size() < vocabulary_)
    return fail(Code::Internal, "there are " + std::to_string(logits.size()) +
                                    " logits, expected one for each of " +
                                    std::to_string(vocabulary_) + " tokens");
  logits = logits.first(vocabulary_);
  if (adjusts()) {
    scratch.logits.assign(logits.begin(), logits.end());
    SINTER_TRY(adjust(scratch));
    logits = scratch.logits;
  }
  if (settings_.temperature == 0)
    return chooseGreedily(logits);
  scratch.scan.scan(logits);
  if (scratch.scan.hasNan)
    return notNumbers();
  Candidates &candidates = scratch.candidates;
  candidates.gather(logits, scratch.scan, floorOf(scratch.scan));
  if (candidates.size() == 0)
    return nothingLeft();
  return draw(scratch);
}

// From candidates, of which there are some.
TokenId Sampler::draw(SamplerScratch &scratch) {
  Candidates &candidates = scratch.candidates;
  const auto [xtcDraw, tokenDraw] = random_.next();
  narrow(scratch, xtcDraw);
  const double sum = candidates.weigh();
  const size_t chosen = candidates.draw(tokenDraw);
  if (settings_.mirostat != 0)
    noteSurprise(std::log2(sum / static_cast<double>(candidates.weights()[chosen])));
  return candidates.ids()[chosen];
}

// Whether no logit beside the known ones, which are certain, could change the choice.
bool Sampler::isDecidedBy(const KnownLogits &known, bool isWhole) const {
  if (known.size() == 0 || isWhole)
    return known.size() > 0;
  if (settings_.temperature == 0)
    return true;
  if (settings_.topK > 0)
    return known.size() >= static_cast<size_t>(settings_.topK);
  int32_t top = std::numeric_limits<int32_t>::min();
  for (const float logit : known.logits())
    top = std::max(top, orderOf(logit));
  return keepsByRatioAlone() && known.unknownOrder() < RowScan::floorOfRatio(top, settings_.minP);
}

// Biases are left out: most rows' candidates have none.
GuessRule Sampler::guessRule(uint64_t tokens) const {
  const bool isPlain = settings_.typicalP == 1 && settings_.mirostat == 0 &&
                       !settings_.penalises() && !settings_.usesDry();
  if (!isPlain || constraint_)
    return {};
  if (settings_.temperature == 0)
    return {.topK = 1};
  if (settings_.topK == 0 && !keepsByRatioAlone())
    return {};
  constexpr int64_t kMost = std::numeric_limits<uint32_t>::max();
  const auto [xtcDraw, tokenDraw] = random_.peek(tokens);
  const bool usesXtc = xtcDraw < settings_.xtcProbability;
  return {.topK = static_cast<uint32_t>(settings_.topK ? std::min(settings_.topK, kMost) : kMost),
          .topP = static_cast<float>(settings_.topP),
          .minP = static_cast<float>(settings_.minP),
          .xtcThreshold = usesXtc ? static_cast<float>(settings_.xtcThreshold) : 2,
          .temperature = std::max(static_cast<float>(settings_.temperature),
                                  std::numeric_limits<float>::min()),
          .uniform = static_cast<float>(tokenDraw)};
}

Result<std::optional<TokenId>> Sampler::sampleTop(const TopLogits &top, SamplerScratch &scratch) {
  if (!isOfNumbers(top) || !lowers_ || broken_ || top.rowLength < vocabulary_)
    return std::nullopt;
  KnownLogits &known = scratch.known;
  const bool isGreedy = settings_.temperature == 0;
  const bool takesFirst = !adjusts() && (isGreedy || settings_.topK > 0);
  known.set(top, vocabulary_,
            !takesFirst ? top.tokens.size()
            : isGreedy  ? 1
                        : static_cast<size_t>(settings_.topK));
  if (adjusts())
    SINTER_TRY(adjustKnown(scratch));
  known.keepCertain();
  if (!isDecidedBy(known, top.isWhole()))
    return std::nullopt;
  if (isGreedy) {
    const size_t best = *firstGreatest(known.logits());
    return known.tokens()[best];
  }
  scratch.candidates.take(known.tokens(), known.logits());
  return draw(scratch);
}

} // namespace sinter
