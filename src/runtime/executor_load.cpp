// The executor's loading side: modules, kernels, constants and weights.
#include "runtime/executor.h"
#include "runtime/packer.h"

#include "base/checked.h"

namespace sinter::runtime {

Result<void> Executor::loadCode() {
  modules_.resize(plan_->modules.size());
  for (const plan::Kernel &kernel : plan_->kernels) {
    std::unique_ptr<hal::Module> &module = modules_[kernel.module.index];
    const plan::Module &code = plan_->modules[kernel.module.index];
    if (!module) {
      SINTER_ASSIGN(module, device_.loadModule(code.target, code.code));
    }
    SINTER_ASSIGN(
        auto loaded,
        module->kernel({kernel.symbol, kernel.bufferCount, kernel.scalarCount, kernel.scratchBytes,
                        kernel.threads, kernel.sharedBytes, kernel.overlaps}));
    kernels_.push_back(std::move(loaded));
  }
  return {};
}

// What the plan takes whatever its symbols are.
Result<void> Executor::checkFits() const {
  CheckedSize bytes = 0;
  for (const plan::Buffer &buffer : plan_->buffers)
    if (buffer.kind == plan::BufferKind::Weight || buffer.kind == plan::BufferKind::Constant)
      bytes = bytes + static_cast<uint64_t>(*buffer.bytes.constant());
  const hal::DeviceInfo &info = device_.info();
  if (bytes.valid() && *bytes.value() <= info.memoryBytes)
    return {};
  return fail(Code::Exhausted,
              "the model's weights take " +
                  (bytes.valid() ? std::to_string(*bytes.value()) : "more than 2^64") +
                  " bytes, device '" + info.name + "' has " + std::to_string(info.memoryBytes));
}

Result<void> Executor::loadBuffers(WeightSource *weights) {
  if (!device_.supports(hal::Feature::WrapMemory)) // else weights may stay where the file is mapped
    SINTER_TRY(checkFits());
  for (uint32_t i = 0; i < buffers_.size(); ++i) {
    const plan::Buffer &buffer = plan_->buffers[i];
    if (buffer.kind == plan::BufferKind::Constant)
      SINTER_TRY(loadConstant({i}));
    if (buffer.kind != plan::BufferKind::Weight)
      continue;
    if (!weights)
      return fail(Code::InvalidArgument,
                  "the plan has weight '" + buffer.name + "', but no model file was given");
    if (auto ok = loadWeight({i}, *weights); !ok)
      return fail(ok.error().code, "weight '" + buffer.name + "': " + ok.error().message);
  }
  return stream_->synchronize();
}

Result<void> Executor::loadConstant(plan::BufferId id) {
  const std::vector<uint8_t> &data = plan_->buffers[id.index].data;
  SINTER_ASSIGN(buffers_[id.index], device_.allocate(data.size()));
  memory_.constants += data.size();
  SINTER_TRY(stream_->write(*buffers_[id.index], 0, data));
  return stream_->synchronize();
}

Result<void> Executor::loadWeight(plan::BufferId id, WeightSource &source) {
  const plan::Buffer &weight = plan_->buffers[id.index];
  std::vector<std::span<const uint8_t>> tensors;
  for (const std::string &name : weight.tensors) {
    SINTER_ASSIGN(const auto bytes, source.tensor(name));
    tensors.push_back(bytes);
  }
  SINTER_ASSIGN(const uint64_t bytes, packedBytes(weight.pack, tensors));
  if (const auto expected = static_cast<uint64_t>(*weight.bytes.constant()); bytes != expected)
    return fail(Code::InvalidArgument, "the model's tensors give " + std::to_string(bytes) +
                                           " bytes, the plan expects " + std::to_string(expected));
  if (weight.pack.mode == plan::PackMode::Direct && tensors.size() == 1 &&
      device_.supports(hal::Feature::WrapMemory)) {
    SINTER_ASSIGN(buffers_[id.index], device_.wrapReadOnly(tensors[0]));
    memory_.mapped += bytes;
    return {};
  }
  SINTER_ASSIGN(buffers_[id.index], device_.allocate(bytes));
  memory_.weights += bytes;
  if (device_.supports(hal::Feature::HostVisible))
    return pack(weight.pack, tensors, buffers_[id.index]->host(), device_, source);
  hal::Buffer &buffer = *buffers_[id.index];
  return packInParts(
      weight.pack, tensors,
      [&](uint64_t offset, std::span<const uint8_t> part) {
        return stream_->write(buffer, offset, part);
      },
      device_, source);
}

} // namespace sinter::runtime
