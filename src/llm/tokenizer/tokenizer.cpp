// Byte-level BPE: special tokens first, then words, then merges within each word.
#include "llm/tokenizer/tokenizer.h"

#include "base/check.h"
#include "llm/tokenizer/byte_alphabet.h"
#include "llm/tokenizer/unicode.h"

#include <algorithm>
#include <limits>

namespace sinter {
namespace {

bool isHiddenType(TokenType type) {
  return type == TokenType::Control || type == TokenType::Unknown;
}

// Files now and then call an end token a normal one.
Result<TokenType> typeOf(const VocabularyData &data, size_t token, const EndTokens &ends) {
  int64_t stated = data.types.empty() ? static_cast<int64_t>(TokenType::Normal) : data.types[token];
  if (stated < static_cast<int64_t>(TokenType::Normal) ||
      stated > static_cast<int64_t>(TokenType::Byte))
    return fail(Code::Corrupt, "token " + std::to_string(token) + " has type " +
                                   std::to_string(stated) + ", expected 1 to 6");
  const bool isEnd = std::ranges::binary_search(ends.known, static_cast<TokenId>(token));
  return isEnd ? TokenType::Control : static_cast<TokenType>(stated);
}

// "<0x0A>" as its byte.
std::optional<char> byteNamed(std::string_view text) {
  auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>')
    return std::nullopt;
  int high = digit(text[3]), low = digit(text[4]);
  if (high < 0 || low < 0)
    return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

// What a token stands for. A normal token that is not spelled in the byte alphabet is its own text.
std::string pieceOf(std::string_view text, TokenType type) {
  if (type == TokenType::Unused)
    return {};
  if (type == TokenType::Byte)
    if (auto byte = byteNamed(text))
      return std::string(1, *byte);
  if (type == TokenType::Normal || type == TokenType::Byte)
    if (auto bytes = bytesFromAlphabet(text))
      return *bytes;
  return std::string(text);
}

} // namespace

Result<Tokenizer> Tokenizer::create(const VocabularyData &data) {
  if (data.tokens.empty())
    return fail(Code::Corrupt, "vocabulary has no tokens, expected at least one");
  if (data.tokens.size() > kMaxTokens)
    return fail(Code::Unsupported, "vocabulary has " + std::to_string(data.tokens.size()) +
                                       " tokens, expected at most " + std::to_string(kMaxTokens));
  if (!data.types.empty() && data.types.size() != data.tokens.size())
    return fail(Code::Corrupt, "vocabulary has " + std::to_string(data.types.size()) +
                                   " token types, expected " + std::to_string(data.tokens.size()) +
                                   ", one for each token");
  SINTER_ASSIGN(Pretokenizer words, Pretokenizer::create(data.pre));
  Tokenizer made(std::move(words));

  std::vector<TextIndex::Entry> entries;
  for (size_t i = 0; i < data.tokens.size(); ++i)
    if (!data.tokens[i].empty())
      entries.push_back({data.tokens[i], static_cast<TokenId>(i)});
  TextIndex texts(std::move(entries));
  if (auto twins = texts.duplicate())
    return fail(Code::Corrupt,
                "tokens " + std::to_string(twins->first) + " and " + std::to_string(twins->second) +
                    " are both '" +
                    std::string(data.tokens[static_cast<size_t>(twins->first)].substr(0, 64)) +
                    "', expected each text once");
  EndTokens ends = findEndTokens(data, texts);
  SINTER_TRY(made.readTokens(data, ends));
  auto hidden = [&](TokenId id) { return made.isHidden(id); };
  SINTER_ASSIGN(made.merges_, MergeTable::create(data.merges, texts, made.size(), hidden));
  SINTER_TRY(made.indexTokens(data, texts));
  SINTER_TRY(made.readSpecialIds(data, std::move(ends)));
  return made;
}

Result<void> Tokenizer::readTokens(const VocabularyData &data, const EndTokens &ends) {
  types_.reserve(data.tokens.size());
  offsets_.reserve(data.tokens.size() + 1);
  offsets_.push_back(0);
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    SINTER_ASSIGN(TokenType type, typeOf(data, i, ends));
    std::string piece = pieceOf(data.tokens[i], type);
    bytes_.insert(bytes_.end(), piece.begin(), piece.end());
    offsets_.push_back(bytes_.size());
    types_.push_back(type);
  }
  return {};
}

Result<void> Tokenizer::indexTokens(const VocabularyData &data, const TextIndex &texts) {
  for (size_t byte = 0; byte < byteTokens_.size(); ++byte) {
    auto id = texts.find(alphabetFromBytes(std::string(1, static_cast<char>(byte))));
    byteTokens_[byte] = id && !isHidden(*id) ? *id : -1;
  }
  std::vector<SpecialTokens::Entry> special;
  std::vector<TextIndex::Entry> specialTexts, whole;
  for (size_t i = 0; i < size(); ++i) {
    auto id = static_cast<TokenId>(i);
    bool hidden = isHiddenType(types_[i]);
    if (hidden || types_[i] == TokenType::UserDefined) {
      special.push_back({piece(id), id, hidden});
      specialTexts.push_back({piece(id), id});
    } else if (types_[i] == TokenType::Normal && words_.ignoresMerges() &&
               bytesFromAlphabet(data.tokens[i])) {
      whole.push_back({piece(id), id});
    }
  }
  SINTER_ASSIGN(special_, SpecialTokens::create(std::move(special)));
  specialByText_ = TextIndex(std::move(specialTexts));
  wholeWords_ = TextIndex(std::move(whole));
  return {};
}

Result<void> Tokenizer::readSpecialIds(const VocabularyData &data, EndTokens ends) {
  auto read = [&](const char *what,
                  std::optional<int64_t> stated) -> Result<std::optional<TokenId>> {
    if (stated && !contains(*stated))
      return fail(Code::Corrupt, std::string(what) + " token id is " + std::to_string(*stated) +
                                     ", expected 0 to " + std::to_string(size() - 1));
    return stated ? std::optional(static_cast<TokenId>(*stated)) : std::nullopt;
  };
  SINTER_ASSIGN(bos_, read("begin-of-text", data.bos));
  SINTER_ASSIGN(eos_, read("end-of-text", data.eos));
  SINTER_ASSIGN(eot_, read("end-of-turn", data.eot));
  SINTER_ASSIGN(const auto eom, read("end-of-message", data.eom));
  SINTER_ASSIGN(const auto fimPad, read("infilling padding", data.fimPad));
  SINTER_ASSIGN(const auto fimRepository, read("infilling repository", data.fimRepository));
  SINTER_ASSIGN(const auto fimSeparator, read("infilling separator", data.fimSeparator));
  if (!eot_)
    eot_ = ends.turn;
  generationEnds_ = std::move(ends.ends);
  for (auto id : {eos_, eot_, eom, fimPad, fimRepository, fimSeparator})
    if (id && !std::ranges::binary_search(ends.never, *id))
      generationEnds_.push_back(*id);
  std::ranges::sort(generationEnds_);
  for (const int64_t id : data.suppressed)
    if (contains(id)) // no other is ever generated
      suppressed_.push_back(static_cast<TokenId>(id));
  std::ranges::sort(suppressed_);

  addsBos_ = data.addBos.value_or(words_.addsBosByDefault() && bos_);
  addsEos_ = data.addEos.value_or(false);
  if ((addsBos_ && !bos_) || (addsEos_ && !eos_))
    return fail(Code::Corrupt, std::string("vocabulary wants ") +
                                   (addsBos_ && !bos_ ? "a begin" : "an end") +
                                   "-of-text token added to prompts but names none");
  return {};
}

Result<Encoding> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  PromptPart part{std::string(text), options.parseSpecial};
  return encode(std::span(&part, 1), options);
}

Result<Encoding> Tokenizer::encode(std::span<const PromptPart> parts, EncodeOptions options) const {
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
  WordMerger merger;
  if (options.addSpecial && addsBos_)
    out.ids.push_back(*bos_);
  for (size_t at = 0; at < text.size();) {
    auto match = special_.next(text, at, markup);
    size_t end = match ? match->range.begin : text.size();
    SINTER_TRY(encodeText(std::string_view(text).substr(at, end - at), out, merger));
    if (match)
      out.ids.push_back(match->id);
    at = match ? match->range.end : end;
  }
  if (options.addSpecial && addsEos_)
    out.ids.push_back(*eos_);
  return out;
}

Result<void> Tokenizer::encodeText(std::string_view text, Encoding &out, WordMerger &merger) const {
  std::string repaired;
  if (validUtf8Prefix(text) != text.size()) {
    // A replacement is three bytes for one; what a prompt may grow to still fits 32-bit offsets.
    static_assert(kMaxPromptBytes * 3 < std::numeric_limits<uint32_t>::max());
    out.replacedBytes += appendRepairedUtf8(text, repaired);
    text = repaired;
  }
  SINTER_ASSIGN(std::vector<uint32_t> ends, words_.split(text));
  std::vector<TokenId> symbols;
  uint32_t begin = 0;
  for (uint32_t end : ends) {
    encodeWord(text.substr(begin, end - begin), out, merger, symbols);
    begin = end;
  }
  return {};
}

void Tokenizer::encodeWord(std::string_view word, Encoding &out, WordMerger &merger,
                           std::vector<TokenId> &symbols) const {
  if (words_.ignoresMerges()) {
    if (auto id = wholeWords_.find(word)) {
      out.ids.push_back(*id);
      return;
    }
  }
  symbols.clear();
  for (char byte : word)
    symbols.push_back(byteTokens_[static_cast<uint8_t>(byte)]);
  merger.merge(merges_, symbols);
  for (TokenId id : symbols) {
    if (id < 0)
      ++out.droppedBytes;
    else
      out.ids.push_back(id);
  }
}

std::string_view Tokenizer::piece(TokenId id) const {
  SINTER_CHECK(contains(id));
  auto at = static_cast<size_t>(id);
  return {bytes_.data() + offsets_[at], offsets_[at + 1] - offsets_[at]};
}

TokenType Tokenizer::type(TokenId id) const {
  SINTER_CHECK(contains(id));
  return types_[static_cast<size_t>(id)];
}

bool Tokenizer::isHidden(TokenId id) const {
  return isHiddenType(type(id));
}

bool Tokenizer::endsGeneration(TokenId id) const {
  SINTER_CHECK(contains(id));
  return std::ranges::binary_search(generationEnds_, id);
}

std::optional<TokenId> Tokenizer::findSpecial(std::string_view text) const {
  return specialByText_.find(text);
}

} // namespace sinter
