// Copies that threads need not wait for, and matrices read from shared memory: what right schedules
// give, and broken ones refused with the two operations that meet.
#include "sched/simt_async_support.h"

#include <gmock/gmock.h>

namespace sinter::sched {
namespace {

// ---- right copies ----

const std::string kCopied = kCopying + copy("%b16", "%s16") + kCommit;

TEST(SimtCopies, LandWithTheWaitAndAreSeenAfterTheBarrier) {
  SimtOutcome outcome = runBody(kCopied + copyWait(0) + kBarrier +
                                "%i60 = arith.constant 60 : i32\n"
                                "%other = arith.subi %i60, %s4 : i32\n" +
                                fetch("%r", "%other") + store("%r", "%y", "%b4"));
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(std::vector(outcome.y.begin(), outcome.y.begin() + 4),
              testing::ElementsAre(15, 14, 13, 12));
}

TEST(SimtCopies, AreSeenByTheirOwnThreadAfterTheWaitAlone) {
  SimtOutcome outcome =
      runBody(kCopied + copyWait(0) + fetch("%r", "%s16") + store("%r", "%y", "%b4"));
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(std::vector(outcome.y.begin(), outcome.y.begin() + 4),
              testing::ElementsAre(0, 4, 8, 12));
}

TEST(SimtCopies, AreZerosWhereTheyAreNotToBe) {
  SimtOutcome outcome = runBody(kCopying + copy("%b16", "%s16", "%first") + kCommit + copyWait(0) +
                                "%i12 = arith.constant 12 : i32\n"
                                "%last = arith.addi %s16, %i12 : i32\n" +
                                fetch("%r", "%last") + store("%r", "%y", "%b4"));
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(std::vector(outcome.y.begin(), outcome.y.begin() + 4),
              testing::ElementsAre(3, 0, 0, 0));
}

TEST(SimtCopies, ReadNothingWhereTheyAreNotToBe) {
  EXPECT_EQ(refusal(kCopying + "%far = arith.constant 1024 : index\n" +
                    copy("%far", "%s16", "%no") + kCommit + copyWait(0)),
            "succeeded");
}

TEST(SimtCopies, OfOlderGroupsLandWhileTheYoungestIsOnItsWay) {
  SimtOutcome outcome =
      runBody(kCopied + "%i64 = arith.constant 64 : i32\n%second = arith.addi %s16, %i64 : i32\n" +
                  copy("%b16", "%second") + kCommit + copyWait(1) + fetch("%r", "%s16") +
                  store("%r", "%y", "%b4") + copyWait(0),
              {.shared = 128});
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(std::vector(outcome.y.begin(), outcome.y.begin() + 4),
              testing::ElementsAre(0, 4, 8, 12));
}

// Threads that copy four bytes each to one piece do not meet.
const std::string kFourBytes = "sched.copy_async %x[%b4] when %yes to %s4 {size = 4 : i64} : "
                               "!tile.view<16xf32, in>\n";

TEST(SimtCopies, MayFillAPieceTogether) {
  SimtOutcome outcome =
      runBody(kFourBytes + kCommit + copyWait(0) + fetch("%r", "%s4") + store("%r", "%y", "%b4"));
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(std::vector(outcome.y.begin(), outcome.y.begin() + 4),
              testing::ElementsAre(0, 1, 2, 3));
}

TEST(SimtCopies, MayFollowOneAnotherToOnePlace) {
  EXPECT_EQ(refusal("%n = arith.constant 3 : index\n" + kCopying +
                    "scf.for %i = %c0 to %n step %c1 {\n" + copy("%b16", "%s16") + kCommit +
                    copyWait(0) + kBarrier + fetch("%r", "%s4") + kBarrier + "}\n"),
            "succeeded");
}

TEST(SimtCopies, BeginAnewWithEachProgram) {
  EXPECT_EQ(runBody(kCopied + copyWait(0) + kBarrier + fetch("%r", "%s4"), {.programs = 3}).message,
            "succeeded");
}

// ---- broken copies ----

TEST(SimtCopyRefusals, ReadingBytesThatAreOnTheirWay) {
  EXPECT_EQ(refusal(kCopied + fetch("%r", "%s16")),
            "kernel.mlir:27:6: 'sched.shared_load' of thread 0 reads byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(SimtCopyRefusals, ABarrierIsNoWait) {
  EXPECT_EQ(refusal(kCopied + kBarrier + fetch("%r", "%s16")),
            "kernel.mlir:28:6: 'sched.shared_load' of thread 0 reads byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(SimtCopyRefusals, AWaitIsNoBarrier) {
  EXPECT_EQ(
      refusal(kCopied + copyWait(0) + fetch("%r", "%s4")),
      "kernel.mlir:28:6: 'sched.shared_load' of thread 1 reads byte 4 of shared memory, which "
      "'sched.copy_async' at kernel.mlir:25:1 of thread 0 writes in the same barrier interval");
}

TEST(SimtCopyRefusals, AWaitThatLeavesTheGroupPending) {
  EXPECT_EQ(refusal(kCopied + copyWait(1) + kBarrier + fetch("%r", "%s16")),
            "kernel.mlir:29:6: 'sched.shared_load' of thread 0 reads byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(SimtCopyRefusals, AWaitDoesNotCoverWhatIsNotCommitted) {
  EXPECT_EQ(refusal(kCopying + copy("%b16", "%s16") + copyWait(0) + kBarrier + fetch("%r", "%s4")),
            "kernel.mlir:28:6: 'sched.shared_load' of thread 0 reads byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(SimtCopyRefusals, WritingBytesThatACopyIsOnItsWayTo) {
  EXPECT_EQ(refusal(kCopied + share("%f1", "%s16")),
            "kernel.mlir:27:1: 'sched.shared_store' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(SimtCopyRefusals, TwoCopiesOnTheirWayToOnePlace) {
  EXPECT_EQ(refusal(kCopied + copy("%b16", "%s16")),
            "kernel.mlir:27:1: 'sched.copy_async' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(SimtCopyRefusals, TwoThreadsCopyingToOnePlace) {
  EXPECT_EQ(refusal(kCopying + copy("%b16", "%i0")),
            "kernel.mlir:25:1: 'sched.copy_async' of thread 1 writes byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(SimtCopyRefusals, CopyingOverWhatAnotherThreadReads) {
  EXPECT_EQ(refusal(kCopying + share("%f1", "%s4") + kBarrier + fetch("%r", "%s4") +
                    copy("%b16", "%s16", "%first")),
            "kernel.mlir:28:1: 'sched.copy_async' of thread 0 writes byte 4 of shared memory, "
            "which thread 1 reads in the same barrier interval");
}

TEST(SimtCopyRefusals, CopyingOverWhatAnotherThreadWrites) {
  EXPECT_EQ(refusal(kCopying + share("%f1", "%s4") + copy("%b16", "%s16")),
            "kernel.mlir:26:1: 'sched.copy_async' of thread 0 writes byte 4 of shared memory, "
            "which thread 1 writes in the same barrier interval");
}

TEST(SimtCopyRefusals, ReadingMatricesThatAreOnTheirWay) {
  EXPECT_EQ(refusal(kCopying + copy("%c0", "%s16", "%no") + kCommit +
                        "%m = sched.shared_matrices [%s16] : vector<8xf16>\n",
                    {.threads = 32, .shared = 512}),
            "kernel.mlir:27:6: 'sched.shared_matrices' of thread 0 reads byte 0 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:25:1 of thread 0 is still copying to");
}

TEST(SimtCopyRefusals, SharedPlacesThatAreNoMultipleOfAPiece) {
  EXPECT_EQ(refusal(kCopying + copy("%b16", "%s4")),
            "kernel.mlir:25:1: 'sched.copy_async' of thread 1 touches byte 4 of shared memory, "
            "expected a multiple of 16");
}

TEST(SimtCopyRefusals, ViewPlacesThatAreNoMultipleOfAPiece) {
  EXPECT_EQ(refusal(kCopying + copy("%b4", "%s16")),
            "kernel.mlir:25:1: 'sched.copy_async' of thread 1 touches byte 4 of argument 0, "
            "expected a multiple of 16");
}

TEST(SimtCopyRefusals, PlacesBeyondSharedMemory) {
  EXPECT_EQ(refusal(kCopying + copy("%b16", "%s16"), {.shared = 63}),
            "kernel.mlir:25:1: 'sched.copy_async' of thread 3 touches 16 bytes from byte 48 of "
            "shared memory, which has 63");
}

TEST(SimtCopyRefusals, PlacesBeyondTheView) {
  EXPECT_EQ(refusal(kCopying + copy("%b16", "%s16"), {.threads = 8, .shared = 128}),
            "kernel.mlir:25:1: 'sched.copy_async' of thread 4 touches 16 bytes from byte 64 of "
            "argument 0, which has 64");
}

TEST(SimtCopyRefusals, CopiesOnTheirWayWhenTheProgramEnds) {
  EXPECT_EQ(refusal(kCopied),
            "'sched.copy_async' at kernel.mlir:25:1 is in flight when its program ends");
}

TEST(SimtCopyRefusals, ReadsOfAPartThatAnotherThreadStillCopies) {
  EXPECT_EQ(refusal(kFourBytes + kCommit + "%i8 = arith.constant 8 : i32\n" + fetch("%r", "%i8") +
                    copyWait(0)),
            "kernel.mlir:25:6: 'sched.shared_load' of thread 0 reads byte 8 of shared memory, "
            "which 'sched.copy_async' at kernel.mlir:22:1 of thread 2 is still copying to");
}

TEST(SimtCopyRefusals, SizesThatNoProcessorCopies) {
  EXPECT_EQ(refusal("sched.copy_async %x[%b4] when %yes to %s4 {size = 2 : i64} : "
                    "!tile.view<16xf32, in>\n"),
            "kernel.mlir:22:1: 'sched.copy_async' op copies 2 bytes, expected 4, 8 or 16");
}

TEST(SimtCopyRefusals, CopiesOfWhatProgramsWrite) {
  EXPECT_EQ(refusal(kCopying + "sched.copy_async %z[%b16] when %yes to %s16 : "
                               "!tile.view<16xf32, inout>\n"),
            "kernel.mlir:25:1: 'sched.copy_async' op copies from a view that programs write, "
            "expected an in view");
}

TEST(SimtCopyRefusals, FewerThanNoPendingGroups) {
  EXPECT_EQ(refusal("sched.copy_wait -1\n"),
            "kernel.mlir:22:1: 'sched.copy_wait' op leaves -1 groups pending, expected 0 or more");
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
  SimtOutcome outcome =
      runBody(matrices(kBarrier) + "%e = vector.extract %m[" + std::to_string(at) +
                  "] : i16 from vector<8xi16>\n%f = arith.sitofp %e : i16 to f32\n" + publish("%f"),
              {.threads = 32, .shared = 512});
  EXPECT_EQ(outcome.message, "succeeded");
  return outcome.y;
}

TEST(SimtMatrices, GiveEachThreadTwoNeighboursOfEachMatrix) {
  for (int at = 0; at < 8; ++at) {
    std::vector<float> elements = elementsOf(at);
    for (int thread = 0; thread < 16; ++thread)
      EXPECT_EQ(elements[thread], 64 * (at / 2) + 8 * (thread / 4) + 2 * (thread % 4) + at % 2)
          << at << " of thread " << thread;
  }
}

TEST(SimtMatrixRefusals, RowsStoredInTheSameInterval) {
  EXPECT_EQ(refusal(matrices(""), {.threads = 32, .shared = 512}),
            "kernel.mlir:51:6: 'sched.shared_matrices' of thread 1 reads byte 0 of shared memory, "
            "which thread 0 writes in the same barrier interval");
}

TEST(SimtMatrixRefusals, PlacesThatAreNoMultipleOfARow) {
  EXPECT_EQ(
      refusal("%m = sched.shared_matrices [%i4] : vector<8xf16>\n", {.threads = 32, .shared = 512}),
      "kernel.mlir:22:6: 'sched.shared_matrices' of thread 0 touches byte 4 of shared memory, "
      "expected a multiple of 16");
}

TEST(SimtMatrixRefusals, RowsThatNothingHasWritten) {
  EXPECT_EQ(
      refusal("%m = sched.shared_matrices [%i0] : vector<8xf16>\n", {.threads = 32, .shared = 512}),
      "kernel.mlir:22:6: 'sched.shared_matrices' of thread 0 reads 16 bytes from byte 0 of shared "
      "memory, which this program has not all written");
}

TEST(SimtMatrixRefusals, ElementsOfAnotherWidth) {
  EXPECT_EQ(refusal("%m = sched.shared_matrices [%i0] : vector<4xf32>\n", {.threads = 32}),
            "kernel.mlir:22:6: 'sched.shared_matrices' op gives 'vector<4xf32>', expected 8 "
            "elements of 16 bits");
}

TEST(SimtMatrixRefusals, BlocksOfHalfASubgroup) {
  EXPECT_EQ(refusal("%m = sched.shared_matrices [%i0] : vector<8xf16>\n", {.threads = 16}),
            "kernel.mlir:22:6: 'sched.shared_matrices' op is for subgroups of 32 threads, found "
            "blocks of 16 threads and subgroups of 32");
}

} // namespace
} // namespace sinter::sched
