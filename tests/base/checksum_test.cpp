// The checksum of files: of every byte, in the canonical form.
#include "base/checksum.h"

#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace sinter {
namespace {

std::vector<uint8_t> sealed(size_t size) {
  std::vector<uint8_t> file(size + kChecksumBytes);
  std::iota(file.begin(), file.end(), uint8_t(1));
  sealFile(file);
  return file;
}

TEST(Checksum, OfNothingIsTheOnePublishedForXxh3) {
  const std::vector<uint8_t> file = sealed(0);
  EXPECT_EQ(file, (std::vector<uint8_t>{0x99, 0xaa, 0x06, 0xd3, 0x01, 0x47, 0x98, 0xd8, 0x60, 0x01,
                                        0xc3, 0x24, 0x46, 0x8d, 0x49, 0x7f}));
}

TEST(Checksum, FindsEveryFlippedBit) {
  std::vector<uint8_t> file = sealed(40);
  ASSERT_TRUE(isSealed(file));
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    file[bit / 8] ^= uint8_t(1 << bit % 8);
    EXPECT_FALSE(isSealed(file)) << bit;
    file[bit / 8] ^= uint8_t(1 << bit % 8);
  }
}

TEST(Checksum, IsMissingInAFileThatIsShorter) {
  EXPECT_FALSE(isSealed(std::vector<uint8_t>(kChecksumBytes - 1)));
}

} // namespace
} // namespace sinter
