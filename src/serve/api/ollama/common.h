// What Ollama's routes share.
#pragma once

#include "serve/api/answer_format.h"
#include "serve/api/chat_request.h"
#include "serve/api/generation.h"
#include "serve/api/json_text.h"
#include "serve/api/request_tasks.h"

namespace sinter::serve::ollama {

// The fields that generate and chat have in common: stream, options, keep_alive, logprobs, think,
// format.
void readCommon(const RequestReader &body, GenerationRequest &made);
// "keep_alive" and options.num_ctx.
LoadWishes readLoad(const RequestReader &body);
// "think": true, false, or how much.
void readThink(const RequestReader &body, ChatRequest &chat);

// Loads the model, or gives it up where keep_alive is 0; `body` of the answer gets done_reason.
void startLoading(ApiContext &context, const std::string &model, const LoadWishes &load, Json body,
                  std::shared_ptr<Responder> responder);

// A stream of lines, or one object; what an answer of this route holds is up to `say`.
class LineFormat : public AnswerFormat {
public:
  explicit LineFormat(std::string model) : model_(std::move(model)) {}

  std::string streamType() const override { return "application/x-ndjson"; }
  std::string opened(const std::vector<Choice> &) override { return ""; }
  std::string delta(const Choice &choice, const ChoiceDelta &delta) override;
  std::string ended(const Choice &choice) override;
  std::string closed(const std::vector<Choice> &) override { return ""; }
  std::string failed(const ApiError &error) override { return ollamaErrorBody(error) + "\n"; }
  std::string whole(const std::vector<Choice> &choices) override;
  HttpResponse error(const ApiError &error) override { return ollamaError(error); }

protected:
  // Adds what was said to a line.
  virtual void say(const AnswerText &text, Json &line) const = 0;

private:
  Json line(const AnswerText &text, const LikelihoodRows &rows) const;
  static void addEnd(const Choice &choice, Json &line);

  const std::string model_;
};

} // namespace sinter::serve::ollama
