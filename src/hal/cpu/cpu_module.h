// Native code of the cpu driver: ELF shared objects loaded from memory.
#pragma once

#include "hal/cpu/worker_scratch.h"
#include "hal/hal.h"

namespace sinter::hal {

// The kernels' calling convention: called once per point of the grid. `scratch` is the calling
// thread's own, aligned to kBufferAlignment, of at least the spec's scratchBytes, with undefined
// contents.
extern "C" using CpuKernelFunction = void (*)(void *const *buffers, const int64_t *scalars,
                                              void *scratch, int64_t x, int64_t y, int64_t z);

// A shared object's mapping; unloaded when destroyed.
class SharedObject {
public:
  // Corrupt: not a shared object of this machine, or one that the system's loader refuses.
  static Result<std::shared_ptr<SharedObject>> load(std::span<const uint8_t> code);
  ~SharedObject();
  SharedObject(const SharedObject &) = delete;
  SharedObject &operator=(const SharedObject &) = delete;

  // Null when there is no such symbol.
  void *find(const std::string &symbol) const;

private:
  SharedObject() = default;

  // The loader takes two objects of the same path for one, and the path is /proc/self/fd/N: the
  // descriptor stays open so that no other object gets N.
  int fd_ = -1;
  void *handle_ = nullptr;
};

class CpuKernel final : public Kernel {
public:
  CpuKernel(KernelSpec spec, std::shared_ptr<SharedObject> code, CpuKernelFunction function)
      : Kernel(std::move(spec)), code_(std::move(code)), function_(function) {}

  CpuKernelFunction function() const { return function_; }

private:
  std::shared_ptr<SharedObject> code_;
  CpuKernelFunction function_;
};

class CpuModule final : public Module {
public:
  CpuModule(std::shared_ptr<SharedObject> code, WorkerScratch &scratch)
      : code_(std::move(code)), scratch_(scratch) {}

  Result<std::unique_ptr<Kernel>> kernel(const KernelSpec &spec) override;

private:
  std::shared_ptr<SharedObject> code_;
  WorkerScratch &scratch_; // the device's
};

} // namespace sinter::hal
