// What must hold of whatever vocabulary, text and template come from bytes; shared by the fuzzer
// and the test that replays its corpus.
#pragma once

#include "llm/chat/template.h"
#include "llm/tokenizer/charsmap.h"
#include "llm/tokenizer/detokenizer.h"
#include "llm/tokenizer/json/tokenizer_json.h"
#include "llm/tokenizer/unicode.h"

#include <iterator>
#include <string>
#include <string_view>

namespace sinter {

// Takes bytes apart from the front; past their end all is zero or empty.
class ByteDealer {
public:
  explicit ByteDealer(std::string_view bytes) : bytes_(bytes) {}
  uint8_t byte() {
    const std::string_view taken = take(1);
    return taken.empty() ? 0 : static_cast<uint8_t>(taken[0]);
  }
  std::string_view take(size_t length) {
    const std::string_view taken = bytes_.substr(0, length);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() { return take(bytes_.size()); }

private:
  std::string_view bytes_;
};

// The first five kinds are those of GPT-2 by the pre-tokenizers below.
inline VocabularyData vocabularyFrom(ByteDealer &input) {
  constexpr std::string_view kPres[] = {"gpt-2", "smollm", "llama-bpe", "deepseek-v3", "tekken"};
  constexpr std::string_view kModels[] = {"llama", "bert", "t5", "rwkv", "plamo2", "gemma4"};
  VocabularyData data;
  const size_t kind = input.byte() % (std::size(kPres) + std::size(kModels));
  if (kind < std::size(kPres))
    data.pre = kPres[kind];
  else
    data.model = kModels[kind - std::size(kPres)];
  for (uint8_t tokens = input.byte() % 32; tokens > 0; --tokens) {
    data.types.push_back(input.byte() % 8);
    data.tokens.push_back(input.take(input.byte() % 8));
    data.scores.push_back(-static_cast<double>(data.tokens.size() * 7 % 5));
  }
  for (uint8_t merges = input.byte() % 16; merges > 0; --merges)
    data.merges.push_back(input.take(input.byte() % 8));
  data.eos = static_cast<int8_t>(input.byte());
  return data;
}

// What is wrong with the text that the tokens of `text` stream as; empty when nothing is.
inline std::string inconsistencyOfRoundTrip(const Tokenizer &tokenizer, std::string_view text,
                                            bool parseSpecial) {
  auto encoding = tokenizer.encode(text, {.parseSpecial = parseSpecial});
  if (!encoding)
    return "";
  Detokenizer stream(tokenizer, true);
  std::string shown;
  for (TokenId id : encoding->ids) {
    const auto more = stream.push(id);
    if (!more)
      return "a token of the encoding is refused: " + more.error().message;
    if (validUtf8Prefix(*more) != more->size())
      return "a piece is no UTF-8";
    shown += *more;
  }
  shown += stream.finish();
  return validUtf8Prefix(shown) == shown.size() ? "" : "the end is no UTF-8";
}

// What is wrong with the tokenizer, or the template, that `bytes` make; empty when nothing is.
inline std::string tokenizerInconsistencyOf(std::string_view bytes) {
  ByteDealer input(bytes);
  if (input.byte() % 4 == 0) {
    (void)ChatTemplate::parse(input.rest());
    return "";
  }
  auto tokenizer = Tokenizer::create(vocabularyFrom(input));
  if (!tokenizer)
    return "";
  const bool parseSpecial = input.byte() & 1;
  return inconsistencyOfRoundTrip(*tokenizer, input.rest(), parseSpecial);
}

// What is wrong with what rules from the front of `bytes` make of the rest; empty when nothing is.
inline std::string charsmapInconsistencyOf(std::string_view bytes) {
  ByteDealer input(bytes);
  const size_t size = input.byte() * 16u;
  const auto charsmap = Charsmap::create(input.take(size));
  std::string text;
  appendRepairedUtf8(input.rest(), text);
  constexpr size_t kMost = 1 << 16;
  const auto made = charsmap ? charsmap->apply(text, kMost) : Result<std::string>(text);
  if (!made)
    return "";
  if (validUtf8Prefix(*made) != made->size())
    return "the result is no UTF-8";
  return !charsmap || made->size() <= 3 * kMost ? "" : "the result is beyond the limit";
}

// What is wrong with the tokenizer that a JSON file makes; empty when nothing is.
inline std::string tokenizerJsonInconsistencyOf(std::string_view bytes) {
  const auto tokenizer = vocabularyFromJson(bytes).and_then(Tokenizer::create);
  if (!tokenizer)
    return "";
  for (const bool parseSpecial : {false, true})
    if (std::string wrong =
            inconsistencyOfRoundTrip(*tokenizer, " ab 12\xC3 é🫠<s>\n", parseSpecial);
        !wrong.empty())
      return wrong;
  return "";
}

} // namespace sinter
