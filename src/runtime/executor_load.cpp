// The executor's loading side: modules, kernels, constants and weights.
#include "runtime/executor.h"
#include "runtime/packer.h"

#include "base/checked.h"
#include "plan/file.h"
#include "runtime/plan_cache.h"

#include <array>

namespace sinter::runtime {

// Of one allocation, unless a single weight is larger: well below what Vulkan's drivers allow.
static constexpr uint64_t kPoolBytes = uint64_t(1) << 28;
static constexpr uint64_t kPlaceAlignment = 4096; // no two weights share a page

// Where files are mapped in huge pages a small weight would keep such a page for itself, whose
// other bytes were packed long ago.
static constexpr uint64_t kLeastMappedBytes = uint64_t(2) << 20;

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
  return checkFit(bytes);
}

Result<void> Executor::checkFit(const CheckedSize &bytes) const {
  const hal::DeviceInfo &info = device_.info();
  const std::optional<uint64_t> free = device_.freeBytes();
  if (bytes.valid() && *bytes.value() <= std::min(info.memoryBytes, free.value_or(UINT64_MAX)))
    return {};
  return fail(Code::Exhausted,
              "the model's weights take " +
                  (bytes.valid() ? std::to_string(*bytes.value()) : "more than 2^64") +
                  " bytes, device '" + info.name + "' has " + std::to_string(info.memoryBytes) +
                  (free ? ", of which " + std::to_string(*free) + " are free" : ""));
}

Result<void> Executor::loadBuffers(WeightSource *weights) {
  if (!device_.supports(hal::Feature::WrapMemory)) // else weights may stay where the file is mapped
    SINTER_TRY(checkFits());
  for (uint32_t i = 0; i < buffers_.size(); ++i)
    if (plan_->buffers[i].kind == plan::BufferKind::Constant)
      SINTER_TRY(loadConstant({i}));
  SINTER_TRY(loadWeights(weights));
  return stream_->synchronize();
}

Result<void> Executor::loadConstant(plan::BufferId id) {
  const std::vector<uint8_t> &data = plan_->buffers[id.index].data;
  SINTER_ASSIGN(buffers_[id.index], device_.allocate(data.size()));
  memory_.constants += data.size();
  SINTER_TRY(stream_->write(*buffers_[id.index], 0, data));
  return stream_->synchronize();
}

Result<void> Executor::loadWeights(WeightSource *source) {
  const auto named = [&](plan::BufferId id, const Status &error) {
    return fail(error.code, "weight '" + plan_->buffers[id.index].name + "': " + error.message);
  };
  std::vector<Weight> weights;
  CheckedSize packed = 0;
  for (uint32_t i = 0; i < buffers_.size(); ++i) {
    if (plan_->buffers[i].kind != plan::BufferKind::Weight)
      continue;
    if (!source)
      return fail(Code::InvalidArgument, "the plan has weight '" + plan_->buffers[i].name +
                                             "', but no model file was given");
    auto weight = findWeight({i}, *source);
    if (!weight)
      return named({i}, weight.error());
    weights.push_back(std::move(*weight));
    if (!weights.back().mapped)
      packed = packed + weights.back().bytes;
  }
  if (device_.info().memoryBytes != 0)
    SINTER_TRY(checkFit(packed)); // every step reads all of them: from a disk it would take seconds
  if (weights.empty())
    return {};
  SINTER_ASSIGN(const bool kept, mapKept(weights, *source));
  if (kept)
    std::erase_if(weights, [](const Weight &weight) { return !weight.mapped; });
  SINTER_TRY(placeWeights(weights));
  for (const Weight &weight : weights)
    if (auto ok = loadWeight(weight, *source); !ok)
      return named(weight.id, ok.error());
  return {};
}

Result<Executor::Weight> Executor::findWeight(plan::BufferId id, WeightSource &source) const {
  const plan::Buffer &buffer = plan_->buffers[id.index];
  Weight weight{.id = id, .tensors = {}};
  for (const std::string &name : buffer.tensors) {
    SINTER_ASSIGN(const auto bytes, source.tensor(name));
    weight.tensors.push_back(bytes);
  }
  SINTER_ASSIGN(weight.bytes, packedBytes(buffer.pack, weight.tensors));
  const auto expected = static_cast<uint64_t>(*buffer.bytes.constant());
  if (weight.bytes != expected)
    return fail(Code::InvalidArgument, "the model's tensors give " + std::to_string(weight.bytes) +
                                           " bytes, the plan expects " + std::to_string(expected));
  weight.mapped = buffer.pack.mode == plan::PackMode::Direct && weight.tensors.size() == 1 &&
                  weight.bytes >= kLeastMappedBytes && device_.supports(hal::Feature::WrapMemory);
  return weight;
}

// Places weights from the first on side by side, as many as `mostBytes` take, or one; the others
// are left in `weights`. Those that are mapped have no place.
Result<Executor::Pool> Executor::nextPool(std::span<const Weight> &weights, uint64_t mostBytes) {
  Pool pool;
  for (; !weights.empty(); weights = weights.subspan(1)) {
    const Weight &weight = weights.front();
    if (weight.mapped)
      continue;
    const CheckedSize begin = alignUp(CheckedSize(pool.bytes), kPlaceAlignment);
    const CheckedSize end = begin + weight.bytes;
    if (!end.valid())
      return fail(Code::Exhausted, "the model's weights take more than 2^64 bytes");
    if (!pool.weights.empty() && *end.value() > mostBytes)
      break;
    offsets_[weight.id.index] = *begin.value();
    pool.bytes = *end.value();
    pool.weights.push_back(&weight);
  }
  return pool;
}

// What packed bytes depend on: the file's, and which of them go where.
static Result<std::string> keyOf(const plan::Plan &plan, const std::string &identity) {
  plan::Plan weights;
  weights.modelDigest = plan.modelDigest;
  weights.modelBytes = plan.modelBytes;
  for (const plan::Buffer &buffer : plan.buffers)
    if (buffer.kind == plan::BufferKind::Weight)
      weights.buffers.push_back(buffer);
  SINTER_ASSIGN(const std::vector<uint8_t> bytes, plan::serialize(weights));
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  return planKey(std::array<std::string_view, 3>{"weights", identity, text});
}

// Maps all packed weights from a file of the cache, which is written where there is none. Not where
// there are several nodes of memory: there weights lie near the threads that read them, if these
// pack them.
Result<bool> Executor::mapKept(std::span<const Weight> weights, WeightSource &source) {
  const std::string identity = source.identity();
  if (!options_.weightCache || !device_.supports(hal::Feature::WrapMemory) ||
      device_.info().memoryNodes > 1 || identity.empty())
    return false;
  SINTER_ASSIGN(const std::string key, keyOf(*plan_, identity));
  SINTER_ASSIGN(const Pool pool, nextPool(weights, UINT64_MAX));
  const auto fill = [&](const WeightCache::Write &write) -> Result<void> {
    for (const Weight *weight : pool.weights)
      SINTER_TRY(packInParts(
          plan_->buffers[weight->id.index].pack, weight->tensors,
          [&, begin = offsets_[weight->id.index]](uint64_t offset, std::span<const uint8_t> part) {
            return write(part, begin + offset);
          },
          device_, source));
    return {};
  };
  kept_ = options_.weightCache->findOrFill(key, pool.bytes, device_, fill);
  if (!kept_)
    return false;
  SINTER_ASSIGN(const std::shared_ptr<hal::Buffer> all, device_.wrapReadOnly(kept_->bytes()));
  for (const Weight *weight : pool.weights) {
    buffers_[weight->id.index] = all;
    memory_.kept += weight->bytes;
  }
  memory_.weights += memory_.kept;
  return true;
}

// Packed weights lie side by side in few allocations: alone, many are smaller than the pages that
// processors like.
Result<void> Executor::placeWeights(std::span<const Weight> weights) {
  while (true) {
    SINTER_ASSIGN(const Pool pool, nextPool(weights, kPoolBytes));
    if (pool.weights.empty())
      return {}; // all that were left are mapped
    SINTER_ASSIGN(const std::shared_ptr<hal::Buffer> memory, device_.allocate(pool.bytes));
    for (const Weight *weight : pool.weights)
      buffers_[weight->id.index] = memory;
  }
}

Result<void> Executor::loadWeight(const Weight &weight, WeightSource &source) {
  const plan::PackRecipe &recipe = plan_->buffers[weight.id.index].pack;
  std::shared_ptr<hal::Buffer> &buffer = buffers_[weight.id.index];
  if (weight.mapped) {
    SINTER_ASSIGN(buffer, device_.wrapReadOnly(weight.tensors[0]));
    memory_.mapped += weight.bytes;
    return {};
  }
  memory_.weights += weight.bytes;
  const uint64_t begin = offsets_[weight.id.index];
  if (device_.supports(hal::Feature::HostVisible))
    return pack(recipe, weight.tensors, buffer->host().subspan(begin, weight.bytes), device_,
                source);
  return packInParts(
      recipe, weight.tensors,
      [&](uint64_t offset, std::span<const uint8_t> part) {
        return stream_->write(*buffer, begin + offset, part);
      },
      device_, source);
}

} // namespace sinter::runtime
