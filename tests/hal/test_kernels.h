// The bytes of the shared object built from tests/hal/kernels.c.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <vector>

namespace sinter::hal {

// Found from the test program's own place, so that bin/ and lib/ can be carried to another machine.
// Fails the calling test where the build has no target sinter_test_kernels (tests/hal/tests.cmake).
inline std::vector<uint8_t> testKernels() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::ifstream in(program.parent_path().parent_path() / "lib" / "test_kernels.so",
                   std::ios::binary);
  EXPECT_TRUE(in.good()) << "no ../lib/test_kernels.so beside the test program's folder: "
                            "tests/hal/tests.cmake must be included";
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

#if defined(__aarch64__)
inline constexpr const char *kTestTarget = "cpu:aarch64";
#else
inline constexpr const char *kTestTarget = "cpu:x86_64";
#endif

} // namespace sinter::hal
