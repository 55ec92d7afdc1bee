// The models that are served: loaded when asked for, and given up again.
#pragma once

#include "host/device_choice.h"
#include "serve/worker/worker.h"

#include <functional>
#include <string>
#include <vector>

namespace sinter::serve {

struct LoadedModel {
  std::string name;   // by which it was asked for first
  uint64_t bytes = 0; // that it takes at most: weights, KV cache and buffers
  std::optional<std::chrono::system_clock::time_point> expires = {}; // none: never
  WorkerState state = {};
  std::string path = {}; // of its file
  uint32_t context = 0;
  bool embeddings = false; // instead of logits
  uint64_t users = 0;      // who hold it
};

// What a request may say about loading: Ollama's num_ctx and keep_alive.
struct LoadWishes {
  // 0: the server's. A model that is loaded with at least as much serves the request, whose jobs
  // say their own context. With less it is loaded anew as soon as nobody uses it, and meanwhile
  // whoever comes later waits for that.
  uint32_t context = 0;
  std::optional<std::chrono::seconds> keepAlive =
      {};                  // negative: forever; 0: goes after the request
  bool embeddings = false; // a worker for submitVectors()
};

class ModelPool {
public:
  virtual ~ModelPool() = default;

  using OnModel = std::function<void(Result<std::shared_ptr<ModelWorker>>)>;
  // The worker of a model by name or path of the store, loaded on a thread of the pool where it is
  // not, or where its device was lost. Never waits; the callback comes from any thread. NotFound,
  // with the nearest name. The model stays while someone holds the pointer.
  virtual void get(const std::string &name, const LoadWishes &wishes, OnModel then) = 0;
  // Names that get() takes.
  virtual std::vector<std::string> names() const = 0;
  virtual std::vector<LoadedModel> loaded() const = 0;
  // As soon as nobody uses it, unless someone asks for it before that. False: it is not loaded.
  virtual bool unload(const std::string &name) = 0;
  // The store has another model of that name, or none: who asks for it from now on gets that one.
  virtual void forget(const std::string &name) = 0;
};

struct PoolOptions {
  std::optional<host::DeviceName> device = {}; // none: chosen
  uint32_t threads = 0;                        // of a CPU; 0: all that the process may use
  // Whole contexts that a model has KV cache for, or as many as fit `memoryBytes`. More sequences
  // than that run side by side while they are short.
  uint32_t parallel = 8;
  uint32_t context =
      0; // tokens; 0: as ModelFile::contextTokens() says. A model made for less: that
  // Of all loaded models together; 0: most of the device's memory.
  uint64_t memoryBytes = 0;
  std::chrono::seconds keepAlive = std::chrono::minutes(5); // negative: forever
  // A request waits so long for others to give up memory or a model that it needs otherwise.
  std::chrono::seconds patience = std::chrono::minutes(5);
  Precision precision = {};
  std::string chatTemplate = {};    // the text of one in place of every file's own; empty: none
  bool keepsWeights = true;         // packed, in a file beside the plans
  bool fetchesKnownModel = true;    // when it is asked for and is not there
  std::optional<bool> overlap = {}; // as PlanRunnerOptions'
  WorkerOptions worker = {};
  // One line on what is loaded or given up, or what is odd; from any thread. Null: nobody reads it.
  std::function<void(const std::string &)> note = nullptr;
};

// The destructor ends all answers with AnswerEnd::Cancelled and waits until nobody holds a worker.
Result<std::unique_ptr<ModelPool>> openModelPool(const PoolOptions &options);

} // namespace sinter::serve
