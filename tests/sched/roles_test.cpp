// Roles and channels in the scheduled interpreter: a specialised GEMM, and every way to get stuck.
#include "sched/interp_support.h"

#include <random>

namespace sinter::sched {
namespace {

std::vector<float> randomFloats(size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float &value : values)
    value = uniform(engine);
  return values;
}

std::vector<float> multiply(const std::string &file, uint64_t quantum) {
  int64_t m = 37, n = 29, k = 83;
  auto a = randomFloats(m * k, 1), b = randomFloats(k * n, 2);
  std::vector<float> c(m * n, -1.0f);
  InterpreterOptions options;
  options.quantum = quantum;
  auto result = runKernel(textOf(file),
                          {tile::HostView::contiguous(a.data(), {m, k}),
                           tile::HostView::contiguous(b.data(), {k, n}),
                           tile::HostView::contiguous(c.data(), {m, n})},
                          options);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return c;
}

TEST(Roles, ASpecialisedGemmIsBitForBitThePlainOne) {
  EXPECT_EQ(multiply("gemm_roles.mlir", 0), multiply("gemm_plain.mlir", 0));
}

class Quantum : public testing::TestWithParam<uint64_t> {};
TEST_P(Quantum, DoesNotChangeResults) {
  EXPECT_EQ(multiply("gemm_roles.mlir", GetParam()), multiply("gemm_plain.mlir", 0));
}
INSTANTIATE_TEST_SUITE_P(Operations, Quantum, testing::Values(1, 2, 3, 7, 1000));

constexpr const char *kChannel = "!sched.channel<1, tensor<16xf32>>";
std::string put(const std::string &value, const std::string &channel) {
  return "sched.put " + value + ", " + channel + " : tensor<16xf32>, " + kChannel + "\n";
}
std::string get(const std::string &result, const std::string &channel) {
  return result + " = sched.get " + channel + " : " + kChannel + " -> tensor<16xf32>\n";
}
std::string make(const std::string &channel) {
  return channel + " = sched.make_channel : " + kChannel + "\n";
}
std::string role(const std::string &name, const std::string &body) {
  return "sched.role \"" + name + "\" {\n" + body + "}\n";
}
std::string roles(const std::string &body) {
  return "sched.roles {\n" + body + "}\n";
}
const char *const kStore = "tile.store %r, %y[%c0] : tensor<16xf32>, !tile.view<16xf32, out>\n";

TEST(Roles, ATileArrivesAsItWasPut) {
  auto outcome = runAround(
      make("%q") + roles(role("one", put("%t", "%q")) + role("two", get("%r", "%q") + kStore)));
  ASSERT_EQ(outcome.message, "succeeded");
  for (size_t i = 0; i < 16; ++i)
    EXPECT_EQ(outcome.values[i], float(i));
}

TEST(Roles, TheOrderOfRolesInTheTextDoesNotMatter) {
  auto outcome = runAround(
      make("%q") + roles(role("two", get("%r", "%q") + kStore) + role("one", put("%t", "%q"))));
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.values[7], 7.0f);
}

TEST(Roles, TilesLeaveAChannelInTheOrderTheyCame) {
  std::string twice =
      put("%t", "%q") + "%d = arith.addf %t, %t : tensor<16xf32>\n" + put("%d", "%q");
  auto outcome = runAround(
      make("%q") + roles(role("one", twice) +
                         role("two", get("%f", "%q") + get("%s", "%q") +
                                         "%r = arith.subf %s, %f : tensor<16xf32>\n" + kStore)));
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.values[5], 5.0f);
}

TEST(Roles, AChannelThatIsNeverFilledIsADeadlock) {
  auto outcome =
      runAround(make("%q") + roles(role("load", "") + role("compute", get("%r", "%q") + kStore)));
  EXPECT_EQ(outcome.message,
            "kernel.mlir:9:1: 'sched.roles' deadlocks: role 'load' has ended; role 'compute' waits "
            "at kernel.mlir:13:6 to get from channel 0 (made at kernel.mlir:8:6, holds 0 of 1 "
            "tiles) (in program 0, 0, 0)");
}

TEST(Roles, TwoThatWaitForEachOtherAreADeadlock) {
  auto outcome = runAround(make("%p") + make("%q") +
                           roles(role("a", get("%u", "%p") + put("%u", "%q")) +
                                 role("b", get("%u", "%q") + put("%u", "%p"))));
  EXPECT_EQ(outcome.message,
            "kernel.mlir:10:1: 'sched.roles' deadlocks: role 'a' waits at kernel.mlir:12:6 to get "
            "from channel 0 (made at kernel.mlir:8:6, holds 0 of 1 tiles); role 'b' waits at "
            "kernel.mlir:16:6 to get from channel 1 (made at kernel.mlir:9:6, holds 0 of 1 tiles) "
            "(in program 0, 0, 0)");
}

TEST(Roles, AChannelTooShallowForItsUseIsADeadlock) {
  // The producer fills %p twice before %q; the consumer wants %q first.
  auto outcome =
      runAround(make("%p") + make("%q") +
                roles(role("load", put("%t", "%p") + put("%t", "%p") + put("%t", "%q")) +
                      role("compute", get("%v", "%q") + get("%u", "%p") + get("%w", "%p"))));
  EXPECT_EQ(outcome.message,
            "kernel.mlir:10:1: 'sched.roles' deadlocks: role 'load' waits at kernel.mlir:13:1 to "
            "put into channel 0 (made at kernel.mlir:8:6, holds 1 of 1 tiles); role 'compute' "
            "waits at kernel.mlir:17:6 to get from channel 1 (made at kernel.mlir:9:6, holds 0 of "
            "1 tiles) (in program 0, 0, 0)");
}

TEST(Roles, ADeadlockIsFoundAtEveryQuantum) {
  InterpreterOptions options;
  options.quantum = 1;
  auto outcome = runAround(make("%q") + roles(role("only", get("%r", "%q") + kStore)), options);
  EXPECT_EQ(
      outcome.message,
      "kernel.mlir:9:1: 'sched.roles' deadlocks: role 'only' waits at kernel.mlir:11:6 to "
      "get from channel 0 (made at kernel.mlir:8:6, holds 0 of 1 tiles) (in program 0, 0, 0)");
}

TEST(Roles, TilesLeftInAChannelAreReported) {
  auto outcome = runAround(make("%p") + make("%q") +
                           roles(role("load", put("%t", "%p") + put("%t", "%q")) +
                                 role("compute", get("%r", "%p") + kStore)));
  EXPECT_EQ(outcome.message,
            "kernel.mlir:10:1: 'sched.roles' ends with tiles left in channel 1 (made at "
            "kernel.mlir:9:6, holds 1 of 1 tiles) (in program 0, 0, 0)");
}

TEST(Roles, OutsideThemAFullChannelIsReported) {
  auto outcome = runAround(make("%q") + put("%t", "%q") + put("%t", "%q"));
  EXPECT_EQ(outcome.message,
            "kernel.mlir:10:1: 'sched.put' outside of roles waits for ever to put into channel 0 "
            "(made at kernel.mlir:8:6, holds 1 of 1 tiles) (in program 0, 0, 0)");
}

TEST(Roles, WithinARoleAreRefused) {
  auto outcome = runAround(roles(role("outer", roles(role("inner", "")))));
  EXPECT_EQ(outcome.message,
            "kernel.mlir:10:1: 'sched.roles' lies within a role, expected roles in no role (in "
            "program 0, 0, 0, role 'outer')");
}

TEST(Roles, AnErrorInOneNamesIt) {
  auto outcome = runAround(
      roles(role("fine", "") + role("bad", "%b = sched.alloc : !sched.buffer<16xf32, strides = "
                                           "[1]>\n%r = sched.read %b[%c0] : "
                                           "!sched.buffer<16xf32, strides = [1]> -> "
                                           "tensor<16xf32>\n")));
  EXPECT_EQ(outcome.message,
            "kernel.mlir:13:6: 'sched.read' reads scratch that was never written since its alloc, "
            "at element 0 of its block (in program 0, 0, 0, role 'bad')");
}

TEST(Roles, ARoleThatNeverEndsHitsTheStepLimit) {
  InterpreterOptions options;
  options.stepLimit = 1000;
  auto outcome = runAround("%true = arith.constant true\n" +
                               roles(role("spin", "scf.while : () -> () {\nscf.condition(%true)\n} "
                                                  "do {\nscf.yield\n}\n")),
                           options);
  EXPECT_NE(outcome.message.find("the kernel has not ended after 1000 steps"), std::string::npos)
      << outcome.message;
}

} // namespace
} // namespace sinter::sched
