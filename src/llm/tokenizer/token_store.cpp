// The tokens of a vocabulary, and how their texts spell bytes.
#include "llm/tokenizer/token_store.h"

#include "llm/tokenizer/byte_alphabet.h"

namespace sinter {
namespace {

constexpr std::string_view kMetaspace = "\u2581";

int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// "<0x0A>" as its byte.
std::optional<char> byteNamed(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>')
    return std::nullopt;
  const int high = hexDigit(text[3]), low = hexDigit(text[4]);
  if (high < 0 || low < 0)
    return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

std::string withSpaces(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t found = std::min(text.find(kMetaspace, at), text.size());
    out += text.substr(at, found - at);
    if (found < text.size())
      out += ' ';
    at = found + (found < text.size() ? kMetaspace.size() : 0);
  }
  return out;
}

// RWKV's escapes; an escape that is cut stands for nothing.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size())
      break;
    const char c = text[i];
    if (c == 'x' && i + 2 < text.size() && hexDigit(text[i + 1]) >= 0 &&
        hexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(hexDigit(text[i + 1]) * 16 + hexDigit(text[i + 2]));
      i += 2;
    } else {
      out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

std::string spelledBytes(std::string_view text, const TokenizerRecipe &recipe) {
  switch (recipe.spelling) {
  case Spelling::ByteAlphabet:
    // A token outside of the alphabet is its own text.
    return bytesFromAlphabet(text).value_or(std::string(text));
  case Spelling::Metaspace:
    return withSpaces(text);
  case Spelling::WordPiece:
    if (text.starts_with(recipe.continuation))
      return std::string(text.substr(recipe.continuation.size()));
    return " " + std::string(text);
  case Spelling::Plain:
  case Spelling::Escapes:
    break;
  }
  return std::string(text);
}

std::string normalPiece(std::string_view text, const TokenizerRecipe &recipe) {
  const bool endsWord = !recipe.wordEnd.empty() && text.ends_with(recipe.wordEnd);
  if (endsWord)
    text.remove_suffix(recipe.wordEnd.size());
  return spelledBytes(text, recipe) + (endsWord ? " " : "");
}

std::string pieceOf(std::string_view text, TokenType type, const TokenizerRecipe &recipe) {
  if (recipe.spelling == Spelling::Escapes)
    return unescaped(text);
  switch (type) {
  case TokenType::Unused:
    return {};
  case TokenType::Byte:
    if (const auto byte = byteNamed(text))
      return std::string(1, *byte);
    return normalPiece(text, recipe);
  case TokenType::Normal:
    return normalPiece(text, recipe);
  case TokenType::Unknown:
  case TokenType::Control:
  case TokenType::UserDefined:
    break;
  }
  return std::string(text);
}

} // namespace

Result<std::unique_ptr<TokenStore>> TokenStore::create(std::span<const std::string_view> texts) {
  auto made = std::make_unique<TokenStore>();
  size_t bytes = 0;
  for (const std::string_view text : texts)
    bytes += text.size();
  made->bytes_.reserve(bytes); // so that views stay valid
  std::vector<TextIndex::Entry> entries;
  for (const std::string_view text : texts) {
    const char *begin = made->bytes_.data() + made->bytes_.size();
    made->bytes_.insert(made->bytes_.end(), text.begin(), text.end());
    if (!text.empty())
      entries.push_back({{begin, text.size()}, static_cast<TokenId>(made->texts_.size())});
    made->texts_.push_back({begin, text.size()});
  }
  made->index_ = TextIndex(std::move(entries));
  if (const auto twins = made->index_.duplicate())
    return fail(Code::Corrupt,
                "tokens " + std::to_string(twins->first) + " and " + std::to_string(twins->second) +
                    " are both '" +
                    std::string(texts[static_cast<size_t>(twins->first)].substr(0, 64)) +
                    "', expected each text once");
  return made;
}

void TokenStore::spell(const TokenizerRecipe &recipe) {
  pieces_.clear();
  pieces_.reserve(size());
  for (size_t i = 0; i < size(); ++i)
    pieces_.push_back(pieceOf(texts_[i], types[i], recipe));
}

} // namespace sinter
