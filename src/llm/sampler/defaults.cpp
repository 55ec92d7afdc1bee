// The table of proposed settings, and the order of steps that a file may ask for.
#include "llm/sampler/defaults.h"

#include "format/known_names.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sinter {
namespace {

constexpr std::string_view kPrefix = "general.sampling.";
constexpr std::string_view kSequence = "sequence";

// A setting's name in files and in samplerSettingTable().
struct Proposal {
  std::string_view key, setting;
  bool negativeIsZero = false; // -1 means 0
};
constexpr Proposal kProposals[] = {
    {"temp", "temperature", true},
    {"top_k", "top_k", true},
    {"top_p", "top_p"},
    {"min_p", "min_p"},
    {"xtc_probability", "xtc_probability"},
    {"xtc_threshold", "xtc_threshold"},
    {"penalty_repeat", "repeat_penalty"},
    {"penalty_last_n", "repeat_last_n"},
    {"mirostat", "mirostat"},
    {"mirostat_tau", "mirostat_tau"},
    {"mirostat_eta", "mirostat_eta"},
};

// The steps of a Sampler in its order: llama.cpp's names, and the setting that turns each off.
struct Step {
  std::string_view name, otherName, setting;
};
constexpr Step kSteps[] = {
    {"penalties", "penalties", "repeat_penalty"},
    {"dry", "dry", "dry_multiplier"},
    {"top_k", "top_k", "top_k"},
    {"typ_p", "typical", "typical_p"},
    {"top_p", "nucleus", "top_p"},
    {"min_p", "min_p", "min_p"},
    {"xtc", "xtc", "xtc_probability"},
    {"temperature", "temp", "temperature"},
};
// Off in llama.cpp unless its own option is given, for which no file has a key.
constexpr std::string_view kOffSteps[] = {"top_n_sigma", "adaptive_p"};
constexpr size_t kMostShown = 64; // bytes of a file's text in a message

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, kMostShown)) + "'";
}

std::string stepNames() {
  std::string names;
  for (const Step &step : kSteps)
    names += (names.empty() ? "" : ";") + std::string(step.name);
  return names;
}

class ProposalReader {
public:
  explicit ProposalReader(const GgufFile &file) : file_(file) {}

  SamplerDefaults read() {
    for (const Proposal &proposal : kProposals)
      if (const GgufValue *value = file_.find(std::string(kPrefix) + std::string(proposal.key)))
        readNumber(proposal, *value);
    if (const GgufValue *value = file_.find(std::string(kPrefix) + std::string(kSequence)))
      readSequence(*value);
    noteUnknownKeys();
    settleMirostat();
    return std::move(defaults_);
  }

private:
  void note(std::string_view key, const std::string &found, const std::string &expected) {
    defaults_.notes.push_back(quoted(key) + " is " + found + ", expected " + expected +
                              ": it goes unused");
  }

  void setFromFile(std::string_view name, double value) {
    const SamplerSetting &setting = *findSamplerSetting(name);
    setting.set(defaults_.settings, value);
    if (!defaults_.isFromFile(name))
      defaults_.fromFile.push_back(setting.name);
  }

  // Types differ among files, so a value is read as the text that it would be written as.
  void readNumber(const Proposal &proposal, const GgufValue &value) {
    const SamplerSetting &setting = *findSamplerSetting(proposal.setting);
    const auto texts = value.isArray() ? std::vector<std::string>() : valueTexts(value);
    const std::string text = texts.empty() ? "" : texts.front();
    double number = 0;
    const char *end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    const bool isNumber = !text.empty() && parsed.ec == std::errc() && parsed.ptr == end;
    if (isNumber && proposal.negativeIsZero)
      number = std::max(number, 0.0);
    if (!isNumber || !setting.allows(number) || (setting.isWhole() && number != std::trunc(number)))
      return note(value.key, texts.empty() ? "an array" : quoted(text), setting.expected());
    setFromFile(proposal.setting, number);
  }

  // Names with ';' between them: steps that it leaves out are off.
  void readSequence(const GgufValue &value) {
    const auto text = file_.getString(value.key);
    if (!text)
      return note(value.key, std::string(ggufTypeName(value.type)), "a string");
    std::vector<const Step *> asked;
    for (std::string_view rest = *text; !rest.empty();) {
      const size_t end = std::min(rest.find(';'), rest.size());
      std::string name(rest.substr(0, end));
      std::ranges::replace(name, '-', '_');
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const Step *step = std::ranges::find_if(
          kSteps, [&](const Step &one) { return one.name == name || one.otherName == name; });
      if (step != std::end(kSteps))
        asked.push_back(step);
      else if (std::ranges::find(kOffSteps, name) == std::end(kOffSteps))
        return note(value.key, quoted(*text), "names of sampler steps with ; between them");
    }
    if (!std::ranges::is_sorted(asked))
      return note(value.key, quoted(*text), "steps in Sinter's order (" + stepNames() + ")");
    for (const Step &step : kSteps)
      if (std::ranges::find(asked, &step) == asked.end())
        turnOff(step.setting);
  }

  // Logits that no temperature divides are those of temperature 1.
  void turnOff(std::string_view setting) {
    const bool isTemperature = setting == "temperature";
    const double off = isTemperature ? 1 : findSamplerSetting(setting)->valueIn(SamplerSettings());
    setFromFile(setting, off);
  }

  void noteUnknownKeys() {
    std::string_view first;
    size_t others = 0;
    for (const GgufValue &value : file_.values()) {
      if (!value.key.starts_with(kPrefix))
        continue;
      const std::string_view name = value.key.substr(kPrefix.size());
      if (name == kSequence ||
          std::ranges::find(kProposals, name, &Proposal::key) != std::end(kProposals))
        continue;
      others += !first.empty();
      first = first.empty() ? value.key : first;
    }
    if (!first.empty())
      defaults_.notes.push_back(quoted(first) +
                                (others ? " and " + std::to_string(others) + " more" : "") +
                                " of the file's sampling settings are not known here: unused");
  }

  void settleMirostat() {
    SamplerSettings &settings = defaults_.settings;
    if (settings.mirostat != 0)
      settings.turnOffCandidateSteps();
    if (const auto fits = settings.check(); !fits) {
      defaults_.notes.push_back("of the file's sampling settings, " + fits.error().message +
                                ": Mirostat goes unused");
      settings.mirostat = 0;
    }
  }

  const GgufFile &file_;
  SamplerDefaults defaults_;
};

} // namespace

SamplerSettings standardSampler() {
  SamplerSettings settings;
  settings.temperature = 0.8;
  settings.topK = 40;
  settings.topP = 0.95;
  settings.minP = 0.05;
  return settings;
}

bool SamplerDefaults::isFromFile(std::string_view setting) const {
  return std::ranges::find(fromFile, setting) != fromFile.end();
}

SamplerDefaults samplerDefaultsOf(const GgufFile &file) {
  return ProposalReader(file).read();
}

} // namespace sinter
