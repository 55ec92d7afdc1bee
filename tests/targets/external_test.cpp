// Kernels written outside of the tree through the C++ API: loaded, compiled, launched on the device
// and compared with what their source says.
#include "tile/mlir_pch.h"

#include "hal/cpu/cpu_driver.h"
#include "targets/launch.h"

namespace sinter::targets::cpu {
namespace {

const char *kKernels = SINTER_BIN_DIR "/../lib/external_kernels.so";

// The external kernels compiled for this processor and loaded by its device.
struct ExternalKernels {
  Result<void> open() {
    SINTER_ASSIGN(tile::KernelModule module, tile::KernelModule::load(kKernels));
    SINTER_ASSIGN(CpuFacts facts, hostFacts());
    SINTER_ASSIGN(code, compileKernels(module.module(), facts));
    SINTER_TRY(hal::addCpuDriver(registry));
    SINTER_ASSIGN(hal::Driver * driver, registry.find("cpu"));
    SINTER_ASSIGN(device, driver->open(0, {2}));
    SINTER_ASSIGN(loaded, device->loadModule(facts.targetName(), code.sharedObject));
    SINTER_ASSIGN(stream, device->createStream());
    return {};
  }

  // Launches kernel `name` on memory of the caller.
  Result<void> launch(const std::string &name, hal::Grid grid,
                      std::vector<std::span<uint8_t>> memory, std::vector<int64_t> scalars) {
    auto facts = llvm::find_if(code.kernels, [&](const auto &k) { return k.symbol == name; });
    if (facts == code.kernels.end())
      return fail(Code::NotFound, "no kernel " + name);
    SINTER_ASSIGN(auto kernel, loaded->kernel({name, static_cast<uint32_t>(facts->bufferCount),
                                               static_cast<uint32_t>(facts->scalarCount),
                                               static_cast<uint64_t>(facts->scratchBytes)}));
    std::vector<std::unique_ptr<hal::Buffer>> buffers;
    std::vector<hal::BufferBinding> bindings;
    for (std::span<uint8_t> bytes : memory) {
      SINTER_ASSIGN(auto buffer, device->wrap(bytes));
      bindings.push_back({buffer.get(), 0});
      buffers.push_back(std::move(buffer));
    }
    SINTER_TRY(stream->launch(*kernel, grid, bindings, scalars));
    return stream->synchronize();
  }

  hal::DriverRegistry registry;
  std::unique_ptr<hal::Device> device;
  CompiledModule code;
  std::unique_ptr<hal::Module> loaded;
  std::unique_ptr<hal::Stream> stream;
};

// Memory that the device takes as it is.
template <class T> struct Aligned {
  explicit Aligned(size_t count) : storage(count + 64 / sizeof(T)) {
    size_t past = reinterpret_cast<uintptr_t>(storage.data()) % 64;
    data = storage.data() + (past ? (64 - past) / sizeof(T) : 0);
    values = {data, count};
  }
  std::span<uint8_t> bytes() {
    return {reinterpret_cast<uint8_t *>(data), values.size() * sizeof(T)};
  }
  std::vector<T> storage;
  T *data;
  std::span<T> values;
};

TEST(ExternalKernels, AnElementwiseKernelRunsOnTheDevice) {
  ExternalKernels kernels;
  Result<void> opened = kernels.open();
  ASSERT_TRUE(opened.has_value()) << opened.error().toString();
  const int64_t rows = 7, columns = 53;
  const float beta = 1.5f;
  Aligned<float> x(rows * columns), out(rows * columns);
  for (int64_t i = 0; i < rows * columns; ++i)
    x.values[i] = static_cast<float>(i % 31) * 0.4f - 6;
  Result<void> done = kernels.launch(
      "swish", {2, 2, 1}, {x.bytes(), out.bytes()},
      {rows, columns, columns, rows, columns, columns, std::bit_cast<int32_t>(beta)});
  ASSERT_TRUE(done.has_value()) << done.error().toString();
  for (int64_t i = 0; i < rows * columns; ++i) {
    double value = x.values[i], expected = value / (1 + std::exp(-value * beta));
    ASSERT_LE(std::abs(out.values[i] - expected), 2e-6 * std::abs(expected) + 1e-9) << i;
  }
}

TEST(ExternalKernels, AKernelWithALoopRunsOnTheDevice) {
  ExternalKernels kernels;
  Result<void> opened = kernels.open();
  ASSERT_TRUE(opened.has_value()) << opened.error().toString();
  const int64_t rows = 5, columns = 67;
  Aligned<uint16_t> a(rows * columns), b(rows * columns);
  Aligned<float> out(rows);
  std::vector<double> expected(rows);
  for (int64_t i = 0; i < rows * columns; ++i) {
    a.values[i] = f32ToF16(static_cast<float>(i % 7) - 3);
    b.values[i] = f32ToF16(static_cast<float>(i % 5) * 0.5f);
    expected[i / columns] += double(f16ToF32(a.values[i])) * f16ToF32(b.values[i]);
  }
  Result<void> done = kernels.launch("row_dots", {2, 1, 1}, {a.bytes(), b.bytes(), out.bytes()},
                                     {rows, columns, columns, rows, columns, columns, rows, 1, 1});
  ASSERT_TRUE(done.has_value()) << done.error().toString();
  for (int64_t row = 0; row < rows; ++row)
    EXPECT_EQ(out.values[row], expected[row]) << row; // halves of small integers add exactly
}

} // namespace
} // namespace sinter::targets::cpu
