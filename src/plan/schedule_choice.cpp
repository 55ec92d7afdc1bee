// The text of a choice.
#include "plan/schedule_choice.h"

#include <algorithm>
#include <charconv>

namespace sinter::plan {

std::string ScheduleChoice::text() const {
  std::string text;
  for (const auto &[name, value] : values)
    text += (text.empty() ? "" : ",") + name + "=" + std::to_string(value);
  return text;
}

static bool isName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxDecisionName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// One "name=value" as it is written.
static bool readDecision(std::string_view part, ScheduleChoice &choice) {
  const std::size_t equals = part.find('=');
  if (equals == std::string_view::npos || !isName(part.substr(0, equals)))
    return false;
  const std::string_view digits = part.substr(equals + 1);
  int64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec != std::errc() || value < 0 || value > kMaxDecisionValue ||
      digits != std::to_string(value))
    return false;
  const std::string name(part.substr(0, equals));
  const bool ascends = choice.values.empty() || choice.values.rbegin()->first < name;
  choice.values.emplace(name, value);
  return ascends && choice.values.size() <= kMaxDecisions;
}

Result<ScheduleChoice> ScheduleChoice::parse(std::string_view text) {
  ScheduleChoice choice;
  for (std::size_t from = 0; !text.empty() && from <= text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    const std::string_view part = text.substr(from, end - from);
    if (!readDecision(part, choice))
      return fail(Code::Corrupt, "found '" + std::string(part.substr(0, 2 * kMaxDecisionName)) +
                                     "' in a schedule, expected decisions such as block_m=120 by "
                                     "ascending names");
    from = end + 1;
  }
  return choice;
}

} // namespace sinter::plan
