// What routes need besides the request.
#pragma once

#include "serve/worker/model_pool.h"
#include "serve/worker/task_pool.h"

#include <chrono>
#include <string>

namespace sinter::serve {

// Outlives every request.
struct ApiContext {
  ModelPool &models;
  TaskPool &tasks;
  std::string version; // of Sinter
  // For requests that name none; empty: they are refused.
  std::string defaultModel = {};
};

} // namespace sinter::serve
