// A schedule that was chosen instead of the one that rules give: decisions by name, each a whole
// number, such as block_m=120. Parameters of kernels and decisions of a target are named alike.
// A choice never changes a bit of a result.
#pragma once

#include "base/status.h"

#include <map>
#include <string>
#include <string_view>

namespace sinter::plan {

inline constexpr std::size_t kMaxDecisions = 16;
inline constexpr std::size_t kMaxDecisionName = 32; // bytes
inline constexpr int64_t kMaxDecisionValue = 1 << 20;

struct ScheduleChoice {
  std::map<std::string, int64_t, std::less<>> values; // none: what the rules say

  bool byRules() const { return values.empty(); }
  // "block_m=120,vectors=2", names ascending; empty by rules. parse() reads it back.
  std::string text() const;
  // Corrupt, with the part that was found: anything but names of a-z, 0-9 and _, ascending, each
  // with a value from 0 to kMaxDecisionValue.
  static Result<ScheduleChoice> parse(std::string_view text);

  auto operator<=>(const ScheduleChoice &) const = default;
};

} // namespace sinter::plan
