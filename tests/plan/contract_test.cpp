// The contract of compiler and runtime: a plan that keeps it, and each way to break it.
#include "plan/contract.h"

#include "plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::contract {
namespace {

using testing::HasSubstr;

plan::Plan keepingPlan() {
  plan::Plan plan;
  for (const PropertyRow &row : kProperties)
    plan.properties[row.name] = row.min;
  plan.properties[kPartitionKeys.name] = 256;
  for (const SymbolRow &row : kSymbols)
    plan.symbols.push_back({row.name, row.min, row.max});
  for (const TensorRow &row : kInputs)
    plan.buffers.push_back({row.name, plan::BufferKind::Input, 0, {}, {}, {}});
  plan.buffers.push_back({kLogits.name, plan::BufferKind::Output, 0, {}, {}, {}});
  plan.procedures = {{kStepProcedure, {}}};
  return plan;
}

// Steps that begin ahead; guesses come last.
void addAhead(plan::Plan &plan) {
  plan.properties[kTopCount.name] = 1;
  for (const TensorRow &row : {kTopLogits, kTopTokens})
    plan.buffers.push_back({row.name, plan::BufferKind::Output, 0, {}, {}, {}});
  for (const TensorRow &row : {kTokenSources, kGuessRules})
    plan.buffers.push_back({row.name, plan::BufferKind::Input, 0, {}, {}, {}});
  plan.buffers.push_back({kGuesses.name, plan::BufferKind::State, 0, {}, {}, {}});
  plan.procedures.push_back({kAheadProcedure, {}});
}

struct Breach {
  const char *name;
  void (*commit)(plan::Plan &);
  const char *message;
};

const Breach kBreaches[] = {
    {"NoProcedure", [](plan::Plan &p) { p.procedures[0].name = "other"; },
     "the plan has no procedure 'step'"},
    {"NoProperty", [](plan::Plan &p) { p.properties.erase("page_rows"); },
     "the plan has no property 'page_rows'"},
    {"WildProperty", [](plan::Plan &p) { p.properties["vocab_size"] = int64_t(1) << 31; },
     "the plan's property 'vocab_size' is 2147483648, expected 1 to 2147483647"},
    {"NegativePages", [](plan::Plan &p) { p.properties["kv_bytes"] = -1; },
     "the plan's property 'kv_bytes' is -1, expected 0 to"},
    {"NegativeLookBack", [](plan::Plan &p) { p.properties["look_back.1"] = -1; },
     "the plan's property 'look_back.1' is -1, expected 0 to"},
    {"NoInput", [](plan::Plan &p) { p.buffers.erase(p.buffers.begin()); },
     "the plan has no buffer 'tokens'"},
    {"InputOfAnotherKind", [](plan::Plan &p) { p.buffers[1].kind = plan::BufferKind::State; },
     "the plan's buffer 'positions' is of kind state, expected input"},
    {"OutputOfAnotherKind", [](plan::Plan &p) { p.buffers.back().kind = plan::BufferKind::Temp; },
     "the plan's buffer 'logits' is of kind temp, expected output"},
    {"TopOfMoreThanTheVocabulary", [](plan::Plan &p) { p.properties["top_count"] = 2; },
     "the plan gives the largest 2 logits of a row, and its vocabulary has 1 tokens"},
    {"NoTop", [](plan::Plan &p) { p.properties["top_count"] = 1; },
     "the plan has no buffer 'top_logits'"},
    {"AheadWithoutTop", [](plan::Plan &p) { p.procedures.push_back({"step_ahead", {}}); },
     "the plan has no property 'top_count'"},
    {"AheadWithoutGuesses",
     [](plan::Plan &p) {
       addAhead(p);
       p.buffers.pop_back();
     },
     "the plan has no buffer 'guesses'"},
    {"AheadWithRulesOfAnotherKind",
     [](plan::Plan &p) {
       addAhead(p);
       p.buffers[p.buffers.size() - 2].kind = plan::BufferKind::Temp;
     },
     "the plan's buffer 'guess_rules' is of kind temp, expected input"},
    {"PartitionsOfUnknownSize", [](plan::Plan &p) { p.properties.erase("partition_keys"); },
     "the plan has no property 'partition_keys'"},
    {"PartitionsThatGrowByUnknownSteps",
     [](plan::Plan &p) { p.properties["most_partitions"] = 32; },
     "the plan has no property 'partition_step'"},
    {"PartitionsOfUnknownNumber",
     [](plan::Plan &p) { p.symbols.erase(p.symbols.begin() + int(Symbol::WindowPartitions)); },
     "the plan has buffer 'partitions.1' and no symbol 'W1'"},
    {"SymbolThatNobodyBinds", [](plan::Plan &p) { p.symbols.push_back({"experts", 0, 8}); },
     "the plan's symbol 'experts' is none that the runtime binds, expected T, S, B"},
    {"SymbolThatThePlanComputes",
     [](plan::Plan &p) { p.symbols[0].computed = plan::DeviceScalar{plan::BufferId{0}, 0}; },
     "the plan computes symbol 'T', expected it to be bound by the runtime"},
    {"SymbolBeyondItsBounds", [](plan::Plan &p) { p.symbols[0].max = kMaxStepTokens + 1; },
     "the plan's symbol 'T' is 1 to 65537, expected within 1 to 65536"},
};

class BrokenContract : public testing::TestWithParam<Breach> {};

TEST_P(BrokenContract, IsRefusedWithWhatWasFound) {
  plan::Plan plan = keepingPlan();
  GetParam().commit(plan);
  const Result<void> checked = check(plan);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::Corrupt);
  EXPECT_THAT(checked.error().message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Contract, BrokenContract, testing::ValuesIn(kBreaches),
                         [](const auto &info) { return info.param.name; });

TEST(Contract, IsKeptByAPlanThatHasAllOfIt) {
  const Result<void> checked = check(keepingPlan());
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST(Contract, LetsAPlanBeginStepsAhead) {
  plan::Plan plan = keepingPlan();
  EXPECT_FALSE(runsAhead(plan));
  addAhead(plan);
  EXPECT_TRUE(runsAhead(plan));
  const Result<void> checked = check(plan);
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST(Contract, LetsAPlanCountLoopsWithSymbolsOfItsOwn) {
  plan::Plan plan = keepingPlan();
  plan.symbols.push_back({"layer", 0, 31});
  plan.procedures[0].steps = {{plan::Loop{plan::SymbolId{uint32_t(kSymbols.size())}, 2, {}}}};
  EXPECT_TRUE(check(plan));
}

TEST(Contract, LetsAPlanComputeSymbolsOfItsOwn) {
  plan::Plan plan = keepingPlan();
  plan.symbols.push_back({"routed", 0, 31, plan::DeviceScalar{plan::BufferId{0}, 0}});
  EXPECT_TRUE(check(plan));
}

TEST(Contract, LetsAPlanLeaveOutSymbolsThatItDoesNotNeed) {
  plan::Plan plan = keepingPlan();
  plan.symbols.clear();
  std::erase_if(plan.buffers, [](const plan::Buffer &buffer) {
    return buffer.name.find("partitions") != std::string::npos;
  });
  EXPECT_TRUE(check(plan));
}

TEST(Contract, AsksForStatesInputOnlyOfAPlanWithStates) {
  plan::Plan plan = keepingPlan();
  std::erase_if(plan.buffers, [](const plan::Buffer &b) { return b.name == "state_spans"; });
  EXPECT_FALSE(hasStates(plan));
  EXPECT_TRUE(check(plan));
  plan.properties[kStateBytes.name] = 64;
  EXPECT_TRUE(hasStates(plan));
  const Result<void> checked = check(plan);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "the plan has no buffer 'state_spans'");
}

TEST(Contract, AsksForASecondPageTableOnlyOfAPlanWithTwoKvGroups) {
  plan::Plan plan = keepingPlan();
  std::erase_if(plan.buffers, [](const plan::Buffer &b) { return b.name == "page_table.1"; });
  EXPECT_EQ(kvGroupsOf(plan).size(), 1u);
  EXPECT_TRUE(check(plan));
  plan.properties["kv_bytes.1"] = 64;
  EXPECT_EQ(kvGroupsOf(plan).size(), 2u);
  const Result<void> checked = check(plan);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message, "the plan has no buffer 'page_table.1'");
}

TEST(Contract, AsksForStepsThatHoldAChunk) {
  plan::Plan plan = keepingPlan();
  plan.properties[kChunkRows.name] = 16;
  EXPECT_TRUE(check(plan));
  plan.properties[kChunkRows.name] = 0;
  EXPECT_FALSE(check(plan));
  plan.properties[kChunkRows.name] = 16;
  plan.symbols[plan::findSymbol(plan, nameOf(Symbol::Tokens))->index].max = 15;
  const Result<void> checked = check(plan);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message,
            "the plan takes 16 tokens of a sequence at once, and a step has at most 15");
}

TEST(Contract, FindsEachSymbolByItsName) {
  for (const SymbolRow &row : kSymbols)
    EXPECT_EQ(findSymbolRow(nameOf(row.id)), &row);
  EXPECT_EQ(findSymbolRow("experts"), nullptr);
}

} // namespace
} // namespace sinter::contract
