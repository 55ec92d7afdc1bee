// Products that threads need not wait for: what right schedules give, and broken ones refused with
// the two operations that meet.
#include "sched/simt_async_support.h"

#include <gmock/gmock.h>

namespace sinter::sched {
namespace {

std::string ofMatmul(const std::string &body) {
  return refusal(body, kMatmuls);
}

// ---- right products ----

TEST(SimtMatmuls, GiveTheirAccumulatorsWithTheWait) {
  SimtOutcome outcome = runBody(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d") +
                                    extract("%e", "%w") + publish("%e"),
                                kMatmuls);
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(outcome.y, testing::Each(8));
}

TEST(SimtMatmuls, AddToOneAnotherOnTheirWay) {
  SimtOutcome outcome =
      runBody(kReady + multiply("%d1", "%zero") + multiply("%d2", "%d1") +
                  matrixWait("%w1", "%d2", "1 commit") + multiply("%d3", "%w1") +
                  matrixWait("%w2", "%d3") + extract("%e", "%w2", 31) + publish("%e"),
              kMatmuls);
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(outcome.y, testing::Each(24));
}

// A loop whose accumulators go around as scalars, as distribution has it, with `pending` groups in
// flight.
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

class SimtRounds : public testing::TestWithParam<int> {};
TEST_P(SimtRounds, HandTheirAccumulatorsOnAsRegisters) {
  SimtOutcome outcome = runBody(kReady + roundLoop(GetParam()) + matrixWait("%done", "%last", "0") +
                                    extract("%last17", "%done", 17) + publish("%last17"),
                                kMatmuls);
  EXPECT_EQ(outcome.message, "succeeded");
  EXPECT_THAT(outcome.y, testing::Each(40));
}
INSTANTIATE_TEST_SUITE_P(Pending, SimtRounds, testing::Values(0, 1, 3));

TEST(SimtMatmuls, LetOthersWriteWhatTheyDoNotRead) {
  EXPECT_EQ(runBody(kReady + multiply("%d", "%zero") + "%ie = arith.constant 16384 : i32\n" +
                        "%there = arith.addi %s16, %ie : i32\n"
                        "sched.shared_store %v1, [%there] when %yes : vector<4xf32>\n" +
                        matrixWait("%w", "%d"),
                    {.threads = 128, .shared = 16384 + 2048})
                .message,
            "succeeded");
}

TEST(SimtMatmuls, LetTheirOperandsBeWrittenAfterTheWaitAndABarrier) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d") + kBarrier +
                     "sched.shared_store %v1, [%s16] when %yes : vector<4xf32>\n"),
            "succeeded");
}

TEST(SimtMatmuls, MayEndUnread) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d", "%zero") + multiply("%d2", "%zero") +
                     matrixWait("%w", "%d")),
            "succeeded");
}

// Rows of b run along k here and hold 0, 1, 0, 1: a thread's second column accumulators a's 16
// ones.
const std::string kOnes = "%ones = arith.constant dense<1.0> : vector<8xbf16>\n";
std::string multiplyTile(const std::string &result, const std::string &a = "%ones",
                         const std::string &b = "%ib", const std::string &panel = "8192") {
  return result + " = sched.matrix_tile_async \"nvidia.wgmma.ra.m64n64k16.f32.bf16\" " + a + ", [" +
         b + "] panel " + panel + ", %zero : vector<8xbf16>, vector<32xf32>\n";
}

TEST(SimtTileMatmuls, GiveTheirAccumulatorsWithTheWait) {
  for (auto [element, sum] : {std::pair(0, 0), std::pair(1, 16)}) {
    SimtOutcome outcome = runBody(kOnes + kReady + multiplyTile("%d") + matrixWait("%w", "%d") +
                                      extract("%e", "%w", element) + publish("%e"),
                                  kMatmuls);
    EXPECT_EQ(outcome.message, "succeeded");
    EXPECT_THAT(outcome.y, testing::Each(sum));
  }
}

TEST(SimtTileMatmuls, MultiplyByRowsOfTheTransposed) {
  for (int element : {0, 1, 31}) {
    SimtOutcome outcome = runBody(
        kOnes + kReady +
            "%d = sched.matrix_tile_async \"nvidia.wgmma.ra.m64n64k16.f32.bf16\" %ones, [%ib] "
            "transposed, %zero : vector<8xbf16>, vector<32xf32>\n" +
            matrixWait("%w", "%d") + extract("%e", "%w", element) + publish("%e"),
        kMatmuls);
    EXPECT_EQ(outcome.message, "succeeded");
    EXPECT_THAT(outcome.y, testing::Each(8));
  }
}

TEST(SimtMatmuls, SettleBeforeYoungerOnes) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d1", "%zero") + matrixWait("%g1", "%d1", "5 commit") +
                     multiply("%d2", "%zero") + matrixWait("%g2", "%d2", "5 commit") +
                     matrixWait("%w1", "%g1", "1 settled") + matrixWait("%w2", "%g2", "0")),
            "succeeded");
}

TEST(SimtMatmulRefusals, SettlingWhatIsInFlight) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d", "1 commit settled")),
            "kernel.mlir:37:6: 'sched.matrix_wait' settles accumulators of 'sched.matrix_async' at "
            "kernel.mlir:36:6, which is in flight, expected fewer groups pending");
}

TEST(SimtTileMatmuls, TakePinnedRegisters) {
  EXPECT_EQ(ofMatmul(kOnes + kReady + "%sum = arith.addf %ones, %ones : vector<8xbf16>\n" +
                     "%pinned = sched.pin %sum : vector<8xbf16>\nsched.matrix_fence\n" +
                     multiplyTile("%d", "%pinned") + matrixWait("%w", "%d")),
            "succeeded");
}

TEST(SimtTileMatmulRefusals, RegistersWrittenAfterTheFence) {
  EXPECT_EQ(ofMatmul(kOnes + kReady + "%sum = arith.addf %ones, %ones : vector<8xbf16>\n" +
                     multiplyTile("%d", "%sum") + matrixWait("%w", "%d")),
            "kernel.mlir:38:6: 'sched.matrix_tile_async' multiplies registers that threads have "
            "written, expected a 'sched.matrix_fence' between");
}

TEST(SimtTileMatmulRefusals, PlacesWithinAPattern) {
  EXPECT_EQ(ofMatmul(kOnes + kReady + multiplyTile("%d", "%ones", "%i16") + matrixWait("%w", "%d")),
            "kernel.mlir:37:6: 'sched.matrix_tile_async' has b at byte 16 of shared memory in "
            "panels of 8192 bytes, expected multiples of 1024");
}

TEST(SimtTileMatmulRefusals, WritingWhatTheyRead) {
  EXPECT_EQ(ofMatmul(kOnes + kReady + multiplyTile("%d") + "%there = arith.addi %s16, %ib : i32\n" +
                     "sched.shared_store %v1, [%there] when %yes : vector<4xf32>\n"),
            "kernel.mlir:39:1: 'sched.shared_store' of thread 0 writes byte 8192 of shared memory, "
            "which 'sched.matrix_tile_async' at kernel.mlir:37:6 of threads 0 to 127 still reads");
}

TEST(SimtTileMatmulRefusals, InstructionsThatReadBoth) {
  EXPECT_EQ(
      ofMatmul(kOperands + kOnes +
               "%d = sched.matrix_tile_async \"nvidia.wgmma.m64n64k16.f32.bf16\" %ones, [%i0] "
               "panel 0, %zero : vector<8xbf16>, vector<32xf32>\n"),
      "kernel.mlir:34:6: 'sched.matrix_tile_async' op names "
      "'nvidia.wgmma.m64n64k16.f32.bf16', whose operands lie in shared memory, expected "
      "'sched.matrix_async' for it");
}

// ---- broken products ----

TEST(SimtMatmulRefusals, ReadingAccumulatorsOnTheirWay) {
  EXPECT_EQ(
      ofMatmul(kReady + multiply("%d", "%zero") + extract("%e", "%d") + publish("%e")),
      "kernel.mlir:39:1: 'sched.view_store' reads accumulators of 'sched.matrix_async' at "
      "kernel.mlir:36:6, which is in flight, expected a 'sched.matrix_wait' for its group between");
}

TEST(SimtMatmulRefusals, ComputingWithAccumulatorsOnTheirWay) {
  EXPECT_EQ(
      ofMatmul(kReady + multiply("%d", "%zero") + "%r = arith.addf %d, %zero : vector<32xf32>\n"),
      "kernel.mlir:37:6: 'arith.addf' reads accumulators of 'sched.matrix_async' at "
      "kernel.mlir:36:6, "
      "which is in flight, expected a 'sched.matrix_wait' for its group between");
}

TEST(SimtMatmulRefusals, AWaitThatLeavesTheGroupPending) {
  EXPECT_EQ(
      ofMatmul(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d", "1 commit") +
               extract("%e", "%w") + publish("%e")),
      "kernel.mlir:40:1: 'sched.view_store' reads accumulators of 'sched.matrix_async' at "
      "kernel.mlir:36:6, which is in flight, expected a 'sched.matrix_wait' for its group between");
}

TEST(SimtMatmulRefusals, AWaitDoesNotCoverWhatIsNotCommitted) {
  EXPECT_EQ(
      ofMatmul(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d", "0") +
               extract("%e", "%w") + publish("%e")),
      "kernel.mlir:40:1: 'sched.view_store' reads accumulators of 'sched.matrix_async' at "
      "kernel.mlir:36:6, which is in flight, expected a 'sched.matrix_wait' for its group between");
}

TEST(SimtMatmulRefusals, AccumulatorsFromBeforeTheWait) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d") +
                     "%r = arith.addf %d, %w : vector<32xf32>\n"),
            "kernel.mlir:38:6: 'arith.addf' uses accumulators of 'sched.matrix_async' at "
            "kernel.mlir:36:6 after "
            "'sched.matrix_wait' at kernel.mlir:37:6 has taken them, expected the result of that");
}

TEST(SimtMatmulRefusals, AccumulatorsThatLeaveTheLoopBesideTheWait) {
  EXPECT_EQ(
      ofMatmul(kReady +
               "%l = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %zero) -> "
               "vector<32xf32> {\n" +
               multiply("%d", "%s") + matrixWait("%w", "%d") +
               "scf.yield %d : vector<32xf32>\n}\n" + matrixWait("%done", "%l", "0")),
      "kernel.mlir:41:9: 'sched.matrix_wait' uses accumulators of 'sched.matrix_async' at "
      "kernel.mlir:37:6 "
      "after 'sched.matrix_wait' at kernel.mlir:38:6 has taken them, expected the result of that");
}

TEST(SimtMatmulRefusals, TwoProductsThatAddToTheSameAccumulators) {
  EXPECT_EQ(
      ofMatmul(kReady + multiply("%d", "%zero") + multiply("%d1", "%d") + multiply("%d2", "%d")),
      "kernel.mlir:38:7: 'sched.matrix_async' uses accumulators of 'sched.matrix_async' at "
      "kernel.mlir:36:6 after 'sched.matrix_async' at kernel.mlir:37:7 has taken them, expected "
      "the result of that");
}

TEST(SimtMatmulRefusals, AccumulatorsJoinedInAnotherOrder) {
  std::string joined = "%j = vector.from_elements %e1, %e0";
  for (int at = 2; at < 32; ++at)
    joined += ", %e1";
  EXPECT_EQ(
      ofMatmul(kReady + multiply("%d", "%zero") + extract("%e0", "%d") + extract("%e1", "%d", 1) +
               joined + " : vector<32xf32>\n"),
      "kernel.mlir:39:6: 'vector.from_elements' joins accumulators of 'sched.matrix_async' at "
      "kernel.mlir:36:6, which is in flight, expected all of them in their order");
}

TEST(SimtMatmulRefusals, AccumulatorsJoinedInPart) {
  EXPECT_EQ(
      ofMatmul(kReady + multiply("%d", "%zero") +
               "%half = vector.extract %d[0] : f32 from vector<32xf32>\n"
               "%v = vector.from_elements %half, %half : vector<2xf32>\n"),
      "kernel.mlir:38:6: 'vector.from_elements' joins accumulators of 'sched.matrix_async' at "
      "kernel.mlir:36:6, which is in flight, expected all of them in their order");
}

TEST(SimtMatmulRefusals, WritingOperandsThatAreBeingRead) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d", "%zero") +
                     "sched.shared_store %v1, [%s16] when %first : vector<4xf32>\n"),
            "kernel.mlir:37:1: 'sched.shared_store' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.matrix_async' at kernel.mlir:36:6 of threads 0 to 127 still reads");
}

TEST(SimtMatmulRefusals, CopyingOverOperandsThatAreBeingRead) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d", "%zero") + copy("%c0", "%s16", "%no")),
            "kernel.mlir:37:1: 'sched.copy_async' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.matrix_async' at kernel.mlir:36:6 of threads 0 to 127 still reads");
}

TEST(SimtMatmulRefusals, WritingOperandsWithoutABarrierAfterTheWait) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d") +
                     "sched.shared_store %v1, [%s16] when %first : vector<4xf32>\n"),
            "kernel.mlir:38:1: 'sched.shared_store' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.matrix_async' at kernel.mlir:36:6 of threads 0 to 127 reads in the same "
            "barrier interval");
}

TEST(SimtMatmulRefusals, WritingOperandsOfAYoungerProduct) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d", "1 commit") +
                     multiply("%d2", "%w") + matrixWait("%w2", "%d2", "1 commit") + kBarrier +
                     "sched.shared_store %v1, [%s16] when %first : vector<4xf32>\n"),
            "kernel.mlir:41:1: 'sched.shared_store' of thread 0 writes byte 0 of shared memory, "
            "which 'sched.matrix_async' at kernel.mlir:38:7 of threads 0 to 127 still reads");
}

TEST(SimtMatmulRefusals, OperandsStoredInTheSameInterval) {
  EXPECT_EQ(ofMatmul(kOperands + copyWait(0) + "sched.matrix_fence\n" + multiply("%d", "%zero")),
            "kernel.mlir:35:6: 'sched.matrix_async' of threads 0 to 127 reads byte 0 of shared "
            "memory, which thread 0 writes in the same barrier interval");
}

TEST(SimtMatmulRefusals, OperandsStoredWithoutAWaitForCopies) {
  EXPECT_EQ(
      ofMatmul(kOperands + kBarrier + "sched.matrix_fence\n" + multiply("%d", "%zero")),
      "kernel.mlir:35:6: 'sched.matrix_async' of threads 0 to 127 reads byte 0 of shared memory, "
      "which threads have stored to: expected 'sched.copy_wait' and then a barrier between");
}

TEST(SimtMatmulRefusals, OperandsOrderedWithoutABarrier) {
  EXPECT_EQ(
      ofMatmul(kOperands + kBarrier + copyWait(0) + "sched.matrix_fence\n" +
               multiply("%d", "%zero")),
      "kernel.mlir:36:6: 'sched.matrix_async' of threads 0 to 127 reads byte 0 of shared memory, "
      "which threads have stored to: expected 'sched.copy_wait' and then a barrier between");
}

TEST(SimtMatmulRefusals, OperandsThatCopiesAreOnTheirWayTo) {
  EXPECT_EQ(ofMatmul(kReady + copy("%c0", "%s16", "%no") + multiply("%d", "%zero")),
            "kernel.mlir:37:6: 'sched.matrix_async' of threads 0 to 127 reads byte 0 of shared "
            "memory, which 'sched.copy_async' at kernel.mlir:36:1 of thread 0 is still copying to");
}

TEST(SimtMatmulRefusals, OperandsCopiedInTheSameInterval) {
  EXPECT_EQ(ofMatmul(kReady + copy("%c0", "%s16", "%no") + kCommit + copyWait(0) +
                     multiply("%d", "%zero")),
            "kernel.mlir:39:6: 'sched.matrix_async' of threads 0 to 127 reads byte 0 of shared "
            "memory, which 'sched.copy_async' at kernel.mlir:36:1 of thread 0 writes in the same "
            "barrier interval");
}

TEST(SimtMatmulRefusals, OperandsThatNothingHasWritten) {
  EXPECT_EQ(ofMatmul("%ib = arith.constant 8192 : i32\n"
                     "%zero = arith.constant dense<0.0> : vector<32xf32>\nsched.matrix_fence\n" +
                     multiply("%d", "%zero")),
            "kernel.mlir:25:6: 'sched.matrix_async' reads row 0 of a at byte 0 of shared memory, "
            "which this program has not all written");
}

TEST(SimtMatmulRefusals, ProductsWithoutAFence) {
  EXPECT_EQ(ofMatmul(kOperands + copyWait(0) + kBarrier + multiply("%d", "%zero")),
            "kernel.mlir:35:6: 'sched.matrix_async' adds to registers that threads have written, "
            "expected a 'sched.matrix_fence' between");
}

TEST(SimtMatmulRefusals, RegistersWrittenAfterTheFence) {
  EXPECT_EQ(
      ofMatmul(kReady + "%r = arith.addf %zero, %zero : vector<32xf32>\n" + multiply("%d", "%r")),
      "kernel.mlir:37:6: 'sched.matrix_async' adds to registers that threads have written, "
      "expected a 'sched.matrix_fence' between");
}

TEST(SimtMatmulRefusals, RegistersWrittenOneByOneAfterTheFence) {
  std::string joined;
  for (int at = 0; at < 32; ++at)
    joined += at ? ", %r" : "%r";
  EXPECT_EQ(ofMatmul(kReady + "%r = arith.sitofp %t : i32 to f32\n%j = vector.from_elements " +
                     joined + " : vector<32xf32>\n" + multiply("%d", "%j")),
            "kernel.mlir:38:6: 'sched.matrix_async' adds to registers that threads have written, "
            "expected a 'sched.matrix_fence' between");
}

TEST(SimtMatmulRefusals, PlacesOfOperandsThatDifferBetweenThreads) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d", "%zero", "%s16")),
            "kernel.mlir:36:6: 'sched.matrix_async' has a place of a that differs between threads: "
            "0 in thread 0, 16 in thread 1");
}

TEST(SimtMatmulRefusals, OperandsBetweenPatternsOfRows) {
  EXPECT_EQ(
      ofMatmul(kReady + "%i128 = arith.constant 128 : i32\n" + multiply("%d", "%zero", "%i128")),
      "kernel.mlir:37:6: 'sched.matrix_async' has a at byte 128 of shared memory, expected a "
      "multiple of 1024 plus one of 32 within the row");
}

TEST(SimtMatmulRefusals, OperandsBetweenStepsOfK) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d", "%zero", "%i16")),
            "kernel.mlir:36:6: 'sched.matrix_async' has a at byte 16 of shared memory, expected a "
            "multiple of 1024 plus one of 32 within the row");
}

TEST(SimtMatmulRefusals, OperandsBeforeSharedMemory) {
  EXPECT_EQ(ofMatmul(kReady + "%in = arith.constant -1024 : i32\n" +
                     multiply("%d", "%zero", "%i0", "%in")),
            "kernel.mlir:37:6: 'sched.matrix_async' has b at byte -1024 of shared memory, expected "
            "a multiple of 1024 plus one of 32 within the row");
}

TEST(SimtMatmulRefusals, OperandsBeyondSharedMemory) {
  EXPECT_EQ(ofMatmul(kReady + "%far = arith.constant 9216 : i32\n" +
                     multiply("%d", "%zero", "%i0", "%far")),
            "kernel.mlir:37:6: 'sched.matrix_async' of thread 0 touches 16 bytes from byte 16384 "
            "of shared memory, which has 16384");
}

TEST(SimtMatmulRefusals, ProductsOnTheirWayWhenTheProgramEnds) {
  EXPECT_EQ(ofMatmul(kReady + multiply("%d", "%zero") + matrixWait("%w", "%d", "1 commit")),
            "'sched.matrix_async' at kernel.mlir:36:6 is in flight when its program ends");
}

// ---- kernels that are not in SIMT IR ----

TEST(SimtMatmulRefusals, InstructionsThatTakeRegisters) {
  EXPECT_EQ(ofMatmul("%r = sched.matrix_async \"nvidia.mma.m16n8k16.f32.f16\" [%i0], [%i0], %v0 : "
                     "vector<4xf32>\n"),
            "kernel.mlir:22:6: 'sched.matrix_async' op names 'nvidia.mma.m16n8k16.f32.f16', whose "
            "operands lie in registers, expected 'sched.matrix' for it");
}

TEST(SimtMatmulRefusals, InstructionsThatTakeSharedMemory) {
  EXPECT_EQ(ofMatmul("%a = arith.constant dense<0.0> : vector<8xf16>\n%r = sched.matrix "
                     "\"nvidia.wgmma.m64n64k16.f32.f16\" %a, %a, %v0 : vector<8xf16>, "
                     "vector<8xf16>, vector<4xf32>\n"),
            "kernel.mlir:23:6: 'sched.matrix' op names 'nvidia.wgmma.m64n64k16.f32.f16', whose "
            "operands lie in shared memory, expected 'sched.matrix_async' for it");
}

TEST(SimtMatmulRefusals, InstructionsThatNoTableHas) {
  EXPECT_EQ(ofMatmul("%r = sched.matrix_async \"nvidia.wgmma\" [%i0], [%i0], %v0 : "
                     "vector<4xf32>\n"),
            "kernel.mlir:22:6: 'sched.matrix_async' op names 'nvidia.wgmma', which is not in the "
            "table of matrix instructions");
}

TEST(SimtMatmulRefusals, InstructionsWiderThanTheBlock) {
  EXPECT_EQ(refusal("%zero = arith.constant dense<0.0> : vector<32xf32>\n" +
                        multiply("%d", "%zero", "%i0", "%i0"),
                    {.threads = 64}),
            "kernel.mlir:23:6: 'sched.matrix_async' op names 'nvidia.wgmma.m64n64k16.f32.bf16' of "
            "128 lanes in blocks of 64 threads and subgroups of 32");
}

TEST(SimtMatmulRefusals, AccumulatorsOfAnotherLength) {
  EXPECT_EQ(
      ofMatmul("%r = sched.matrix_async \"" + kMatmul + "\" [%i0], [%i0], %v0 : vector<4xf32>\n"),
      "kernel.mlir:22:6: 'sched.matrix_async' op adds to 'vector<4xf32>', expected "
      "'vector<32xf32>' of 'nvidia.wgmma.m64n64k16.f32.bf16'");
}

TEST(SimtMatmulRefusals, FewerThanNoPendingGroups) {
  EXPECT_EQ(
      ofMatmul("%r = sched.matrix_wait -1 %v0 : vector<4xf32>\n"),
      "kernel.mlir:22:6: 'sched.matrix_wait' op leaves -1 groups pending, expected 0 or more");
}

} // namespace
} // namespace sinter::sched
