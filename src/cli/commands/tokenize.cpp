// sinter tokenize: a text's tokens, and tokens' text.
#include "base/mapped_file.h"
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "host/model_store.h"
#include "llm/tokenizer/detokenizer.h"
#include "llm/tokenizer/json/json_adapter.h"
#include "llm/tokenizer/space_cleaning.h"
#include "llm/tokenizer/tokenizer_file.h"

#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

std::string quoted(std::string_view piece) {
  return nlohmann::json(std::string(piece))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void sayLosses(const Encoding &encoding, const std::string &where) {
  if (encoding.replacedBytes > 0)
    sayOnStderr(where + std::to_string(encoding.replacedBytes) +
                " bytes are not UTF-8; each became U+FFFD");
  if (encoding.droppedBytes > 0)
    sayOnStderr(where + "the vocabulary has no token for " + std::to_string(encoding.droppedBytes) +
                " bytes; they are left out");
}

std::string jsonLine(const Encoding &encoding) {
  return nlohmann::json{{"tokens", encoding.ids}}.dump() + "\n";
}

// One text: a line a token, or one JSON object.
Result<void> writeTokens(const Tokenizer &tokenizer, std::string_view text,
                         const TokenizeArguments &arguments) {
  SINTER_ASSIGN(const Encoding encoding,
                tokenizer.encode(text, {!arguments.bare, arguments.special}));
  sayLosses(encoding, "");
  if (arguments.json)
    return writeStdout(jsonLine(encoding));
  std::string out;
  for (const TokenId id : encoding.ids)
    out += std::to_string(id) + "\t" + quoted(tokenizer.piece(id)) + "\n";
  return writeStdout(out);
}

// A file of texts: {"text": "..."} a line in, {"tokens": [...]} a line out.
Result<void> writeLines(const Tokenizer &tokenizer, const TokenizeArguments &arguments) {
  SINTER_ASSIGN(const MappedFile file, MappedFile::open(arguments.lines));
  std::string_view rest(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
  for (size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    const std::string where = arguments.lines + ":" + std::to_string(number) + ": ";
    const auto document = JsonDocument::parse(line);
    if (!document)
      return fail(document.error().code, where + document.error().message,
                  document.error().byteOffset);
    const auto text = document->root().find("text").text();
    if (!text)
      return fail(Code::Corrupt, where + "found " + document->root().kindName() +
                                     ", expected an object with a string 'text'");
    SINTER_ASSIGN(const Encoding encoding,
                  tokenizer.encode(*text, {!arguments.bare, arguments.special}));
    sayLosses(encoding, where);
    SINTER_TRY(writeStdout(jsonLine(encoding)));
  }
  return {};
}

Result<void> writeText(const Tokenizer &tokenizer, const std::vector<TokenId> &ids,
                       bool showSpecial) {
  SINTER_ASSIGN(std::string text, detokenize(tokenizer, ids, showSpecial));
  if (tokenizer.cleansSpaces())
    text = cleanedSpaces(text);
  return writeStdout(text + "\n");
}

} // namespace

Result<int> tokenizeCommand(const TokenizeArguments &arguments) {
  SINTER_ASSIGN(const std::string path, host::modelPath(arguments.model));
  SINTER_ASSIGN(const Tokenizer tokenizer, openTokenizer(path));
  for (const std::string &line : tokenizer.warnings())
    sayOnStderr("'" + path + "': " + line);
  if (arguments.ids) {
    SINTER_TRY(writeText(tokenizer, *arguments.ids, arguments.special));
  } else if (!arguments.lines.empty()) {
    SINTER_TRY(writeLines(tokenizer, arguments));
  } else if (arguments.text) {
    SINTER_TRY(writeTokens(tokenizer, *arguments.text, arguments));
  } else {
    SINTER_ASSIGN(const std::string text, readStdin(Tokenizer::kMaxPromptBytes));
    SINTER_TRY(writeTokens(tokenizer, text, arguments));
  }
  return kExitOk;
}

} // namespace sinter::cli
