// What routes need besides the request.
#pragma once

#include "host/model_store.h"
#include "llm/pooling.h"
#include "serve/worker/model_pool.h"
#include "serve/worker/pulls.h"
#include "serve/worker/task_pool.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace sinter::serve {

struct GenerationWishes;

// Outlives every request.
struct ApiContext {
  ModelPool &models;
  TaskPool &tasks;
  std::string version; // of Sinter
  // For requests that name none; empty: they are refused.
  std::string defaultModel = {};
  // For fields that a request leaves out; null: the model's own alone.
  std::shared_ptr<const GenerationWishes> defaults = nullptr;
  uint32_t parallel = 1;               // whole contexts of each model
  std::string chatTemplate = {};       // in place of every file's; empty: none
  std::optional<Pooling> pooling = {}; // of vectors, in place of every file's
  // The file of a model by its name.
  std::function<Result<std::string>(const std::string &)> pathOf = host::modelPath;
  // What it has beside its file.
  std::function<Result<host::ModelExtras>(const std::string &)> extrasOf = host::modelExtras;
  // Fetches models; null: requests fetch none.
  Pulls *pulls = nullptr;
  // Why requests may not change which models there are; empty or null: they may.
  std::function<std::string()> whyModelsAreFixed = nullptr;
  // Counts tokens of prompts and answers for HttpRequest::account; from any thread. Null: nobody
  // counts.
  std::function<void(const std::string &account, uint64_t tokens)> charge = nullptr;
  // Bytes a second that the device's memory moves at most, measured by the call, which takes a part
  // of a second. Null: nobody measures.
  std::function<Result<double>()> measureBandwidth = nullptr;
  std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
};

} // namespace sinter::serve
