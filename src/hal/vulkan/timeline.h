// The order of one stream's submissions: a counter that the device raises as each one ends.
#pragma once

#include "hal/vulkan/context.h"

#include <deque>

namespace sinter::hal::vulkan {

class Timeline {
public:
  static Result<std::shared_ptr<Timeline>> create(Context &context);
  // Waits for what was submitted.
  ~Timeline();
  Timeline(const Timeline &) = delete;
  Timeline &operator=(const Timeline &) = delete;

  // Submits recorded commands, behind all that were submitted before. The number of the submission,
  // from 1 up. `dispatches` and `symbol`, the last kernel's, name it should it hang.
  Result<uint64_t> submit(VkCommandBuffer commands, uint32_t dispatches, std::string_view symbol);
  uint64_t submitted() const { return submitted_; }
  // Whether that submission has ended.
  Result<bool> reached(uint64_t number);
  // DeviceLost: a submission failed, or one took longer than the watchdog allows.
  Result<void> wait(uint64_t number);

private:
  struct Pending {
    uint64_t number;
    uint32_t dispatches;
    std::string symbol;
  };

  explicit Timeline(Context &context) : context_(context) {}
  Fail hangs(uint64_t number);

  Context &context_;
  VkSemaphore semaphore_ = VK_NULL_HANDLE;
  uint64_t submitted_ = 0;
  uint64_t ended_ = 0; // as far as is known
  std::deque<Pending> pending_;
};

} // namespace sinter::hal::vulkan
