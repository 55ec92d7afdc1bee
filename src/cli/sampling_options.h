// The options of `sinter run` that say how tokens are chosen; a chat's /set takes the same ones.
#pragma once

#include "cli/exit_codes.h"
#include "llm/sampler/settings.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sinter::cli {

// What an option needs to have any effect.
struct SamplingNeed {
  const char *option; // of the table, for messages
  bool (*isMet)(const SamplerSettings &settings);
  const char *kind = ""; // "a penalty such as ": other options do too
};

struct SamplingOption {
  const char *name; // without dashes
  const char *type; // of its value, as help shows it
  const char *group;
  const char *help;
  const char *setting = ""; // of samplerSettingTable(), where it is a number of that table
  const SamplingNeed *need = nullptr;
  bool isList = false; // may be given several times
};
std::span<const SamplingOption> samplingOptions();
// By its name or its setting's, with _ or - between words; null: there is none.
const SamplingOption *findSamplingOption(std::string name);

// What was given, by the option's name.
struct SamplingTexts {
  std::map<std::string, std::string> values;
  std::map<std::string, std::vector<std::string>> lists;

  bool has(const std::string &name) const { return values.contains(name) || lists.contains(name); }
};

// A message: a value that is none or out of its range.
std::optional<Message> checkSamplingValues(const SamplingTexts &texts);
// Changes `settings`, the model's defaults, as the texts say. Mirostat and the steps that it
// replaces turn each other off where one of them is a default and the other was asked for. A
// message: as checkSamplingValues(), an option that would have no effect, two that contradict each
// other. Messages put `dashes` before names.
std::optional<Message> readSampler(const SamplingTexts &texts, SamplerSettings &settings,
                                   std::string_view dashes = "--");
// Whether tokens are drawn and no seed was given.
bool drawsSeed(const SamplingTexts &texts, const SamplerSettings &settings);

} // namespace sinter::cli
