// Time stamps of the device's clock.
#include "hal/vulkan/batch.h"

namespace sinter::hal::vulkan {

Result<std::unique_ptr<VulkanEvent>> VulkanEvent::create(Context &context, const DeviceInfo &info) {
  std::unique_ptr<VulkanEvent> event(new VulkanEvent(context, info));
  if (!context.physical().timestampBits)
    return event;
  VkQueryPoolCreateInfo create = {};
  create.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  create.queryType = VK_QUERY_TYPE_TIMESTAMP;
  create.queryCount = 1;
  SINTER_TRY(context.check(
      context.vk().vkCreateQueryPool(context.handle(), &create, nullptr, &event->pool_),
      "vkCreateQueryPool"));
  if (context.physical().abilities.hostQueryReset)
    context.vk().vkResetQueryPool(context.handle(), event->pool_, 0, 1);
  return event;
}

VulkanEvent::~VulkanEvent() {
  if (pool_ && !context_.abandoned())
    context_.vk().vkDestroyQueryPool(context_.handle(), pool_, nullptr);
}

Result<uint64_t> VulkanEvent::ticks() const {
  SINTER_TRY(context_.alive());
  uint64_t found[2] = {0, 0}; // the value, and whether it is there
  const VkResult result =
      recorded_ ? context_.vk().vkGetQueryPoolResults(
                      context_.handle(), pool_, 0, 1, sizeof found, found, sizeof found,
                      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT)
                : VK_NOT_READY;
  if (result != VK_NOT_READY)
    SINTER_TRY(context_.check(result, "vkGetQueryPoolResults"));
  if (!found[1])
    return fail(Code::InvalidArgument, "an event was not recorded and synchronised, its time on "
                                       "device '" +
                                           info_.name + "' is not known");
  return found[0];
}

Result<uint64_t> VulkanEvent::nanosecondsSince(const Event &start) const {
  const uint32_t bits = context_.physical().timestampBits;
  if (!bits)
    return unsupported(info_, Feature::Timing);
  SINTER_ASSIGN(const uint64_t from, static_cast<const VulkanEvent &>(start).ticks());
  SINTER_ASSIGN(const uint64_t to, ticks());
  // The clock may have gone round between the two.
  const uint64_t mask = bits < 64 ? (uint64_t(1) << bits) - 1 : UINT64_MAX;
  return static_cast<uint64_t>(static_cast<double>((to - from) & mask) *
                               context_.physical().timestampNanoseconds);
}

} // namespace sinter::hal::vulkan
