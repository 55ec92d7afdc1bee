// POST /v1/embeddings.
#pragma once

#include "serve/api/openai/common.h"

namespace sinter::serve::openai {

BodyHandler embeddings(ApiContext &context);

} // namespace sinter::serve::openai
