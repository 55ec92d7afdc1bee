// The options of `sinter run` that say how tokens are chosen.
#pragma once

#include "cli/exit_codes.h"
#include "llm/sampler_settings.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::cli {

struct Message;

struct SamplingOption {
  const char *name; // with its dashes
  const char *type; // of its value, as help shows it
  const char *group;
  const char *help;
  const char *setting = ""; // of samplerSettingTable(), where it is a number of that table
  // Options of which one must be given too, with commas between them: it has no effect otherwise.
  const char *needs = "";
  bool isList = false; // may be given several times
};
std::span<const SamplingOption> samplingOptions();

// What was given, by the option's name.
struct SamplingTexts {
  std::map<std::string, std::string> values;
  std::map<std::string, std::vector<std::string>> lists;

  bool has(const std::string &name) const { return values.contains(name) || lists.contains(name); }
};

// Reads and checks all of it. A message: a value that is none or out of its range, an option that
// would have no effect, two that contradict each other.
std::optional<Message> readSampler(const SamplingTexts &texts, SamplerSettings &settings);

} // namespace sinter::cli
