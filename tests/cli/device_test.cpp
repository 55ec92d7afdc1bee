// --device, --plan and `sinter compile`: what is chosen is said, what is missing is one sentence,
// and nothing takes the place of what was asked for.
#include "cli/cli_test.h"

namespace sinter {
namespace {

class Devices : public CliTest {
protected:
  static bool systemHasGpu() {
    return access("/dev/dri", F_OK) == 0 || access("/dev/nvidiactl", F_OK) == 0 ||
           access("/dev/dxg", F_OK) == 0;
  }
  // A plan file of the tiny model for these targets.
  std::string compiled(const std::string &targets) {
    const std::string plan = path("model.plan");
    EXPECT_THAT(sinter({"compile", model_, "--target", targets, "-o", plan}), EndedWith(0));
    EXPECT_TRUE(std::filesystem::exists(plan));
    return plan;
  }
  void loseCompiler() { options_.environment["SINTER_COMPILER"] = path("no-compiler"); }
};

TEST_F(Devices, ADeviceThatIsNoneMakesNoSense) {
  for (const char *name : {"", "tpu", "cuda:", "cuda:x", "cuda:-1", "cuda:99999999999", "CPU"})
    EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--device", name}),
                RefusedSaying("--device is '" + std::string(name) + "', expected auto, cpu"))
        << name;
}

TEST_F(Devices, APlanOfAnotherKvTypeThanAskedForIsRefused) {
  const std::string plan = compiled("cpu");
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--plan", plan, "--kv-type", "q8_0"}),
              FailedSaying("the plan keeps keys and values in f16, asked for is q8_0"));
  for (const char *type : {"f16", "auto"})
    EXPECT_THAT(
        sinter({"run", model_, "-p", "hi", "-n", "1", "--raw", "--plan", plan, "--kv-type", type}),
        EndedWith(0))
        << type;
}

TEST_F(Devices, AutoTakesThePlansKvTypeWhateverItIs) {
  const std::string plan = path("bf16.plan");
  ASSERT_THAT(sinter({"compile", model_, "--target", "cpu", "-o", plan, "--kv-type", "bf16"}),
              EndedWith(0));
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--plan", plan, "--kv-type", "f16"}),
              FailedSaying("the plan keeps keys and values in bf16, asked for is f16"));
  EXPECT_THAT(
      sinter({"run", model_, "-p", "hi", "-n", "1", "--raw", "--plan", plan, "--kv-type", "auto"}),
      EndedWith(0));
}

TEST_F(Devices, APlanOfOtherActivationsThanAskedForIsRefused) {
  const std::string plan = compiled("cpu");
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--plan", plan, "--activations", "f32"}),
              FailedSaying("the plan was built for activations fastest, asked for is f32"));
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "-n", "1", "--raw", "--plan", plan,
                      "--activations", "fastest"}),
              EndedWith(0));
}

TEST_F(Devices, AKvTypeThatTheModelsHeadsDoNotFitIsRefused) {
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--device", "cpu", "--kv-type", "q8_0"}),
              FailedSaying("heads have 16 elements, a KV cache in Q8_0 takes multiples of 32"));
}

TEST_F(Devices, TheSecondCpuIsNotThere) {
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--device", "cpu:1"}),
              FailedSaying("--device cpu:"));
}

TEST_F(Devices, AMissingNvidiaDriverIsOneSentence) {
  if (access("/dev/nvidiactl", F_OK) == 0)
    GTEST_SKIP() << "this machine has an NVIDIA device";
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--device", "cuda"}),
              FailedSaying("--device cuda: no NVIDIA driver is installed"));
}

TEST_F(Devices, AMachineWithoutAVulkanDriverSaysSo) {
  options_.environment["VK_ICD_FILENAMES"] = path("none.json");
  options_.environment["VK_DRIVER_FILES"] = path("none.json");
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--device", "vulkan"}),
              FailedSaying("--device vulkan:"));
}

TEST_F(Devices, AutoSaysInOneLineWhatItChoseAndWhy) {
  if (systemHasGpu())
    GTEST_SKIP() << "this machine may have a GPU";
  const Outcome outcome =
      sinter({"run", model_, "-p", "hi", "-n", "4", "--temp", "0", "--device", "auto"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_THAT(outcome.err, HasSubstr("sinter: device: cpu '"));
  EXPECT_THAT(outcome.err, HasSubstr("since the system shows no GPU\n"));
}

TEST_F(Devices, WithoutAGpuTheDefaultIsTheCpuAndNothingIsSaidOfIt) {
  if (systemHasGpu())
    GTEST_SKIP() << "this machine may have a GPU";
  const Outcome chosen = answer(), named = sinter({"run", model_, "-p", "hi", "-n", "4", "--temp",
                                                   "0", "--device", "cpu"});
  EXPECT_THAT(chosen, EndedWith(0));
  EXPECT_THAT(chosen.err, Not(HasSubstr("device:")));
  EXPECT_EQ(chosen.out, named.out);
}

TEST_F(Devices, StepsThatBeginAheadAreRefusedWhereThePlanHasNone) {
  const std::string plan = compiled("cpu");
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--plan", plan, "--overlap", "on"}),
              FailedSaying("steps that begin ahead were asked for (--overlap on), and the plan for "
                           "this device has none"));
  EXPECT_THAT(
      sinter({"run", model_, "-p", "hi", "-n", "1", "--raw", "--plan", plan, "--overlap", "off"}),
      EndedWith(0));
}

TEST_F(Devices, AFamilysNameAloneIsOneTargetWhichIsSaid) {
  useCompiler("echo \"asked for $*\" >&2; exit 1");
  const Outcome outcome =
      sinter({"compile", model_, "--target", "metal", "-o", path("model.plan")});
  EXPECT_THAT(outcome, EndedWith(1));
  EXPECT_THAT(outcome.err, HasSubstr("sinter: target metal: metal:apple7, for Apple's GPUs"));
  EXPECT_THAT(outcome.err, HasSubstr("--target metal:apple7 "));
}

TEST_F(Devices, APlanForSeveralTargetsRunsWithoutACompiler) {
  const Outcome expected = answer();
  const std::string plan =
      compiled("cuda:sm_90a,vulkan:1.3+subgroup32+int8+int16+shared32768,host");
  loseCompiler();
  const Outcome outcome =
      sinter({"run", model_, "-p", "hi", "-n", "4", "--temp", "0", "--plan", plan});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_EQ(outcome.out, expected.out);
}

TEST_F(Devices, APlanForOtherDevicesIsRefusedByTheTargetsThatItHas) {
  const std::string plan = compiled("cuda:sm_90a,cuda:sm_80");
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--plan", plan, "--device", "cpu"}),
              FailedSaying("the plan is for cuda:sm_90a, cuda:sm_80, expected 'cpu:"));
}

TEST_F(Devices, APlanOfAnotherModelIsRefused) {
  const std::string plan = compiled("host");
  const std::string other = writeModel("other.gguf", {.matrices = TensorType::F32});
  EXPECT_THAT(sinter({"run", other, "-p", "hi", "--plan", plan}),
              FailedSaying("the plan was made for another model file"));
}

TEST_F(Devices, WhatIsNoPlanIsRefused) {
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--plan", write("x.plan", "no plan")}),
              FailedSaying("not a plan file"));
  EXPECT_THAT(sinter({"run", model_, "-p", "hi", "--plan", path("missing.plan")}),
              FailedSaying("missing.plan"));
}

TEST_F(Devices, CompilingForATargetThatIsNoneLeavesNoFile) {
  const std::string plan = path("model.plan");
  EXPECT_THAT(sinter({"compile", model_, "--target", "host,cuda:sm_1", "-o", plan}),
              FailedSaying("cuda:sm_1"));
  EXPECT_FALSE(std::filesystem::exists(plan));
}

// Text, not bits: products of blocks are exact and all else is rounded far below the distance of
// the tiny model's two likeliest tokens.
TEST_F(Devices, AVulkanDeviceGivesTheCpusAnswer) {
  const Outcome listed = sinter({"devices"});
  if (listed.out.find("vulkan:0") == std::string::npos)
    GTEST_SKIP() << "this machine has no Vulkan device";
  // Software devices compile slowly, so what they compiled serves later runs of the tests.
  options_.environment["MESA_SHADER_CACHE_DIR"] = SINTER_BIN_DIR "/../cli_tests_cache";
  const Outcome outcome = sinter({"run", model_, "-p", "hi", "-n", "4", "--temp", "0", "--device",
                                  "vulkan", "--context", "64"});
  EXPECT_THAT(outcome, EndedWith(0));
  EXPECT_EQ(outcome.out, answer().out);
}

TEST_F(Devices, AModelLargerThanTheDeviceIsRefusedWithTheNumbers) {
  const Outcome listed = sinter({"devices"});
  if (listed.out.find("(software)") == std::string::npos)
    GTEST_SKIP() << "this machine has no software device, whose memory is small";
  const std::string model = writeModel("long.gguf", {.context = 1 << 27});
  EXPECT_THAT(sinter({"run", model, "-p", "hi", "--device", "vulkan", "--context",
                      std::to_string(1 << 27)}),
              FailedSaying("bytes of weights and "));
}

} // namespace
} // namespace sinter
