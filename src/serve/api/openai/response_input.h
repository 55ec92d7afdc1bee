// The request of a response, made into a conversation.
#pragma once

#include "serve/api/chat_request.h"
#include "serve/api/openai/common.h"

namespace sinter::serve::openai {

struct ResponseRequest {
  ChatRequest chat;
  bool streams = false, givesLogprobs = false;
  // As the answer repeats them; null where they are absent.
  Json instructions, maxOutputTokens, temperature, topP,
      tools = Json::array(), toolChoice = "auto", effort, metadata, format = {{"type", "text"}};
  bool parallelToolCalls = true;
};

// Items of input become messages: calls join the assistant's message before them, reasoning goes to
// the one after it.
ResponseRequest readResponse(const RequestReader &body, GenerationWishes &wishes);

} // namespace sinter::serve::openai
