// Reading, writing and comparing of Vulkan target texts.
#include "hal/vulkan/target_text.h"

#include <charconv>

namespace sinter::hal::vulkan {
namespace {

constexpr std::string_view kPrefix = "vulkan:";

// The number that is the whole of `text`.
std::optional<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

// Puts the number of "nameN" into `value`; false where `feature` is something else.
bool takeNumber(std::string_view feature, std::string_view name, uint32_t &value) {
  if (!feature.starts_with(name))
    return false;
  const auto found = number(feature.substr(name.size()));
  if (found)
    value = *found;
  return found.has_value();
}

Fail malformed(std::string_view text) {
  return fail(Code::Unsupported, "target '" + std::string(text) +
                                     "' is not for the vulkan driver, expected a text such as "
                                     "'vulkan:1.3+subgroup32+int8'");
}

Fail lacking(const TargetText &device, const std::string &what) {
  return fail(Code::Unsupported, "code needs " + what + ", the device is '" + device.text() + "'");
}

} // namespace

std::string TargetText::text() const {
  std::string text = std::string(kPrefix) + std::to_string(major) + "." + std::to_string(minor);
  if (subgroup)
    text += "+subgroup" + std::to_string(subgroup);
  for (const std::string &feature : features)
    text += "+" + feature;
  if (threads)
    text += "+threads" + std::to_string(threads);
  if (shared)
    text += "+shared" + std::to_string(shared);
  return text;
}

Result<TargetText> parseTarget(std::string_view text) {
  TargetText target;
  if (!text.starts_with(kPrefix))
    return malformed(text);
  std::string_view rest = text.substr(kPrefix.size());
  const std::string_view version = rest.substr(0, rest.find('+'));
  const auto dot = version.find('.');
  if (dot == std::string_view::npos)
    return malformed(text);
  const auto major = number(version.substr(0, dot)), minor = number(version.substr(dot + 1));
  if (!major || !minor)
    return malformed(text);
  target.major = *major;
  target.minor = *minor;
  rest.remove_prefix(version.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view feature = rest.substr(0, rest.find('+'));
    rest.remove_prefix(feature.size());
    if (feature.empty())
      return malformed(text);
    if (!takeNumber(feature, "subgroup", target.subgroup) &&
        !takeNumber(feature, "threads", target.threads) &&
        !takeNumber(feature, "shared", target.shared))
      target.features.emplace(feature);
  }
  return target;
}

Result<void> checkTarget(const TargetText &needed, const TargetText &device) {
  if (needed.major != device.major || needed.minor > device.minor)
    return lacking(device,
                   "Vulkan " + std::to_string(needed.major) + "." + std::to_string(needed.minor));
  if (needed.subgroup && needed.subgroup != device.subgroup)
    return lacking(device, "subgroups of " + std::to_string(needed.subgroup));
  if (needed.threads > device.threads)
    return lacking(device, "workgroups of " + std::to_string(needed.threads) + " invocations");
  if (needed.shared > device.shared)
    return lacking(device, std::to_string(needed.shared) + " bytes of workgroup memory");
  for (const std::string &feature : needed.features)
    if (!device.features.contains(feature))
      return lacking(device, "'" + feature + "'");
  return {};
}

} // namespace sinter::hal::vulkan
