// A small plan that uses every feature of the format, for the tests of plan and runtime.
#pragma once

#include "plan/plan.h"

namespace sinter::plan {

inline constexpr DeviceId kSecond{1};
inline constexpr SymbolId kTokens{0};
inline constexpr SymbolId kLayer{1};
inline constexpr BufferId kInput{0}, kOutput{1}, kCache{2}, kWeight{3}, kTable{4}, kTempA{5},
    kTempB{6}, kFar{7};
inline constexpr ProcedureId kStepProcedure{0}, kLayerProcedure{1};

inline PackRecipe samplePack() {
  return {PackMode::Interleave,
          4,
          6,
          2,
          consecutive({{2, 4, 2, 0x80}, {0, 2, 1, 0}}),
          {{1, {{2, 2}, {1, 7}}}, {2, {}}, {0, {}}}};
}

inline Launch sampleLaunch(BufferId in, BufferId out) {
  Launch launch;
  launch.kernel = KernelId{0};
  launch.grid = {ceilDiv(symbol(kTokens), Expr(4)), Expr(2), Expr(1)};
  launch.buffers = {{in, Expr(0)}, {out, mul(symbol(kLayer), Expr(0))}};
  launch.scalars = {symbol(kTokens)};
  launch.bytesMoved = mul(symbol(kTokens), Expr(8));
  launch.operations = symbol(kTokens);
  launch.label = "layer.norm";
  launch.covers = {"norm", "quantize to q8a"};
  launch.quantizedTo = "q8a";
  return launch;
}

inline Plan samplePlan() {
  Plan plan;
  plan.modelDigest = "0123456789abcdef";
  plan.modelBytes = 4096;
  plan.properties = {{"layers", 3}, {"vocab", -1}};
  plan.texts = {{"family", "sample"}};
  plan.devices = {{"first"}, {"second"}};
  plan.symbols = {
      {"tokens", 1, 512}, {"layer", 0, 7}, {"routed", 0, 64, DeviceScalar{kCache, 1020}}};
  plan.modules = {{"cpu:x86_64+avx2", {1, 2, 3}}};
  plan.kernels = {{"norm",
                   ModuleId{0},
                   "norm_f32",
                   2,
                   1,
                   4096,
                   128,
                   512,
                   false,
                   Arithmetic::I8,
                   "0123456789abcdef",
                   {{{"block_rows", 4}}},
                   {{}, {{{"block_rows", 8}, {"vectors", 2}}}},
                   {{"in", ParameterKind::ScalarType, 0, "f32"},
                    {"out", ParameterKind::BlockFormat, 0, "q8a"},
                    {"columns", ParameterKind::Dynamic, 0, ""},
                    {"block_rows", ParameterKind::Number, 4, ""},
                    {"scaled", ParameterKind::Flag, 1, ""}},
                   {{"prologue", "map", "%0"}, {"epilogue", "heads", ""}}},
                  {"end", ModuleId{0}, "end", 0, 0, 0}};
  const Expr rowBytes = mul(symbol(kTokens), Expr(4));
  plan.buffers = {{"input", BufferKind::Input, rowBytes, {}, {}, {}},
                  {"output", BufferKind::Output, rowBytes, {}, {}, {}},
                  {"cache", BufferKind::State, Expr(1024), {}, {}, {}},
                  {"weight", BufferKind::Weight, Expr(48), {"a.q", "a.k"}, samplePack(), {}},
                  {"table", BufferKind::Constant, Expr(3), {}, {}, {7, 8, 9}},
                  {"a", BufferKind::Temp, rowBytes, {}, {}, {}},
                  {"b", BufferKind::Temp, rowBytes, {}, {}, {}},
                  {"far", BufferKind::Temp, rowBytes, {}, {}, {}, kSecond}};
  Loop loop{kLayer, Expr(3), {{sampleLaunch(kTempA, kTempB)}, {Call{kLayerProcedure}}}};
  If branch{add(symbol(kTokens), Expr(-1)),
            {{Copy{kTempA, Expr(0), kCache, Expr(4), Expr(4)}}},
            {{Launch{.kernel = KernelId{1}, .label = "end", .device = kSecond}}}};
  plan.procedures = {{"step", {{sampleLaunch(kInput, kTempA)}, {loop}, {branch}}},
                     {"layer", {{Copy{kTempB, Expr(0), kTempA, Expr(0), rowBytes}}}}};
  return plan;
}

} // namespace sinter::plan
