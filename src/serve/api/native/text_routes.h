// llama-server's routes that ask a model's tokenizer and template, and generate nothing.
#pragma once

#include "serve/api/api_context.h"
#include "serve/http/routes.h"

namespace sinter::serve {

// POST /tokenize, /detokenize, /apply-template, and input_tokens of chats and responses; the
// context outlives the routes.
void addTextRoutes(Routes &routes, ApiContext &context);

} // namespace sinter::serve
