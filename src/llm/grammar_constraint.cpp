// A grammar's state, moved along by the tokens of an answer.
#include "llm/grammar_constraint.h"

#include "grammar/forced_text.h"
#include "llm/generation.h"

#include <algorithm>
#include <deque>

namespace sinter {

using grammar::StateId;
using grammar::TokenBits;
using grammar::TokenMasks;

namespace {

constexpr char kNoText = '\xFF'; // a byte that UTF-8 never has

constexpr size_t kMostDraftBytes = 256, kMostDraftTokens = 48;
// Of an automaton, after which others come first: about 4 ms.
constexpr uint64_t kWorkAtOnce = 1 << 14;

} // namespace

// The form's masks are used under its lock, by one answer at a time.
class GrammarConstraint : public TokenConstraint {
public:
  GrammarConstraint(std::shared_ptr<GrammarForm> form, std::vector<uint32_t> ends)
      : form_(std::move(form)), ends_(std::move(ends)), state_(form_->masks_.automaton().start()) {}

  Result<std::span<const uint64_t>> allowed() override {
    if (!mask_)
      SINTER_TRY(retried([&](TokenMasks &masks) { return makeMask(masks, UINT64_MAX); }));
    return *mask_;
  }

  Result<bool> prepare() override {
    if (mask_)
      return true;
    const auto made = retried([&](TokenMasks &masks) { return makeMask(masks, workAtOnce_); });
    const bool isPaused = !made && made.error().code == Code::Timeout;
    workAtOnce_ = isPaused ? workAtOnce_ * 2 : kWorkAtOnce;
    if (!made && !isPaused)
      return Fail(made.error());
    return !isPaused;
  }

  Result<void> accept(TokenId token) override {
    if (std::ranges::binary_search(ends_, static_cast<uint32_t>(token)))
      return {};
    mask_.reset();
    return retried([&](TokenMasks &masks) -> Result<void> {
      masks.automaton().allow(UINT64_MAX);
      SINTER_TRY(step(masks, static_cast<uint32_t>(token)));
      text_ += masks.trie().bytesOf(static_cast<uint32_t>(token));
      return {};
    });
  }

  // It only saves time: where it takes too much of it there is none.
  Result<Draft> draft() override {
    const std::lock_guard lock(form_->mutex_);
    TokenMasks &masks = form_->masks_;
    masks.automaton().allow(kWorkAtOnce);
    Draft draft;
    const Result<std::string> text = forced_.from(masks.automaton(), state_, kMostDraftBytes);
    const std::string_view left = text ? std::string_view(*text) : std::string_view();
    StateId state = state_;
    for (const TokenId token : form_->tokensOf(text_, left)) {
      const Result<StateId> next = masks.after(state, static_cast<uint32_t>(token));
      const auto mask = next && *next != grammar::kDead
                            ? masks.maskOf(*next)
                            : Result<std::shared_ptr<const TokenBits>>(nullptr);
      if (!mask || !*mask || draft.tokens.size() == kMostDraftTokens)
        break;
      state = *next;
      draft.tokens.push_back(token);
      draft.masks.push_back(**mask);
    }
    form_->measure();
    return draft;
  }

private:
  Result<void> makeMask(TokenMasks &masks, uint64_t work) {
    masks.automaton().allow(work);
    SINTER_ASSIGN(mask_, masks.maskOf(state_));
    return {};
  }

  Result<void> step(TokenMasks &masks, uint32_t token) {
    // It makes rows, by which the state after the token is found.
    SINTER_TRY(forced_.accept(masks.automaton(), state_, masks.trie().bytesOf(token)));
    SINTER_ASSIGN(const StateId next, masks.after(state_, token));
    if (next == grammar::kDead)
      return fail(Code::Internal, "token " + std::to_string(token) + " is not of the grammar");
    state_ = next;
    return {};
  }

  // Where others took what one answer may take of the form, this one goes on with its own.
  template <typename Act> Result<void> retried(const Act &act) {
    {
      const std::lock_guard lock(form_->mutex_);
      const Result<void> done = act(form_->masks_);
      form_->measure();
      SINTER_TRY(form_->checkBudget());
      if (done || done.error().code != Code::Unsupported || isOwn_)
        return done;
    }
    SINTER_ASSIGN(form_, form_->renewed());
    isOwn_ = true;
    const std::lock_guard lock(form_->mutex_);
    grammar::Automaton &automaton = form_->masks_.automaton();
    SINTER_ASSIGN(state_, automaton.next(automaton.start(), text_));
    const Result<void> done = act(form_->masks_);
    form_->measure();
    SINTER_TRY(form_->checkBudget());
    return done;
  }

  std::shared_ptr<GrammarForm> form_;
  std::vector<uint32_t> ends_; // ascending
  bool isOwn_ = false;         // nobody else has the form
  StateId state_;
  std::shared_ptr<const TokenBits> mask_; // of the state; null: not made
  uint64_t workAtOnce_ = kWorkAtOnce;
  std::string text_; // so far
  grammar::ForcedText forced_;
};

std::string controlSpelling(TokenId token) {
  std::string bytes(1, kNoText);
  for (int shift = 0; shift < 24; shift += 6)
    bytes += static_cast<char>(0x80 | (token >> shift & 0x3F));
  return bytes;
}

std::shared_ptr<const grammar::TokenTrie> tokenTrieOf(const Tokenizer &tokenizer,
                                                      size_t vocabulary) {
  std::vector<grammar::TokenBytes> tokens;
  std::deque<std::string> spellings;
  for (TokenId id = 0; static_cast<size_t>(id) < vocabulary && tokenizer.contains(id); ++id) {
    const TokenType type = tokenizer.type(id);
    const bool isText =
        type == TokenType::Normal || type == TokenType::UserDefined || type == TokenType::Byte;
    if (endsAnswer(tokenizer, id))
      continue;
    // A token with the byte that spellings begin with could be taken for one.
    if (isText && tokenizer.piece(id).find(kNoText) == std::string_view::npos)
      tokens.push_back({static_cast<uint32_t>(id), tokenizer.piece(id)});
    else if (type == TokenType::Control)
      tokens.push_back({static_cast<uint32_t>(id), spellings.emplace_back(controlSpelling(id))});
  }
  return std::make_shared<grammar::TokenTrie>(tokens, vocabulary);
}

Result<std::shared_ptr<GrammarForm>>
GrammarForm::create(grammar::Grammar grammar, std::shared_ptr<const grammar::TokenTrie> trie,
                    const Tokenizer &tokenizer, std::shared_ptr<GrammarBudget> budget) {
  std::vector<uint32_t> ends;
  for (TokenId id = 0; static_cast<size_t>(id) < trie->vocabulary(); ++id)
    if (endsAnswer(tokenizer, id))
      ends.push_back(static_cast<uint32_t>(id));
  SINTER_ASSIGN(std::unique_ptr<grammar::Automaton> automaton,
                grammar::Automaton::create(std::move(grammar)));
  TokenMasks masks(std::move(automaton), std::move(trie), std::move(ends));
  return std::shared_ptr<GrammarForm>(
      new GrammarForm(std::move(masks), tokenizer, std::move(budget)));
}

GrammarForm::~GrammarForm() {
  budget_->bytes -= bytes_;
}

Result<std::shared_ptr<GrammarForm>> GrammarForm::renewed() const {
  const std::lock_guard lock(mutex_);
  SINTER_ASSIGN(std::unique_ptr<grammar::Automaton> automaton,
                grammar::Automaton::create(masks_.automaton().grammar()));
  TokenMasks masks(std::move(automaton), masks_.sharedTrie(),
                   {masks_.ends().begin(), masks_.ends().end()});
  return std::shared_ptr<GrammarForm>(new GrammarForm(std::move(masks), tokenizer_, budget_));
}

std::unique_ptr<TokenConstraint> GrammarForm::constrain() {
  const std::lock_guard lock(mutex_);
  const std::span<const uint32_t> ends = masks_.ends();
  return std::make_unique<GrammarConstraint>(shared_from_this(),
                                             std::vector<uint32_t>(ends.begin(), ends.end()));
}

// As the tokenizer writes both together, where a token of it ends with `before`; else the longest
// tokens that fit.
std::vector<TokenId> GrammarForm::tokensOf(std::string_view before, std::string_view text) const {
  constexpr size_t kMostBefore = 32; // bytes: a word is split as its neighbours say
  std::vector<TokenId> tokens;
  if (text.empty())
    return tokens;
  const std::string all(before.substr(before.size() - std::min(before.size(), kMostBefore)));
  const bool isText = text.find(kNoText) == text.npos; // else it has control tokens
  const auto encoded = tokenizer_.encode(all + std::string(text), {.addSpecial = false});
  size_t left = 0; // bytes of the tokens from the last one back
  for (size_t i = isText && encoded ? encoded->ids.size() : 0; i-- > 0 && left < text.size();) {
    left += tokenizer_.piece(encoded->ids[i]).size();
    tokens.insert(tokens.begin(), encoded->ids[i]);
  }
  if (left == text.size())
    return tokens;
  tokens.clear();
  while (const std::optional<uint32_t> token = masks_.trie().longestAtStartOf(text)) {
    tokens.push_back(static_cast<TokenId>(*token));
    text.remove_prefix(masks_.trie().bytesOf(*token).size());
  }
  return tokens;
}

Result<void> GrammarForm::checkBudget() const {
  if (budget_->bytes <= budget_->mostBytes || bytes() <= budget_->smallBytes)
    return {};
  return fail(Code::Exhausted, "the grammars of all answers take " +
                                   std::to_string(budget_->bytes) + " bytes, " +
                                   std::to_string(bytes()) + " of them this answer's, expected " +
                                   "at most " + std::to_string(budget_->mostBytes));
}

void GrammarForm::measure() {
  const size_t bytes = masks_.bytes();
  budget_->bytes += bytes - bytes_.exchange(bytes); // modulo 2^64
  isWorn_ = masks_.automaton().isWorn();
}

} // namespace sinter
