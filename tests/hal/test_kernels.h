// The bytes of the shared object built from tests/hal/kernels.c.
#pragma once

#include <cstdint>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <vector>

namespace sinter::hal {

// Fails the calling test where the build has no target sinter_test_kernels (tests/hal/tests.cmake).
inline std::vector<uint8_t> testKernels() {
  std::ifstream in(SINTER_BIN_DIR "/../lib/test_kernels.so", std::ios::binary);
  EXPECT_TRUE(in.good()) << "the build made no lib/test_kernels.so: tests/hal/tests.cmake must be "
                            "included";
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

#if defined(__aarch64__)
inline constexpr const char *kTestTarget = "cpu:aarch64";
#else
inline constexpr const char *kTestTarget = "cpu:x86_64";
#endif

} // namespace sinter::hal
