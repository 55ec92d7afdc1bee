// Products whose accumulators no register holds: what they give, and schedules that cannot stand.
#include "sched/simt_support.h"

#include <gmock/gmock.h>

namespace sinter::sched {
namespace {

constexpr const char *kName = "\"vulkan.cooperative.16x16x16.f32.f16\"";
const Block kSubgroup = {32, 2048, 1};

std::string clear() {
  return std::string("sched.acc_clear ") + kName + " 0 count 1\n";
}

// Each thread writes 8 elements of a at byte 0 and of b at byte 512, all of them 2.
std::string operands() {
  return "%two = arith.constant dense<2.0> : vector<8xf16>\n"
         "%i512 = arith.constant 512 : i32\n%i1024 = arith.constant 1024 : i32\n"
         "%mine = arith.muli %t, %i16 : i32\n%other = arith.addi %mine, %i512 : i32\n"
         "sched.shared_store %two, [%mine] when %yes : vector<8xf16>\n"
         "sched.shared_store %two, [%other] when %yes : vector<8xf16>\n";
}

std::string add(const std::string &rows = "[32, 32]") {
  return std::string("sched.acc_add ") + kName + "[%i0], [%i512] to 0 rows " + rows +
         " steps [512, 512] counts [1, 1]\n";
}

std::string take(const std::string &byte = "%i1024") {
  return std::string("%accumulators = sched.acc_take ") + kName + " 0 by[" + byte +
         "] : vector<8xf32>\n";
}

std::string keep() {
  return "%sum = vector.extract %accumulators[7] : f32 from vector<8xf32>\n"
         "%few = arith.cmpi slt, %t, %i16 : i32\n" +
         store("%sum", "%y", "%b4", "%few");
}

TEST(OpaqueAccumulators, AddProductsOfSharedMemory) {
  SimtOutcome found = runBody(
      clear() + operands() + kBarrier + add() + add() + kBarrier + take() + keep(), kSubgroup);
  EXPECT_EQ(found.message, "succeeded");
  EXPECT_EQ(found.y, std::vector<float>(16, 2 * 16 * 2 * 2));
}

TEST(OpaqueAccumulatorsRefusals, TakingWhatNothingHasMadeZero) {
  EXPECT_THAT(refusal(operands() + take(), kSubgroup),
              testing::HasSubstr("'sched.acc_take' asks for fragment 0, expected one that a "
                                 "'sched.acc_clear' has made zero"));
}

TEST(OpaqueAccumulatorsRefusals, AddingWhatAnotherThreadWritesNeedsABarrier) {
  EXPECT_THAT(refusal(clear() + operands() + add(), kSubgroup),
              testing::HasSubstr("'sched.acc_add' of thread 0 reads byte 16 of shared memory, "
                                 "which thread 1 writes in the same barrier interval"));
}

TEST(OpaqueAccumulatorsRefusals, TakingByWayOfWhatOthersReadNeedsABarrier) {
  EXPECT_THAT(
      refusal(clear() + operands() + kBarrier + add() + take("%i0"), kSubgroup),
      testing::HasSubstr(
          "'sched.acc_take' of thread 16 writes byte 512 of shared memory, which thread 0 reads"));
}

TEST(OpaqueAccumulatorsRefusals, PlacesThatDifferWithinTheSubgroup) {
  EXPECT_THAT(refusal(clear() + operands() + kBarrier + take("%mine"), kSubgroup),
              testing::HasSubstr("has a place of the fragment that differs between threads: 0 in "
                                 "thread 0, 16 in thread 1"));
}

TEST(OpaqueAccumulatorsRefusals, RowsThatAreNoWholePieces) {
  EXPECT_THAT(refusal(clear() + operands() + kBarrier + add("[40, 32]"), kSubgroup),
              testing::HasSubstr("has rows 40, 32, steps 512, 512 and counts 1, 1, expected two of "
                                 "each: multiples of 16 bytes"));
}

TEST(OpaqueAccumulatorsRefusals, InstructionsOfOtherKinds) {
  EXPECT_THAT(refusal("sched.acc_clear \"nvidia.mma.m16n8k16.f32.f16\" 0 count 1\n", kSubgroup),
              testing::HasSubstr("expected an instruction of a subgroup with opaque accumulators"));
  EXPECT_THAT(refusal(std::string("%acc = arith.constant dense<0.0> : vector<8xf32>\n"
                                  "%accumulators = sched.matrix_async ") +
                          kName + "[%i0], [%i0], %acc : vector<8xf32>\n",
                      kSubgroup),
              testing::HasSubstr("expected 'sched.acc_add' for it"));
}

} // namespace
} // namespace sinter::sched
