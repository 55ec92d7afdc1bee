// By the sampler's own table of settings.
#include "host/stored_settings.h"

#include "jinja/input.h"

#include <cmath>

namespace sinter::host {
namespace {

double numberIn(const jinja::Input &value) {
  if (const auto *whole = std::get_if<int64_t>(&value.content()))
    return static_cast<double>(*whole);
  const auto *real = std::get_if<double>(&value.content());
  return real ? *real : std::nan("");
}

} // namespace

Result<void> applyStoredSettings(std::string_view params, SamplerDefaults &defaults) {
  if (params.empty())
    return {};
  const auto read = jinja::inputFromJson(params);
  if (!read || !read->object())
    return fail(Code::Corrupt, "the settings of the stored model are no JSON object");
  SamplerDefaults changed = defaults;
  for (const auto &[name, value] : *read->object()) {
    const SamplerSetting *setting = findSamplerSetting(name);
    if (!setting)
      continue;
    const double number = numberIn(value);
    if (!setting->allows(number) || (setting->isWhole() && number != std::trunc(number))) {
      defaults.notes.push_back("the stored model's setting '" + name + "' goes unused, expected " +
                               setting->expected());
      continue;
    }
    setting->set(changed.settings, number);
    if (!changed.isFromFile(setting->name))
      changed.fromFile.push_back(setting->name);
  }
  if (changed.settings.mirostat != 0)
    changed.settings.turnOffCandidateSteps();
  if (const auto fits = changed.settings.check(); !fits) {
    defaults.notes.push_back("the stored model's settings go unused: " + fits.error().message);
    return {};
  }
  changed.notes = defaults.notes;
  defaults = std::move(changed);
  return {};
}

} // namespace sinter::host
