// A family's name alone: this machine's device, else the family's default.
#include "hal/target_choice.h"

#include <gmock/gmock.h>

namespace sinter::hal {
namespace {

using testing::HasSubstr;

// Has devices of these targets, or fails.
class StubDriver final : public Driver {
public:
  StubDriver(std::string name, std::vector<std::string> targets)
      : name_(std::move(name)), targets_(std::move(targets)) {}
  std::string_view name() const override { return name_; }
  Result<std::vector<DeviceInfo>> devices() override {
    if (targets_.empty())
      return fail(Code::NotFound, "no driver is installed");
    std::vector<DeviceInfo> devices;
    for (const std::string &target : targets_)
      devices.push_back({.driver = name_, .name = "stub", .target = target});
    return devices;
  }
  Result<std::unique_ptr<Device>> open(uint32_t, const DeviceOptions &) override {
    return fail(Code::NotFound, "nothing to open");
  }

private:
  std::string name_;
  std::vector<std::string> targets_;
};

class TargetChoiceTest : public testing::Test {
protected:
  void add(const std::string &driver, std::vector<std::string> targets) {
    ASSERT_TRUE(registry.add(std::make_unique<StubDriver>(driver, std::move(targets))));
  }
  DriverRegistry registry;
};

TEST_F(TargetChoiceTest, AFamilyIsThisMachinesFirstDevice) {
  add("cuda", {"cuda:sm_90a", "cuda:sm_80"});
  const TargetChoice choice = chooseTarget("cuda", registry);
  EXPECT_EQ(choice.target, "cuda:sm_90a");
  EXPECT_THAT(choice.why, HasSubstr("this machine's 'stub'"));
}

TEST_F(TargetChoiceTest, WithoutSuchADeviceItIsTheFamilysDefault) {
  add("cuda", {});
  EXPECT_EQ(chooseTarget("cuda", registry).target, "cuda:sm_80");
  for (const TargetFamily &family : targetFamilies()) {
    const TargetChoice choice = chooseTarget(std::string(family.name), registry);
    EXPECT_EQ(choice.target, family.target);
    EXPECT_TRUE(choice.target.starts_with(std::string(family.name) + ":"));
    EXPECT_THAT(choice.why, HasSubstr(choice.target));
  }
}

TEST_F(TargetChoiceTest, OtherNamesStayAndAskNoDriver) {
  add("cuda", {"cuda:sm_90a"});
  for (const char *name : {"", "host", "cpu", "avx2", "cuda:sm_80", "cuda:", "CUDA", "nonsense"}) {
    const TargetChoice choice = chooseTarget(name, registry);
    EXPECT_EQ(choice.target, name);
    EXPECT_EQ(choice.why, "");
  }
}

} // namespace
} // namespace sinter::hal
