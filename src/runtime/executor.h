// Executes a plan on a device: loads its code, packs its weights, places its buffers and runs its
// procedures.
//
// Use: create() once; then for each step bind() the sizes, write the inputs, run() a procedure,
// read the outputs. A step whose sizes were bound lately costs neither evaluation nor placement
// again. Or begin() in place of run(), then beginRead(): the host prepares the next step meanwhile.
#pragma once

#include "base/checked.h"
#include "hal/hal.h"
#include "plan/lifetime.h"
#include "plan/plan.h"
#include "runtime/commands.h"
#include "runtime/weight_cache.h"
#include "runtime/weight_source.h"

#include <list>
#include <map>

namespace sinter::runtime {

struct ExecutorOptions {
  uint32_t bindingsKept = 8;   // least recently used ones are dropped; at least 1
  uint64_t maxSteps = 1 << 20; // and arguments of one procedure, loops unrolled
  bool captureGraphs = true;   // of what runs again as it is, where the device has them
  // Where packed weights are kept, as far as the device reads host memory and has one memory of it;
  // null: they are packed into memory of this process.
  const WeightCache *weightCache = nullptr;
};

// Time of one launch of the last run.
struct LaunchSample {
  const plan::Launch *launch;
  hal::Grid grid;
  int64_t bytesMoved;
  int64_t operations;
  uint64_t nanoseconds;
};

// Bytes of device memory.
struct MemoryUse {
  uint64_t weights = 0; // packed
  uint64_t kept = 0;    // of these, what is mapped from a file of the weight cache
  uint64_t mapped = 0;  // weights used where the model file is mapped
  uint64_t constants = 0;
  uint64_t inputsAndOutputs = 0;
  uint64_t state = 0;
  uint64_t arena = 0; // all Temp buffers
};

// Belongs to one thread at a time. An error leaves the executor usable; a run that failed leaves
// outputs and state undefined.
class Executor {
public:
  // `device` and `weights` must outlive the executor; `weights` may be null when the plan has none.
  // Fails as validate(), Device::loadModule and WeightSource::tensor do, and when a tensor's size
  // is not the plan's.
  static Result<std::unique_ptr<Executor>> create(hal::Device &device,
                                                  std::shared_ptr<const plan::Plan> plan,
                                                  WeightSource *weights,
                                                  const ExecutorOptions &options = {});

  ~Executor();

  const plan::Plan &plan() const { return *plan_; }

  // Fixes every symbol: one value each, in the plan's order; those of symbols that loops count or
  // that are computed are ignored.
  // InvalidArgument: a value out of its bounds or a size that cannot be computed. Exhausted: no
  // memory. The contents of Input, Output and State buffers are kept, also when they move because
  // they grew. After an error the former binding holds.
  Result<void> bind(std::span<const int64_t> symbolValues);

  // Host access to an Input, Output or State buffer, of the size that the binding gives it, until
  // the next bind(), or run() where the plan computes symbols; nothing is under way.
  // InvalidArgument: not bound, or a buffer of another kind. Unsupported: the device's memory is
  // not host-visible.
  Result<std::span<uint8_t>> buffer(plan::BufferId id);
  Result<std::span<uint8_t>> buffer(std::string_view name);
  // The same by copying, on every device. `bytes` is at most the buffer's size, from `offset` on.
  Result<void> setBuffer(std::string_view name, std::span<const uint8_t> bytes);
  Result<void> readBuffer(std::string_view name, std::span<uint8_t> bytes, uint64_t offset = 0);
  // Makes the caller's device memory the buffer, for good. A binding that needs more than it has is
  // refused.
  Result<void> attachBuffer(std::string_view name, std::shared_ptr<hal::Buffer> memory);
  // Sets all State buffers to zero.
  Result<void> clearState();

  // Runs a procedure of the plan to its end, with what computed symbols are as it begins.
  // InvalidArgument: not bound, or a computed symbol is out of its bounds.
  Result<void> run(plan::ProcedureId procedure);
  Result<void> run(std::string_view procedure);

  // Begins what run() does, behind what was begun before, and returns. Two procedures may be under
  // way: who begins a third has waited for a Readback behind the first, or called wait(). Errors
  // are those of run(); what was begun before goes on or has ended then.
  Result<void> begin(plan::ProcedureId procedure);
  // Reads a part of an Input, Output or State buffer back, behind what was begun so far. The
  // executor's device made the readback.
  Result<void> beginRead(plan::BufferId id, uint64_t offset, uint64_t bytes, hal::Readback &into,
                         uint64_t at);
  Result<std::unique_ptr<hal::Readback>> createReadback(uint64_t bytes) {
    return device_.createReadback(bytes);
  }
  // Waits for all that was begun.
  Result<void> wait();

  // The commands that run() would submit, for explain. Valid until the next call of another member.
  Result<const CommandList *> commands(plan::ProcedureId procedure);

  // While on, run() waits for each launch and notes its time. Unsupported: the device cannot time.
  Result<void> setProfiling(bool on);
  bool profiling() const { return start_ != nullptr; }
  std::span<const LaunchSample> samples() const { return samples_; }
  // Whether the last run was the submission of one recorded graph.
  bool ranAsGraph() const { return ranAsGraph_; }

  const MemoryUse &memory() const { return memory_; }

private:
  // A procedure under one binding.
  struct Prepared {
    CommandList list;
    std::unique_ptr<hal::Graph> graph; // from the second run on, where the device has them
    bool ran = false;
  };
  struct Binding {
    std::vector<int64_t> symbols;
    std::vector<uint64_t> bufferBytes;
    std::vector<std::unique_ptr<Prepared>> procedures; // null until first run
    uint64_t begun = 0; // number of the last begin() under it, from 1 on; 0: none
  };

  // Where a weight's bytes come from.
  struct Weight {
    plan::BufferId id;
    std::vector<std::span<const uint8_t>> tensors;
    uint64_t bytes = 0;
    bool mapped = false; // the device reads them where the file is mapped
  };
  // Weights that share memory.
  struct Pool {
    std::vector<const Weight *> weights;
    uint64_t bytes = 0;
  };

  Executor(hal::Device &device, std::shared_ptr<const plan::Plan> plan,
           const ExecutorOptions &options);
  Result<void> checkDevices() const;
  Result<void> loadCode();
  Result<void> checkFits() const;
  Result<void> checkFit(const CheckedSize &bytes) const;
  Result<void> loadBuffers(WeightSource *weights);
  Result<void> loadConstant(plan::BufferId id);
  Result<void> loadWeights(WeightSource *source);
  Result<Weight> findWeight(plan::BufferId id, WeightSource &source) const;
  Result<Pool> nextPool(std::span<const Weight> &weights, uint64_t mostBytes);
  Result<bool> mapKept(std::span<const Weight> weights, WeightSource &source);
  Result<void> placeWeights(std::span<const Weight> weights);
  Result<void> loadWeight(const Weight &weight, WeightSource &source);

  Result<Binding> makeBinding(std::vector<int64_t> symbols) const;
  Result<std::vector<int64_t>> checkSymbols(std::span<const int64_t> values) const;
  Result<void> readComputed();
  Result<void> reserveBuffers(const Binding &binding);
  Result<void> reserve(plan::BufferId id, uint64_t bytes);
  Result<void> reserveArena(uint64_t bytes);
  Result<void> dropOldestBinding();
  void countMemory();
  void forgetCommands();

  Result<plan::BufferId> accessible(std::string_view name) const;
  Result<Prepared *> prepare(plan::ProcedureId procedure);
  Result<void> capture(Prepared &prepared);
  Result<void> submit(Prepared &prepared);
  Result<void> submit(const CommandList &list);
  Result<void> submitTimed(const CommandList &list);
  Result<void> execute(const CommandList &list, const Command &command);

  hal::Device &device_;
  std::shared_ptr<const plan::Plan> plan_;
  ExecutorOptions options_;
  std::vector<std::unique_ptr<hal::Module>> modules_;
  std::vector<std::unique_ptr<hal::Kernel>> kernels_;
  std::unique_ptr<hal::Stream> stream_;
  std::optional<KeptWeights> kept_;                   // what some buffers are
  std::vector<std::shared_ptr<hal::Buffer>> buffers_; // all but Temp, null until first bound
  std::vector<uint64_t> offsets_;                     // in them; packed weights share one
  std::vector<bool> attached_;                        // the caller's memory
  std::unique_ptr<hal::Buffer> arena_;
  std::vector<bool> inductions_;         // symbols that loops count
  std::map<uint32_t, int64_t> computed_; // computed symbols, with what they were last
  std::vector<std::optional<std::vector<plan::Lifetime>>>
      lifetimes_;                           // by procedure, when first run
  std::list<Binding> bindings_;             // the current one first
  uint64_t begun_ = 0;                      // procedures so far
  bool isUnderWay_ = false;                 // some may be
  std::unique_ptr<hal::Event> start_, end_; // set while profiling
  std::vector<LaunchSample> samples_;
  bool ranAsGraph_ = false;
  MemoryUse memory_;
};

} // namespace sinter::runtime
