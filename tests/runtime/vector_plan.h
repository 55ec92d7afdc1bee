// A plan over two of the test kernels: y = (x + w) * 3 for a vector of `n` floats, then added to a
// state.
#pragma once

#include "hal/test_kernels.h"
#include "plan/plan.h"
#include "runtime/weight_source.h"

#include <cstring>
#include <map>

namespace sinter::runtime {

inline constexpr plan::SymbolId kN{0};
inline constexpr plan::SymbolId kRound{1};
inline constexpr int64_t kMaxN = 4096;
inline constexpr plan::KernelId kAdd{0}, kScale{1};
inline constexpr plan::BufferId kX{0}, kY{1}, kTotal{2}, kW{3}, kSum{4}, kScaled{5};

inline plan::Launch addLaunch(plan::BufferId a, plan::BufferId b, plan::BufferId out) {
  plan::Launch launch;
  launch.kernel = kAdd;
  launch.grid[0] = plan::ceilDiv(plan::symbol(kN), plan::Expr(16));
  launch.buffers = {{a, {}}, {b, {}}, {out, {}}};
  launch.scalars = {plan::symbol(kN)};
  launch.bytesMoved = plan::mul(plan::symbol(kN), plan::Expr(12));
  launch.operations = plan::symbol(kN);
  launch.label = "add";
  return launch;
}

inline plan::Launch scaleLaunch(plan::BufferId in, plan::BufferId out, plan::Expr factor) {
  plan::Launch launch;
  launch.kernel = kScale;
  launch.grid[0] = plan::ceilDiv(plan::symbol(kN), plan::Expr(16));
  launch.buffers = {{in, {}}, {out, {}}};
  launch.scalars = {plan::symbol(kN), std::move(factor)};
  launch.label = "scale";
  return launch;
}

// Procedures: "step" as above, with the total kept; "empty" does nothing.
inline plan::Plan vectorPlan() {
  using namespace plan;
  const Expr bytes = mul(symbol(kN), Expr(4));
  plan::Plan plan;
  plan.symbols = {{"n", 0, kMaxN}, {"round", 0, 7}};
  plan.modules = {{hal::kTestTarget, hal::testKernels()}};
  plan.kernels = {{"add", ModuleId{0}, "add_f32", 3, 1, 0},
                  {"scale", ModuleId{0}, "scale_f32", 2, 2, 64}};
  plan.buffers = {{"x", BufferKind::Input, bytes, {}, {}, {}},
                  {"y", BufferKind::Output, bytes, {}, {}, {}},
                  {"total", BufferKind::State, bytes, {}, {}, {}},
                  {"w", BufferKind::Weight, Expr(kMaxN * 4), {"w"}, {}, {}},
                  {"sum", BufferKind::Temp, bytes, {}, {}, {}},
                  {"scaled", BufferKind::Temp, bytes, {}, {}, {}}};
  plan.procedures = {{"step",
                      {{addLaunch(kX, kW, kSum)},
                       {scaleLaunch(kSum, kScaled, Expr(3))},
                       {Copy{kScaled, Expr(0), kY, Expr(0), bytes}},
                       {addLaunch(kTotal, kScaled, kTotal)}}},
                     {"empty", {}}};
  return plan;
}

// Tensors by name, in memory.
class MapSource final : public WeightSource {
public:
  Result<std::span<const uint8_t>> tensor(std::string_view name) override {
    auto found = tensors.find(std::string(name));
    if (found == tensors.end())
      return fail(Code::NotFound, "the model has no tensor '" + std::string(name) + "'");
    return found->second;
  }

  std::string identity() const override { return name; }

  std::map<std::string, std::vector<uint8_t>> tensors;
  std::string name;
};

inline std::vector<uint8_t> bytesOf(const std::vector<float> &values) {
  std::vector<uint8_t> bytes(values.size() * 4);
  if (!values.empty())
    std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

inline std::vector<float> floatsOf(std::span<const uint8_t> bytes) {
  std::vector<float> values(bytes.size() / 4);
  if (!values.empty())
    std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

} // namespace sinter::runtime
