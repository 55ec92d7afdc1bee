// libFuzzer target: any vocabulary, text and template give tokens that stream as valid UTF-8, or an
// error.
#include "base/check.h"
#include "llm/chat_template.h"
#include "llm/detokenizer.h"
#include "llm/unicode.h"

using namespace sinter;

namespace {

// Takes the input apart: a byte of length, then that many bytes.
class Input {
public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  uint8_t byte() {
    uint8_t value = bytes_.empty() ? 0 : static_cast<uint8_t>(bytes_[0]);
    bytes_.remove_prefix(bytes_.empty() ? 0 : 1);
    return value;
  }
  std::string_view text() { return take(byte()); }
  std::string_view take(size_t length) {
    std::string_view taken = bytes_.substr(0, length);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() { return take(bytes_.size()); }

private:
  std::string_view bytes_;
};

VocabularyData vocabularyFrom(Input &input) {
  constexpr std::string_view kPres[] = {"gpt-2", "smollm", "llama-bpe", "deepseek-v3", "tekken"};
  VocabularyData data;
  data.pre = kPres[input.byte() % std::size(kPres)];
  for (uint8_t tokens = input.byte() % 32; tokens > 0; --tokens) {
    data.types.push_back(input.byte() % 8);
    data.tokens.push_back(input.take(input.byte() % 8));
  }
  for (uint8_t merges = input.byte() % 16; merges > 0; --merges)
    data.merges.push_back(input.take(input.byte() % 8));
  data.eos = static_cast<int8_t>(input.byte());
  return data;
}

void roundTrip(const Tokenizer &tokenizer, std::string_view text, bool parseSpecial) {
  auto encoding = tokenizer.encode(text, {.parseSpecial = parseSpecial});
  if (!encoding)
    return;
  Detokenizer stream(tokenizer, true);
  std::string shown;
  for (TokenId id : encoding->ids) {
    std::string more = stream.push(id).value();
    SINTER_CHECK(validUtf8Prefix(more) == more.size());
    shown += more;
  }
  shown += stream.finish();
  SINTER_CHECK(validUtf8Prefix(shown) == shown.size());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  Input input({reinterpret_cast<const char *>(data), size});
  if (input.byte() % 4 == 0) {
    (void)recogniseChatMl(input.rest());
    return 0;
  }
  auto tokenizer = Tokenizer::create(vocabularyFrom(input));
  if (!tokenizer)
    return 0;
  bool parseSpecial = input.byte() & 1;
  roundTrip(*tokenizer, input.rest(), parseSpecial);
  return 0;
}
