// Copies and products that threads need not wait for: what right schedules give, and broken ones
// refused with the two operations that meet.
#include "sched/lanes_async_support.h"

#include <gmock/gmock.h>

namespace sinter::sched {
namespace {

// The message of a kernel that must fail, without the program, which is 0, 0, 0.
std::string refusal(const std::string &body, const Block &block = {},
                    const InterpreterOptions &options = {}) {
  std::string message = runBody(body, block, options).message;
  const std::string tail = " (in program 0, 0, 0)";
  if (size_t at = message.find(tail); at != std::string::npos)
    message.erase(at);
  return message;
}
std::string ofProduct(const std::string &body) {
  return refusal(body, kProducts);
}

// ---- right copies ----

const std::string kCopied = kCopying + copy("%b16", "%s16") + kCommit;

TEST(LaneCopies, LandWithTheWaitAndAreSeenAfterTheBarrier) {
  LaneOutcome outcome = runBody(kCopied + copyWait(0) + kBarrier +
                                "%i60 = arith.constant 60 : i32\n"
                                "%other = arith.subi %i60, %s4 : i32\n" +
                                fetch("%r", "%other") + store("%r", "%y", "%b4"));
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(std::vector(outcome.y.begin(), outcome.y.begin() + 4),
              testing::ElementsAre(15, 14, 13, 12));
}

TEST(LaneCopies, AreSeenByTheirOwnThreadAfterTheWaitAlone) {
  LaneOutcome outcome =
      runBody(kCopied + copyWait(0) + fetch("%r", "%s16") + store("%r", "%y", "%b4"));
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(std::vector(outcome.y.begin(), outcome.y.begin() + 4),
              testing::ElementsAre(0, 4, 8, 12));
}

TEST(LaneCopies, AreZerosWhereTheyAreNotToBe) {
  LaneOutcome outcome = runBody(kCopying + copy("%b16", "%s16", "%first") + kCommit + copyWait(0) +
                                "%i12 = arith.constant 12 : i32\n"
                                "%last = arith.addi %s16, %i12 : i32\n" +
                                fetch("%r", "%last") + store("%r", "%y", "%b4"));
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(std::vector(outcome.y.begin(), outcome.y.begin() + 4),
              testing::ElementsAre(3, 0, 0, 0));
}

TEST(LaneCopies, ReadNothingWhereTheyAreNotToBe) {
  EXPECT_EQ(refusal(kCopying + "%far = arith.constant 1024 : index\n" +
                    copy("%far", "%s16", "%no") + kCommit + copyWait(0)),
            "succeeded");
}

TEST(LaneCopies, OfOlderGroupsLandWhileTheYoungestIsOnItsWay) {
  LaneOutcome outcome =
      runBody(kCopied + "%i64 = arith.constant 64 : i32\n%second = arith.addi %s16, %i64 : i32\n" +
                  copy("%b16", "%second") + kCommit + copyWait(1) + fetch("%r", "%s16") +
                  store("%r", "%y", "%b4") + copyWait(0),
              {.shared = 128});
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(std::vector(outcome.y.begin(), outcome.y.begin() + 4),
              testing::ElementsAre(0, 4, 8, 12));
}

TEST(LaneCopies, MayFollowOneAnotherToOnePlace) {
  EXPECT_EQ(refusal("%n = arith.constant 3 : index\n" + kCopying +
                    "scf.for %i = %c0 to %n step %c1 {\n" + copy("%b16", "%s16") + kCommit +
                    copyWait(0) + kBarrier + fetch("%r", "%s4") + kBarrier + "}\n"),
            "succeeded");
}

TEST(LaneCopies, BeginAnewWithEachProgram) {
  EXPECT_EQ(runBody(kCopied + copyWait(0) + kBarrier + fetch("%r", "%s4"), {.programs = 3}).message,
            "succeeded");
}

// ---- broken copies ----

TEST(LaneCopyRefusals, ReadingBytesThatAreOnTheirWay) {
  EXPECT_EQ(refusal(kCopied + fetch("%r", "%s16")),
            "kernel.mlir:27:6: 'sched.shared_load' of thread 0 reads byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(LaneCopyRefusals, ABarrierIsNoWait) {
  EXPECT_EQ(refusal(kCopied + kBarrier + fetch("%r", "%s16")),
            "kernel.mlir:28:6: 'sched.shared_load' of thread 0 reads byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(LaneCopyRefusals, AWaitIsNoBarrier) {
  EXPECT_EQ(
      refusal(kCopied + copyWait(0) + fetch("%r", "%s4")),
      "kernel.mlir:28:6: 'sched.shared_load' of thread 1 reads byte 4 of shared memory, which "
      "'sched.copy_async' at kernel.mlir:25:1 of thread 0 writes in the same barrier interval");
}

TEST(LaneCopyRefusals, AWaitThatLeavesTheGroupPending) {
  EXPECT_EQ(refusal(kCopied + copyWait(1) + kBarrier + fetch("%r", "%s16")),
            "kernel.mlir:29:6: 'sched.shared_load' of thread 0 reads byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(LaneCopyRefusals, AWaitDoesNotCoverWhatIsNotCommitted) {
  EXPECT_EQ(refusal(kCopying + copy("%b16", "%s16") + copyWait(0) + kBarrier + fetch("%r", "%s4")),
            "kernel.mlir:28:6: 'sched.shared_load' of thread 0 reads byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(LaneCopyRefusals, WritingBytesThatACopyIsOnItsWayTo) {
  EXPECT_EQ(refusal(kCopied + share("%f1", "%s16")),
            "kernel.mlir:27:1: 'sched.shared_store' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(LaneCopyRefusals, TwoCopiesOnTheirWayToOnePlace) {
  EXPECT_EQ(refusal(kCopied + copy("%b16", "%s16")),
            "kernel.mlir:27:1: 'sched.copy_async' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(LaneCopyRefusals, TwoThreadsCopyingToOnePlace) {
  EXPECT_EQ(refusal(kCopying + copy("%b16", "%i0")),
            "kernel.mlir:25:1: 'sched.copy_async' of thread 1 writes byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(LaneCopyRefusals, CopyingOverWhatAnotherThreadReads) {
  EXPECT_EQ(refusal(kCopying + share("%f1", "%s4") + kBarrier + fetch("%r", "%s4") +
                    copy("%b16", "%s16", "%first")),
            "kernel.mlir:28:1: 'sched.copy_async' of thread 0 writes byte 4 of shared memory, "
            "which thread 1 reads in the same barrier interval");
}

TEST(LaneCopyRefusals, CopyingOverWhatAnotherThreadWrites) {
  EXPECT_EQ(refusal(kCopying + share("%f1", "%s4") + copy("%b16", "%s16")),
            "kernel.mlir:26:1: 'sched.copy_async' of thread 0 writes byte 4 of shared memory, "
            "which thread 1 writes in the same barrier interval");
}

TEST(LaneCopyRefusals, ReadingMatricesThatAreOnTheirWay) {
  EXPECT_EQ(refusal(kCopying + copy("%c0", "%s16", "%no") + kCommit +
                        "%m = sched.shared_matrices [%s16] : vector<8xf16>\n",
                    {.threads = 32, .shared = 512}),
            "kernel.mlir:27:6: 'sched.shared_matrices' of thread 0 reads byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(LaneCopyRefusals, SharedPlacesThatAreNoMultipleOfAPiece) {
  EXPECT_EQ(refusal(kCopying + copy("%b16", "%s4")),
            "kernel.mlir:25:1: 'sched.copy_async' of thread 1 touches byte 4 of shared memory, "
            "expected a multiple of 16");
}

TEST(LaneCopyRefusals, ViewPlacesThatAreNoMultipleOfAPiece) {
  EXPECT_EQ(refusal(kCopying + copy("%b4", "%s16")),
            "kernel.mlir:25:1: 'sched.copy_async' of thread 1 touches byte 4 of argument 0, "
            "expected a multiple of 16");
}

TEST(LaneCopyRefusals, PlacesBeyondSharedMemory) {
  EXPECT_EQ(refusal(kCopying + copy("%b16", "%s16"), {.shared = 63}),
            "kernel.mlir:25:1: 'sched.copy_async' of thread 3 touches 16 bytes from byte 48 of "
            "shared memory, which has 63");
}

TEST(LaneCopyRefusals, PlacesBeyondTheView) {
  EXPECT_EQ(refusal(kCopying + copy("%b16", "%s16"), {.threads = 8, .shared = 128}),
            "kernel.mlir:25:1: 'sched.copy_async' of thread 4 touches 16 bytes from byte 64 of "
            "argument 0, which has 64");
}

TEST(LaneCopyRefusals, CopiesOnTheirWayWhenTheProgramEnds) {
  EXPECT_EQ(refusal(kCopied),
            "'sched.copy_async' at kernel.mlir:25:1 is in flight when its program ends");
}

TEST(LaneCopyRefusals, CopiesOfWhatProgramsWrite) {
  EXPECT_EQ(refusal(kCopying + "sched.copy_async %z[%b16] when %yes to %s16 : "
                               "!tile.view<16xf32, inout>\n"),
            "kernel.mlir:25:1: 'sched.copy_async' op copies from a view that programs write, "
            "expected an in view");
}

TEST(LaneCopyRefusals, FewerThanNoPendingGroups) {
  EXPECT_EQ(refusal("sched.copy_wait -1\n"),
            "kernel.mlir:22:1: 'sched.copy_wait' op leaves -1 groups pending, expected 0 or more");
}

// ---- right products ----

TEST(LaneProducts, GiveTheirSumsWithTheWait) {
  LaneOutcome outcome = runBody(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d") +
                                    extract("%e", "%w") + publish("%e"),
                                kProducts);
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(outcome.y, testing::Each(8));
}

TEST(LaneProducts, AddToOneAnotherOnTheirWay) {
  LaneOutcome outcome =
      runBody(kReady + multiply("%d1", "%zero") + multiply("%d2", "%d1") +
                  matrixWait("%w1", "%d2", "1 commit") + multiply("%d3", "%w1") +
                  matrixWait("%w2", "%d3") + extract("%e", "%w2", 31) + publish("%e"),
              kProducts);
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(outcome.y, testing::Each(24));
}

// A loop whose sums go around as scalars, as distribution has it, with `pending` groups in flight.
std::string roundLoop(int pending) {
  std::string yielded, arguments, types, extracts, results, values;
  for (int at = 0; at < 32; ++at) {
    std::string number = std::to_string(at), comma = at ? ", " : "";
    arguments += comma + "%a" + number + " = %f0";
    types += comma + "f32";
    values += comma + "%a" + number;
    extracts += extract("%e" + number, "%w", at);
    yielded += comma + "%e" + number;
    results += comma + "%l#" + number;
  }
  return "%n = arith.constant 5 : index\n%l:32 = scf.for %i = %c0 to %n step %c1 iter_args(" +
         arguments + ") -> (" + types + ") {\nsched.matrix_fence\n%all = vector.from_elements " +
         values + " : vector<32xf32>\n" + multiply("%d", "%all") +
         matrixWait("%w", "%d", std::to_string(pending) + " commit") + extracts + "scf.yield " +
         yielded + " : " + types + "\n}\n%last = vector.from_elements " + results +
         " : vector<32xf32>\n";
}

class LaneRounds : public testing::TestWithParam<int> {};
TEST_P(LaneRounds, HandTheirSumsOnAsRegisters) {
  LaneOutcome outcome = runBody(kReady + roundLoop(GetParam()) + matrixWait("%done", "%last", "0") +
                                    extract("%last17", "%done", 17) + publish("%last17"),
                                kProducts);
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(outcome.y, testing::Each(40));
}
INSTANTIATE_TEST_SUITE_P(Pending, LaneRounds, testing::Values(0, 1, 3));

TEST(LaneProducts, LetOthersWriteWhatTheyDoNotRead) {
  EXPECT_EQ(runBody(kReady + multiply("%d", "%zero") + "%ie = arith.constant 16384 : i32\n" +
                        "%there = arith.addi %s16, %ie : i32\n"
                        "sched.shared_store %v1, [%there] when %yes : vector<4xf32>\n" +
                        matrixWait("%w", "%d"),
                    {.threads = 128, .shared = 16384 + 2048})
                .message,
            "succeeded");
}

TEST(LaneProducts, LetTheirOperandsBeWrittenAfterTheWaitAndABarrier) {
  EXPECT_EQ(ofProduct(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d") + kBarrier +
                      "sched.shared_store %v1, [%s16] when %yes : vector<4xf32>\n"),
            "succeeded");
}

TEST(LaneProducts, MayEndUnread) {
  EXPECT_EQ(ofProduct(kReady + multiply("%d", "%zero") + multiply("%d2", "%zero") +
                      matrixWait("%w", "%d")),
            "succeeded");
}

// ---- broken products ----

TEST(LaneProductRefusals, ReadingSumsOnTheirWay) {
  EXPECT_EQ(
      ofProduct(kReady + multiply("%d", "%zero") + extract("%e", "%d") + publish("%e")),
      "kernel.mlir:39:1: 'sched.view_store' reads sums of 'sched.matrix_async' at "
      "kernel.mlir:36:6, which is in flight, expected a 'sched.matrix_wait' for its group between");
}

TEST(LaneProductRefusals, ComputingWithSumsOnTheirWay) {
  EXPECT_EQ(
      ofProduct(kReady + multiply("%d", "%zero") + "%r = arith.addf %d, %zero : vector<32xf32>\n"),
      "kernel.mlir:37:6: 'arith.addf' reads sums of 'sched.matrix_async' at kernel.mlir:36:6, "
      "which is in flight, expected a 'sched.matrix_wait' for its group between");
}

TEST(LaneProductRefusals, AWaitThatLeavesTheGroupPending) {
  EXPECT_EQ(
      ofProduct(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d", "1 commit") +
                extract("%e", "%w") + publish("%e")),
      "kernel.mlir:40:1: 'sched.view_store' reads sums of 'sched.matrix_async' at "
      "kernel.mlir:36:6, which is in flight, expected a 'sched.matrix_wait' for its group between");
}

TEST(LaneProductRefusals, AWaitDoesNotCoverWhatIsNotCommitted) {
  EXPECT_EQ(
      ofProduct(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d", "0") +
                extract("%e", "%w") + publish("%e")),
      "kernel.mlir:40:1: 'sched.view_store' reads sums of 'sched.matrix_async' at "
      "kernel.mlir:36:6, which is in flight, expected a 'sched.matrix_wait' for its group between");
}

TEST(LaneProductRefusals, SumsFromBeforeTheWait) {
  EXPECT_EQ(
      ofProduct(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d") +
                "%r = arith.addf %d, %w : vector<32xf32>\n"),
      "kernel.mlir:38:6: 'arith.addf' uses sums of 'sched.matrix_async' at kernel.mlir:36:6 after "
      "'sched.matrix_wait' at kernel.mlir:37:6 has taken them, expected the result of that");
}

TEST(LaneProductRefusals, SumsThatLeaveTheLoopBesideTheWait) {
  EXPECT_EQ(
      ofProduct(kReady +
                "%l = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %zero) -> "
                "vector<32xf32> {\n" +
                multiply("%d", "%s") + matrixWait("%w", "%d") +
                "scf.yield %d : vector<32xf32>\n}\n" + matrixWait("%done", "%l", "0")),
      "kernel.mlir:41:9: 'sched.matrix_wait' uses sums of 'sched.matrix_async' at kernel.mlir:37:6 "
      "after 'sched.matrix_wait' at kernel.mlir:38:6 has taken them, expected the result of that");
}

TEST(LaneProductRefusals, TwoProductsThatAddToTheSameSums) {
  EXPECT_EQ(
      ofProduct(kReady + multiply("%d", "%zero") + multiply("%d1", "%d") + multiply("%d2", "%d")),
      "kernel.mlir:38:7: 'sched.matrix_async' uses sums of 'sched.matrix_async' at "
      "kernel.mlir:36:6 after 'sched.matrix_async' at kernel.mlir:37:7 has taken them, expected "
      "the result of that");
}

TEST(LaneProductRefusals, SumsJoinedInAnotherOrder) {
  std::string joined = "%j = vector.from_elements %e1, %e0";
  for (int at = 2; at < 32; ++at)
    joined += ", %e1";
  EXPECT_EQ(ofProduct(kReady + multiply("%d", "%zero") + extract("%e0", "%d") +
                      extract("%e1", "%d", 1) + joined + " : vector<32xf32>\n"),
            "kernel.mlir:39:6: 'vector.from_elements' joins sums of 'sched.matrix_async' at "
            "kernel.mlir:36:6, which is in flight, expected all of them in their order");
}

TEST(LaneProductRefusals, SumsJoinedInPart) {
  EXPECT_EQ(ofProduct(kReady + multiply("%d", "%zero") +
                      "%half = vector.extract %d[0] : f32 from vector<32xf32>\n"
                      "%v = vector.from_elements %half, %half : vector<2xf32>\n"),
            "kernel.mlir:38:6: 'vector.from_elements' joins sums of 'sched.matrix_async' at "
            "kernel.mlir:36:6, which is in flight, expected all of them in their order");
}

TEST(LaneProductRefusals, WritingOperandsThatAreBeingRead) {
  EXPECT_EQ(ofProduct(kReady + multiply("%d", "%zero") +
                      "sched.shared_store %v1, [%s16] when %first : vector<4xf32>\n"),
            "kernel.mlir:37:1: 'sched.shared_store' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.matrix_async' at kernel.mlir:36:6 of threads 0 to 127 still reads");
}

TEST(LaneProductRefusals, CopyingOverOperandsThatAreBeingRead) {
  EXPECT_EQ(ofProduct(kReady + multiply("%d", "%zero") + copy("%c0", "%s16", "%no")),
            "kernel.mlir:37:1: 'sched.copy_async' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.matrix_async' at kernel.mlir:36:6 of threads 0 to 127 still reads");
}

TEST(LaneProductRefusals, WritingOperandsWithoutABarrierAfterTheWait) {
  EXPECT_EQ(ofProduct(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d") +
                      "sched.shared_store %v1, [%s16] when %first : vector<4xf32>\n"),
            "kernel.mlir:38:1: 'sched.shared_store' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.matrix_async' at kernel.mlir:36:6 of threads 0 to 127 reads in the same "
            "barrier interval");
}

TEST(LaneProductRefusals, WritingOperandsOfAYoungerProduct) {
  EXPECT_EQ(ofProduct(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d", "1 commit") +
                      multiply("%d2", "%w") + matrixWait("%w2", "%d2", "1 commit") + kBarrier +
                      "sched.shared_store %v1, [%s16] when %first : vector<4xf32>\n"),
            "kernel.mlir:41:1: 'sched.shared_store' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.matrix_async' at kernel.mlir:38:7 of threads 0 to 127 still reads");
}

TEST(LaneProductRefusals, OperandsStoredInTheSameInterval) {
  EXPECT_EQ(ofProduct(kOperands + copyWait(0) + "sched.matrix_fence\n" + multiply("%d", "%zero")),
            "kernel.mlir:35:6: 'sched.matrix_async' of threads 0 to 127 reads byte 0 of shared "
            "memory, which thread 0 writes in the same barrier interval");
}

TEST(LaneProductRefusals, OperandsStoredWithoutAWaitForCopies) {
  EXPECT_EQ(
      ofProduct(kOperands + kBarrier + "sched.matrix_fence\n" + multiply("%d", "%zero")),
      "kernel.mlir:35:6: 'sched.matrix_async' of threads 0 to 127 reads byte 0 of shared memory, "
      "which threads have stored to: expected 'sched.copy_wait' and then a barrier between");
}

TEST(LaneProductRefusals, OperandsOrderedWithoutABarrier) {
  EXPECT_EQ(
      ofProduct(kOperands + kBarrier + copyWait(0) + "sched.matrix_fence\n" +
                multiply("%d", "%zero")),
      "kernel.mlir:36:6: 'sched.matrix_async' of threads 0 to 127 reads byte 0 of shared memory, "
      "which threads have stored to: expected 'sched.copy_wait' and then a barrier between");
}

TEST(LaneProductRefusals, OperandsThatCopiesAreOnTheirWayTo) {
  EXPECT_EQ(ofProduct(kReady + copy("%c0", "%s16", "%no") + multiply("%d", "%zero")),
            "kernel.mlir:37:6: 'sched.matrix_async' of threads 0 to 127 reads byte 0 of shared "
            "memory, which 'sched.copy_async' at kernel.mlir:36:1 of thread 0 is still copying to");
}

TEST(LaneProductRefusals, OperandsCopiedInTheSameInterval) {
  EXPECT_EQ(ofProduct(kReady + copy("%c0", "%s16", "%no") + kCommit + copyWait(0) +
                      multiply("%d", "%zero")),
            "kernel.mlir:39:6: 'sched.matrix_async' of threads 0 to 127 reads byte 0 of shared "
            "memory, which 'sched.copy_async' at kernel.mlir:36:1 of thread 0 writes in the same "
            "barrier interval");
}

TEST(LaneProductRefusals, OperandsThatNothingHasWritten) {
  EXPECT_EQ(ofProduct("%ib = arith.constant 8192 : i32\n"
                      "%zero = arith.constant dense<0.0> : vector<32xf32>\nsched.matrix_fence\n" +
                      multiply("%d", "%zero")),
            "kernel.mlir:25:6: 'sched.matrix_async' reads row 0 of a at byte 0 of shared memory, "
            "which this program has not all written");
}

TEST(LaneProductRefusals, ProductsWithoutAFence) {
  EXPECT_EQ(ofProduct(kOperands + copyWait(0) + kBarrier + multiply("%d", "%zero")),
            "kernel.mlir:35:6: 'sched.matrix_async' adds to registers that threads have written, "
            "expected a 'sched.matrix_fence' between");
}

TEST(LaneProductRefusals, RegistersWrittenAfterTheFence) {
  EXPECT_EQ(
      ofProduct(kReady + "%r = arith.addf %zero, %zero : vector<32xf32>\n" + multiply("%d", "%r")),
      "kernel.mlir:37:6: 'sched.matrix_async' adds to registers that threads have written, "
      "expected a 'sched.matrix_fence' between");
}

TEST(LaneProductRefusals, RegistersWrittenOneByOneAfterTheFence) {
  std::string joined;
  for (int at = 0; at < 32; ++at)
    joined += at ? ", %r" : "%r";
  EXPECT_EQ(ofProduct(kReady + "%r = arith.sitofp %t : i32 to f32\n%j = vector.from_elements " +
                      joined + " : vector<32xf32>\n" + multiply("%d", "%j")),
            "kernel.mlir:38:6: 'sched.matrix_async' adds to registers that threads have written, "
            "expected a 'sched.matrix_fence' between");
}

TEST(LaneProductRefusals, PlacesOfOperandsThatDifferBetweenThreads) {
  EXPECT_EQ(ofProduct(kReady + multiply("%d", "%zero", "%s16")),
            "kernel.mlir:36:6: 'sched.matrix_async' has a place of a that differs between threads: "
            "0 in thread 0, 16 in thread 1");
}

TEST(LaneProductRefusals, OperandsBetweenPatternsOfRows) {
  EXPECT_EQ(
      ofProduct(kReady + "%i128 = arith.constant 128 : i32\n" + multiply("%d", "%zero", "%i128")),
      "kernel.mlir:37:6: 'sched.matrix_async' has a at byte 128 of shared memory, expected a "
      "multiple of 1024 plus one of 32 within the row");
}

TEST(LaneProductRefusals, OperandsBetweenStepsOfK) {
  EXPECT_EQ(ofProduct(kReady + multiply("%d", "%zero", "%i16")),
            "kernel.mlir:36:6: 'sched.matrix_async' has a at byte 16 of shared memory, expected a "
            "multiple of 1024 plus one of 32 within the row");
}

TEST(LaneProductRefusals, OperandsBeforeSharedMemory) {
  EXPECT_EQ(ofProduct(kReady + "%in = arith.constant -1024 : i32\n" +
                      multiply("%d", "%zero", "%i0", "%in")),
            "kernel.mlir:37:6: 'sched.matrix_async' has b at byte -1024 of shared memory, expected "
            "a multiple of 1024 plus one of 32 within the row");
}

TEST(LaneProductRefusals, OperandsBeyondSharedMemory) {
  EXPECT_EQ(ofProduct(kReady + "%far = arith.constant 9216 : i32\n" +
                      multiply("%d", "%zero", "%i0", "%far")),
            "kernel.mlir:37:6: 'sched.matrix_async' of thread 0 touches 16 bytes from byte 16384 "
            "of shared memory, which has 16384");
}

TEST(LaneProductRefusals, ProductsOnTheirWayWhenTheProgramEnds) {
  EXPECT_EQ(ofProduct(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d", "1 commit")),
            "'sched.matrix_async' at kernel.mlir:36:6 is in flight when its program ends");
}

// ---- kernels that are not in lane form ----

TEST(LaneProductRefusals, InstructionsThatTakeRegisters) {
  EXPECT_EQ(ofProduct("%r = sched.matrix_async \"nvidia.mma.m16n8k16.f32.f16\" [%i0], [%i0], %v0 : "
                      "vector<4xf32>\n"),
            "kernel.mlir:22:6: 'sched.matrix_async' op names 'nvidia.mma.m16n8k16.f32.f16', whose "
            "operands lie in registers, expected 'sched.matrix' for it");
}

TEST(LaneProductRefusals, InstructionsThatTakeSharedMemory) {
  EXPECT_EQ(ofProduct("%a = arith.constant dense<0.0> : vector<8xf16>\n%r = sched.matrix "
                      "\"nvidia.wgmma.m64n64k16.f32.f16\" %a, %a, %v0 : vector<8xf16>, "
                      "vector<8xf16>, vector<4xf32>\n"),
            "kernel.mlir:23:6: 'sched.matrix' op names 'nvidia.wgmma.m64n64k16.f32.f16', whose "
            "operands lie in shared memory, expected 'sched.matrix_async' for it");
}

TEST(LaneProductRefusals, InstructionsThatNoTableHas) {
  EXPECT_EQ(ofProduct("%r = sched.matrix_async \"nvidia.wgmma\" [%i0], [%i0], %v0 : "
                      "vector<4xf32>\n"),
            "kernel.mlir:22:6: 'sched.matrix_async' op names 'nvidia.wgmma', which is not in the "
            "table of matrix instructions");
}

TEST(LaneProductRefusals, InstructionsWiderThanTheBlock) {
  EXPECT_EQ(refusal("%zero = arith.constant dense<0.0> : vector<32xf32>\n" +
                        multiply("%d", "%zero", "%i0", "%i0"),
                    {.threads = 64}),
            "kernel.mlir:23:6: 'sched.matrix_async' op names 'nvidia.wgmma.m64n64k16.f32.bf16' of "
            "128 lanes in blocks of 64 threads and subgroups of 32");
}

TEST(LaneProductRefusals, SumsOfAnotherLength) {
  EXPECT_EQ(
      ofProduct("%r = sched.matrix_async \"" + kProduct + "\" [%i0], [%i0], %v0 : vector<4xf32>\n"),
      "kernel.mlir:22:6: 'sched.matrix_async' op adds to 'vector<4xf32>', expected "
      "'vector<32xf32>' of 'nvidia.wgmma.m64n64k16.f32.bf16'");
}

TEST(LaneProductRefusals, FewerThanNoPendingGroups) {
  EXPECT_EQ(
      ofProduct("%r = sched.matrix_wait -1 %v0 : vector<4xf32>\n"),
      "kernel.mlir:22:6: 'sched.matrix_wait' op leaves -1 groups pending, expected 0 or more");
}

// ---- matrices of shared memory ----

// %at is 16 times the thread's number; row r of matrix m holds 64 m + 8 r + 0, 1, ..., 7.
std::string matrices(const std::string &between) {
  std::string elements;
  std::string text = "%s16 = arith.muli %t, %i16 : i32\n%i8 = arith.constant 8 : i32\n"
                     "%base = arith.muli %t, %i8 : i32\n";
  for (int at = 0; at < 8; ++at) {
    std::string number = std::to_string(at);
    text += "%k" + number + " = arith.constant " + number + " : i32\n%n" + number +
            " = arith.addi %base, %k" + number + " : i32\n%h" + number + " = arith.trunci %n" +
            number + " : i32 to i16\n";
    elements += (at ? ", %h" : "%h") + number;
  }
  return text + "%row = vector.from_elements " + elements +
         " : vector<8xi16>\nsched.shared_store %row, [%s16] when %yes : vector<8xi16>\n" + between +
         "%m = sched.shared_matrices [%s16] : vector<8xi16>\n";
}

// What the first 16 threads get as element `at`.
std::vector<float> elementsOf(int at) {
  LaneOutcome outcome =
      runBody(matrices(kBarrier) + "%e = vector.extract %m[" + std::to_string(at) +
                  "] : i16 from vector<8xi16>\n%f = arith.sitofp %e : i16 to f32\n" + publish("%f"),
              {.threads = 32, .shared = 512});
  EXPECT_EQ(outcome.message, "succeeded");
  return outcome.y;
}

TEST(LaneMatrices, GiveEachThreadTwoNeighboursOfEachMatrix) {
  for (int at = 0; at < 8; ++at) {
    std::vector<float> elements = elementsOf(at);
    for (int thread = 0; thread < 16; ++thread)
      EXPECT_EQ(elements[thread], 64 * (at / 2) + 8 * (thread / 4) + 2 * (thread % 4) + at % 2)
          << at << " of thread " << thread;
  }
}

TEST(LaneMatrixRefusals, RowsStoredInTheSameInterval) {
  EXPECT_EQ(refusal(matrices(""), {.threads = 32, .shared = 512}),
            "kernel.mlir:51:6: 'sched.shared_matrices' of thread 1 reads byte 0 of shared memory, "
            "which thread 0 writes in the same barrier interval");
}

TEST(LaneMatrixRefusals, PlacesThatAreNoMultipleOfARow) {
  EXPECT_EQ(
      refusal("%m = sched.shared_matrices [%i4] : vector<8xf16>\n", {.threads = 32, .shared = 512}),
      "kernel.mlir:22:6: 'sched.shared_matrices' of thread 0 touches byte 4 of shared memory, "
      "expected a multiple of 16");
}

TEST(LaneMatrixRefusals, RowsThatNothingHasWritten) {
  EXPECT_EQ(
      refusal("%m = sched.shared_matrices [%i0] : vector<8xf16>\n", {.threads = 32, .shared = 512}),
      "kernel.mlir:22:6: 'sched.shared_matrices' of thread 0 reads 16 bytes from byte 0 of shared "
      "memory, which this program has not all written");
}

TEST(LaneMatrixRefusals, ElementsOfAnotherWidth) {
  EXPECT_EQ(refusal("%m = sched.shared_matrices [%i0] : vector<4xf32>\n", {.threads = 32}),
            "kernel.mlir:22:6: 'sched.shared_matrices' op gives 'vector<4xf32>', expected 8 "
            "elements of 16 bits");
}

TEST(LaneMatrixRefusals, BlocksOfHalfASubgroup) {
  EXPECT_EQ(refusal("%m = sched.shared_matrices [%i0] : vector<8xf16>\n", {.threads = 16}),
            "kernel.mlir:22:6: 'sched.shared_matrices' op is for subgroups of 32 threads, found "
            "blocks of 16 threads and subgroups of 32");
}

} // namespace
} // namespace sinter::sched
