// POST /completion.
#pragma once

#include "serve/api/request_tasks.h"

namespace sinter::serve::native {

BodyHandler completion(ApiContext &context);

} // namespace sinter::serve::native
