// What routes need besides the request.
#pragma once

#include "host/model_store.h"
#include "serve/worker/embedding_pool.h"
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
  EmbeddingPool *embeddings = nullptr; // null: there are none
  // The file of a model by its name.
  std::function<Result<std::string>(const std::string &)> pathOf = host::modelPath;
  std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
};

} // namespace sinter::serve
