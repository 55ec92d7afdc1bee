// Vectors are written without a tree of JSON, whose nodes would take ten times their bytes.
#include "serve/api/embedding_request.h"

#include <charconv>
#include <openssl/evp.h>

namespace sinter::serve {
namespace {

Result<void> shorten(EmbeddingAnswer &answer, size_t dimensions) {
  for (std::vector<float> &row : answer.rows) {
    if (dimensions > row.size())
      return fail(Code::InvalidArgument, "'dimensions' is " + std::to_string(dimensions) +
                                             ", the model's vectors have " +
                                             std::to_string(row.size()));
    row.resize(dimensions);
    normalize(row, dimensions);
  }
  return {};
}

} // namespace

void startEmbedding(ApiContext &context, EmbeddingRequest request, ErrorResponse error,
                    std::function<std::string(const EmbeddingAnswer &)> write,
                    std::shared_ptr<Responder> responder) {
  if (!context.embeddings)
    return responder->respond(
        error({Code::Unsupported, "this server gives no embeddings of texts"}));
  EmbeddingJob job;
  job.truncates = request.truncates;
  job.encode =
      [texts = std::move(request.texts)](const ModelFile &file) -> Result<std::vector<TextTokens>> {
    std::vector<TextTokens> tokens;
    for (const PromptSource &text : texts) {
      SINTER_ASSIGN(TextTokens ids, plainTokens(file, text));
      tokens.push_back(std::move(ids));
    }
    return tokens;
  };
  context.embeddings->run(request.model, std::move(job),
                          [responder, error, write = std::move(write),
                           dimensions = request.dimensions](Result<EmbeddingAnswer> answer) {
                            if (answer && dimensions > 0)
                              if (auto done = shorten(*answer, dimensions); !done)
                                answer = Fail(done.error());
                            HttpResponse response;
                            if (answer)
                              response.body = write(*answer);
                            else
                              response = error(answer.error());
                            responder->respond(std::move(response));
                          });
}

std::string vectorText(std::span<const float> values) {
  std::string text = "[";
  for (const float value : values) {
    char number[32];
    const char *end = std::to_chars(number, number + sizeof number, value).ptr;
    text += text.size() > 1 ? "," : "";
    text.append(number, static_cast<size_t>(end - number));
  }
  return text + "]";
}

std::string vectorBase64(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0'); // it writes a zero behind
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char *>(text.data()),
                                   reinterpret_cast<const unsigned char *>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

} // namespace sinter::serve
