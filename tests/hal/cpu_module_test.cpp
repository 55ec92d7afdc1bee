// Code that the cpu driver loads and code that it refuses.
#include "hal/cpu/cpu_driver.h"
#include "hal/cpu/cpu_module.h"
#include "hal/cpu/host_cpu.h"

#include "hal/test_kernels.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::hal {
namespace {

class CpuModuleTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(addCpuDriver(registry_).has_value());
    auto device = registry_.find("cpu").value()->open(0, {1});
    ASSERT_TRUE(device.has_value()) << device.error().toString();
    device_ = std::move(*device);
    code_ = testKernels();
    ASSERT_GT(code_.size(), sizeof(Elf64_Ehdr));
  }
  Status errorOf(std::string_view target) {
    auto module = device_->loadModule(target, code_);
    EXPECT_FALSE(module.has_value());
    return module ? Status{Code::Cancelled, ""} : module.error();
  }
  Elf64_Ehdr &header() { return *reinterpret_cast<Elf64_Ehdr *>(code_.data()); }

  DriverRegistry registry_;
  std::unique_ptr<Device> device_;
  std::vector<uint8_t> code_;
};

TEST_F(CpuModuleTest, CodeForAllOfTheHostsFeaturesLoads) {
  auto module = device_->loadModule(device_->info().target, code_);
  EXPECT_TRUE(module.has_value()) << module.error().toString();
}

TEST_F(CpuModuleTest, CodeForAFeatureThatTheHostLacksIsRefusedByName) {
  const Status error = errorOf(std::string(kTestTarget) + "+timetravel");
  EXPECT_EQ(error.code, Code::Unsupported);
  EXPECT_THAT(error.message, ::testing::HasSubstr("the processor has no 'timetravel'"));
}

TEST_F(CpuModuleTest, CodeForAnotherArchitectureOrDeviceIsRefused) {
  for (const char *target : {"cpu:riscv64", "cuda:sm_90", "cpu:", "", "cpu"})
    EXPECT_EQ(errorOf(target).code, Code::Unsupported) << target;
  EXPECT_EQ(errorOf(std::string(kTestTarget) + "+").code, Code::Unsupported);
}

TEST_F(CpuModuleTest, TwoModulesOfTheSameCodeAreApart) {
  auto first = SharedObject::load(code_), second = SharedObject::load(code_);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_NE((*first)->find("add_f32"), nullptr);
  EXPECT_NE((*first)->find("add_f32"), (*second)->find("add_f32"));
}

TEST_F(CpuModuleTest, ASymbolThatTheCodeLacksIsNotFound) {
  auto module = device_->loadModule(kTestTarget, code_);
  auto kernel = (*module)->kernel({"absent", 0, 0, 0});
  ASSERT_FALSE(kernel.has_value());
  EXPECT_EQ(kernel.error().code, Code::NotFound);
  EXPECT_EQ(kernel.error().message, "code has no kernel 'absent'");
}

TEST_F(CpuModuleTest, ScratchBeyondAllMemoryIsRefusedAndTheDeviceGoesOn) {
  auto module = device_->loadModule(kTestTarget, code_);
  EXPECT_EQ((*module)->kernel({"do_nothing", 0, 0, UINT64_MAX}).error().code, Code::Exhausted);
  EXPECT_TRUE((*module)->kernel({"do_nothing", 0, 0, 64}).has_value());
}

TEST_F(CpuModuleTest, BytesThatAreNoSharedObjectAreRefused) {
  const auto whole = code_;
  code_.clear();
  EXPECT_EQ(errorOf(kTestTarget).code, Code::Corrupt);
  code_.assign(1000, 0x5a);
  EXPECT_EQ(errorOf(kTestTarget).code, Code::Corrupt);
  code_ = whole;
  header().e_type = ET_REL;
  EXPECT_EQ(errorOf(kTestTarget).code, Code::Corrupt);
}

TEST_F(CpuModuleTest, AnObjectOfAnotherMachineIsUnsupported) {
  header().e_machine = EM_RISCV;
  EXPECT_EQ(errorOf(kTestTarget).code, Code::Unsupported);
}

TEST_F(CpuModuleTest, ATruncatedObjectIsRefusedBeforeTheLoaderSeesIt) {
  for (std::size_t size : {std::size_t(64), sizeof(Elf64_Ehdr) + 10, code_.size() / 4}) {
    code_.resize(size);
    EXPECT_EQ(errorOf(kTestTarget).code, Code::Corrupt) << size;
    code_ = testKernels();
  }
}

TEST_F(CpuModuleTest, ProgramHeadersOutsideOfTheFileAreRefused) {
  header().e_phoff = UINT64_MAX - 8;
  EXPECT_EQ(errorOf(kTestTarget).code, Code::Corrupt);
}

} // namespace
} // namespace sinter::hal
