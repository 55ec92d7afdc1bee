// Runs one kernel on a device of the hal, its views between zones that nothing may write to.
#pragma once

#include "hal/hal.h"
#include "targets/launch.h"
#include "targets/registry.h"

namespace sinter::targets::cpu {

// The only kernel of a module, compiled for a device and loaded there.
class DeviceKernel {
public:
  static constexpr size_t kZone = 256;
  static constexpr uint8_t kPoison = 0xa5;

  // `compiler` is for the device's own target, or one that asks for less.
  static Result<DeviceKernel> load(mlir::ModuleOp module, const Target &compiler,
                                   hal::Device &device) {
    SINTER_ASSIGN(targets::CompiledModule code, targets::compileKernels(compiler, module));
    DeviceKernel result;
    const EmittedKernel &emitted = code.kernels.front();
    result.source_ = *module.getOps<tile::KernelOp>().begin();
    result.device_ = &device;
    SINTER_ASSIGN(result.module_, device.loadModule(compiler.name(), code.code));
    SINTER_ASSIGN(result.kernel_, result.module_->kernel(
                                      {emitted.symbol, static_cast<uint32_t>(emitted.bufferCount),
                                       static_cast<uint32_t>(emitted.scalarCount), 0,
                                       static_cast<uint32_t>(emitted.threads),
                                       static_cast<uint64_t>(emitted.sharedBytes)}));
    SINTER_ASSIGN(result.stream_, device.createStream());
    return result;
  }

  tile::KernelOp source() { return source_; }

  Result<LaunchArguments> launch(LaunchArguments arguments) {
    SINTER_ASSIGN(Placed placed, place(arguments));
    std::array<int64_t, 3> grid = gridOf(source_, arguments);
    EXPECT_GE(grid[0], 0) << "the grid does not fold";
    SINTER_TRY(stream_->launch(*kernel_, grid, placed.bindings, placed.scalars));
    SINTER_TRY(stream_->synchronize());
    size_t next = 0;
    for (LaunchArgument &a : arguments)
      if (a.view())
        SINTER_TRY(readBack(a, *placed.buffers[next++]));
    return arguments;
  }

private:
  struct Placed {
    std::vector<std::unique_ptr<hal::Buffer>> buffers;
    std::vector<hal::BufferBinding> bindings;
    std::vector<int64_t> scalars;
  };

  Result<Placed> place(const LaunchArguments &arguments) {
    Placed placed;
    for (const LaunchArgument &a : arguments) {
      if (!a.view()) {
        placed.scalars.push_back(a.scalar);
        continue;
      }
      llvm::append_range(placed.scalars, a.shape);
      for (size_t axis = 0; axis + (a.view().getStrided() ? 0 : 1) < a.strides.size(); ++axis)
        placed.scalars.push_back(a.strides[axis]);
      std::vector<uint8_t> bytes(a.bytes.size() + 2 * kZone, kPoison);
      llvm::copy(a.bytes, bytes.begin() + kZone);
      SINTER_ASSIGN(auto buffer, device_->allocate(bytes.size()));
      SINTER_TRY(stream_->write(*buffer, 0, bytes));
      placed.bindings.push_back({buffer.get(), kZone});
      placed.buffers.push_back(std::move(buffer));
    }
    return placed;
  }

  Result<void> readBack(LaunchArgument &a, hal::Buffer &buffer) {
    std::vector<uint8_t> bytes(buffer.bytes());
    SINTER_TRY(stream_->read(buffer, 0, bytes));
    auto poisoned = [](uint8_t byte) { return byte == kPoison; };
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.begin() + kZone, poisoned) &&
                std::all_of(bytes.end() - kZone, bytes.end(), poisoned))
        << "the kernel wrote outside view '" << a.name << "'";
    if (!a.written())
      EXPECT_TRUE(std::equal(a.bytes.begin(), a.bytes.end(), bytes.begin() + kZone))
          << "the kernel wrote to view '" << a.name << "', which it reads";
    a.bytes.assign(bytes.begin() + kZone, bytes.end() - kZone);
    return {};
  }

  tile::KernelOp source_;
  hal::Device *device_ = nullptr;
  std::unique_ptr<hal::Module> module_;
  std::unique_ptr<hal::Kernel> kernel_;
  std::unique_ptr<hal::Stream> stream_;
};

} // namespace sinter::targets::cpu
