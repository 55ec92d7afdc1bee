// sinter perplexity: how well a model predicts a text.
#include "base/mapped_file.h"
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/open_model.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "host/model_store.h"
#include "llm/session.h"

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

} // namespace

Result<int> perplexityCommand(const PerplexityArguments &arguments, Interrupts &interrupts) {
  TerminalObserver observer(interrupts);
  SINTER_ASSIGN(ModelFile file, host::openModelFile(arguments.model.model, observer));
  SINTER_ASSIGN(const auto ids, readTokens(file, arguments.file, arguments.window));
  ModelArguments modelArguments = arguments.model;
  modelArguments.context = arguments.window;
  SINTER_ASSIGN(const host::OpenedModel opened,
                openModel(std::move(file), modelArguments, observer));
  Model &model = *opened.model;
  Session session(model.runner(), model.pages(), model.tokenizer());
  const size_t window = arguments.window, windows = ids.size() / window;
  const size_t firstTarget = window / 2 + 1;
  double sum = 0;
  ProgressLine progress("scoring");
  for (size_t i = 0; i < windows; ++i) {
    std::vector<TokenId> tokens(ids.begin() + static_cast<ptrdiff_t>(i * window),
                                ids.begin() + static_cast<ptrdiff_t>((i + 1) * window));
    if (const auto bos = model.tokenizer().bos(); bos && model.tokenizer().addsBos())
      tokens[0] = *bos;
    SINTER_ASSIGN(const double part, session.negativeLogLikelihood(tokens, firstTarget));
    sum += part;
    progress.show(i + 1, windows, "windows");
  }
  progress.finish();
  if (!std::isfinite(sum))
    return fail(Code::Corrupt, "the model's scores of the text are not numbers: the weights or a "
                               "kernel must be damaged");
  const size_t count = windows * (window - firstTarget);
  SINTER_TRY(writeStdout("perplexity " + fixed(std::exp(sum / static_cast<double>(count)), 4) +
                         " over " + std::to_string(count) + " tokens in " +
                         std::to_string(windows) + " windows of " + std::to_string(window) + "\n"));
  return kExitOk;
}

} // namespace sinter::cli
