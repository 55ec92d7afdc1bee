// From a request that was read to an answer that was written: finds the model, makes prompts of it,
// submits them, and writes what comes.
#pragma once

#include "llm/chat/answer_grammar.h"
#include "serve/api/answer_format.h"
#include "serve/api/api_context.h"
#include "serve/api/generation_wishes.h"

#include <functional>

namespace sinter::serve {

// A prompt and how its answer is to be read.
struct Prompt {
  std::vector<TokenId> tokens;
  AnswerStyle style = {};
  AnswerRules rules = {}; // of calls and thoughts; the form comes from the request's wishes
  std::vector<TokenId> shownTokens = {}; // GenerationJob's
  std::string text = {};                 // where the answer shows it
};

struct GenerationRequest {
  std::string model;
  LoadWishes load = {};
  GenerationWishes wishes = {};
  bool streams = false;
  std::string queue = {};   // whose turn it takes, and whom its tokens are counted for
  std::string keyName = {}; // whose prompts it may share parts with; empty: there are no keys
  // Called once on a task's thread: templates and tokenizers take their time.
  std::function<ApiResult<std::vector<Prompt>>(const ModelFile &)> prepare;
  std::unique_ptr<AnswerFormat> format;
};

// Answers at once or later, from any thread; never waits. The job ends when the client goes.
void startGeneration(ApiContext &context, GenerationRequest request,
                     std::shared_ptr<Responder> responder);

} // namespace sinter::serve
