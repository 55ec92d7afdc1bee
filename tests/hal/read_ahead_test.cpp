// Reading ahead: each part of what is expected is fetched once, and no more than a cache takes.
#include "hal/cpu/read_ahead.h"
#include "hal/cpu/thread_pool.h"

#include <gtest/gtest.h>
#include <vector>

namespace sinter::hal {
namespace {

constexpr uint32_t kHalf = uint32_t(1) << 31;

TEST(ReadAhead, NothingIsFetchedBeforeSomethingIsExpected) {
  const ReadAhead ahead(1 << 20);
  ReadAhead::Place place{0, kHalf};
  EXPECT_FALSE(ahead.fetchSome(place));
}

TEST(ReadAhead, APlaceGoesOverItsPartAndThenNoFurther) {
  const std::vector<uint8_t> bytes(1 << 16);
  ReadAhead ahead(1 << 20);
  ahead.expect(bytes);
  ReadAhead::Place place{kHalf / 2, kHalf};
  EXPECT_TRUE(ahead.fetchSome(place));
  EXPECT_GT(place.next, bytes.data() + bytes.size() / 4);
  EXPECT_LE(place.next, bytes.data() + bytes.size() / 4 + 1024) << "work would wait";
  while (ahead.fetchSome(place)) {
  }
  EXPECT_EQ(place.end, bytes.data() + bytes.size() / 2);
  EXPECT_GE(place.next, place.end);
  EXPECT_LT(place.next, place.end + 64);
  EXPECT_FALSE(ahead.fetchSome(place));
  ahead.expect(bytes); // the same
  EXPECT_FALSE(ahead.fetchSome(place));
}

TEST(ReadAhead, WhatIsExpectedNextIsFetchedFromItsBeginning) {
  const std::vector<uint8_t> bytes(1 << 16), others(1 << 14);
  ReadAhead ahead(1 << 20);
  ahead.expect(bytes);
  ReadAhead::Place place{0, kHalf};
  EXPECT_TRUE(ahead.fetchSome(place));
  ahead.expect(others);
  while (ahead.fetchSome(place)) {
  }
  EXPECT_EQ(place.end, others.data() + others.size() / 2);
}

TEST(ReadAhead, NoMoreIsFetchedThanACacheTakes) {
  const std::vector<uint8_t> bytes(1 << 16);
  ReadAhead ahead(1000);
  ahead.expect(bytes);
  ReadAhead::Place place{0, kHalf};
  while (ahead.fetchSome(place)) {
  }
  EXPECT_EQ(place.end, bytes.data() + 1000);
}

// Nothing is loaded: memory that is gone, or never was, does no harm.
TEST(ReadAhead, JobsRunWhateverIsExpected) {
  for (const uint32_t threads : {1u, 2u, 7u}) {
    auto pool = ThreadPool::create(threads, {{0}, {1}});
    ASSERT_TRUE(pool.has_value()) << pool.error().toString();
    (*pool)->enterStep();
    std::atomic<int64_t> sum = 0;
    for (uintptr_t round = 0; round < 300; ++round) {
      (*pool)->expect({reinterpret_cast<const uint8_t *>(round << 36 | 4096), round << 20});
      (*pool)->run(
          40,
          [](void *context, uint32_t, int64_t first, int64_t last) {
            for (int64_t i = first; i < last; ++i)
              static_cast<std::atomic<int64_t> *>(context)->fetch_add(i);
          },
          &sum);
    }
    (*pool)->leaveStep();
    EXPECT_EQ(sum.load(), 300 * 40 * 39 / 2);
  }
}

} // namespace
} // namespace sinter::hal
