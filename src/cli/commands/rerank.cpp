// sinter rerank: documents in the order of their scores for a query.
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/open_model.h"
#include "cli/shortest.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "cli/text_lines.h"
#include "host/model_store.h"
#include "llm/embedder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

struct Ranked {
  size_t document;
  float score;
};

std::string json(const std::vector<Ranked> &order) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const Ranked &each : order)
    results.push_back({{"index", each.document}, {"score", shortest(each.score)}});
  return nlohmann::ordered_json{{"results", std::move(results)}}.dump() + "\n";
}

std::string table(const std::vector<Ranked> &order, std::span<const std::string> documents) {
  std::string text;
  for (const Ranked &each : order)
    text += fixed(each.score, 4) + "\t" + withoutControls(documents[each.document]) + "\n";
  return text;
}

} // namespace

Result<int> rerankCommand(const RerankArguments &arguments, Interrupts &interrupts) {
  TerminalObserver observer(interrupts);
  SINTER_ASSIGN(ModelFile file, host::openModelFile(arguments.model.model, observer));
  SINTER_ASSIGN(const Pooling pooling, rankPoolingOf(file.gguf()));
  SINTER_ASSIGN(const std::vector<std::string> documents, readTextLines(arguments.documents));
  std::vector<TextTokens> pairs;
  for (const std::string &document : documents) {
    SINTER_ASSIGN(TextTokens ids, file.encodePair(arguments.query, document));
    pairs.push_back(std::move(ids));
  }
  SINTER_ASSIGN(const auto architecture, file.gguf().getString("general.architecture"));
  SINTER_ASSIGN(const uint64_t width,
                file.gguf().getU64(std::string(architecture) + ".embedding_length"));
  // Before a plan is built.
  SINTER_ASSIGN(const EmbeddingHead head, EmbeddingHead::ranking(file.gguf(), width));
  SINTER_ASSIGN(const host::OpenedModel opened,
                openEmbedder(std::move(file), arguments.model, observer));
  std::vector<Ranked> order;
  const auto keep = [&](size_t number, std::span<const float> scores) -> Result<void> {
    order.push_back({number, scores.front()});
    return {};
  };
  Model &model = *opened.model;
  SINTER_TRY(embed(model.runner(), model.pages(), pairs, {pooling, false, &head}, keep));
  std::ranges::sort(order, [](const Ranked &a, const Ranked &b) {
    return a.score != b.score ? a.score > b.score : a.document < b.document;
  });
  SINTER_TRY(writeStdout(arguments.json ? json(order) : table(order, documents)));
  return kExitOk;
}

} // namespace sinter::cli
