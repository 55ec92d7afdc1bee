// The driver registry: what is found, and what the error says when it is not.
#include "hal/cpu/cpu_driver.h"
#include "hal/null/null_driver.h"

#include <gtest/gtest.h>

namespace sinter::hal {
namespace {

TEST(DriverRegistry, FindsWhatWasAdded) {
  DriverRegistry registry;
  ASSERT_TRUE(addCpuDriver(registry).has_value());
  ASSERT_TRUE(addNullDriver(registry).has_value());
  EXPECT_EQ(registry.find("cpu").value()->name(), "cpu");
  EXPECT_EQ(registry.find("null").value()->name(), "null");
}

TEST(DriverRegistry, NamesTheDriversThereAreWhenOneIsMissing) {
  DriverRegistry registry;
  EXPECT_EQ(registry.find("cuda").error().message,
            "no driver is named 'cuda', expected one of: (none)");
  ASSERT_TRUE(addCpuDriver(registry).has_value());
  ASSERT_TRUE(addNullDriver(registry).has_value());
  EXPECT_EQ(registry.find("cuda").error().message,
            "no driver is named 'cuda', expected one of: cpu, null");
  EXPECT_EQ(registry.find("cuda").error().code, Code::NotFound);
}

TEST(DriverRegistry, RefusesASecondDriverOfTheSameName) {
  DriverRegistry registry;
  ASSERT_TRUE(addNullDriver(registry).has_value());
  EXPECT_EQ(addNullDriver(registry).error().code, Code::InvalidArgument);
  EXPECT_EQ(registry.drivers().size(), 1u);
}

} // namespace
} // namespace sinter::hal
