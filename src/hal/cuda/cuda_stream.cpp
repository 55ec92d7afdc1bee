// Commands of the cuda driver: each is one call of the driver library on one of its streams.
#include "hal/cuda/cuda_stream.h"

#include "hal/cuda/cuda_module.h"

#include <cmath>
#include <limits>

namespace sinter::hal::cuda {
namespace {

DevicePtr addressOf(const Buffer &buffer, uint64_t offset) {
  return static_cast<const CudaBuffer &>(buffer).address() + offset;
}

Result<void> checkGrid(const Kernel &kernel, const Grid &grid, const DeviceLimits &limits) {
  for (std::size_t i = 0; i < 3; ++i)
    if (grid[i] > limits.maxGrid[i]) [[unlikely]]
      return fail(Code::InvalidArgument, "launch of '" + kernel.spec().symbol + "' has " +
                                             std::to_string(grid[i]) + " programs in dimension " +
                                             std::to_string(i) + ", the device takes at most " +
                                             std::to_string(limits.maxGrid[i]));
  return {};
}

} // namespace

Result<std::unique_ptr<CudaEvent>> CudaEvent::create(Context &context) {
  SINTER_TRY(context.enter());
  std::unique_ptr<CudaEvent> event(new CudaEvent(context));
  SINTER_TRY(
      context.check(context.api().eventCreate(&event->handle_, kEventDefault), "cuEventCreate"));
  return event;
}

CudaEvent::~CudaEvent() {
  if (handle_ && context_.enterToRelease())
    context_.api().eventDestroy(handle_);
}

Result<void> CudaEvent::record(StreamHandle stream) {
  SINTER_TRY(context_.check(context_.api().eventRecord(handle_, stream), "cuEventRecord"));
  recorded_ = true;
  return {};
}

Result<uint64_t> CudaEvent::nanosecondsSince(const Event &start) const {
  const auto &from = static_cast<const CudaEvent &>(start);
  if (!recorded_ || !from.recorded_)
    return fail(Code::InvalidArgument, "an event was not recorded before its time was asked for");
  SINTER_TRY(context_.enter());
  float milliseconds = 0;
  SINTER_TRY(context_.check(context_.api().eventElapsedTime(&milliseconds, from.handle_, handle_),
                            "cuEventElapsedTime"));
  return static_cast<uint64_t>(std::llround(std::max(double(milliseconds), 0.0) * 1e6));
}

CudaGraph::~CudaGraph() {
  if (!context_.enterToRelease())
    return;
  const OutsideOfCaptures outside(context_.api());
  context_.api().graphExecDestroy(handle_);
}

Result<std::unique_ptr<CudaStream>> CudaStream::create(Context &context) {
  SINTER_TRY(context.enter());
  StreamHandle handle = nullptr;
  SINTER_TRY(
      context.check(context.api().streamCreate(&handle, kStreamNonBlocking), "cuStreamCreate"));
  return std::unique_ptr<CudaStream>(new CudaStream(context, handle));
}

CudaStream::~CudaStream() {
  if (!context_.enterToRelease())
    return;
  GraphHandle graph = nullptr;
  if (capturing_ && context_.api().streamEndCapture(handle_, &graph) == kSuccess && graph)
    context_.api().graphDestroy(graph);
  // The staging ring's memory is freed next; its transfers must be over.
  (void)context_.wait(handle_);
  if (context_.enterToRelease())
    context_.api().streamDestroy(handle_);
}

Fail CudaStream::launchFailed(const Kernel &kernel, Status why) const {
  const KernelSpec &spec = kernel.spec();
  return fail(why.code, "launch of '" + spec.symbol + "' with " + std::to_string(spec.threads) +
                            " threads and " + std::to_string(spec.sharedBytes) +
                            " shared bytes a program: " + std::move(why.message));
}

Result<void> CudaStream::launch(const Kernel &kernel, const Grid &grid,
                                std::span<const BufferBinding> buffers,
                                std::span<const int64_t> scalars) {
  SINTER_TRY(checkLaunch(kernel, grid, buffers, scalars));
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0)
    return {};
  const auto &own = static_cast<const CudaKernel &>(kernel);
  Grid blocks = grid;
  if (__builtin_mul_overflow(grid[0], int64_t{own.resources().programBlocks}, blocks.data()))
    blocks[0] = std::numeric_limits<int64_t>::max();
  SINTER_TRY(checkGrid(kernel, blocks, context_.limits()));
  SINTER_TRY(context_.enter());
  std::array<uint64_t, kMaxParameterBytes / sizeof(uint64_t)> parameters;
  std::size_t count = 0;
  for (const BufferBinding &binding : buffers)
    parameters[count++] = addressOf(*binding.buffer, binding.offset);
  for (const int64_t scalar : scalars)
    parameters[count++] = static_cast<uint64_t>(scalar);
  std::size_t bytes = count * sizeof(uint64_t);
  void *extra[] = {reinterpret_cast<void *>(kLaunchBuffer), parameters.data(),
                   reinterpret_cast<void *>(kLaunchBufferBytes), &bytes,
                   reinterpret_cast<void *>(kLaunchEnd)};
  const KernelSpec &spec = kernel.spec();
  LaunchAttribute overlap{kLaunchMayOverlap};
  overlap.value.number = 1;
  LaunchConfig config;
  for (int axis = 0; axis < 3; ++axis)
    config.grid[axis] = static_cast<uint32_t>(blocks[axis]);
  config.block[0] = spec.threads;
  config.block[1] = config.block[2] = 1;
  config.sharedBytes = static_cast<uint32_t>(spec.sharedBytes);
  config.stream = handle_;
  config.attributes = &overlap;
  config.attributeCount = spec.overlaps && context_.api().overlapsInGraphs ? 1 : 0;
  auto launched = context_.check(
      context_.api().launchKernelEx(&config, own.function(), nullptr, count ? extra : nullptr),
      "cuLaunchKernelEx");
  if (!launched) [[unlikely]]
    return launchFailed(kernel, std::move(launched).error());
  return {};
}

Result<void> CudaStream::copy(Buffer &dst, uint64_t dstOffset, const Buffer &src,
                              uint64_t srcOffset, uint64_t bytes) {
  SINTER_TRY(checkCopy(dst, dstOffset, src, srcOffset, bytes));
  if (bytes == 0)
    return {};
  SINTER_TRY(context_.enter());
  return context_.check(context_.api().memcpyDtoDAsync(addressOf(dst, dstOffset),
                                                       addressOf(src, srcOffset), bytes, handle_),
                        "cuMemcpyDtoDAsync");
}

Result<void> CudaStream::fill(Buffer &dst, uint64_t offset, uint64_t bytes, uint8_t value) {
  SINTER_TRY(checkWritable(dst, "fill"));
  SINTER_TRY(checkRange(dst, offset, bytes, "fill"));
  if (bytes == 0)
    return {};
  SINTER_TRY(context_.enter());
  return context_.check(context_.api().memsetD8Async(addressOf(dst, offset), value, bytes, handle_),
                        "cuMemsetD8Async");
}

Result<void> CudaStream::notCaptured(const char *what) const {
  if (!capturing_)
    return {};
  return fail(Code::InvalidArgument,
              std::string(what) + " while commands are captured, expected outside of a capture");
}

Result<void> CudaStream::write(Buffer &dst, uint64_t offset, std::span<const uint8_t> bytes) {
  SINTER_TRY(checkWritable(dst, "write"));
  SINTER_TRY(checkRange(dst, offset, bytes.size(), "write"));
  SINTER_TRY(notCaptured("write"));
  SINTER_TRY(context_.enter());
  return staging_.write(addressOf(dst, offset), bytes);
}

Result<void> CudaStream::read(const Buffer &src, uint64_t offset, std::span<uint8_t> bytes) {
  SINTER_TRY(checkRange(src, offset, bytes.size(), "read"));
  SINTER_TRY(notCaptured("read"));
  SINTER_TRY(context_.enter());
  return staging_.read(bytes, addressOf(src, offset));
}

Result<void> CudaStream::beginRead(const Buffer &src, uint64_t offset, uint64_t bytes,
                                   Readback &into, uint64_t at) {
  auto &readback = static_cast<CudaReadback &>(into);
  SINTER_TRY(checkBeginRead(src, offset, bytes, readback.bytes(), at));
  SINTER_TRY(notCaptured("read"));
  if (bytes == 0)
    return {};
  SINTER_TRY(context_.enter());
  return readback.begin(addressOf(src, offset), bytes, at, handle_);
}

Result<void> CudaStream::record(Event &event) {
  SINTER_TRY(context_.enter());
  return static_cast<CudaEvent &>(event).record(handle_);
}

Result<void> CudaStream::synchronize() {
  SINTER_TRY(notCaptured("wait"));
  SINTER_TRY(context_.enter());
  return context_.wait(handle_);
}

Result<void> CudaStream::beginCapture() {
  SINTER_TRY(notCaptured("capture"));
  SINTER_TRY(context_.enter());
  SINTER_TRY(context_.check(context_.api().streamBeginCapture(handle_, kCaptureThreadLocal),
                            "cuStreamBeginCapture"));
  capturing_ = true;
  return {};
}

Result<std::unique_ptr<Graph>> CudaStream::endCapture() {
  if (!capturing_)
    return fail(Code::InvalidArgument, "a capture was ended that was not begun");
  SINTER_TRY(context_.enter());
  capturing_ = false;
  const Api &api = context_.api();
  GraphHandle graph = nullptr;
  SINTER_TRY(context_.check(api.streamEndCapture(handle_, &graph), "cuStreamEndCapture"));
  GraphExecHandle exec = nullptr;
  auto made = context_.check(api.graphInstantiate(&exec, graph, 0), "cuGraphInstantiateWithFlags");
  api.graphDestroy(graph);
  if (!made)
    return Fail(std::move(made).error());
  return std::make_unique<CudaGraph>(context_, exec);
}

Result<void> CudaStream::submit(const Graph &graph) {
  SINTER_TRY(notCaptured("submission"));
  SINTER_TRY(context_.enter());
  return context_.check(
      context_.api().graphLaunch(static_cast<const CudaGraph &>(graph).handle(), handle_),
      "cuGraphLaunch");
}

} // namespace sinter::hal::cuda
