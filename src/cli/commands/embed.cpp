// sinter embed: vectors of texts.
#include "cli/commands/commands.h"
#include "cli/open_model.h"
#include "cli/shortest.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "cli/text_lines.h"
#include "host/model_store.h"
#include "llm/embedder.h"

#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

// A line a row, numbers with spaces between.
std::string lines(std::span<const float> rows, size_t width) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i)
    text += shortestText(rows[i]) + ((i + 1) % width == 0 ? "\n" : " ");
  return text;
}

nlohmann::ordered_json jsonRows(std::span<const float> rows, size_t width, bool isOne) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (size_t at = 0; at < rows.size(); at += width) {
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (const float value : rows.subspan(at, width))
      row.push_back(shortest(value));
    if (isOne)
      return row;
    all.push_back(std::move(row));
  }
  return all;
}

Result<Pooling> choosePooling(const EmbedArguments &arguments, const ModelFile &file) {
  if (arguments.pooling)
    return *arguments.pooling;
  return poolingOf(file.gguf());
}

// The texts of -p, --lines or standard input.
Result<std::vector<std::string>> readTexts(const EmbedArguments &arguments) {
  if (arguments.text)
    return std::vector<std::string>{*arguments.text};
  if (!arguments.lines.empty())
    return readTextLines(arguments.lines);
  SINTER_ASSIGN(std::string text, readStdin(Tokenizer::kMaxPromptBytes));
  if (text.ends_with('\n'))
    text.pop_back();
  return std::vector<std::string>{std::move(text)};
}

Result<std::vector<TextTokens>> tokensOf(const EmbedArguments &arguments, const ModelFile &file) {
  if (arguments.tokens)
    return std::vector<TextTokens>{*arguments.tokens};
  SINTER_ASSIGN(const std::vector<std::string> texts, readTexts(arguments));
  std::vector<TextTokens> tokens;
  for (const std::string &text : texts) {
    SINTER_ASSIGN(TextTokens ids, file.encodeRaw(text));
    tokens.push_back(std::move(ids));
  }
  return tokens;
}

} // namespace

Result<int> embedCommand(const EmbedArguments &arguments, Interrupts &interrupts) {
  TerminalObserver observer(interrupts);
  const TextNeed need = arguments.tokens ? TextNeed::Optional : TextNeed::Required;
  SINTER_ASSIGN(ModelFile file, host::openModelFile(arguments.model.model, observer, need));
  SINTER_ASSIGN(const Pooling pooling, choosePooling(arguments, file));
  SINTER_ASSIGN(const std::vector<TextTokens> texts, tokensOf(arguments, file));
  SINTER_ASSIGN(const host::OpenedModel opened,
                openEmbedder(std::move(file), arguments.model, observer));
  Model &model = *opened.model;
  SINTER_ASSIGN(const EmbeddingHead head,
                EmbeddingHead::dense(model.file().gguf(), model.runner().limits().embeddingLength));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const auto write = [&](size_t, std::span<const float> found) -> Result<void> {
    if (!arguments.json)
      return writeStdout(lines(found, head.width()));
    rows.push_back(jsonRows(found, head.width(), pooling != Pooling::None));
    return {};
  };
  SINTER_TRY(embed(model.runner(), model.pages(), texts, {pooling, arguments.normalize, &head},
                   write));
  if (arguments.json)
    SINTER_TRY(writeStdout(nlohmann::ordered_json{{"embeddings", std::move(rows)}}.dump() + "\n"));
  return kExitOk;
}

} // namespace sinter::cli
