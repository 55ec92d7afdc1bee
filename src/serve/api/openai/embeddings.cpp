// Embeddings: texts in, vectors out.
#include "serve/api/openai/embeddings.h"

#include "serve/api/embedding_request.h"

namespace sinter::serve::openai {
namespace {

std::string bodyOf(const std::string &model, bool isBase64, const VectorAnswer &answer) {
  std::string data;
  for (size_t i = 0; i < answer.rows.size(); ++i) {
    const auto &row = answer.rows[i];
    data += std::string(i ? "," : "") + "{\"object\":\"embedding\",\"index\":" + std::to_string(i) +
            ",\"embedding\":" + (isBase64 ? "\"" + vectorBase64(row) + "\"" : vectorText(row)) +
            "}";
  }
  const Json usage = {{"prompt_tokens", answer.promptTokens},
                      {"total_tokens", answer.promptTokens}};
  return "{\"object\":\"list\",\"model\":" + jsonText(model) + ",\"data\":[" + data +
         "],\"usage\":" + jsonText(usage) + "}";
}

} // namespace

BodyHandler embeddings(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    VectorRequest made;
    made.model = modelOf(context, body);
    made.encode = plainTextsOf(readPrompts(body, "input", kMostEmbeddingTexts));
    made.dimensions = static_cast<size_t>(body.whole("dimensions", 1, 1 << 20).value_or(0));
    const bool isBase64 = body.choice("encoding_format", {"float", "base64"}) == "base64";
    SINTER_TRY(check(body.problem()));
    made.queue = request.account;
    made.error = openaiError;
    made.write = [model = made.model, isBase64](const VectorAnswer &answer, const VectorTimes &) {
      return bodyOf(model, isBase64, answer);
    };
    startVectors(context, std::move(made), std::move(responder));
    return {};
  };
}

} // namespace sinter::serve::openai
