// Fills steps with whole texts, and pools what they give.
#include "llm/embedder.h"

#include "base/check.h"
#include "llm/generation.h"

#include <algorithm>

namespace sinter {
namespace {

// Of several texts: as long as a step of a prompt, which is where matmuls are near their best.
constexpr size_t kStepTokens = 512;

LogitsWanted wantedOf(Pooling pooling) {
  switch (pooling) {
  case Pooling::First:
    return LogitsWanted::First;
  case Pooling::Last:
    return LogitsWanted::Last;
  case Pooling::None:
  case Pooling::Mean:
    break;
  }
  return LogitsWanted::All;
}

class Embedder {
public:
  Embedder(StepRunner &runner, PagePool &pool, const EmbeddingOptions &options,
           const EmbeddingSink &sink)
      : runner_(runner), pool_(pool), options_(options), sink_(sink) {}

  // The texts from number `first` on that go into one step.
  size_t countFrom(std::span<const TextTokens> texts, size_t first) const;
  Result<void> step(std::span<const TextTokens> texts, size_t first);

private:
  Result<void> finish(size_t number, std::span<const float> rows);

  StepRunner &runner_;
  PagePool &pool_;
  const EmbeddingOptions &options_;
  const EmbeddingSink &sink_;
  Batch batch_;
};

size_t Embedder::countFrom(std::span<const TextTokens> texts, size_t first) const {
  const RunnerLimits &limits = runner_.limits();
  const size_t most = std::min<size_t>(kStepTokens, limits.stepTokens);
  size_t count = 1, tokens = texts[first].size();
  uint64_t pages = pool_.pagesFor(tokens);
  while (first + count < texts.size() && count < limits.stepSequences) {
    const size_t next = texts[first + count].size();
    if (tokens + next > most || pages + pool_.pagesFor(next) > pool_.freePages())
      break;
    tokens += next;
    pages += pool_.pagesFor(next);
    ++count;
  }
  return count;
}

Result<void> Embedder::step(std::span<const TextTokens> texts, size_t first) {
  std::vector<SequencePages> pages;
  for (const TextTokens &text : texts) {
    pages.emplace_back(pool_);
    SINTER_TRY(pages.back().reserve(text.size()));
  }
  std::vector<BatchPart> parts;
  for (size_t i = 0; i < texts.size(); ++i)
    parts.push_back({texts[i], 0, &pages[i], wantedOf(options_.pooling), Phase::Prefill});
  SINTER_TRY(buildBatch(parts, runner_.limits().batchShape(), batch_));
  SINTER_ASSIGN(std::span<const float> rows, runner_.step(batch_));
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool all = wantedOf(options_.pooling) == LogitsWanted::All;
    const size_t size = (all ? texts[i].size() : 1) * runner_.limits().embeddingLength;
    SINTER_TRY(finish(first + i, rows.first(size)));
    rows = rows.subspan(size);
  }
  return {};
}

Result<void> Embedder::finish(size_t number, std::span<const float> rows) {
  const size_t width = runner_.limits().embeddingLength;
  std::vector<float> result = options_.pooling == Pooling::Mean
                                  ? pooled(rows, width)
                                  : std::vector<float>(rows.begin(), rows.end());
  const size_t outWidth = options_.head ? options_.head->width() : width;
  if (options_.head) {
    std::vector<float> changed;
    for (size_t at = 0; at < result.size(); at += width)
      std::ranges::copy(options_.head->apply(std::span(result).subspan(at, width)),
                        std::back_inserter(changed));
    result = std::move(changed);
  }
  if (options_.normalize)
    normalize(result, outWidth);
  return sink_(number, result);
}

} // namespace

Result<void> checkText(const RunnerLimits &limits, const TextTokens &text, size_t number) {
  const auto who = [&] { return "text " + std::to_string(number); };
  if (text.empty())
    return fail(Code::InvalidArgument, who() + " has no tokens");
  const uint32_t most = std::min(limits.contextTokens, limits.stepTokens);
  if (text.size() > most)
    return fail(Code::InvalidArgument, who() + " has " + std::to_string(text.size()) +
                                           " tokens, expected at most " + std::to_string(most) +
                                           ": a text is embedded whole");
  for (const TokenId id : text)
    if (id < 0 || static_cast<uint32_t>(id) >= limits.vocabSize)
      return fail(Code::InvalidArgument, who() + " has token " + std::to_string(id) +
                                             ", expected one below " +
                                             std::to_string(limits.vocabSize));
  return {};
}

Result<void> embed(StepRunner &runner, PagePool &pages, std::span<const TextTokens> texts,
                   const EmbeddingOptions &options, const EmbeddingSink &sink) {
  SINTER_CHECK(runner.limits().embeddingLength > 0);
  Embedder embedder(runner, pages, options, sink);
  for (size_t i = 0; i < texts.size(); ++i)
    SINTER_TRY(checkText(runner.limits(), texts[i], i + 1));
  for (size_t first = 0; first < texts.size();) {
    const size_t count = embedder.countFrom(texts, first);
    SINTER_TRY(embedder.step(texts.subspan(first, count), first));
    first += count;
  }
  return {};
}

} // namespace sinter
