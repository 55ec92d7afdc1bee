// Names of devices, and the one that is chosen where none is named.
#include "host/device_choice.h"

#include <gmock/gmock.h>

namespace sinter::host {
namespace {

using testing::HasSubstr;

TEST(DeviceChoice, NamesAreADriverWithOrWithoutANumber) {
  EXPECT_EQ(parseDeviceName("auto")->driver, "auto");
  EXPECT_EQ(parseDeviceName("cpu")->index, 0u);
  EXPECT_EQ(parseDeviceName("cuda:1")->driver, "cuda");
  EXPECT_EQ(parseDeviceName("vulkan:12")->index, 12u);
  for (const char *name :
       {"", "tpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999999999", "CPU", "a:1"})
    EXPECT_FALSE(parseDeviceName(name)) << name;
  for (const std::string &name : deviceNames())
    EXPECT_TRUE(parseDeviceName(name)) << name;
}

TEST(DeviceChoice, ANamedDeviceNeedsNoReason) {
  const auto choice = openDevice(DeviceName{"cpu"}, 1);
  ASSERT_TRUE(choice) << choice.error().toString();
  EXPECT_EQ(choice->device->info().driver, "cpu");
  EXPECT_EQ(choice->why, "");
}

TEST(DeviceChoice, NothingTakesThePlaceOfADeviceThatIsNotThere) {
  const auto choice = openDevice(DeviceName{"cpu", 1}, 1);
  ASSERT_FALSE(choice);
  EXPECT_EQ(choice.error().code, Code::NotFound);
}

TEST(DeviceChoice, AutoHasAReasonAndTakesNoSoftwareForAGpu) {
  const auto choice = openDevice(DeviceName{"auto"}, 1);
  ASSERT_TRUE(choice) << choice.error().toString();
  EXPECT_THAT(choice->why, HasSubstr("device: " + choice->device->info().driver));
  EXPECT_FALSE(isSoftware(choice->device->info()));
}

} // namespace
} // namespace sinter::host
