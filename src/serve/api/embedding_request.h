// Embeddings as every family of APIs asks for them.
#pragma once

#include "serve/api/prompt_texts.h"
#include "serve/api/request_tasks.h"
#include "serve/worker/embedding_pool.h"

namespace sinter::serve {

struct EmbeddingRequest {
  std::string model;
  std::vector<PromptSource> texts;
  size_t dimensions = 0; // the first of each vector, of length 1 again; 0: all
  bool truncates = false;
};

inline constexpr size_t kMostEmbeddingTexts = 2048; // OpenAI's

// Runs it; `write` makes the answer's body. Unsupported where the context has no pool for them.
// InvalidArgument: more dimensions than vectors have.
void startEmbedding(ApiContext &context, EmbeddingRequest request, ErrorResponse error,
                    std::function<std::string(const EmbeddingAnswer &)> write,
                    std::shared_ptr<Responder> responder);

// [0.25, -1.5e-7]
std::string vectorText(std::span<const float> values);
// The little-endian bytes in Base64.
std::string vectorBase64(std::span<const float> values);

} // namespace sinter::serve
