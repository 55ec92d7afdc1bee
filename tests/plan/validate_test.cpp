// What a plan must satisfy: one fault at a time is put into a sound plan.
#include "plan/validate.h"

#include "plan/sample_plan.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::plan {
namespace {

struct Fault {
  const char *name;
  std::function<void(Plan &)> put;
  const char *message; // a part of it
};

void PrintTo(const Fault &fault, std::ostream *out) {
  *out << fault.name;
}

const Expr kNoNodes(std::vector<ExprNode>{});

Launch &launchOf(Plan &plan) {
  return std::get<Launch>(plan.procedures[0].steps[0].op);
}
Loop &loopOf(Plan &plan) {
  return std::get<Loop>(plan.procedures[0].steps[1].op);
}
If &ifOf(Plan &plan) {
  return std::get<If>(plan.procedures[0].steps[2].op);
}
Copy &copyOf(Plan &plan) {
  return std::get<Copy>(plan.procedures[1].steps[0].op);
}
PackRecipe &packOf(Plan &plan) {
  return plan.buffers[kWeight.index].pack;
}

std::vector<RowSegment> &orderOf(Plan &plan) {
  return packOf(plan).rowOrder;
}

void nest(Plan &plan, uint32_t levels) {
  for (uint32_t i = 0; i < levels; ++i) {
    std::vector<Step> outer;
    outer.push_back({If{Expr(1), std::move(plan.procedures[1].steps), {}}});
    plan.procedures[1].steps = std::move(outer);
  }
}

// Procedure i calls procedure i + 1 twice, so that the first one holds 2^count copies of the last.
void addDoublingCalls(Plan &plan, uint32_t count) {
  const auto first = static_cast<uint32_t>(plan.procedures.size());
  for (uint32_t i = 0; i < count; ++i) {
    const Step call{Call{ProcedureId{first + i + 1}}};
    plan.procedures.push_back({"double" + std::to_string(i), {call, call}});
  }
  plan.procedures.push_back({"last", {{Copy{kTempA, Expr(0), kTempB, Expr(0), Expr(1)}}}});
}

const Fault kFaults[] = {
    {"SymbolUnnamed", [](Plan &p) { p.symbols[0].name = ""; }, "a symbol has no name"},
    {"SymbolTwice", [](Plan &p) { p.symbols[1].name = "tokens"; }, "are named 'tokens'"},
    {"NoDevice", [](Plan &p) { p.devices = {}; }, "the plan has 0 devices, expected 1 to 64"},
    {"ManyDevices", [](Plan &p) { p.devices.assign(65, {"d"}); }, "the plan has 65 devices"},
    {"DeviceUnnamed", [](Plan &p) { p.devices[1].name = ""; }, "a device has no name"},
    {"DeviceTwice", [](Plan &p) { p.devices[1].name = "first"; }, "are named 'first'"},
    {"BufferDevice", [](Plan &p) { p.buffers[0].device = {2}; },
     "buffer 'input' is on device 2, the plan has 2"},
    {"LaunchDevice", [](Plan &p) { launchOf(p).device = {UINT32_MAX}; },
     "launch of 'norm_f32' is on device 4294967295, the plan has 2"},
    {"LaunchOnAnotherDevice", [](Plan &p) { launchOf(p).buffers[1].buffer = kFar; },
     "launch of 'norm_f32' is on device 0 and uses buffer 'far' of device 1"},
    {"ComputedBuffer", [](Plan &p) { p.symbols[2].computed->buffer = {8}; },
     "symbol 'routed' is read from buffer 8, the plan has 8"},
    {"ComputedKind", [](Plan &p) { p.symbols[2].computed->buffer = kOutput; },
     "is read from buffer 'output' of kind output, expected a state of constant size"},
    {"ComputedFromAMovingSize",
     [](Plan &p) { p.buffers[kCache.index].bytes = mul(symbol(SymbolId{2}), Expr(64)); },
     "of kind state, expected a state of constant size"},
    {"ComputedOffset", [](Plan &p) { p.symbols[2].computed->byteOffset = 1022; },
     "is read at byte 1022 of buffer 'cache', expected a multiple of 4 within its 1024 bytes"},
    {"ComputedBeyond", [](Plan &p) { p.symbols[2].computed->byteOffset = 1024; },
     "is read at byte 1024 of buffer 'cache'"},
    {"ComputedWrap", [](Plan &p) { p.symbols[2].computed->byteOffset = UINT64_MAX - 3; },
     "is read at byte 18446744073709551612 of buffer 'cache'"},
    {"ComputedFromNoBytes", [](Plan &p) { p.buffers[kCache.index].bytes = Expr(0); },
     "within its 0 bytes"},
    {"ComputedFromNegativeBytes", [](Plan &p) { p.buffers[kCache.index].bytes = Expr(-4); },
     "within its -4 bytes"},
    {"ComputedInALoop", [](Plan &p) { loopOf(p).induction = {2}; },
     "symbol 'routed' is computed, but a loop counts it"},
    {"SymbolBounds", [](Plan &p) { p.symbols[0].min = 513; }, "minimum 513 above its maximum 512"},
    {"ModuleTarget", [](Plan &p) { p.modules[0].target = ""; }, "names no target"},
    {"KernelTwice", [](Plan &p) { p.kernels[1].symbol = "norm_f32"; },
     "two kernels are 'norm_f32' of module 0"},
    {"KernelSource", [](Plan &p) { p.kernels[0].source = ""; },
     "kernel 'norm_f32' names no source"},
    {"KernelParameters", [](Plan &p) { p.kernels[0].parameters.resize(65); },
     "has 65 parameters and 2 slots, expected at most 64 and 8"},
    {"KernelSlots", [](Plan &p) { p.kernels[0].slots.resize(9); }, "and 9 slots"},
    {"ParameterUnnamed", [](Plan &p) { p.kernels[0].parameters[0].name = ""; },
     "has a parameter '', expected a name that no other has"},
    {"ParameterTwice", [](Plan &p) { p.kernels[0].parameters[1].name = "in"; },
     "has a parameter 'in', expected a name that no other has"},
    {"ParameterKind", [](Plan &p) { p.kernels[0].parameters[0].kind = ParameterKind(5); },
     "has a parameter 'in' of kind 5, expected less than 5"},
    {"ParameterFormat", [](Plan &p) { p.kernels[0].parameters[0].format = ""; },
     "'in' of number 0 and format '', which are none of its kind"},
    {"ParameterFormatOfNumber", [](Plan &p) { p.kernels[0].parameters[3].format = "f32"; },
     "'block_rows' of number 4 and format 'f32', which are none of its kind"},
    {"ParameterNumberOfFormat", [](Plan &p) { p.kernels[0].parameters[1].number = 1; },
     "'out' of number 1 and format 'q8a', which are none of its kind"},
    {"ParameterOfLaunches", [](Plan &p) { p.kernels[0].parameters[2].number = -1; },
     "'columns' of number -1 and format '', which are none of its kind"},
    {"ParameterFlag", [](Plan &p) { p.kernels[0].parameters[4].number = 2; },
     "'scaled' of number 2 and format '', which are none of its kind"},
    {"SlotUnnamed", [](Plan &p) { p.kernels[0].slots[0].slot = ""; },
     "has a slot '' filled with 'map', expected two names"},
    {"SlotUnfilled", [](Plan &p) { p.kernels[0].slots[1].filling = ""; },
     "has a slot 'epilogue' filled with '', expected two names"},
    {"KernelModule", [](Plan &p) { p.kernels[0].module.index = 1; }, "is in module 1"},
    {"KernelSymbol", [](Plan &p) { p.kernels[0].symbol = ""; }, "names no symbol"},
    {"KernelBuffers", [](Plan &p) { p.kernels[0].bufferCount = 65; }, "takes 65 buffers"},
    {"KernelScalars", [](Plan &p) { p.kernels[0].scalarCount = 257; }, "257 scalars"},
    {"KernelScratch", [](Plan &p) { p.kernels[0].scratchBytes = UINT64_MAX; }, "scratch bytes"},
    {"KernelWithoutThreads", [](Plan &p) { p.kernels[0].threads = 0; }, "0 threads a program"},
    {"KernelThreads", [](Plan &p) { p.kernels[0].threads = UINT32_MAX; }, "threads a program"},
    {"KernelShared", [](Plan &p) { p.kernels[0].sharedBytes = UINT64_MAX; },
     "shares 18446744073709551615"},
    {"KernelArithmetic", [](Plan &p) { p.kernels[0].arithmetic = Arithmetic(4); },
     "has arithmetic 4, expected less than 4"},
    {"BufferUnnamed", [](Plan &p) { p.buffers[0].name = ""; }, "a buffer has no name"},
    {"BufferTwice", [](Plan &p) { p.buffers[0].name = "b"; }, "are named 'b'"},
    {"BufferKind", [](Plan &p) { p.buffers[0].kind = BufferKind(6); }, "kind 6, expected"},
    {"BufferSymbol", [](Plan &p) { p.buffers[0].bytes = symbol(SymbolId{3}); }, "symbol 3"},
    {"BufferInduction", [](Plan &p) { p.buffers[0].bytes = symbol(kLayer); },
     "which a loop counts"},
    {"TempTensor", [](Plan &p) { p.buffers[5].tensors = {"t"}; }, "is no weight"},
    {"TempPack", [](Plan &p) { p.buffers[5].pack = samplePack(); }, "is no weight"},
    {"TempData", [](Plan &p) { p.buffers[5].data = {1}; }, "is no constant"},
    {"WeightSize", [](Plan &p) { p.buffers[3].bytes = symbol(kTokens); }, "must be a constant"},
    {"WeightNegative", [](Plan &p) { p.buffers[3].bytes = Expr(-1); }, "must be a constant"},
    {"WeightNoTensor", [](Plan &p) { p.buffers[3].tensors = {}; }, "names no tensor"},
    {"WeightEmptyTensor", [](Plan &p) { p.buffers[3].tensors = {""}; }, "empty name"},
    {"ConstantSize", [](Plan &p) { p.buffers[4].bytes = Expr(4); }, "has 3 bytes, expected 4"},
    {"PackMode", [](Plan &p) { packOf(p).mode = PackMode(2); }, "packing 2, expected 0 or 1"},
    {"PackDirect", [](Plan &p) { packOf(p).mode = PackMode::Direct; }, "describes an interleaving"},
    {"PackRows", [](Plan &p) { packOf(p).rowsPerAtom = 0; }, "packs 0 rows"},
    {"PackManyRows", [](Plan &p) { packOf(p).rowsPerAtom = 65537; }, "packs 65537 rows"},
    {"PackBlock", [](Plan &p) { packOf(p).blockBytes = 0; }, "blocks of 0 bytes"},
    {"PackBlocks", [](Plan &p) { packOf(p).blocksPerRow = 0; }, "rows of 0 blocks"},
    {"PackNoField", [](Plan &p) { packOf(p).fields = {}; }, "has 0 packing fields"},
    {"PackUnit", [](Plan &p) { packOf(p).fields[0].unit = 3; }, "4 bytes in units of 3"},
    {"PackItemBits", [](Plan &p) { packOf(p).fields[0].itemBits = 3; }, "items of 3 bits"},
    {"PackItemsOfUnits",
     [](Plan &p) {
       packOf(p).fields[0].itemBits = 1;
       packOf(p).fields[0].unit = 1;
     },
     "items of 1 bits in units of 1 bytes"},
    {"PackZeroUnit", [](Plan &p) { packOf(p).fields[0].unit = 0; }, "in units of 0"},
    {"PackGap", [](Plan &p) { packOf(p).fields[1].bytes = 1; }, "cover each"},
    {"PackOverlap", [](Plan &p) { packOf(p).fields[1].offset = 1; }, "cover each"},
    {"PackWrap", [](Plan &p) { packOf(p).fields[0].offset = UINT32_MAX - 1; }, "cover each"},
    {"PackPlace", [](Plan &p) { packOf(p).fields[1].place = 5; }, "lie beside each other"},
    {"PackTwice", [](Plan &p) { packOf(p).fields[1].place = 0; }, "lie beside each other"},
    {"PackNoStep", [](Plan &p) { packOf(p).fields[0].step = 0; }, "lie beside each other"},
    {"PackOddStep", [](Plan &p) { packOf(p).fields[0].step = 3; }, "lie beside each other"},
    {"PackTurns", [](Plan &p) { packOf(p).fields[0].step = 4; }, "lie beside each other"},
    {"PackManyTurns", [](Plan &p) { packOf(p).fields[1].step = UINT32_MAX; }, "lie beside each"},
    {"PackPlaceWrap", [](Plan &p) { packOf(p).fields[0].place = UINT32_MAX; }, "lie beside each"},
    {"OrderDirect", [](Plan &p) { packOf(p) = {.rowOrder = {{}}}; }, "describes an interleaving"},
    {"OrderSegments", [](Plan &p) { orderOf(p).assign(1025, {}); },
     "weight 'weight' has a row order of 1025 segments, expected at most 1024"},
    {"OrderModes", [](Plan &p) { orderOf(p)[0].modes.assign(9, {}); },
     "weight 'weight' has a row segment of 9 modes, expected at most 8"},
    {"OrderExtent", [](Plan &p) { orderOf(p)[0].modes[1].extent = 0; },
     "weight 'weight' has a row mode of extent 0, expected at least 1"},
    {"OrderProduct", [](Plan &p) { orderOf(p)[0].modes.assign(8, {UINT32_MAX, 0}); },
     "weight 'weight' orders more rows than 64 bits count"},
    {"OrderSum", [](Plan &p) { orderOf(p).assign(16, {0, {{1u << 31, 0}, {1u << 31, 0}}}); },
     "weight 'weight' orders more rows than 64 bits count"},
    {"OrderFirst", [](Plan &p) { orderOf(p)[2].firstSource = 4; },
     "weight 'weight' orders 4 rows, but row segment 2 reaches beyond them"},
    {"OrderStride", [](Plan &p) { orderOf(p)[0].modes[0].stride = 3; },
     "weight 'weight' orders 4 rows, but row segment 0 reaches beyond them"},
    {"OrderReach", [](Plan &p) { orderOf(p)[0].modes[0] = {UINT32_MAX, UINT32_MAX}; },
     "orders 4294967297 rows, but row segment 0 reaches beyond them"},
    {"OrderMany", [](Plan &p) { orderOf(p)[1].modes = {{2, 1}}; },
     "weight 'weight' orders 5 rows of 12 bytes in groups of 4, expected 48 bytes in all"},
    {"OrderWild", [](Plan &p) { orderOf(p) = {{0, {{UINT32_MAX, 1}, {UINT32_MAX, 0}}}}; },
     "orders 18446744065119617025 rows of 12 bytes in groups of 4, expected 48"},
    {"ProcedureTwice", [](Plan &p) { p.procedures[1].name = "step"; }, "are named 'step'"},
    {"LaunchKernel", [](Plan &p) { launchOf(p).kernel.index = 2; }, "runs kernel 2"},
    {"LaunchNoKernel", [](Plan &p) { launchOf(p).kernel = KernelId{}; }, "runs kernel 4294967295"},
    {"LaunchBuffers", [](Plan &p) { launchOf(p).buffers.pop_back(); }, "passes 1 buffers"},
    {"LaunchScalars", [](Plan &p) { launchOf(p).scalars.push_back(Expr(1)); },
     "2 scalars, expected"},
    {"LaunchBuffer", [](Plan &p) { launchOf(p).buffers[1].buffer.index = 8; }, "uses buffer 8"},
    {"LaunchGrid", [](Plan &p) { launchOf(p).grid[2] = symbol(SymbolId{5}); }, "symbol 5"},
    {"LaunchOffset", [](Plan &p) { launchOf(p).buffers[0].byteOffset = kNoNodes; }, "0 nodes"},
    {"LaunchScalar", [](Plan &p) { launchOf(p).scalars[0] = symbol(SymbolId{3}); }, "symbol 3"},
    {"CopySource", [](Plan &p) { copyOf(p).src.index = 8; }, "uses buffer 8"},
    {"CopyToWeight", [](Plan &p) { copyOf(p).dst = kWeight; }, "which is only read"},
    {"CopyToConstant", [](Plan &p) { copyOf(p).dst = kTable; }, "which is only read"},
    {"CopyBytes", [](Plan &p) { copyOf(p).bytes = kNoNodes; }, "0 nodes"},
    {"LoopSymbol", [](Plan &p) { loopOf(p).induction.index = 3; }, "loop counts symbol 3"},
    {"LoopCount", [](Plan &p) { loopOf(p).count = kNoNodes; }, "loop count: "},
    {"IfCondition", [](Plan &p) { ifOf(p).condition = symbol(SymbolId{3}); }, "condition: "},
    {"CallTarget", [](Plan &p) { p.procedures[1].steps = {{Call{ProcedureId{2}}}}; },
     "procedure 2"},
    {"CallSelf", [](Plan &p) { p.procedures[1].steps = {{Call{ProcedureId{1}}}}; }, "calls itself"},
    {"CallCycle", [](Plan &p) { p.procedures[1].steps = {{Call{ProcedureId{0}}}}; },
     "calls itself"},
    {"Nesting", [](Plan &p) { nest(p, kMaxNesting + 1); }, "nested more than 16"},
    {"DeepNesting", [](Plan &p) { nest(p, 1000); }, "nested more than 16"},
    {"DoublingCalls", [](Plan &p) { addDoublingCalls(p, 40); }, "more than 1048576 steps"},
};

class ValidateFault : public ::testing::TestWithParam<Fault> {};

TEST_P(ValidateFault, IsFoundAndNamed) {
  Plan plan = samplePlan();
  ASSERT_TRUE(validate(plan).has_value()) << validate(plan).error().message;
  GetParam().put(plan);
  auto ok = validate(plan);
  ASSERT_FALSE(ok.has_value());
  EXPECT_EQ(ok.error().code, Code::Corrupt);
  EXPECT_THAT(ok.error().message, ::testing::HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(Plan, ValidateFault, ::testing::ValuesIn(kFaults),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Validate, AChainOfCallsWithinTheLimitPasses) {
  Plan plan;
  for (uint32_t i = 0; i + 1 < kMaxInlinedDepth; ++i)
    plan.procedures.push_back({"p" + std::to_string(i), {{Call{ProcedureId{i + 1}}}}});
  plan.procedures.push_back({"last", {}});
  EXPECT_TRUE(validate(plan).has_value());
  plan.procedures.back().steps = {{Call{ProcedureId{kMaxInlinedDepth}}}};
  plan.procedures.push_back({"more", {{If{}}}});
  auto ok = validate(plan);
  ASSERT_FALSE(ok.has_value());
  EXPECT_THAT(ok.error().message, ::testing::HasSubstr("nested more than 64"));
}

TEST(Validate, ARowOrderLeavesRoomForRowsOfPadding) {
  Plan plan = samplePlan();
  orderOf(plan) = {{0, {{3, 1}}}};
  EXPECT_TRUE(validate(plan).has_value()) << validate(plan).error().message;
  orderOf(plan) = {};
  EXPECT_TRUE(validate(plan).has_value()) << validate(plan).error().message;
}

TEST(Validate, AFaultInAParsedPlanCarriesItsByteOffset) {
  Plan plan = samplePlan();
  plan.buffers[2].name = "";
  PlanOffsets offsets;
  offsets.buffers = {100, 110, 120};
  EXPECT_EQ(validate(plan, offsets).error().byteOffset, 120u);
}

} // namespace
} // namespace sinter::plan
