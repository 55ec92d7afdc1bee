// Tokenizers from files of any kind.
#include "llm/tokenizer/tokenizer_file.h"

#include "base/mapped_file.h"
#include "llm/tokenizer/json/tokenizer_json.h"
#include "llm/tokenizer/vocabulary_from_gguf.h"

namespace sinter {
namespace {

Result<Tokenizer> fromBytes(std::span<const uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{')
    return vocabularyFromJson(text).and_then(Tokenizer::create);
  // The vocabulary has views into the file.
  SINTER_ASSIGN(const GgufFile file, GgufFile::parse(bytes));
  return vocabularyFromGguf(file).and_then(Tokenizer::create);
}

} // namespace

Result<Tokenizer> openTokenizer(const std::string &path) {
  SINTER_ASSIGN(const MappedFile file, MappedFile::open(path));
  auto made = fromBytes(file.bytes());
  if (!made)
    return fail(made.error().code, path + ": " + made.error().message, made.error().byteOffset);
  return made;
}

} // namespace sinter
