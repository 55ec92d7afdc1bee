// Stages of software pipelines: which flows of values between them are refused, and where.
#include "sched/interp_support.h"

namespace sinter::sched {
namespace {

// A loop over %i of 0 to 12 whose body starts on line 9 and carries one tile, %sum.
std::string loop(const std::string &body) {
  return "%r = scf.for %i = %c0 to %c12 step %c1 iter_args(%sum = %t) -> tensor<16xf32> {\n" +
         body + "}\ntile.store %r, %y[%c0] : tensor<16xf32>, !tile.view<16xf32, out>\n";
}
std::string add(const std::string &result, const std::string &a, const std::string &b,
                const std::string &stage) {
  return result + " = arith.addf " + a + ", " + b +
         (stage.empty() ? "" : " {sched.stage = " + stage + "}") + " : tensor<16xf32>\n";
}
std::string yield(const std::string &value) {
  return "scf.yield " + value + " : tensor<16xf32>\n";
}
std::string check(const std::string &body) {
  return runAround(loop(body)).message;
}

TEST(Stages, ThatOnlyGrowAreAccepted) {
  EXPECT_EQ(check(add("%a", "%t", "%t", "0") + add("%b", "%a", "%t", "1") +
                  add("%c", "%sum", "%b", "2") + yield("%c")),
            "succeeded");
}

TEST(Stages, AValueUsedInAnEarlierStageIsReported) {
  EXPECT_EQ(check(add("%a", "%t", "%t", "1") + add("%b", "%a", "%t", "0") + yield("%b")),
            "kernel.mlir:10:6: 'arith.addf' op is in stage 0 but uses a value of stage 1");
}

TEST(Stages, AnUnstagedOperationPassesTheStageOn) {
  EXPECT_EQ(check(add("%a", "%t", "%t", "2") + add("%b", "%a", "%t", "") +
                  add("%c", "%b", "%t", "1") + yield("%c")),
            "kernel.mlir:11:6: 'arith.addf' op is in stage 1 but uses a value of stage 2");
}

TEST(Stages, AValueCarriedIntoAnEarlierStageIsReported) {
  EXPECT_EQ(check(add("%a", "%sum", "%t", "0") + add("%b", "%a", "%t", "1") + yield("%b")),
            "kernel.mlir:9:6: 'arith.addf' op is in stage 0 but uses a value of stage 1");
}

TEST(Stages, AValueCarriedWithinItsStageIsAccepted) {
  EXPECT_EQ(check(add("%a", "%t", "%t", "0") + add("%b", "%sum", "%a", "1") + yield("%b")),
            "succeeded");
}

TEST(Stages, UsesInsideRegionsCount) {
  EXPECT_EQ(check(add("%a", "%t", "%t", "1") +
                  "%true = arith.constant true\n"
                  "%b = scf.if %true -> tensor<16xf32> {\n" +
                  yield("%a") + "} else {\n" + yield("%t") + "} {sched.stage = 0}\n" + yield("%b")),
            "kernel.mlir:11:6: 'scf.if' op is in stage 0 but uses a value of stage 1");
}

TEST(Stages, OfInnerLoopsAreCheckedToo) {
  EXPECT_EQ(check("scf.for %j = %c0 to %c12 step %c1 {\n" + add("%a", "%t", "%t", "1") +
                  add("%b", "%a", "%t", "0") + "}\n" + yield("%sum")),
            "kernel.mlir:11:6: 'arith.addf' op is in stage 0 but uses a value of stage 1");
}

TEST(Stages, ANegativeStageIsReported) {
  EXPECT_EQ(check(add("%a", "%t", "%t", "-1 : i32") + yield("%a")),
            "kernel.mlir:9:6: 'arith.addf' op has sched.stage = -1 : i32, expected an integer of 0 "
            "or more");
}

TEST(Stages, AStageThatIsNoIntegerIsReported) {
  EXPECT_EQ(check(add("%a", "%t", "%t", "\"late\"") + yield("%a")),
            "kernel.mlir:9:6: 'arith.addf' op has sched.stage = \"late\", expected an integer of 0 "
            "or more");
}

} // namespace
} // namespace sinter::sched
