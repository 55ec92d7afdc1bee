// Numbers as texts.
#include "base/number_text.h"

#include <gtest/gtest.h>

namespace sinter {
namespace {

TEST(Bytes, AreSaidInTheLargestUnitThatFits) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1024), "1.0 KiB");
  EXPECT_EQ(bytesText(1e30).substr(bytesText(1e30).size() - 3), "TiB");
}

} // namespace
} // namespace sinter
