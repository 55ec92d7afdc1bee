// Runs kernels of the registry in the interpreter: deterministic data, views of vectors, error
// bounds.
#pragma once

#include "kernels/registry.h"
#include "numeric/half.h"
#include "tile/front/front.h"
#include "tile/interpreter/interpreter.h"

#include <cmath>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace sinter::kernels {

using tile::Argument;
using tile::HostView;

// Numbers in [-1, 1) that depend on the seed only.
inline std::vector<float> randomFloats(size_t count, uint64_t seed) {
  std::vector<float> values(count);
  uint64_t state = seed * 2654435761u + 1;
  for (float &value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<int32_t>(state >> 32)) / 2147483648.0f;
  }
  return values;
}

template <class T> Argument viewOf(const std::vector<T> &data, std::vector<int64_t> shape) {
  return HostView::contiguous(const_cast<T *>(data.data()), shape);
}

// Builds kernel `name` with `settings` and runs it; fails the test where either does not succeed.
inline void runKernel(const std::string &name, const Settings &settings,
                      const std::vector<Argument> &arguments) {
  tile::KernelModule module = tile::KernelModule::build([&](kernel::Module &defined) {
    auto entry = findKernel(name);
    ASSERT_TRUE(entry.has_value()) << entry.error().message;
    auto result = entry->define(defined, name, settings);
    ASSERT_TRUE(result.has_value()) << result.error().message;
  });
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  auto kernels = module.module().getOps<tile::KernelOp>();
  ASSERT_FALSE(kernels.empty());
  auto result = tile::interpretKernel(*kernels.begin(), arguments);
  ASSERT_TRUE(result.has_value()) << result.error().message;
}

// Each element within `relative` of its reference's magnitude plus `absolute`.
inline void expectClose(const std::vector<float> &found, const std::vector<double> &expected,
                        double relative, double absolute) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_LE(std::abs(found[i] - expected[i]), relative * std::abs(expected[i]) + absolute)
        << "element " << i << " is " << found[i] << ", expected " << expected[i];
}

} // namespace sinter::kernels
