// Edges as bytes, a device by the code's target, one run of the executor.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "compiler/graph_execution.h"
#include "engine/graph_plan.h"
#include "graph/evaluate/tensor_bytes.h"
#include "graph/ir/symbols.h"
#include "hal/cpu/cpu_driver.h"
#include "hal/cuda/cuda_driver.h"
#include "hal/vulkan/vulkan_driver.h"
#include "runtime/executor.h"

#include <cmath>

using namespace mlir;

namespace sinter::compiler {

using graph::Shape;
using graph::Tensor;

// ---- device ----

Result<std::unique_ptr<hal::Device>> openDeviceOf(const plan::Plan &plan) {
  const std::string target(plan::targetOf(plan));
  const std::string family = target.substr(0, target.find(':'));
  hal::DriverRegistry registry;
  SINTER_TRY(hal::addCpuDriver(registry));
  SINTER_TRY(hal::addCudaDriver(registry));
  SINTER_TRY(hal::addVulkanDriver(registry));
  auto absent = [&](const std::string &why) {
    return fail(Code::NotFound, "this machine runs no code for '" + target + "': " + why);
  };
  const auto driver = registry.find(family);
  if (!driver)
    return absent(driver.error().message);
  const auto devices = (*driver)->devices();
  if (!devices)
    return absent(devices.error().message);
  if (devices->empty())
    return absent("there is no " + family + " device");
  auto same = llvm::find_if(*devices, [&](const auto &info) { return info.target == target; });
  const auto index = same == devices->end() ? 0 : std::distance(devices->begin(), same);
  return (*driver)->open(static_cast<uint32_t>(index), {});
}

// ---- edges ----

namespace {
// A graph's weights, each encoded once, when it is asked for.
class EdgeWeights : public runtime::WeightSource {
public:
  EdgeWeights(func::FuncOp function, const graph::Edges &edges) : edges_(edges) {
    for (auto weight : function.getOps<graph::WeightOp>())
      for (StringRef name : weight.getTensors().getAsValueRange<StringAttr>())
        types_.try_emplace(name.str(), weight.getResult().getType());
  }

  Result<std::span<const uint8_t>> tensor(std::string_view name) override {
    const auto type = types_.find(name);
    if (type == types_.end() || !edges_.weight)
      return fail(Code::NotFound, "weight '" + std::string(name) + "' is missing");
    auto [found, isNew] = bytes_.try_emplace(type->first);
    if (isNew) {
      SINTER_ASSIGN(const Tensor tensor, edges_.weight(type->first, type->second));
      SINTER_ASSIGN(found->second, graph::encodeTensor(tensor, type->second.getElementType()));
    }
    return std::span<const uint8_t>(found->second);
  }

private:
  const graph::Edges &edges_;
  std::map<std::string, RankedTensorType, std::less<>> types_;
  std::map<std::string, std::vector<uint8_t>, std::less<>> bytes_;
};
} // namespace

static Result<const Tensor *> inputOf(graph::InputOp op, const graph::Edges &edges) {
  auto found = edges.inputs.find(op.getName().str());
  if (found == edges.inputs.end())
    return fail(Code::InvalidArgument, "input '" + op.getName().str() + "' is missing");
  return &found->second;
}

static Result<graph::Binding> bindSymbols(func::FuncOp function, const graph::Edges &edges) {
  graph::Binding binding;
  for (const auto &[name, value] : edges.symbols)
    binding.set(name, value);
  for (auto op : function.getOps<graph::InputOp>()) {
    SINTER_ASSIGN(const Tensor *tensor, inputOf(op, edges));
    SINTER_TRY(binding.bind(op.getName(), op.getResult().getType(), tensor->shape));
  }
  for (auto op : function.getOps<graph::StateOp>())
    if (auto found = edges.states.find(op.getName().str()); found != edges.states.end())
      SINTER_TRY(binding.bind(op.getName(), op.getResult().getType(), found->second.shape));
  return binding;
}

// A symbol that no edge binds stands in no extent: its least value.
static std::vector<int64_t> valuesOf(const plan::Plan &plan, const graph::Binding &binding) {
  std::vector<int64_t> values;
  for (const plan::Symbol &symbol : plan.symbols)
    values.push_back(binding.valueOf(symbol.name).value_or(symbol.min));
  return values;
}

static Result<void> give(runtime::Executor &executor, StringRef name, RankedTensorType type,
                         const Tensor &tensor) {
  SINTER_ASSIGN(const std::vector<uint8_t> bytes,
                graph::encodeTensor(tensor, type.getElementType()));
  return executor.setBuffer(std::string_view(name), bytes);
}

static Result<void> giveEdges(runtime::Executor &executor, func::FuncOp function,
                              const graph::Edges &edges, const graph::Binding &binding) {
  for (auto op : function.getOps<graph::InputOp>()) {
    SINTER_ASSIGN(const Tensor *tensor, inputOf(op, edges));
    SINTER_TRY(binding.check(op.getName(), op.getResult().getType(), tensor->shape));
    SINTER_TRY(give(executor, op.getName(), op.getResult().getType(), *tensor));
  }
  SINTER_TRY(executor.clearState());
  for (auto op : function.getOps<graph::StateOp>())
    if (auto found = edges.states.find(op.getName().str()); found != edges.states.end()) {
      SINTER_TRY(binding.check(op.getName(), op.getResult().getType(), found->second.shape));
      SINTER_TRY(give(executor, op.getName(), op.getResult().getType(), found->second));
    }
  return {};
}

// ---- the run ----

// A named buffer's contents as a tensor of this type.
static Result<Tensor> readTensor(runtime::Executor &executor, const std::string &buffer,
                                 RankedTensorType type, const graph::Binding &binding,
                                 ArrayRef<int64_t> symbols) {
  const auto id = plan::findBuffer(executor.plan(), buffer);
  SINTER_CHECK(id.has_value());
  SINTER_ASSIGN(const int64_t size,
                plan::evaluate(executor.plan().buffers[id->index].bytes, symbols));
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  SINTER_TRY(executor.readBuffer(buffer, bytes));
  SINTER_ASSIGN(Shape shape, binding.shapeOf(type));
  return graph::decodeTensor(type.getElementType(), std::move(shape), bytes);
}

Result<graph::Outcome> executeGraph(hal::Device &device, plan::Plan plan, func::FuncOp function,
                                    const graph::Edges &edges) {
  SINTER_ASSIGN(const graph::Binding binding, bindSymbols(function, edges));
  const std::vector<int64_t> symbols = valuesOf(plan, binding);
  EdgeWeights weights(function, edges);
  SINTER_ASSIGN(const auto executor,
                runtime::Executor::create(
                    device, std::make_shared<const plan::Plan>(std::move(plan)), &weights));
  SINTER_TRY(executor->bind(symbols));
  SINTER_TRY(giveEdges(*executor, function, edges, binding));
  SINTER_TRY(executor->run("step"));
  graph::Outcome outcome;
  for (auto op : function.getOps<graph::OutputOp>()) {
    const std::string name = op.getName().str();
    SINTER_ASSIGN(outcome.outputs[name],
                  readTensor(*executor, engine::outputBuffer(function, name),
                             cast<RankedTensorType>(op.getValue().getType()), binding, symbols));
  }
  for (auto op : function.getOps<graph::StateOp>()) {
    const std::string name = op.getName().str();
    SINTER_ASSIGN(outcome.states[name],
                  readTensor(*executor, name, op.getResult().getType(), binding, symbols));
  }
  return outcome;
}

double largestError(const Tensor &found, const Tensor &exact) {
  SINTER_CHECK(found.values.size() == exact.values.size());
  double largest = 1, error = 0;
  for (double value : exact.values)
    largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : largest;
  for (auto [value, wide] : llvm::zip_equal(found.values, exact.values)) {
    const bool same = value == wide || (std::isnan(value) && std::isnan(wide));
    const double apart = same ? 0 : std::fabs(value - wide) / largest;
    error = std::max(error, std::isnan(apart) ? HUGE_VAL : apart);
  }
  return error;
}

double largestError(const graph::NamedTensors &found, const graph::NamedTensors &exact) {
  double error = 0;
  for (const auto &[name, wide] : exact)
    error = std::max(error, largestError(found.at(name), wide));
  return error;
}

double roundingOf(Type element) {
  if (auto number = dyn_cast<FloatType>(element))
    return std::ldexp(2.0, 1 - static_cast<int>(number.getFPMantissaWidth()));
  if (const BlockFormat *format = tile::blockFormatOf(element))
    return std::ldexp(2.0, 1 - static_cast<int>(format->code.width()));
  return 0;
}

} // namespace sinter::compiler
