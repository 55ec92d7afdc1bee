// POST /api/generate and /api/chat.
#pragma once

#include "serve/api/ollama/common.h"

namespace sinter::serve::ollama {

BodyHandler generate(ApiContext &context);
BodyHandler chat(ApiContext &context);

} // namespace sinter::serve::ollama
