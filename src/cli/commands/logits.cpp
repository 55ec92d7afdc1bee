// sinter logits: the tokens that a model expects after each token of a text.
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/open_model.h"
#include "cli/shortest.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "host/model_store.h"
#include "llm/likelihood.h"
#include "llm/logit_rows.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

namespace sinter::cli {
namespace {

struct Candidate {
  TokenId token;
  float logit;
  double logProbability;
};

// What the model expects after `token`.
struct Position {
  TokenId token;
  std::vector<Candidate> top;
};

// Of equal logits the lower token comes first.
Result<std::vector<Candidate>> topOf(std::span<const float> logits, size_t count) {
  const double logSum = logSumOf(logits);
  if (!std::isfinite(logSum))
    return fail(Code::Corrupt, "the model's logits are not numbers: the weights or a kernel must "
                               "be damaged");
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](TokenId a, TokenId b) {
    const float left = logits[static_cast<size_t>(a)], right = logits[static_cast<size_t>(b)];
    return left != right ? left > right : a < b;
  };
  const auto end = order.begin() + static_cast<ptrdiff_t>(std::min(count, order.size()));
  std::partial_sort(order.begin(), end, order.end(), before);
  std::vector<Candidate> top;
  for (auto at = order.begin(); at != end; ++at) {
    const float logit = logits[static_cast<size_t>(*at)];
    top.push_back({*at, logit, logit - logSum});
  }
  return top;
}

std::string json(const std::vector<Position> &positions) {
  using Object = nlohmann::ordered_json;
  Object rows = Object::array();
  for (const Position &position : positions) {
    Object top = Object::array();
    for (const Candidate &candidate : position.top)
      top.push_back({{"id", candidate.token},
                     {"logit", shortest(candidate.logit)},
                     {"logprob", shortest(static_cast<float>(candidate.logProbability))}});
    rows.push_back({{"token", position.token}, {"top", std::move(top)}});
  }
  return Object{{"positions", std::move(rows)}}.dump() + "\n";
}

// A token's text in quotes; its number alone where the file has no tokenizer.
std::string nameOf(const ModelFile &file, TokenId token) {
  if (!file.hasTokenizer() || !file.tokenizer().contains(token))
    return std::to_string(token);
  return std::to_string(token) + " '" + withoutControls(file.tokenizer().piece(token)) + "'";
}

std::string table(const ModelFile &file, const std::vector<Position> &positions) {
  Table table({"position", "token", "next", "logit", "logprob"});
  for (size_t i = 0; i < positions.size(); ++i)
    for (const Candidate &candidate : positions[i].top) {
      const bool first = &candidate == &positions[i].top.front();
      table.addRow({first ? std::to_string(i) : "", first ? nameOf(file, positions[i].token) : "",
                    nameOf(file, candidate.token), fixed(candidate.logit, 4),
                    fixed(candidate.logProbability, 4)});
    }
  return table.text();
}

Result<void> checkTokens(std::span<const TokenId> tokens, uint32_t vocabulary) {
  for (const TokenId token : tokens)
    if (static_cast<uint32_t>(token) >= vocabulary)
      return fail(Code::InvalidArgument, "--tokens has " + std::to_string(token) +
                                             ", the model's vocabulary is 0 to " +
                                             std::to_string(vocabulary - 1));
  return {};
}

} // namespace

Result<int> logitsCommand(const LogitsArguments &arguments, Interrupts &interrupts) {
  TerminalObserver observer(interrupts);
  const TextNeed need = arguments.tokens ? TextNeed::Optional : TextNeed::Required;
  SINTER_ASSIGN(ModelFile file, host::openModelFile(arguments.model.model, observer, need));
  std::vector<TokenId> tokens;
  if (arguments.tokens) {
    tokens = *arguments.tokens;
  } else {
    SINTER_ASSIGN(tokens, file.encodeRaw(*arguments.prompt));
  }
  SINTER_ASSIGN(const host::OpenedModel opened,
                openModel(std::move(file), arguments.model, observer));
  Model &model = *opened.model;
  SINTER_TRY(checkTokens(tokens, model.runner().limits().vocabSize));
  if (arguments.decode > tokens.size())
    return fail(Code::InvalidArgument, "--decode is " + std::to_string(arguments.decode) +
                                           ", there are " + std::to_string(tokens.size()) +
                                           " tokens");
  std::vector<Position> positions;
  const auto keep = [&](size_t at, std::span<const float> logits) -> Result<void> {
    SINTER_ASSIGN(auto top, topOf(logits, arguments.top));
    positions.push_back({tokens[at], std::move(top)});
    return {};
  };
  SINTER_TRY(forEachLogitRow(model.runner(), model.pages(), tokens, arguments.decode, keep));
  SINTER_TRY(writeStdout(arguments.json ? json(positions) : table(model.file(), positions)));
  return kExitOk;
}

} // namespace sinter::cli
