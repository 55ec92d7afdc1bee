// Routes of Ollama's that change which models there are: pull, create, copy, delete, blobs.
#pragma once

#include "serve/api/ollama/common.h"
#include "serve/http/routes.h"

namespace sinter::serve::ollama {

// Refused with 403 where the context's `mayChangeModels` says no.
void addChanges(ApiContext &context, std::vector<Route> &routes);
// The model of that name, as a user wrote it, is another one now.
void forgetModel(ApiContext &context, const std::string &name);
// POST /api/create: a model from another one or from blobs, with a system message, settings,
// messages and a license of its own.
BodyHandler create(ApiContext &context);

} // namespace sinter::serve::ollama
