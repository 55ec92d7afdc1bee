// A row of logits among few rows and among many, bit for bit.
#include "row_bits.h"

#include <cstdio>
#include <cstring>

namespace sinter {
namespace {

// Some tokens, others for each sequence.
std::vector<TokenId> someTokens(uint32_t vocabulary, size_t count, size_t sequence) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<TokenId>((i * 7919 + sequence * 104729 + 17) % vocabulary));
  return tokens;
}

Result<std::vector<float>> logitsOf(Model &model, std::span<const BatchPart> parts) {
  Batch batch;
  SINTER_TRY(buildBatch(parts, model.runner().limits().batchShape(), batch));
  SINTER_ASSIGN(const std::span<const float> rows, model.runner().step(batch));
  return std::vector(rows.begin(), rows.end());
}

bool report(const char *what, size_t count, bool equal) {
  std::printf("{\"%s\":%zu,\"equal\":%s}\n", what, count, equal ? "true" : "false");
  return equal;
}

bool sameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

Result<bool> prefillRowsAreEqual(Model &model) {
  const RunnerLimits &limits = model.runner().limits();
  const std::vector<TokenId> tokens = someTokens(limits.vocabSize, limits.stepTokens, 0);
  std::vector<float> most;
  bool all = true;
  for (size_t count : {tokens.size(), size_t{65}, size_t{8}, size_t{1}}) {
    SequencePages pages(model.pages());
    SINTER_TRY(pages.reserve(count));
    const BatchPart part{std::span(tokens).first(count), 0, &pages, LogitsWanted::All};
    SINTER_ASSIGN(std::vector<float> rows, logitsOf(model, {&part, 1}));
    if (most.empty())
      most = std::move(rows);
    else
      all &= report("prompt_rows", count, sameBits(rows, std::span(most).first(rows.size())));
  }
  return all;
}

// The logits of each sequence's second token, generated in steps of `together` sequences.
Result<std::vector<float>> decodeRows(Model &model, size_t sequences, size_t together) {
  std::vector<std::vector<TokenId>> tokens;
  std::vector<std::unique_ptr<SequencePages>> pages;
  for (size_t i = 0; i < sequences; ++i) {
    tokens.push_back(someTokens(model.runner().limits().vocabSize, 12 + i, i));
    pages.push_back(std::make_unique<SequencePages>(model.pages()));
    SINTER_TRY(pages[i]->reserve(tokens[i].size()));
    const BatchPart prompt{std::span(tokens[i]).first(tokens[i].size() - 1), 0, pages[i].get()};
    SINTER_TRY(logitsOf(model, {&prompt, 1}));
  }
  std::vector<float> all;
  for (size_t first = 0; first < sequences; first += together) {
    std::vector<BatchPart> parts;
    for (size_t i = first; i < first + together; ++i)
      parts.push_back({std::span(tokens[i]).last(1), static_cast<uint32_t>(tokens[i].size() - 1),
                       pages[i].get(), LogitsWanted::Last, Phase::Decode});
    SINTER_ASSIGN(const std::vector<float> rows, logitsOf(model, parts));
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

} // namespace

Result<bool> rowsAreEqual(Model &model) {
  SINTER_ASSIGN(const bool prompts, prefillRowsAreEqual(model));
  SINTER_ASSIGN(const std::vector<float> alone, decodeRows(model, kComparedSequences, 1));
  bool all = prompts;
  for (size_t together : {8, 16, 32, 64}) { // a tile of each size
    SINTER_ASSIGN(const std::vector<float> rows, decodeRows(model, kComparedSequences, together));
    all &= report("generated_rows", together, sameBits(alone, rows));
  }
  return all;
}

} // namespace sinter
