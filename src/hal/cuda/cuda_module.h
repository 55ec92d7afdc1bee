// Code of the cuda driver: PTX text assembled by the driver library, and its kernels.
#pragma once

#include "hal/cuda/cuda_context.h"

namespace sinter::hal::cuda {

// The bytes that a launch's parameters may take on every device.
inline constexpr uint64_t kMaxParameterBytes = 4096;

// Of "cuda:sm_80": any device of capability 8.0 or later runs it. "sm_90a": only 9.0. "sm_100f":
// 10.0 and later ones of the same major number. Unsupported: anything else, or another device.
Result<void> checkTarget(std::string_view target, const DeviceInfo &info, uint32_t capability);

// A module's handle; unloaded when destroyed.
class Assembly {
public:
  // Corrupt, with the assembler's own words: `ptx` cannot be assembled.
  static Result<std::shared_ptr<Assembly>> load(Context &context, std::span<const uint8_t> ptx,
                                                const CudaAssembly &options = {});
  ~Assembly();
  Assembly(const Assembly &) = delete;
  Assembly &operator=(const Assembly &) = delete;

  Context &context() const { return context_; }
  Result<FunctionHandle> find(const std::string &symbol) const;

private:
  explicit Assembly(Context &context) : context_(context) {}

  Context &context_;
  ModuleHandle handle_ = nullptr;
};

class CudaKernel final : public Kernel {
public:
  CudaKernel(KernelSpec spec, std::shared_ptr<Assembly> code, FunctionHandle function,
             CudaKernelResources resources)
      : Kernel(std::move(spec)), code_(std::move(code)), function_(function),
        resources_(resources) {}

  FunctionHandle function() const { return function_; }
  const CudaKernelResources &resources() const { return resources_; }

private:
  std::shared_ptr<Assembly> code_;
  FunctionHandle function_;
  CudaKernelResources resources_;
};

class CudaModule final : public Module {
public:
  explicit CudaModule(std::shared_ptr<Assembly> code) : code_(std::move(code)) {}

  Result<std::unique_ptr<Kernel>> kernel(const KernelSpec &spec) override;

private:
  std::shared_ptr<Assembly> code_;
};

} // namespace sinter::hal::cuda
