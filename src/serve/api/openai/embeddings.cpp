// Embeddings: texts in, vectors out.
#include "serve/api/openai/embeddings.h"

#include "serve/api/embedding_request.h"

namespace sinter::serve::openai {
namespace {

std::string bodyOf(const std::string &model, bool isBase64, const EmbeddingAnswer &answer) {
  std::string data;
  for (size_t i = 0; i < answer.rows.size(); ++i) {
    const auto &row = answer.rows[i];
    data += std::string(i ? "," : "") + "{\"object\":\"embedding\",\"index\":" + std::to_string(i) +
            ",\"embedding\":" + (isBase64 ? "\"" + vectorBase64(row) + "\"" : vectorText(row)) +
            "}";
  }
  const Json usage = {{"prompt_tokens", answer.tokens}, {"total_tokens", answer.tokens}};
  return "{\"object\":\"list\",\"model\":" + jsonText(model) + ",\"data\":[" + data +
         "],\"usage\":" + jsonText(usage) + "}";
}

} // namespace

BodyHandler embeddings(ApiContext &context) {
  return [&context](const HttpRequest &, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    EmbeddingRequest made;
    made.model = modelOf(context, body);
    made.texts = readPrompts(body, "input", kMostEmbeddingTexts);
    made.dimensions = static_cast<size_t>(body.whole("dimensions", 1, 1 << 20).value_or(0));
    const bool isBase64 = body.choice("encoding_format", {"float", "base64"}) == "base64";
    SINTER_TRY(check(body.problem()));
    const std::string model = made.model;
    startEmbedding(
        context, std::move(made), openaiError,
        [model, isBase64](const EmbeddingAnswer &answer) {
          return bodyOf(model, isBase64, answer);
        },
        std::move(responder));
    return {};
  };
}

} // namespace sinter::serve::openai
