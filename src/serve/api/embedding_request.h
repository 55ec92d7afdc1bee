// Embeddings and ranks as every family of APIs asks for them.
#pragma once

#include "serve/api/prompt_texts.h"
#include "serve/api/request_tasks.h"

namespace sinter::serve {

inline constexpr size_t kMostEmbeddingTexts = 2048; // OpenAI's

struct VectorTimes {
  double loadSeconds = 0, totalSeconds = 0;
};

struct VectorRequest {
  std::string model;
  LoadWishes load = {};
  // The texts as tokens; called once on a task's thread.
  std::function<Result<std::vector<TextTokens>>(const ModelFile &)> encode;
  bool ranks = false;     // one score for each text
  bool truncates = false; // texts that are too long lose their ends; else they are an error
  size_t dimensions = 0;  // the first of each vector, of length 1 again; 0: all
  std::string queue = {};
  ErrorResponse error = nullptr;
  // The answer's body. Each row is one vector, or one score.
  std::function<std::string(const VectorAnswer &, const VectorTimes &)> write;
};

// Answers at once or later, from any thread; never waits. The job ends when the client goes.
// InvalidArgument: more dimensions than vectors have. Unsupported: the model pools no tokens.
void startVectors(ApiContext &context, VectorRequest request, std::shared_ptr<Responder> responder);

// For VectorRequest::encode: texts in which nothing is a control token.
std::function<Result<std::vector<TextTokens>>(const ModelFile &)>
plainTextsOf(std::vector<PromptSource> texts);

// [0.25, -1.5e-7]
std::string vectorText(std::span<const float> values);
// The little-endian bytes in Base64.
std::string vectorBase64(std::span<const float> values);

} // namespace sinter::serve
