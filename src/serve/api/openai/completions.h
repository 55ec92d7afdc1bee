// POST /v1/completions.
#pragma once

#include "serve/api/openai/common.h"

namespace sinter::serve::openai {

BodyHandler completions(ApiContext &context);

} // namespace sinter::serve::openai
