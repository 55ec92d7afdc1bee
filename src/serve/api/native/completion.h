// POST /completion and /infill.
#pragma once

#include "serve/api/request_tasks.h"

namespace sinter::serve::native {

BodyHandler completion(ApiContext &context);
BodyHandler infill(ApiContext &context);

} // namespace sinter::serve::native
