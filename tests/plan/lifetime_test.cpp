// Lifetimes of Temp buffers across straight steps, loops, branches and calls.
#include "plan/lifetime.h"

#include <gtest/gtest.h>

namespace sinter::plan {
namespace {

constexpr BufferId kA{0}, kB{1}, kC{2}, kState{3};
constexpr SymbolId kI{0}, kJ{1};

Plan planOf(std::vector<Step> main, std::vector<Step> callee = {}) {
  Plan plan;
  plan.symbols = {{"i", 0, 9}, {"j", 0, 9}};
  plan.buffers.resize(4);
  plan.buffers[3].kind = BufferKind::State;
  plan.procedures = {{"main", std::move(main)}, {"callee", std::move(callee)}};
  return plan;
}

Step touch(BufferId from, BufferId to) {
  return {Copy{from, Expr(0), to, Expr(0), Expr(1)}};
}
Step loop(SymbolId induction, std::vector<Step> body) {
  return {Loop{induction, Expr(3), std::move(body)}};
}

std::vector<Lifetime> lifetimesOf(const Plan &plan) {
  return computeLifetimes(plan, ProcedureId{0});
}
using Lives = std::vector<Lifetime>;

TEST(Lifetime, RunsFromTheFirstToTheLastUse) {
  const Plan plan = planOf({touch(kState, kA), touch(kA, kB), touch(kB, kC), touch(kC, kState)});
  EXPECT_EQ(lifetimesOf(plan), (Lives{{kA, 0, 1}, {kB, 1, 2}, {kC, 2, 3}}));
}

TEST(Lifetime, BuffersThatAreNotTempOrNotUsedAreAbsent) {
  EXPECT_EQ(lifetimesOf(planOf({touch(kState, kB)})), (Lives{{kB, 0, 0}}));
}

TEST(Lifetime, AnEmptyProcedureHasNone) {
  EXPECT_TRUE(lifetimesOf(planOf({})).empty());
}

TEST(Lifetime, UsesInsideOneLoopBodyStayShort) {
  // Positions: 0 the loop, 1 to 3 its body.
  const Plan plan = planOf({loop(kI, {touch(kState, kA), touch(kA, kB), touch(kB, kState)})});
  EXPECT_EQ(lifetimesOf(plan), (Lives{{kA, 1, 2}, {kB, 2, 3}}));
}

TEST(Lifetime, AUseOutsideKeepsTheBufferForTheWholeLoop) {
  // 0: write A; 1: loop; 2: read A; 3: B; 4: after.
  const Plan plan = planOf(
      {touch(kState, kA), loop(kI, {touch(kA, kState), touch(kB, kState)}), touch(kState, kState)});
  EXPECT_EQ(lifetimesOf(plan), (Lives{{kA, 0, 3}, {kB, 3, 3}}));
}

TEST(Lifetime, AUseAfterTheLoopKeepsTheBufferFromTheLoopsStart) {
  // 0: loop; 1: B; 2: write A; 3: read A.
  const Plan plan = planOf({loop(kI, {touch(kB, kState), touch(kState, kA)}), touch(kA, kState)});
  EXPECT_EQ(lifetimesOf(plan), (Lives{{kA, 0, 3}, {kB, 1, 1}}));
}

TEST(Lifetime, UsesInTwoInnerLoopsAreKeptOverBothButNotTheOuterLoop) {
  // 0: outer; 1: C; 2: inner; 3: write A; 4: inner; 5: read A; 6: C.
  const Plan plan = planOf({loop(kI, {touch(kState, kC), loop(kJ, {touch(kState, kA)}),
                                      loop(kJ, {touch(kA, kState)}), touch(kState, kState)})});
  EXPECT_EQ(lifetimesOf(plan), (Lives{{kA, 2, 5}, {kC, 1, 1}}));
}

TEST(Lifetime, AUseDeepInsideIsKeptForTheOutermostLoopThatRepeatsIt) {
  // 0: write A; 1: outer; 2: inner; 3: read A; 4: end of outer.
  const Plan plan =
      planOf({touch(kState, kA), loop(kI, {loop(kJ, {touch(kA, kState)}), touch(kState, kState)})});
  EXPECT_EQ(lifetimesOf(plan), (Lives{{kA, 0, 4}}));
}

TEST(Lifetime, BothBranchesOfAnIfAreCounted) {
  // 0: if; 1: then; 2: else.
  const Plan plan =
      planOf({{If{Expr(1), {touch(kState, kA)}, {touch(kState, kB)}}}, touch(kA, kState)});
  EXPECT_EQ(lifetimesOf(plan), (Lives{{kA, 1, 3}, {kB, 2, 2}}));
}

TEST(Lifetime, ACallCountsAsTheCalleesSteps) {
  // 0: write A; 1: call; 2, 3: callee; 4: call; 5, 6: callee; 7: read B.
  const Step call{Call{ProcedureId{1}}};
  const Plan plan =
      planOf({touch(kState, kA), call, call, touch(kB, kState)}, {touch(kA, kC), touch(kC, kB)});
  EXPECT_EQ(lifetimesOf(plan), (Lives{{kA, 0, 5}, {kB, 3, 7}, {kC, 2, 6}}));
}

TEST(Lifetime, ACallInALoopCountsAsTheLoopsBody) {
  // 0: write A; 1: loop; 2: call; 3, 4: callee.
  const Plan plan = planOf({touch(kState, kA), loop(kI, {{Call{ProcedureId{1}}}})},
                           {touch(kA, kC), touch(kC, kState)});
  EXPECT_EQ(lifetimesOf(plan), (Lives{{kA, 0, 4}, {kC, 3, 4}}));
}

} // namespace
} // namespace sinter::plan
