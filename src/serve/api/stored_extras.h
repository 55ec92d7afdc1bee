// What a stored model has beside its file, as part of requests for it.
#pragma once

#include "serve/api/chat_request.h"
#include "serve/api/generation.h"

namespace sinter::serve {

// The system message and the first messages of the model, before those of the request; a system
// message of the request replaces the model's.
ApiResult<void> addStoredMessages(const ApiContext &context, const std::string &model,
                                  jinja::Input::List &messages);
// Sampling settings, stop texts and sizes that the request does not say.
ApiResult<void> addStoredSettings(const ApiContext &context, GenerationRequest &request);
// The context that the stored model has, where the request says none: a model that is loaded for
// anything is loaded as its answers need it. A model whose settings are damaged has none.
LoadWishes withStoredContext(const ApiContext &context, const std::string &model,
                             LoadWishes load = {});

// "stop "<|end|>"" and more, a line each, as Ollama's clients show them.
std::string parameterLines(const std::string &params);

} // namespace sinter::serve
