// Special tokens first, then normalizers, words and the subword model.
#include "llm/tokenizer/tokenizer.h"

#include "base/check.h"
#include "llm/tokenizer/unicode.h"

#include <algorithm>
#include <limits>

namespace sinter {
namespace {

constexpr std::string_view kByteOrderMark = "\uFEFF";

// The longest token of a model that looks for prefixes; a longer one would make texts that repeat
// it slow.
constexpr size_t kMaxTokenBytes = 1024;

bool isHiddenType(TokenType type) {
  return type == TokenType::Control || type == TokenType::Unknown;
}

Result<void> checkCounts(const VocabularyData &data) {
  if (data.tokens.size() > Tokenizer::kMaxTokens || data.size.value_or(0) > Tokenizer::kMaxTokens)
    return fail(Code::Unsupported,
                "vocabulary has " +
                    std::to_string(std::max<uint64_t>(data.tokens.size(), data.size.value_or(0))) +
                    " tokens, expected at most " + std::to_string(Tokenizer::kMaxTokens));
  auto checkCount = [&](size_t count, const char *what) -> Result<void> {
    if (count == 0 || count >= data.tokens.size())
      return {};
    return fail(Code::Corrupt, "vocabulary has " + std::to_string(count) + what + ", expected " +
                                   std::to_string(data.tokens.size()) + ", one for each token");
  };
  SINTER_TRY(checkCount(data.types.size(), " token types"));
  return checkCount(data.scores.size(), " token scores");
}

bool looksForPrefixes(ModelKind model) {
  return model == ModelKind::Unigram || model == ModelKind::WordPiece ||
         model == ModelKind::LongestMatch || model == ModelKind::Plamo2;
}

Result<void> checkLengths(const TokenStore &store) {
  for (size_t i = 0; i < store.size(); ++i)
    if (store.texts()[i].size() > kMaxTokenBytes)
      return fail(Code::Unsupported,
                  "token " + std::to_string(i) + " has " + std::to_string(store.texts()[i].size()) +
                      " bytes, expected at most " + std::to_string(kMaxTokenBytes));
  return {};
}

} // namespace

Result<Tokenizer> Tokenizer::create(const VocabularyData &data) {
  Tokenizer made;
  const auto note = [&made](std::string line) { made.warn(std::move(line)); };
  KindDefaults defaults;
  if (data.recipe) {
    made.recipe_ = *data.recipe;
  } else {
    SINTER_ASSIGN(defaults, kindDefaults(data, note));
    SINTER_ASSIGN(made.recipe_, recipeForKind(data, defaults));
  }
  SINTER_TRY(checkCounts(data));
  if (made.recipe_.model == ModelKind::None) {
    const std::vector<std::string_view> texts(data.size.value_or(data.tokens.size()));
    SINTER_ASSIGN(made.store_, TokenStore::create(texts));
    made.store_->types.assign(texts.size(), TokenType::Normal);
    made.store_->spell(made.recipe_);
    return made;
  }
  if (data.tokens.empty())
    return fail(Code::Corrupt, "vocabulary has no tokens, expected at least one");
  SINTER_ASSIGN(made.store_, TokenStore::create(data.tokens));
  EndTokens ends = findEndTokens(data, made.store_->index());
  SINTER_TRY(made.readTokens(data, ends));
  made.readSpecialIds(data, std::move(ends));
  SINTER_TRY(made.readEnds(data, defaults));
  SINTER_ASSIGN(made.normalizer_, Normalizer::create(made.recipe_.normalizers));
  SINTER_TRY(made.readSpecialTokens(data));
  SINTER_TRY(made.makeModel(data));
  return made;
}

Result<void> Tokenizer::readTokens(const VocabularyData &data, const EndTokens &ends) {
  size_t unknownTypes = 0;
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    const int64_t stated =
        data.types.empty() ? static_cast<int64_t>(TokenType::Normal) : data.types[i];
    const bool known = stated >= static_cast<int64_t>(TokenType::Normal) &&
                       stated <= static_cast<int64_t>(TokenType::Byte);
    auto type = known ? static_cast<TokenType>(stated) : TokenType::Unused;
    unknownTypes += !known;
    // GGUF files now and then call an end token a normal one.
    if (!data.recipe && type != TokenType::Control &&
        std::ranges::binary_search(ends.known, static_cast<TokenId>(i)))
      type = TokenType::Control;
    store_->types.push_back(type);
  }
  store_->scores = data.scores;
  if (unknownTypes > 0)
    warn(std::to_string(unknownTypes) +
         " tokens have a type that is none of 1 to 6; they are never shown");
  store_->spell(recipe_);
  if (looksForPrefixes(recipe_.model))
    return checkLengths(*store_);
  return {};
}

std::optional<TokenId> Tokenizer::readId(const char *what, std::optional<int64_t> stated,
                                         int64_t fallback) {
  if (stated && !contains(*stated)) {
    warn(std::string(what) + " token id is " + std::to_string(*stated) + ", expected 0 to " +
         std::to_string(size() - 1) + "; it is ignored");
    stated.reset();
  }
  const int64_t id = stated.value_or(fallback);
  return contains(id) ? std::optional(static_cast<TokenId>(id)) : std::nullopt;
}

void Tokenizer::readSpecialIds(const VocabularyData &data, EndTokens ends) {
  // A file's own recipe names all ids that it has.
  const auto kinds = tokenizerKinds();
  const auto named = std::ranges::find(kinds, data.model, &TokenizerKind::name);
  const TokenizerKind kind =
      data.recipe || named == kinds.end() ? TokenizerKind{"", recipe_.model} : *named;
  bos_ = readId("begin-of-text", data.bos, kind.bos);
  eos_ = readId("end-of-text", data.eos, kind.eos);
  eot_ = readId("end-of-turn", data.eot, -1);
  unknown_ = readId("unknown", data.unknown, kind.unknown);
  separator_ = readId("separator", data.separator, kind.separator);
  const auto eom = readId("end-of-message", data.eom, -1);
  const auto fimPad = readId("infilling padding", data.fimPad, -1);
  readInfill(data, ends.infill);
  const auto fimRepository = readId("infilling repository", data.fimRepository, -1);
  const auto fimSeparator = readId("infilling separator", data.fimSeparator, -1);
  if (!eot_)
    eot_ = ends.turn;
  generationEnds_ = std::move(ends.ends);
  for (const auto id : {eos_, eot_, eom, fimPad, fimRepository, fimSeparator})
    if (id && !std::ranges::binary_search(ends.never, *id))
      generationEnds_.push_back(*id);
  std::ranges::sort(generationEnds_);
  shown_ = std::move(ends.shown);
  for (const int64_t id : data.suppressed)
    if (contains(id)) // no other is ever generated
      suppressed_.push_back(static_cast<TokenId>(id));
  std::ranges::sort(suppressed_);
}

// What the file names comes first.
void Tokenizer::readInfill(const VocabularyData &data, const InfillTokens &byText) {
  const auto choose = [&](std::optional<int64_t> named, std::optional<TokenId> known) {
    return named && contains(*named) ? std::optional(static_cast<TokenId>(*named)) : known;
  };
  infill_ = {choose(data.fimPrefix, byText.prefix), choose(data.fimSuffix, byText.suffix),
             choose(data.fimMiddle, byText.middle), choose(data.fimRepository, byText.repository),
             choose(data.fimSeparator, byText.separator)};
}

Result<void> Tokenizer::readEnds(const VocabularyData &data, const KindDefaults &defaults) {
  if (data.recipe) {
    for (const auto &ids : {data.prefix, data.suffix})
      for (const TokenId id : ids)
        if (!contains(id))
          return fail(Code::Corrupt, "the token " + std::to_string(id) +
                                         " around prompts is none of the vocabulary's " +
                                         std::to_string(size()));
    prefix_ = data.prefix;
    suffix_ = data.suffix;
    addsBos_ = bos_ && !prefix_.empty() && prefix_.front() == *bos_;
    addsEos_ = eos_ && !suffix_.empty() && suffix_.back() == *eos_;
    addsSeparator_ = data.addSeparator.value_or(false);
    return {};
  }
  const bool isWordPiece = recipe_.model == ModelKind::WordPiece;
  const bool wantsBos =
      defaults.flags.alwaysAddsBos || isWordPiece || data.addBos.value_or(defaults.kind.addsBos);
  const bool wantsEos = data.addEos.value_or(defaults.kind.addsEos);
  if (defaults.flags.alwaysAddsBos && !data.addBos.value_or(false))
    warn("tokenizer.ggml.add_bos_token is not true, but this tokenizer needs the begin token");
  if (wantsBos && !bos_ && data.addBos)
    warn("vocabulary wants a begin-of-text token added to prompts but names none");
  if (wantsEos && !eos_ && data.addEos)
    warn("vocabulary wants an end-of-text token added to prompts but names none");
  addsBos_ = wantsBos && bos_;
  addsEos_ = wantsEos && eos_ && !isWordPiece;
  addsSeparator_ = data.addSeparator.value_or(isWordPiece || defaults.flags.addsSeparator);
  if (addsBos_)
    prefix_.push_back(*bos_);
  if (addsEos_)
    suffix_.push_back(*eos_);
  if (isWordPiece && separator_)
    suffix_.push_back(*separator_);
  return {};
}

Result<void> Tokenizer::readSpecialTokens(const VocabularyData &data) {
  std::vector<TokenTraits> traits =
      data.recipe ? data.traits : traitsForNames(data, store_->index());
  std::ranges::sort(traits, {}, &TokenTraits::id);
  std::vector<SpecialTokens::Entry> plain, normalized;
  std::vector<TextIndex::Entry> texts;
  for (size_t i = 0; i < size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const bool markup = isHiddenType(type(id));
    if (!markup && type(id) != TokenType::UserDefined)
      continue;
    const auto found = std::ranges::lower_bound(traits, id, {}, &TokenTraits::id);
    const TokenTraits own = found != traits.end() && found->id == id ? *found : TokenTraits{};
    texts.push_back({store_->texts()[i], id});
    // Markup is looked for in what the caller wrote, so that trust has a place.
    if (!own.normalized || markup || normalizer_.isIdentity()) {
      plain.push_back({store_->texts()[i], id, markup, own});
      continue;
    }
    std::string repaired;
    appendRepairedUtf8(store_->texts()[i], repaired);
    SINTER_ASSIGN(std::string normal, normalizer_.apply(std::move(repaired)));
    normalized.push_back({store_->keep(std::move(normal)), id, false, own});
  }
  SINTER_ASSIGN(special_, SpecialTokens::create(std::move(plain)));
  SINTER_ASSIGN(normalizedSpecial_, SpecialTokens::create(std::move(normalized)));
  specialByText_ = TextIndex(std::move(texts));
  return {};
}

Result<void> Tokenizer::makeModel(const VocabularyData &data) {
  SINTER_ASSIGN(words_, Pretokenizer::create(recipe_.splits));
  // Where GGUF says what is unknown in a list of merges, nobody heeds it: the bytes are left out.
  const bool hasUnknown = data.recipe || recipe_.model != ModelKind::MergeRanks;
  const TokenTable tokens{store_->texts(), store_->types, store_->scores, &store_->index(),
                          hasUnknown ? unknown_ : std::nullopt};
  const auto note = [this](std::string line) { warn(std::move(line)); };
  auto make = [&]() -> MadeModel {
    switch (recipe_.model) {
    case ModelKind::MergeRanks:
      return makeMergeRanks(tokens, data.merges, recipe_, note);
    case ModelKind::MergeScores:
      return makeMergeScores(tokens, recipe_);
    case ModelKind::Unigram:
      return makeUnigram(tokens, recipe_);
    case ModelKind::WordPiece:
      return makeWordPiece(tokens, recipe_);
    case ModelKind::WordLevel:
      return makeWordLevel(tokens, recipe_);
    case ModelKind::LongestMatch:
      return makeLongestMatch(tokens, store_->pieces());
    case ModelKind::Plamo2:
      return makePlamo2(tokens);
    case ModelKind::None:
      break;
    }
    return std::unique_ptr<SubwordModel>();
  };
  SINTER_ASSIGN(model_, make());
  return {};
}

Result<Encoding> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  PromptPart part{std::string(text), options.parseSpecial};
  return encode(std::span(&part, 1), options);
}

Result<Encoding> Tokenizer::encode(std::span<const PromptPart> parts, EncodeOptions options) const {
  if (!model_)
    return fail(Code::Unsupported, "the file has no vocabulary, so text has no tokens");
  std::string text;
  std::vector<SpecialTokens::Range> markup;
  for (const PromptPart &part : parts) {
    if (part.text.size() > kMaxPromptBytes - text.size())
      return fail(Code::InvalidArgument, "prompt is longer than " +
                                             std::to_string(kMaxPromptBytes) +
                                             " bytes, the most that can be tokenized");
    size_t begin = text.size();
    text += part.text;
    if (!part.markup && !options.parseSpecial)
      continue;
    if (!markup.empty() && markup.back().end == begin)
      markup.back().end = text.size();
    else
      markup.push_back({begin, text.size()});
  }
  Encoding out;
  if (options.addSpecial)
    out.ids = prefix_;
  for (size_t at = 0; at < text.size();) {
    auto match = special_.next(text, at, markup);
    size_t end = match ? match->range.begin : text.size();
    SINTER_TRY(encodeText(std::string_view(text).substr(at, end - at), at == 0, out));
    if (match)
      out.ids.push_back(match->id);
    at = match ? match->range.end : end;
  }
  if (options.addSpecial)
    out.ids.insert(out.ids.end(), suffix_.begin(), suffix_.end());
  return out;
}

Result<void> Tokenizer::encodeText(std::string_view text, bool isFirst, Encoding &out) const {
  if (recipe_.dropsByteOrderMark && text.starts_with(kByteOrderMark))
    text.remove_prefix(kByteOrderMark.size());
  if (text.empty())
    return {};
  // A replacement is three bytes for one; what a prompt may grow to still fits 32-bit offsets.
  static_assert(kMaxPromptBytes * 3 < std::numeric_limits<uint32_t>::max());
  std::string repaired;
  out.replacedBytes += appendRepairedUtf8(text, repaired);
  SINTER_ASSIGN(std::string normal, normalizer_.apply(std::move(repaired)));
  for (size_t at = 0; at < normal.size();) {
    const auto match = normalizedSpecial_.next(normal, at, {});
    const size_t end = match ? match->range.begin : normal.size();
    SINTER_TRY(encodeNormalized(normal.substr(at, end - at), isFirst && at == 0, out));
    if (match)
      out.ids.push_back(match->id);
    at = match ? match->range.end : end;
  }
  return {};
}

Result<void> Tokenizer::encodeNormalized(std::string text, bool isFirst, Encoding &out) const {
  SINTER_ASSIGN(const Words words, words_.split(std::move(text), isFirst));
  model_->encode(words, out);
  return {};
}

std::string_view Tokenizer::piece(TokenId id) const {
  SINTER_CHECK(contains(id));
  return store_->piece(id);
}

TokenType Tokenizer::type(TokenId id) const {
  SINTER_CHECK(contains(id));
  return store_->types[static_cast<size_t>(id)];
}

bool Tokenizer::isHidden(TokenId id) const {
  return isHiddenType(type(id)) && !std::ranges::binary_search(shown_, id);
}

bool Tokenizer::endsGeneration(TokenId id) const {
  SINTER_CHECK(contains(id));
  return std::ranges::binary_search(generationEnds_, id);
}

std::optional<TokenId> Tokenizer::findSpecial(std::string_view text) const {
  return specialByText_.find(text);
}

} // namespace sinter
