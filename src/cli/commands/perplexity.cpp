// sinter perplexity: how well a model predicts a text, and what rounding costs it.
#include "base/mapped_file.h"
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/open_model.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "host/model_store.h"
#include "llm/likelihood.h"
#include "llm/logit_rows.h"

#include <algorithm>
#include <cmath>

namespace sinter::cli {
namespace {

Result<std::vector<TokenId>> readTokens(const ModelFile &model, const std::string &path,
                                        uint32_t window) {
  SINTER_ASSIGN(const MappedFile file, MappedFile::open(path));
  const std::string_view text(reinterpret_cast<const char *>(file.bytes().data()),
                              file.bytes().size());
  SINTER_ASSIGN(std::vector<TokenId> ids, model.encodeRaw(text));
  if (ids.size() < window)
    return fail(Code::InvalidArgument, "'" + path + "' has " + std::to_string(ids.size()) +
                                           " tokens, expected at least one window of " +
                                           std::to_string(window));
  return ids;
}

TokenId bestOf(std::span<const float> logits) {
  return static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin());
}

// Scores the second half of each window.
class Scorer {
public:
  Scorer(Model &model, Model *base, const PerplexityArguments &arguments)
      : model_(model), base_(base), window_(arguments.window), decodes_(arguments.decodes) {}

  Result<void> score(std::span<const TokenId> tokens) {
    std::vector<float> rows; // of the base
    const auto keep = [&](size_t at, std::span<const float> logits) -> Result<void> {
      if (isScored(at))
        rows.insert(rows.end(), logits.begin(), logits.end());
      return {};
    };
    const size_t decoded = decodes_ ? window_ - first() : 0;
    if (base_)
      SINTER_TRY(forEachLogitRow(base_->runner(), base_->pages(), tokens, decoded, keep));
    const auto take = [&](size_t at, std::span<const float> logits) -> Result<void> {
      if (!isScored(at))
        return {};
      surprise_ += negativeLogLikelihood(logits, tokens[at + 1]);
      ++count_;
      if (base_)
        compare(std::span(rows).subspan((at - first()) * logits.size(), logits.size()), logits);
      return {};
    };
    return forEachLogitRow(model_.runner(), model_.pages(), tokens, decoded, take);
  }

  size_t count() const { return count_; }
  double perplexity() const { return std::exp(surprise_ / static_cast<double>(count_)); }
  // "KL 0.00305 +- 0.00004, median 0.0025, largest 0.11; the same best token at 98.5 %"
  std::string divergenceText() {
    const double count = static_cast<double>(divergences_.size());
    double sum = 0, squares = 0;
    for (const double each : divergences_)
      sum += each;
    const double mean = sum / count;
    for (const double each : divergences_)
      squares += (each - mean) * (each - mean);
    std::ranges::sort(divergences_);
    return "KL " + fixed(mean, 6) + " +- " + fixed(std::sqrt(squares) / count, 6) + ", median " +
           fixed(divergences_[divergences_.size() / 2], 6) + ", largest " +
           fixed(divergences_.back(), 6) + " nats; the same best token at " +
           fixed(100 * static_cast<double>(agreements_) / count, 2) + " % of positions";
  }

private:
  size_t first() const { return window_ / 2; } // whose row predicts the first scored token
  bool isScored(size_t at) const { return at >= first() && at + 1 < window_; }

  void compare(std::span<const float> base, std::span<const float> logits) {
    divergences_.push_back(divergence(base, logits));
    agreements_ += bestOf(base) == bestOf(logits);
  }

  Model &model_;
  Model *base_;
  size_t window_;
  bool decodes_;
  double surprise_ = 0;
  size_t count_ = 0, agreements_ = 0;
  std::vector<double> divergences_;
};

// The same model with activations that are never rounded, and keys and values as by default.
Result<host::OpenedModel> openBase(const ModelArguments &arguments, host::Observer &observer) {
  ModelArguments base = arguments;
  base.precision = {.kvType = "", .activations = "f32"};
  SINTER_ASSIGN(ModelFile file, host::openModelFile(base.model, observer));
  return openModel(std::move(file), base, observer);
}

std::string summary(Scorer &scorer, size_t windows, const PerplexityArguments &arguments) {
  std::string text = "perplexity " + fixed(scorer.perplexity(), 4) + " over " +
                     std::to_string(scorer.count()) + " tokens in " + std::to_string(windows) +
                     " windows of " + std::to_string(arguments.window) +
                     (arguments.decodes ? ", decoded one by one" : "") + "\n";
  return arguments.divergence ? text + scorer.divergenceText() + "\n" : text;
}

} // namespace

Result<int> perplexityCommand(const PerplexityArguments &arguments, Interrupts &interrupts) {
  TerminalObserver observer(interrupts);
  SINTER_ASSIGN(ModelFile file, host::openModelFile(arguments.model.model, observer));
  SINTER_ASSIGN(const auto ids, readTokens(file, arguments.file, arguments.window));
  ModelArguments modelArguments = arguments.model;
  modelArguments.context = arguments.window;
  SINTER_ASSIGN(const host::OpenedModel opened,
                openModel(std::move(file), modelArguments, observer));
  host::OpenedModel base;
  if (arguments.divergence) {
    SINTER_ASSIGN(base, openBase(modelArguments, observer));
  }
  const Tokenizer &tokenizer = opened.model->tokenizer();
  Scorer scorer(*opened.model, base.model.get(), arguments);
  const size_t window = arguments.window, windows = ids.size() / window;
  ProgressLine progress("scoring");
  for (size_t i = 0; i < windows; ++i) {
    std::vector<TokenId> tokens(ids.begin() + static_cast<ptrdiff_t>(i * window),
                                ids.begin() + static_cast<ptrdiff_t>((i + 1) * window));
    if (const auto bos = tokenizer.bos(); bos && tokenizer.addsBos())
      tokens[0] = *bos;
    SINTER_TRY(scorer.score(tokens));
    progress.show(i + 1, windows, "windows");
  }
  progress.finish();
  if (!std::isfinite(scorer.perplexity()))
    return fail(Code::Corrupt, "the model's scores of the text are not numbers: the weights or a "
                               "kernel must be damaged");
  SINTER_TRY(writeStdout(summary(scorer, windows, arguments)));
  return kExitOk;
}

} // namespace sinter::cli
