// What must hold of whatever text is read as a grammar or a schema; shared by the fuzzers and the
// tests that replay their corpus. Work is bounded, so that no input takes long.
#pragma once

#include "grammar/drawing.h"
#include "grammar/json_schema.h"
#include "grammar/schema_validator.h"
#include "grammar/token_masks.h"

namespace sinter::grammar {

inline constexpr uint64_t kCheckWork = 1 << 14; // of one call
inline constexpr size_t kCheckBytes = 60;       // of a text

// All bytes, and a few texts.
inline const std::shared_ptr<const TokenTrie> &checkTrie() {
  static const std::shared_ptr<const TokenTrie> trie = [] {
    static std::vector<std::string> words = {"\"a\"", "{\"", "\":", ", ", "\n  ", "true", "12",
                                             "0.",    "ab",  "é",   "日", "\"}",  "]]",   "  "};
    for (int byte = 0; byte < 256; ++byte)
      words.emplace_back(1, static_cast<char>(byte));
    std::vector<TokenBytes> tokens;
    for (uint32_t i = 0; i < words.size(); ++i)
      tokens.push_back({i, words[i]});
    return std::make_shared<TokenTrie>(tokens, words.size());
  }();
  return trie;
}

// Empty: the mask of the state is what each token alone says.
inline std::string maskInconsistencyOf(TokenMasks &masks, StateId state) {
  masks.automaton().allow(kCheckWork);
  const auto mask = masks.maskOf(state);
  for (uint32_t token = 0; mask && token < masks.trie().vocabulary(); ++token) {
    const Result<StateId> next = masks.after(state, token);
    if (next && (*next != kDead) != ((**mask)[token / 64] >> token % 64 & 1))
      return "the mask has or has not '" + std::string(masks.trie().bytesOf(token)) + "'";
  }
  return "";
}

// Draws texts; `accepts` says what is wrong with one.
template <typename Accepts> std::string textsInconsistencyOf(Grammar grammar, Accepts accepts) {
  auto made = Automaton::create(std::move(grammar));
  if (!made)
    return made.error().message.empty() ? "an error says nothing" : "";
  TokenMasks masks(std::move(*made), checkTrie());
  for (uint32_t seed = 0; seed < 3; ++seed) {
    std::mt19937 random(seed);
    masks.automaton().allow(kCheckWork);
    const auto text = drawText(masks.automaton(), random, kCheckBytes);
    if (!text && text.error().code == Code::Internal)
      return text.error().message;
    if (!text || !*text)
      return "";
    if (std::string wrong = accepts(**text); !wrong.empty())
      return wrong + ": " + **text;
    masks.automaton().allow(kCheckWork);
    const auto middle = masks.automaton().next(
        masks.automaton().start(), std::string_view(**text).substr(0, (*text)->size() / 2));
    if (!middle)
      return "";
    if (std::string wrong = maskInconsistencyOf(masks, *middle); !wrong.empty())
      return wrong;
  }
  return "";
}

// The first byte says whether the rest is GBNF or a regular expression.
inline std::string grammarInconsistencyOf(std::string_view bytes) {
  if (bytes.empty())
    return "";
  const std::string_view text = bytes.substr(1);
  Grammar pattern;
  Result<Grammar> grammar = Fail(Status{Code::Internal, ""});
  if (bytes[0] % 2 == 0) {
    grammar = parseGbnf(text);
  } else {
    const auto use = bytes[0] % 4 == 1 ? RegexUse::Whole : RegexUse::Found;
    const Result<ExprId> root = parseRegex(pattern, text, use);
    if (root)
      pattern.setRoot(*root);
    grammar = root ? Result<Grammar>(std::move(pattern)) : Fail(root.error());
  }
  if (!grammar)
    return grammar.error().message.empty() ? "an error says nothing" : "";
  return textsInconsistencyOf(std::move(*grammar), [](const std::string &) { return ""; });
}

inline std::string schemaInconsistencyOf(std::string_view bytes) {
  const Result<jinja::Input> schema = jinja::inputFromJson(bytes);
  if (!schema)
    return "";
  Result<Grammar> grammar = parseJsonSchema(*schema);
  if (!grammar)
    return grammar.error().message.empty() ? "an error says nothing" : "";
  const SchemaValidator validator(*schema);
  return textsInconsistencyOf(std::move(*grammar), [&](const std::string &text) -> std::string {
    const Result<jinja::Input> value = jinja::inputFromJson(text);
    if (!value) // numbers beyond 64 bits are JSON all the same
      return value.error().code == Code::Unsupported ? "" : "a text is no JSON";
    return validator.accepts(*value) ? "" : "a text does not satisfy the schema";
  });
}

} // namespace sinter::grammar
