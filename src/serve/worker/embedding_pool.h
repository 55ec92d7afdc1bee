// Models that give vectors or scores of texts, for routes of embeddings and ranks.
#pragma once

#include "llm/embedder.h"
#include "llm/model.h"
#include "serve/worker/model_pool.h"

#include <functional>

namespace sinter::serve {

struct EmbeddingJob {
  // The texts of a request as tokens of the model; called once, on a thread of the pool.
  std::function<Result<std::vector<TextTokens>>(const ModelFile &)> encode;
  bool ranks = false;     // scores of pairs in place of vectors
  bool truncates = false; // texts that are too long lose their ends; else they are an error
};

struct EmbeddingAnswer {
  std::vector<std::vector<float>> rows; // of each text: a vector of length 1, or one score
  uint64_t tokens = 0;                  // of all texts
  double loadSeconds = 0, totalSeconds = 0;
};

// All calls are safe from any thread and none waits.
class EmbeddingPool {
public:
  virtual ~EmbeddingPool() = default;

  using OnAnswer = std::function<void(Result<EmbeddingAnswer>)>;
  // NotFound, with the nearest name; Exhausted: too many wait; Unsupported: the model gives none;
  // errors of EmbeddingJob::encode and of embed(). The callback comes from any thread.
  virtual void run(const std::string &model, EmbeddingJob job, OnAnswer then) = 0;
};

} // namespace sinter::serve
