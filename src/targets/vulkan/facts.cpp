// Reading of target strings, and writing them in the driver's order.
#include "targets/vulkan/facts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

namespace sinter::targets::vulkan {

using llvm::StringRef;

static constexpr int64_t kMostThreads = 65536, kMostShared = int64_t(1) << 24;
static constexpr int kMostMinor = 99;
static constexpr size_t kMostFeatures = 256; // of one string

std::string VulkanFacts::name() const {
  std::string text = "vulkan:" + std::to_string(major) + "." + std::to_string(minor) + "+subgroup" +
                     std::to_string(subgroup);
  for (const std::string &feature : features)
    text += "+" + feature;
  return text + "+threads" + std::to_string(threads) + "+shared" + std::to_string(sharedBytes);
}

std::vector<std::string_view> VulkanFacts::matrixInstructions() const {
  constexpr int kCooperativeMinor = 3, kCooperativeSubgroup = 32;
  std::vector<std::string_view> names;
  if (minor < kCooperativeMinor || subgroup != kCooperativeSubgroup)
    return names;
  if (has("coop16x16x16_f16_f16_f32_f32") && has("float16"))
    names.emplace_back("vulkan.cooperative.16x16x16.f32.f16");
  if (has("coop16x16x16_bf16_bf16_f32_f32") && has("bfloat16"))
    names.emplace_back("vulkan.cooperative.16x16x16.f32.bf16");
  return names;
}

static Fail malformed(std::string_view rest, const std::string &what) {
  return fail(Code::InvalidArgument, "found target 'vulkan:" + std::string(rest) + "', " + what +
                                         " is not of the form "
                                         "vulkan:1.3+subgroup32+int8+threads256+shared32768");
}

// Whether `feature` is `name` with a number from `low` to `high`, which goes to `value`; an error
// where the number is another.
static Result<bool> takeNumber(StringRef feature, StringRef name, int64_t low, int64_t high,
                               int64_t &value) {
  int64_t number = 0;
  if (!feature.consume_front(name) || feature.empty() || !llvm::all_of(feature, llvm::isDigit))
    return false;
  if (feature.getAsInteger(10, number) || number < low || number > high)
    return fail(Code::InvalidArgument, "found " + name.str() + " of " + feature.str() +
                                           " in a Vulkan target, expected " + std::to_string(low) +
                                           " to " + std::to_string(high));
  value = number;
  return true;
}

static Result<void> takeFeature(StringRef feature, VulkanFacts &facts) {
  SINTER_ASSIGN(bool subgroup, takeNumber(feature, "subgroup", 1, 128, facts.subgroup));
  SINTER_ASSIGN(bool threads, takeNumber(feature, "threads", 1, kMostThreads, facts.threads));
  SINTER_ASSIGN(bool shared, takeNumber(feature, "shared", 0, kMostShared, facts.sharedBytes));
  if (!subgroup && !threads && !shared)
    facts.features.insert(feature.str());
  return {};
}

Result<VulkanFacts> parseFacts(std::string_view rest) {
  VulkanFacts facts;
  llvm::SmallVector<StringRef> parts;
  StringRef(rest).split(parts, '+');
  auto [major, minor] = parts.front().split('.');
  if (major != "1" || minor.getAsInteger(10, facts.minor) || facts.minor < 2 ||
      facts.minor > kMostMinor)
    return malformed(rest, "version '" + parts.front().str() + "', expected 1.2 or later, which");
  if (parts.size() > kMostFeatures)
    return malformed(rest, "with " + std::to_string(parts.size()) + " features, which");
  for (StringRef feature : llvm::drop_begin(parts)) {
    if (feature.empty() ||
        !llvm::all_of(feature, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
      return malformed(rest, "feature '" + feature.str() + "', which");
    SINTER_TRY(takeFeature(feature, facts));
  }
  if (!llvm::isPowerOf2_64(static_cast<uint64_t>(facts.subgroup)) || facts.subgroup > facts.threads)
    return fail(Code::InvalidArgument, "found subgroups of " + std::to_string(facts.subgroup) +
                                           " in workgroups of " + std::to_string(facts.threads) +
                                           ", expected a power of two that fits");
  return facts;
}

} // namespace sinter::targets::vulkan
