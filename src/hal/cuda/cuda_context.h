// One opened device of the cuda driver: its context and limits, waiting, and the error that lost
// it.
#pragma once

#include "hal/cuda/cuda_api.h"

#include <optional>

namespace sinter::hal::cuda {

// What a launch must fit into.
struct DeviceLimits {
  int64_t maxGrid[3] = {};
  uint32_t maxThreads = 0;     // of one block
  uint64_t maxSharedBytes = 0; // of one block, once a kernel opts in
  uint32_t capability = 0;     // 10 * major + minor
  double clockHz = 0;          // the highest
};
Result<DeviceLimits> deviceLimits(const Api &api, DeviceOrdinal device);

// Owns a reference to the device's primary context. Everything made from it holds a reference to
// this and asks it before each call; once the device is lost, no call reaches the driver.
class Context {
public:
  static Result<std::unique_ptr<Context>> open(std::shared_ptr<const Api> api, DeviceOrdinal device,
                                               DeviceInfo info, double watchdogSeconds);
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const Api &api() const { return *api_; }
  const DeviceInfo &info() const { return info_; }
  const DeviceLimits &limits() const { return limits_; }

  // Makes the context the calling thread's. DeviceLost, naming the first error, after one.
  Result<void> enter() {
    if (lost_) [[unlikely]]
      return lostBefore();
    ContextHandle current = nullptr;
    if (api_->ctxGetCurrent(&current) == kSuccess && current == handle_) [[likely]]
      return {};
    return check(api_->ctxSetCurrent(handle_), "cuCtxSetCurrent");
  }
  // As enter(), for destructors: false where nothing can or need be released any more.
  bool enterToRelease() { return !lost_ && enter().has_value(); }
  // Of a call's own result; an error that no later call survives loses the device.
  Result<void> check(ApiResult error, const char *call) {
    if (error == kSuccess) [[likely]]
      return {};
    return failed(error, call);
  }

  // Wait until the work is done. DeviceLost: it failed, or took longer than the watchdog allows.
  Result<void> wait(StreamHandle stream);
  Result<void> wait(EventHandle event);

  // Zeroed memory of at least one byte. Exhausted with the numbers of bytes asked for and free.
  Result<DevicePtr> allocate(uint64_t bytes);
  std::optional<uint64_t> freeBytes();
  void release(DevicePtr address);

private:
  Context(std::shared_ptr<const Api> api, DeviceOrdinal device, DeviceInfo info, double watchdog)
      : api_(std::move(api)), device_(device), info_(std::move(info)), watchdogSeconds_(watchdog) {}
  template <typename Query> Result<void> poll(Query query, const char *call);
  Fail failed(ApiResult error, const char *call);
  Fail lostBefore() const;
  Fail noMemory(uint64_t bytes, const std::string &why);

  std::shared_ptr<const Api> api_;
  DeviceOrdinal device_;
  DeviceInfo info_;
  double watchdogSeconds_;
  DeviceLimits limits_;
  ContextHandle handle_ = nullptr;
  StreamHandle clearing_ = nullptr; // zeroes what is allocated
  std::optional<std::string> lost_; // the first error
  bool hung_ = false;               // releasing the context would wait for ever
};

// Lets calls that must not be captured go on beside a capture of the same thread, for a scope.
class OutsideOfCaptures {
public:
  explicit OutsideOfCaptures(const Api &api) : api_(api) { api_.exchangeCaptureMode(&mode_); }
  ~OutsideOfCaptures() { api_.exchangeCaptureMode(&mode_); }
  OutsideOfCaptures(const OutsideOfCaptures &) = delete;
  OutsideOfCaptures &operator=(const OutsideOfCaptures &) = delete;

private:
  const Api &api_;
  int32_t mode_ = kCaptureRelaxed;
};

} // namespace sinter::hal::cuda
