// Broken schedules of thread blocks, each refused with the operation, the threads and the byte.
#include "sched/simt_support.h"

namespace sinter::sched {
namespace {

// ---- launches that overlap ----

TEST(SimtRefusals, TouchingWhatLaunchesWriteBeforeTheWaitForThem) {
  EXPECT_EQ(refusal(load("%a", "%x", "%b4") + "sched.await_launches\n"),
            "kernel.mlir:22:6: 'sched.view_load' touches argument 0, which is not constant, before "
            "sched.await_launches");
  EXPECT_EQ(refusal(store("%f1", "%y", "%b4") + "sched.await_launches\n"),
            "kernel.mlir:22:1: 'sched.view_store' touches argument 1, which is not constant, "
            "before sched.await_launches");
  EXPECT_EQ(refusal("sched.await_launches\n" + load("%a", "%x", "%b4") + store("%a", "%y", "%b4")),
            "succeeded");
}

TEST(SimtRefusals, AProgramThatEndsWithoutTheWaitItsKernelHas) {
  EXPECT_EQ(refusal("scf.if %no {\nsched.await_launches\n}\n"),
            "a program ends without sched.await_launches, which its kernel has");
}

// ---- tables ----

TEST(SimtRefusals, ReadingBeyondATable) {
  EXPECT_EQ(
      refusal("%w = sched.table_load %t of [7, -1, 40]\n"),
      "kernel.mlir:22:6: 'sched.table_load' of thread 3 reads word 3 of a table, which has 3");
}

// ---- races ----

TEST(SimtRefusals, ReadingWhatAnotherThreadWritesNeedsABarrier) {
  EXPECT_EQ(refusal(share("%f1", "%s4") + fetch("%r", "%i0")),
            "kernel.mlir:23:6: 'sched.shared_load' of thread 1 reads byte 0 of shared memory, "
            "which thread 0 writes in the same barrier interval");
}

TEST(SimtRefusals, OverwritingWhatAnotherThreadReadsNeedsABarrier) {
  EXPECT_EQ(
      refusal(share("%f1", "%s4") + kBarrier + fetch("%r", "%i4") + share("%f0", "%i4", "%first")),
      "kernel.mlir:25:1: 'sched.shared_store' of thread 0 writes byte 4 of shared memory, "
      "which thread 3 reads in the same barrier interval");
}

TEST(SimtRefusals, TwoThreadsWritingOneSharedByteRace) {
  EXPECT_EQ(refusal(share("%f1", "%i0")),
            "kernel.mlir:22:1: 'sched.shared_store' of thread 1 writes byte 0 of shared memory, "
            "which thread 0 writes in the same barrier interval");
}

TEST(SimtRefusals, VectorsThatOverlapInSharedMemoryRace) {
  EXPECT_EQ(refusal("%two = arith.constant dense<0.0> : vector<2xf32>\n"
                    "%i8 = arith.constant 8 : i32\n"
                    "%at = arith.andi %s4, %i8 : i32\n"
                    "sched.shared_store %two, [%at] when %yes : vector<2xf32>\n"),
            "kernel.mlir:25:1: 'sched.shared_store' of thread 1 writes byte 0 of shared memory, "
            "which thread 0 writes in the same barrier interval");
}

TEST(SimtRefusals, ALoopThatLacksItsSecondBarrierRaces) {
  EXPECT_EQ(refusal("%i12 = arith.constant 12 : i32\n"
                    "%other = arith.subi %i12, %s4 : i32\n"
                    "scf.for %i = %c0 to %c4 step %c1 {\n" +
                    share("%f1", "%s4") + kBarrier + fetch("%r", "%other") + "}\n"),
            "kernel.mlir:25:1: 'sched.shared_store' of thread 0 writes byte 0 of shared memory, "
            "which thread 3 reads in the same barrier interval");
}

TEST(SimtRefusals, TwoThreadsGivingOneByteOfAViewTwoValuesRace) {
  EXPECT_EQ(refusal("%a = arith.sitofp %t : i32 to f32\n" + store("%a", "%y", "%c0")),
            "kernel.mlir:23:1: 'sched.view_store' of thread 1 writes byte 2 of argument 1, which "
            "thread 0 writes with another value in the same barrier interval");
}

TEST(SimtRefusals, ReadingWhatAnotherThreadWritesToAViewNeedsABarrier) {
  EXPECT_EQ(refusal(store("%f1", "%z", "%b4") + load("%r", "%z", "%c4")),
            "kernel.mlir:23:6: 'sched.view_load' of thread 0 reads byte 4 of argument 2, which "
            "thread 1 writes in the same barrier interval");
}

TEST(SimtRefusals, OverwritingWhatAnotherThreadReadsInAViewNeedsABarrier) {
  EXPECT_EQ(refusal(load("%r", "%z", "%c4") + store("%f1", "%z", "%b4")),
            "kernel.mlir:23:1: 'sched.view_store' of thread 1 writes byte 4 of argument 2, which "
            "thread 0 reads in the same barrier interval");
}

TEST(SimtRefusals, TwoProgramsGivingOneByteTwoValuesRace) {
  std::string body = "%pi = arith.index_cast %p : index to i32\n"
                     "%a = arith.sitofp %pi : i32 to f32\n" +
                     store("%a", "%y", "%b4");
  EXPECT_EQ(runBody(body, {.programs = 2}).message,
            "kernel.mlir:24:1: 'sched.view_store' of thread 0 writes byte 2 of argument 1, which "
            "another program writes with another value (in program 1, 0, 0)");
}

TEST(SimtRefusals, AProgramMustNotReadWhatAnotherOneWrites) {
  std::string body = load("%a", "%z", "%b4") + store("%f1", "%z", "%b4");
  EXPECT_EQ(runBody(body, {.programs = 2}).message,
            "kernel.mlir:22:6: 'sched.view_load' of thread 0 reads byte 0 of argument 2, which "
            "another program writes (in program 1, 0, 0)");
}

// ---- blocks of a program ----

// Each thread puts its block's number into shared memory, and reads that of a block.
std::string exchanged(const std::string &barrier, const std::string &block = "%other") {
  return "%b = sched.block\n%bf = arith.sitofp %b : i32 to f32\n"
         "%i1 = arith.constant 1 : i32\n%other = arith.subi %i1, %b : i32\n" +
         share("%bf", "%s4") + barrier + "%r = sched.remote_load " + block + "[%s4] : f32\n";
}
const std::string kProgramBarrier = "sched.program_barrier\n";

TEST(SimtBlocks, BlocksOfAProgramReadOneAnothersSharedMemory) {
  const std::string body = exchanged(kProgramBarrier) +
                           "%i4b = arith.muli %b, %i16 : i32\n%at = arith.addi %i4b, %s4 : i32\n"
                           "%ati = arith.index_castui %at : i32 to index\n" +
                           store("%r", "%y", "%ati");
  const SimtOutcome outcome = runBody(body, {.blocks = 2});
  EXPECT_EQ(outcome.message, "succeeded");
  const std::vector<float> first(outcome.y.begin(), outcome.y.begin() + 8);
  EXPECT_EQ(first, (std::vector<float>{1, 1, 1, 1, 0, 0, 0, 0}));
}

TEST(SimtRefusals, ReadingAnotherBlocksWritesNeedsABarrierOfTheProgram) {
  EXPECT_EQ(runBody(exchanged(kBarrier), {.blocks = 2}).message,
            "kernel.mlir:28:6: 'sched.remote_load' of thread 0 reads byte 0 of shared memory, "
            "which thread 4 writes in the same barrier interval (in program 0, 0, 0)");
}

TEST(SimtRefusals, OverwritingWhatAnotherBlockReadsNeedsABarrierOfTheProgram) {
  const std::string body = exchanged(kProgramBarrier) + kBarrier + share("%f1", "%s4");
  EXPECT_EQ(runBody(body, {.blocks = 2}).message,
            "kernel.mlir:30:1: 'sched.shared_store' of thread 0 writes byte 0 of shared memory, "
            "which thread 4 reads in the same barrier interval (in program 0, 0, 0)");
}

TEST(SimtRefusals, ReadingABlockThatIsNotThere) {
  EXPECT_EQ(runBody(exchanged(kProgramBarrier, "%i4"), {.blocks = 2}).message,
            "kernel.mlir:28:6: 'sched.remote_load' reads block 4 of a program of 2 (in program 0, "
            "0, 0)");
}

TEST(SimtRefusals, ProgramsOfMoreThreadsThanTheInterpreterHas) {
  EXPECT_THAT(runBody(kBarrier, {.threads = 256, .blocks = 8}).message,
              testing::HasSubstr("has programs of 8 blocks of 256 threads, expected 1024 threads"));
}

// ---- places ----

TEST(SimtRefusals, ALoadBeyondItsArgument) {
  EXPECT_EQ(refusal("%far = arith.constant 52 : index\n%at = arith.addi %far, %b4 : index\n" +
                    load("%r", "%x", "%at")),
            "kernel.mlir:24:6: 'sched.view_load' of thread 3 touches 4 bytes from byte 64 of "
            "argument 0, which has 64");
}

TEST(SimtRefusals, AStoreBeyondItsArgument) {
  EXPECT_EQ(refusal("%far = arith.constant 64 : index\n" + store("%f1", "%y", "%far")),
            "kernel.mlir:23:1: 'sched.view_store' of thread 0 touches 4 bytes from byte 64 of "
            "argument 1, which has 64");
}

TEST(SimtRefusals, APlaceBeforeItsArgument) {
  EXPECT_EQ(refusal("%at = arith.subi %b4, %c4 : index\n" + load("%r", "%x", "%at")),
            "kernel.mlir:23:6: 'sched.view_load' of thread 0 touches 4 bytes from byte -4 of "
            "argument 0, which has 64");
}

TEST(SimtRefusals, AVectorThatIsNotAlignedToItsSize) {
  EXPECT_EQ(refusal("%r = sched.view_load %x[%b4] when %yes else %v0 : !tile.view<16xf32, in> -> "
                    "vector<4xf32>\n"),
            "kernel.mlir:22:6: 'sched.view_load' of thread 1 touches byte 4 of argument 0, "
            "expected a multiple of 16");
}

TEST(SimtRefusals, AScalarThatIsNotAlignedToWhatItsOperationSays) {
  EXPECT_EQ(refusal("%r = sched.view_load %x[%odd] when %yes else %f0 {align = 4 : i64} : "
                    "!tile.view<16xf32, in> -> f32\n"),
            "kernel.mlir:22:6: 'sched.view_load' of thread 0 touches byte 2 of argument 0, "
            "expected a multiple of 4");
}

TEST(SimtRefusals, ASharedVectorThatIsNotAligned) {
  EXPECT_EQ(refusal("sched.shared_store %v0, [%s4] when %yes : vector<4xf32>\n"),
            "kernel.mlir:22:1: 'sched.shared_store' of thread 1 touches byte 4 of shared memory, "
            "expected a multiple of 16");
}

TEST(SimtRefusals, AccessesBeyondSharedMemory) {
  EXPECT_EQ(refusal(share("%f1", "%s4"), {.threads = 8, .shared = 16}),
            "kernel.mlir:22:1: 'sched.shared_store' of thread 4 touches 4 bytes from byte 16 of "
            "shared memory, which has 16");
}

TEST(SimtRefusals, AccessesOfSharedMemoryThatTheKernelDoesNotHave) {
  EXPECT_EQ(refusal(fetch("%r", "%i0"), {.shared = 0}),
            "kernel.mlir:22:6: 'sched.shared_load' of thread 0 touches 4 bytes from byte 0 of "
            "shared memory, which has 0");
}

TEST(SimtRefusals, SharedMemoryThatNothingHasWritten) {
  EXPECT_EQ(refusal(share("%f1", "%s4", "%first") + kBarrier + fetch("%r", "%s4")),
            "kernel.mlir:24:6: 'sched.shared_load' of thread 1 reads 4 bytes from byte 4 of "
            "shared memory, which this program has not all written");
}

TEST(SimtRefusals, SharedMemoryThatOnlyTheProgramBeforeHasWritten) {
  std::string body = "%pi = arith.index_cast %p : index to i32\n"
                     "%zeroth = arith.cmpi eq, %pi, %i0 : i32\nscf.if %zeroth {\n" +
                     share("%f1", "%s4") + "}\n" + fetch("%r", "%s4");
  EXPECT_EQ(runBody(body, {.programs = 2}).message,
            "kernel.mlir:27:6: 'sched.shared_load' of thread 0 reads 4 bytes from byte 0 of "
            "shared memory, which this program has not all written (in program 1, 0, 0)");
}

TEST(SimtRefusals, BytesBetweenTheElementsOfAView) {
  std::vector<float> y(16);
  std::string text = "tile.kernel @k(%y: !tile.view<2x3xf32, out>) attributes {sched.threads = 4 : "
                     "i64} {\n%c1 = arith.constant 1 : index\n%c4 = arith.constant 4 : index\n"
                     "tile.grid %c1, %c1, %c1\n%yes = arith.constant true\n"
                     "%f1 = arith.constant 1.0 : f32\n%t = sched.thread\n"
                     "%ti = arith.index_castui %t : i32 to index\n"
                     "%b4 = arith.muli %ti, %c4 : index\n"
                     "sched.view_store %f1, %y[%b4] when %yes : f32, !tile.view<2x3xf32, out>\n}\n";
  tile::HostView view{reinterpret_cast<std::byte *>(y.data()), {2, 3}, {8, 1}};
  auto result = runSimt(text, {view});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "kernel.mlir:10:1: 'sched.view_store' of thread 3 touches byte 12 of argument 0, which "
            "lies between the view's elements (in program 0, 0, 0)");
}

// ---- control that differs between threads ----

TEST(SimtRefusals, AConditionThatDiffersBetweenThreads) {
  EXPECT_EQ(refusal("scf.if %first {\n" + kBarrier + "}\n"),
            "kernel.mlir:22:1: 'scf.if' has a condition that differs between threads: 1 in thread "
            "0, 0 in thread 1");
}

TEST(SimtRefusals, ALoopWhoseEndDiffersBetweenThreads) {
  EXPECT_EQ(refusal("scf.for %i = %c0 to %ti step %c1 {\n" + kBarrier + "}\n"),
            "kernel.mlir:22:1: 'scf.for' has an upper bound that differs between threads: 0 in "
            "thread 0, 1 in thread 1");
}

TEST(SimtRefusals, ALoopWhoseStartDiffersBetweenThreads) {
  EXPECT_EQ(refusal("scf.for %i = %b4 to %c4 step %c1 {\n}\n"),
            "kernel.mlir:22:1: 'scf.for' has a lower bound that differs between threads: 0 in "
            "thread 0, 4 in thread 1");
}

TEST(SimtRefusals, ALoopThatDoesNotEnd) {
  InterpreterOptions options;
  options.stepLimit = 1000;
  EXPECT_EQ(refusal("%far = arith.constant 1000000000000 : index\n"
                    "scf.for %i = %c0 to %far step %c1 {\n" +
                        kBarrier + "}\n",
                    {}, options),
            "kernel.mlir:23:1: 'scf.yield' the kernel has not ended after 1000 steps");
}

// ---- kernels that are not in SIMT IR ----

std::string verifier(const std::string &place, const std::string &message) {
  return "kernel.mlir:" + place + " op " + message;
}

TEST(SimtRefusals, ShufflesBeyondASubgroup) {
  EXPECT_EQ(refusal("%r = sched.shuffle %f1 xor 32 : f32\n", {.threads = 64}),
            verifier("22:6: 'sched.shuffle'", "reaches 32 threads away, expected a mask below 32, "
                                              "the threads of a subgroup"));
}

TEST(SimtRefusals, ShufflesBeyondTheBlock) {
  EXPECT_EQ(refusal("%r = sched.shuffle %f1 xor 4 : f32\n", {.threads = 4}),
            verifier("22:6: 'sched.shuffle'", "reaches 4 threads away, expected a mask below 4, "
                                              "the threads of a subgroup"));
}

TEST(SimtRefusals, ShufflesBeyondANarrowerSubgroup) {
  InterpreterOptions options;
  options.lanes.subgroup = 8;
  EXPECT_EQ(refusal("%r = sched.shuffle %f1 xor 8 : f32\n", {.threads = 64}, options),
            verifier("22:6: 'sched.shuffle'", "reaches 8 threads away, expected a mask below 8, "
                                              "the threads of a subgroup"));
}

std::string matrix(const std::string &name, const std::string &aType, const std::string &bType) {
  return "%a = arith.constant dense<0.0> : " + aType +
         "\n%b = arith.constant dense<0.0> : " + bType + "\n%r = sched.matrix \"" + name +
         "\" %a, %b, %v0 : " + aType + ", " + bType + ", vector<4xf32>\n";
}

TEST(SimtRefusals, InstructionsThatNoTableHas) {
  EXPECT_EQ(refusal(matrix("nvidia.mma.m16n8k17.f32.f16", "vector<8xf16>", "vector<4xf16>"),
                    {.threads = 32}),
            verifier("24:6: 'sched.matrix'",
                     "names 'nvidia.mma.m16n8k17.f32.f16', which is not in the "
                     "table of matrix instructions"));
}

TEST(SimtRefusals, InstructionsWithFragmentsOfOtherTypes) {
  EXPECT_EQ(refusal(matrix("nvidia.mma.m16n8k16.f32.f16", "vector<8xf16>", "vector<8xf16>"),
                    {.threads = 32}),
            verifier("24:6: 'sched.matrix'",
                     "multiplies 'vector<8xf16>' with 'vector<8xf16>' into 'vector<4xf32>', "
                     "expected 'vector<8xf16>', 'vector<4xf16>' and 'vector<4xf32>' of "
                     "'nvidia.mma.m16n8k16.f32.f16'"));
}

TEST(SimtRefusals, InstructionsWiderThanTheBlock) {
  EXPECT_EQ(refusal(matrix("nvidia.mma.m16n8k16.f32.f16", "vector<8xf16>", "vector<4xf16>"),
                    {.threads = 16}),
            verifier("24:6: 'sched.matrix'", "names 'nvidia.mma.m16n8k16.f32.f16' of 32 lanes in "
                                             "blocks of 16 threads and subgroups of 32"));
}

TEST(SimtRefusals, MoreSharedMemoryThanTheDeviceHas) {
  InterpreterOptions options;
  options.lanes.maxShared = 32;
  EXPECT_EQ(refusal("", {.shared = 33}, options),
            verifier("1:1: 'tile.kernel'", "needs 33 bytes of shared memory, expected 0 to 32"));
}

TEST(SimtRefusals, LessThanNoSharedMemory) {
  EXPECT_EQ(refusal("", {.shared = -1}),
            verifier("1:1: 'tile.kernel'", "needs -1 bytes of shared memory, expected 0 to 49152"));
}

TEST(SimtRefusals, BlocksWhoseThreadsAreNoPowerOfTwo) {
  EXPECT_EQ(refusal("", {.threads = 96}),
            verifier("1:1: 'tile.kernel'",
                     "has blocks of 96 threads, expected a power of two of at most 1024"));
}

TEST(SimtRefusals, BlocksOfMoreThreadsThanTheDeviceRuns) {
  InterpreterOptions options;
  options.lanes.maxThreads = 256;
  EXPECT_EQ(refusal("", {.threads = 512}, options),
            verifier("1:1: 'tile.kernel'",
                     "has blocks of 512 threads, expected a power of two of at most 256"));
}

TEST(SimtRefusals, BlocksOfNoThreads) {
  EXPECT_EQ(refusal("", {.threads = 0}),
            verifier("1:1: 'tile.kernel'",
                     "has blocks of 0 threads, expected a power of two of at most 1024"));
}

TEST(SimtRefusals, StoresToAnInView) {
  EXPECT_EQ(refusal(store("%f1", "%x", "%b4")),
            verifier("22:1: 'sched.view_store'", "writes an in view"));
}

TEST(SimtRefusals, LoadsFromAnOutView) {
  EXPECT_EQ(refusal(load("%r", "%y", "%b4")),
            verifier("22:6: 'sched.view_load'", "reads an out view"));
}

TEST(SimtRefusals, OperationsOnTiles) {
  EXPECT_EQ(refusal("%r = tile.load %x[%c0] : !tile.view<16xf32, in> -> tensor<16xf32>\n"),
            verifier("22:6: 'tile.load'",
                     "has 'tensor<16xf32>', expected index, i1, i8, i16, i32, i64, f16, bf16, f32 "
                     "or a vector of them of one dimension"));
}

TEST(SimtRefusals, WindowsOfViews) {
  EXPECT_EQ(refusal("%w = tile.window %x[%c0] extent [%c4] : !tile.view<16xf32, in> -> "
                    "!tile.view<?xf32, in>\n"),
            verifier("22:6: 'tile.window'",
                     "has '!tile.view<?xf32, in>', expected index, i1, i8, i16, i32, i64, f16, "
                     "bf16, f32 or a vector of them of one dimension"));
}

TEST(SimtRefusals, LoopsWithoutACount) {
  EXPECT_EQ(refusal("scf.while : () -> () {\n  scf.condition(%no)\n} do {\n  scf.yield\n}\n"),
            verifier("22:1: 'scf.while'", "is no operation of a kernel in SIMT IR"));
}

TEST(SimtRefusals, NumbersThatNoTargetHas) {
  EXPECT_EQ(refusal("%r = arith.constant 0.0 : f64\n"),
            verifier("22:6: 'arith.constant'",
                     "has 'f64', expected index, i1, i8, i16, i32, i64, f16, bf16, f32 or a vector "
                     "of them of one dimension"));
}

TEST(SimtRefusals, VectorsOfTwoDimensions) {
  EXPECT_EQ(refusal("%r = arith.constant dense<0.0> : vector<2x2xf32>\n"),
            verifier("22:6: 'arith.constant'",
                     "has 'vector<2x2xf32>', expected index, i1, i8, i16, i32, i64, f16, bf16, f32 "
                     "or a vector of them of one dimension"));
}

TEST(SimtRefusals, MovingBits) {
  EXPECT_EQ(refusal("%r = sched.shared_load [%i0] : i1\n"),
            verifier("22:6: 'sched.shared_load'", "moves 'i1', expected elements of whole bytes"));
}

TEST(SimtRefusals, BitsSeenAsBytes) {
  EXPECT_EQ(
      refusal("%v = vector.from_elements %yes, %yes, %yes, %yes, %yes, %yes, %yes, %yes : "
              "vector<8xi1>\n%r = vector.bitcast %v : vector<8xi1> to vector<1xi8>\n"),
      verifier("23:6: 'vector.bitcast'", "moves 'vector<8xi1>', expected elements of whole bytes"));
}

TEST(SimtRefusals, BytesSeenAsBits) {
  EXPECT_EQ(
      refusal("%i8 = arith.constant dense<1> : vector<1xi8>\n"
              "%r = vector.bitcast %i8 : vector<1xi8> to vector<8xi1>\n"),
      verifier("23:6: 'vector.bitcast'", "moves 'vector<8xi1>', expected elements of whole bytes"));
}

TEST(SimtRefusals, AlignmentsThatAreNoPowerOfTwo) {
  EXPECT_EQ(refusal("%r = sched.view_load %x[%b4] when %yes else %f0 {align = 3 : i64} : "
                    "!tile.view<16xf32, in> -> f32\n"),
            verifier("22:6: 'sched.view_load'", "is aligned to 3 bytes, expected a power of two"));
}

TEST(SimtRefusals, PositionsThatAreNotKnown) {
  EXPECT_EQ(refusal("%r = vector.extract %v0[%ti] : f32 from vector<4xf32>\n"),
            verifier("22:6: 'vector.extract'", "has no static position of one dimension"));
}

TEST(SimtRefusals, StridesOfAxesThatAViewLacks) {
  EXPECT_EQ(refusal("%r = sched.stride %x, 1 : !tile.view<16xf32, in>\n"),
            verifier("22:6: 'sched.stride'", "asks for axis 1 of a view with 1 dimensions"));
}

TEST(SimtRefusals, ThreadsThatAreNoNumber) {
  auto result = runSimt("tile.kernel @k() attributes {sched.threads = \"4\"} {\n"
                        "%c1 = arith.constant 1 : index\ntile.grid %c1, %c1, %c1\n}\n",
                        {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "kernel.mlir:1:1: 'tile.kernel' op has sched.threads = \"4\", expected an i64");
}

// ---- operations that are not defined for some thread ----

TEST(SimtRefusals, DivisionByZeroInOneThread) {
  EXPECT_EQ(refusal("%r = arith.divui %i4, %t : i32\n"),
            "kernel.mlir:22:6: 'arith.divui' divides by zero at element 0");
}

} // namespace
} // namespace sinter::sched
