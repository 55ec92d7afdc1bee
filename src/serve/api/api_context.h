// What routes need besides the request.
#pragma once

#include "host/model_store.h"
#include "serve/worker/model_pool.h"
#include "serve/worker/task_pool.h"

#include <chrono>
#include <functional>
#include <string>

namespace sinter::serve {

// Outlives every request.
struct ApiContext {
  ModelPool &models;
  TaskPool &tasks;
  std::string version; // of Sinter
  // For requests that name none; empty: they are refused.
  std::string defaultModel = {};
  // The file of a model by its name.
  std::function<Result<std::string>(const std::string &)> pathOf = host::modelPath;
  // Counts tokens of prompts and answers for HttpRequest::account; from any thread. Null: nobody
  // counts.
  std::function<void(const std::string &account, uint64_t tokens)> charge = nullptr;
  std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
};

} // namespace sinter::serve
