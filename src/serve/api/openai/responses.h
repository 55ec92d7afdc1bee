// POST /v1/responses, of which nothing is kept.
#pragma once

#include "serve/api/openai/common.h"

namespace sinter::serve::openai {

BodyHandler responses(ApiContext &context);

} // namespace sinter::serve::openai
