// The request of a message, made into a conversation.
#pragma once

#include "serve/api/chat_request.h"

namespace sinter::serve::anthropic {

struct MessageRequest {
  ChatRequest chat;
  bool mayThink = false; // thoughts are asked for where the model has a switch for them
  bool streams = false;
};

// Blocks become messages of templates: results of tools are messages of their own, thoughts the
// reasoning of the assistant. Images, documents and the tools of a server are refused by name.
MessageRequest readMessage(const RequestReader &body, GenerationWishes &wishes);

} // namespace sinter::serve::anthropic
