// POST /v1/chat/completions.
#pragma once

#include "serve/api/openai/common.h"

namespace sinter::serve::openai {

BodyHandler chatCompletions(ApiContext &context);

} // namespace sinter::serve::openai
