// Maxima of rows by the bits of their values, where a processor has no instruction for them: NaN is
// kept, and -0 is below +0.
#include "sched/schedule_support.h"

#include <cmath>
#include <limits>

namespace sinter::sched {
namespace {

constexpr int64_t kColumns = 4096;

constexpr const char *kMaximum = R"(
tile.kernel @k(%x: !tile.view<1x4096xf32, in>, %out: !tile.view<1x1xf32, out>) {
  %c1 = arith.constant 1 : index
  %c0 = arith.constant 0 : index
  tile.grid %c1, %c1, %c1
  %tile = tile.load %x[%c0, %c0] : !tile.view<1x4096xf32, in> -> tensor<1x4096xf32>
  %max = tile.reduce max %tile axis 1 : tensor<1x4096xf32> -> tensor<1x1xf32>
  tile.store %max, %out[%c0, %c0] : tensor<1x1xf32>, !tile.view<1x1xf32, out>
}
)";

// Of a row of `most` values, and `others` here and there.
float maximumOf(float most, std::vector<float> others, bool ownMaximum) {
  SimtFacts facts;
  facts.ownMaximum = ownMaximum;
  Made found = made(kMaximum, facts);
  EXPECT_EQ(found.message, "scheduled");
  std::vector<float> x(kColumns, most), out(1);
  for (size_t at = 0; at < others.size(); ++at)
    x[at * 2517 % kColumns] = others[at];
  std::vector<tile::Argument> arguments{tile::HostView::contiguous(x.data(), {1, kColumns}),
                                        tile::HostView::contiguous(out.data(), {1, 1})};
  auto ran = sched::interpretKernel(found.kernel(), arguments);
  EXPECT_TRUE(ran) << ran.error().message;
  return out.front();
}

TEST(Maximum, IsTheSameByBits) {
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN(), tiny = 0x1p-149f;
  const float kinds[] = {0.0f, -0.0f, 1.5f, -1.5f, tiny, -tiny, infinity, -infinity, nan, -nan};
  for (float most : kinds)
    for (float one : kinds)
      for (float other : {one, -2.5f}) {
        SCOPED_TRACE(testing::Message() << most << " with " << one << " and " << other);
        float expected = maximumOf(most, {one, other}, true);
        float found = maximumOf(most, {one, other}, false);
        EXPECT_EQ(std::isnan(found), std::isnan(most) || std::isnan(one));
        EXPECT_TRUE(std::isnan(found) ||
                    (found == expected && std::signbit(found) == std::signbit(expected)))
            << found << ", expected " << expected;
      }
}

} // namespace
} // namespace sinter::sched
