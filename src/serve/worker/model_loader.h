// How a pool finds models and loads them.
#pragma once

#include "serve/worker/model_pool.h"

#include <atomic>

namespace sinter::serve {

struct LoadOrder {
  std::string name; // by which it was asked for
  std::string path;
  uint32_t context = 0; // 0: the server's
  bool embeddings = false;
};

// Takes `bytes` of `budget` for the model that is being loaded; gives other models up for that.
// With the numbers: Exhausted where there is no room and none was made in time, InvalidArgument
// where it is more than the whole budget.
using TakeMemory = std::function<Result<void>(uint64_t bytes, uint64_t budget)>;

// For the pool's threads: load() comes from one, the others from any.
class ModelLoader {
public:
  virtual ~ModelLoader() = default;

  virtual std::vector<std::string> names() const = 0;
  // The file of a name or path.
  virtual Result<std::string> find(const std::string &name) const = 0;
  // Calls `take` once, before the model takes memory. Cancelled where `cancel` becomes true.
  virtual Result<std::unique_ptr<ModelWorker>> load(const LoadOrder &order, const TakeMemory &take,
                                                    const std::atomic<bool> &cancel) = 0;
};

std::unique_ptr<ModelLoader> makeHostLoader(const PoolOptions &options);

// A pool over any loader. Exhausted: the system gives no threads.
Result<std::unique_ptr<ModelPool>> makeModelPool(std::unique_ptr<ModelLoader> loader,
                                                 const PoolOptions &options);

} // namespace sinter::serve
