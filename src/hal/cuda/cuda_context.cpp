// Opening, waiting for and losing a device of the cuda driver.
#include "hal/cuda/cuda_context.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sinter::hal::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// A wait asks without pause for as long as short kernels take, then sleeps longer and longer.
constexpr auto kBusyWait = std::chrono::milliseconds(10);
constexpr auto kShortestSleep = std::chrono::microseconds(10);
constexpr auto kLongestSleep = std::chrono::microseconds(1000);

} // namespace

Result<DeviceLimits> deviceLimits(const Api &api, DeviceOrdinal device) {
  constexpr DeviceAttribute kAttributes[] = {kMaxGridX,
                                             kMaxGridY,
                                             kMaxGridZ,
                                             kMaxThreadsPerBlock,
                                             kMaxSharedBytesPerBlockOptIn,
                                             kComputeCapabilityMajor,
                                             kComputeCapabilityMinor,
                                             kClockRate};
  std::array<int32_t, std::size(kAttributes)> values = {};
  for (std::size_t i = 0; i < values.size(); ++i)
    SINTER_TRY(api.check(api.deviceGetAttribute(&values[i], kAttributes[i], device),
                         "cuDeviceGetAttribute"));
  DeviceLimits limits;
  std::copy_n(values.begin(), 3, limits.maxGrid);
  limits.maxThreads = static_cast<uint32_t>(values[3]);
  limits.maxSharedBytes = static_cast<uint64_t>(values[4]);
  limits.capability = static_cast<uint32_t>(10 * values[5] + values[6]);
  limits.clockHz = values[7] * 1e3;
  return limits;
}

Result<std::unique_ptr<Context>> Context::open(std::shared_ptr<const Api> api, DeviceOrdinal device,
                                               DeviceInfo info, double watchdogSeconds) {
  std::unique_ptr<Context> context(
      new Context(std::move(api), device, std::move(info), watchdogSeconds));
  SINTER_ASSIGN(context->limits_, deviceLimits(*context->api_, device));
  SINTER_TRY(context->check(context->api_->primaryCtxRetain(&context->handle_, device),
                            "cuDevicePrimaryCtxRetain"));
  SINTER_TRY(context->enter());
  SINTER_TRY(context->check(context->api_->streamCreate(&context->clearing_, kStreamNonBlocking),
                            "cuStreamCreate"));
  return context;
}

Context::~Context() {
  if (!handle_ || hung_)
    return;
  if (clearing_ && enterToRelease())
    api_->streamDestroy(clearing_);
  ContextHandle current = nullptr;
  if (api_->ctxGetCurrent(&current) == kSuccess && current == handle_)
    api_->ctxSetCurrent(nullptr);
  api_->primaryCtxRelease(device_);
}

Fail Context::lostBefore() const {
  return fail(Code::DeviceLost, "device '" + info_.name + "' was lost before: " + *lost_);
}

Fail Context::failed(ApiResult error, const char *call) {
  const Code code = codeOf(error);
  std::string text = api_->describe(error, call);
  if (code == Code::DeviceLost && !lost_)
    lost_ = text;
  return fail(code, "device '" + info_.name + "': " + std::move(text));
}

template <typename Query> Result<void> Context::poll(Query query, const char *call) {
  const auto start = Clock::now();
  const std::chrono::duration<double> limit(watchdogSeconds_);
  auto sleep = kShortestSleep;
  while (true) {
    const ApiResult error = query();
    if (error != kNotReady)
      return check(error, call);
    const auto waited = Clock::now() - start;
    if (waited > limit) {
      hung_ = true;
      lost_ = "its commands did not end within the " + std::to_string(watchdogSeconds_) +
              " seconds that the watchdog allows";
      return fail(Code::DeviceLost, "device '" + info_.name + "' is lost: " + *lost_);
    }
    if (waited < kBusyWait)
      continue;
    std::this_thread::sleep_for(sleep);
    sleep = std::min(2 * sleep, kLongestSleep);
  }
}

Result<void> Context::wait(StreamHandle stream) {
  const OutsideOfCaptures outside(*api_);
  if (watchdogSeconds_ > 0)
    return poll([&] { return api_->streamQuery(stream); }, "cuStreamQuery");
  return check(api_->streamSynchronize(stream), "cuStreamSynchronize");
}

Result<void> Context::wait(EventHandle event) {
  const OutsideOfCaptures outside(*api_);
  if (watchdogSeconds_ > 0)
    return poll([&] { return api_->eventQuery(event); }, "cuEventQuery");
  return check(api_->eventSynchronize(event), "cuEventSynchronize");
}

std::optional<uint64_t> Context::freeBytes() {
  std::size_t freeBytes = 0, totalBytes = 0;
  if (!enter() || api_->memGetInfo(&freeBytes, &totalBytes) != kSuccess)
    return std::nullopt;
  return freeBytes;
}

Fail Context::noMemory(uint64_t bytes, const std::string &why) {
  std::size_t freeBytes = 0, totalBytes = 0;
  const bool known = api_->memGetInfo(&freeBytes, &totalBytes) == kSuccess;
  return fail(Code::Exhausted, "allocation of " + std::to_string(bytes) + " bytes on device '" +
                                   info_.name + "' failed: " +
                                   (known ? std::to_string(freeBytes) + " of " +
                                                std::to_string(totalBytes) + " bytes are free"
                                          : "how many bytes are free is not known") +
                                   why);
}

Result<DevicePtr> Context::allocate(uint64_t bytes) {
  SINTER_TRY(enter());
  if (bytes > info_.memoryBytes)
    return noMemory(bytes, "");
  const OutsideOfCaptures outside(*api_);
  const uint64_t size = std::max<uint64_t>(bytes, 1);
  DevicePtr address = 0;
  const ApiResult error = api_->memAlloc(&address, size);
  if (error == kOutOfMemory)
    return noMemory(bytes, " (" + api_->describe(error, "cuMemAlloc") + ")");
  SINTER_TRY(check(error, "cuMemAlloc"));
  auto cleared = check(api_->memsetD8Async(address, 0, size, clearing_), "cuMemsetD8Async");
  if (cleared)
    cleared = wait(clearing_);
  if (!cleared) {
    release(address);
    return Fail(std::move(cleared).error());
  }
  return address;
}

void Context::release(DevicePtr address) {
  if (!enterToRelease())
    return;
  const OutsideOfCaptures outside(*api_);
  // An error here is of an earlier command, and loses the device for the calls that can say so.
  (void)check(api_->memFree(address), "cuMemFree");
}

} // namespace sinter::hal::cuda
