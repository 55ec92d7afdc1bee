// Settings are kept as texts and read anew, all together, with each change.
#include "cli/chat/settings.h"

#include "base/nearest.h"
#include "cli/table.h"

namespace sinter::cli {
namespace {

constexpr std::string_view kSystem = "system", kSpaces = " \t\n";

std::string_view trimmed(std::string_view text) {
  const size_t first = std::min(text.find_first_not_of(kSpaces), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

std::string joined(const std::vector<std::string> &texts) {
  std::string out;
  for (const std::string &text : texts)
    out += (out.empty() ? "" : " ") + text;
  return out;
}

void change(SamplingTexts &texts, const SamplingOption &option, const std::string &value) {
  if (value.empty()) {
    texts.values.erase(option.name);
    texts.lists.erase(option.name);
  } else if (option.isList) {
    texts.lists[option.name].push_back(value);
  } else {
    texts.values[option.name] = value;
  }
}

} // namespace

std::optional<std::string> ChatSettings::set(std::string_view words) {
  words = trimmed(words);
  const size_t end = std::min(words.find_first_of(kSpaces), words.size());
  const std::string name(words.substr(0, end)), value(trimmed(words.substr(end)));
  if (name == kSystem) {
    system_ = value;
    return std::nullopt;
  }
  const SamplingOption *option = findSamplingOption(name);
  if (!option) {
    std::vector<std::string> names = {std::string(kSystem)};
    for (const SamplingOption &one : samplingOptions())
      names.emplace_back(one.name);
    return "no setting '" + name + "'" + nearestHint(name, names) + "; /set lists them";
  }
  SamplingTexts texts = sampling_;
  change(texts, *option, value);
  SamplerSettings sampler = defaults_.settings;
  if (const auto bad = readSampler(texts, sampler, ""))
    return bad->text;
  sampling_ = std::move(texts);
  sampler_ = std::move(sampler);
  return std::nullopt;
}

std::string ChatSettings::valueOf(const SamplingOption &option) const {
  if (const auto list = sampling_.lists.find(option.name); list != sampling_.lists.end())
    return joined(list->second);
  if (const auto value = sampling_.values.find(option.name); value != sampling_.values.end())
    return value->second;
  const SamplerSetting *setting = option.setting[0] ? findSamplerSetting(option.setting) : nullptr;
  return setting ? numberText(setting->valueIn(sampler_)) : "";
}

std::string ChatSettings::sourceOf(const SamplingOption &option) const {
  if (sampling_.has(option.name))
    return "you";
  return defaults_.isFromFile(option.setting) ? "file" : "default";
}

std::string ChatSettings::list() const {
  Table table({"setting", "value", "from", "meaning"});
  for (const SamplingOption &option : samplingOptions())
    table.addRow({option.name, valueOf(option), sourceOf(option), option.help});
  return table.text() + "system: " + (system_.empty() ? "none" : system_) + "\n";
}

} // namespace sinter::cli
