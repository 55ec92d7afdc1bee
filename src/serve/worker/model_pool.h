// The models that are served: loaded when asked for, and given up again.
#pragma once

#include "serve/worker/worker.h"

#include <functional>
#include <string>
#include <vector>

namespace sinter::serve {

struct LoadedModel {
  std::string name;
  uint64_t bytes = 0; // that it takes: weights, KV cache and buffers
  std::optional<std::chrono::system_clock::time_point> expires = {}; // none: never
  WorkerState state = {};
};

// What a request may say about loading: Ollama's num_ctx and keep_alive.
struct LoadWishes {
  uint32_t context = 0; // 0: the server's
  std::optional<std::chrono::seconds> keepAlive =
      {}; // negative: forever; 0: goes after the request
};

class ModelPool {
public:
  virtual ~ModelPool() = default;

  using OnModel = std::function<void(Result<std::shared_ptr<ModelWorker>>)>;
  // The worker of a model by name or path of the store, loaded on a thread of the pool where it is
  // not. Never waits; the callback comes from any thread. NotFound, with the nearest name. The
  // model stays while someone holds the pointer.
  virtual void get(const std::string &name, const LoadWishes &wishes, OnModel then) = 0;
  // Names that get() takes.
  virtual std::vector<std::string> names() const = 0;
  virtual std::vector<LoadedModel> loaded() const = 0;
  // As soon as nobody uses it. False: it is not loaded.
  virtual bool unload(const std::string &name) = 0;
};

} // namespace sinter::serve
