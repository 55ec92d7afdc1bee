// Submitting to the queue, and waiting under the watchdog.
#include "hal/vulkan/timeline.h"

#include <algorithm>
#include <cstdio>

namespace sinter::hal::vulkan {
namespace {

std::string secondsText(uint64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(nanoseconds) * 1e-9);
  return text;
}

} // namespace

Result<std::shared_ptr<Timeline>> Timeline::create(Context &context) {
  std::shared_ptr<Timeline> timeline(new Timeline(context));
  VkSemaphoreTypeCreateInfo type = {};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  SINTER_TRY(context.check(
      context.vk().vkCreateSemaphore(context.handle(), &info, nullptr, &timeline->semaphore_),
      "vkCreateSemaphore"));
  return timeline;
}

Timeline::~Timeline() {
  // What fails here has been said, or will be by the next call on the device.
  (void)wait(submitted_).has_value();
  if (semaphore_ && !context_.abandoned())
    context_.vk().vkDestroySemaphore(context_.handle(), semaphore_, nullptr);
}

Result<uint64_t> Timeline::submit(VkCommandBuffer commands, uint32_t dispatches,
                                  std::string_view symbol) {
  SINTER_TRY(context_.alive());
  const uint64_t number = submitted_ + 1;
  VkTimelineSemaphoreSubmitInfo values = {};
  values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  values.signalSemaphoreValueCount = 1;
  values.pSignalSemaphoreValues = &number;
  VkSubmitInfo info = {};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = &values;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &semaphore_;
  SINTER_TRY(context_.check(context_.vk().vkQueueSubmit(context_.queue(), 1, &info, VK_NULL_HANDLE),
                            "vkQueueSubmit"));
  submitted_ = number;
  pending_.push_back({number, dispatches, std::string(symbol)});
  return number;
}

Result<bool> Timeline::reached(uint64_t number) {
  SINTER_TRY(context_.alive());
  if (ended_ < number) {
    uint64_t value = 0;
    SINTER_TRY(context_.check(
        context_.vk().vkGetSemaphoreCounterValue(context_.handle(), semaphore_, &value),
        "vkGetSemaphoreCounterValue"));
    if (value > submitted_) // what a lost device may show
      SINTER_TRY(context_.check(VK_ERROR_DEVICE_LOST, "vkGetSemaphoreCounterValue"));
    ended_ = std::max(value, ended_);
    while (!pending_.empty() && pending_.front().number <= ended_)
      pending_.pop_front();
  }
  return ended_ >= number;
}

Result<void> Timeline::wait(uint64_t number) {
  const uint64_t watchdog = context_.watchdogNs();
  while (true) {
    SINTER_ASSIGN(const bool done, reached(number));
    if (done)
      return {};
    // One submission at a time, so that the limit is each one's own.
    const uint64_t next = watchdog ? ended_ + 1 : number;
    VkSemaphoreWaitInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
    info.semaphoreCount = 1;
    info.pSemaphores = &semaphore_;
    info.pValues = &next;
    const VkResult result =
        context_.vk().vkWaitSemaphores(context_.handle(), &info, watchdog ? watchdog : UINT64_MAX);
    if (result == VK_TIMEOUT && watchdog)
      return hangs(next);
    if (result != VK_TIMEOUT)
      SINTER_TRY(context_.check(result, "vkWaitSemaphores"));
  }
}

Fail Timeline::hangs(uint64_t number) {
  std::string what = "commands";
  for (const Pending &pending : pending_)
    if (pending.number == number && pending.dispatches)
      what = std::to_string(pending.dispatches) +
             (pending.dispatches == 1 ? " dispatch" : " dispatches, the last") + " of '" +
             pending.symbol + "'";
  return context_.abandon("device '" + context_.physical().name + "': " + what +
                          " did not end within " + secondsText(context_.watchdogNs()) +
                          " s; the device is given up");
}

} // namespace sinter::hal::vulkan
