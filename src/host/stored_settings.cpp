// By the sampler's own table of settings.
#include "host/stored_settings.h"

#include "jinja/input.h"

#include <cmath>
#include <limits>

namespace sinter::host {
namespace {

double numberIn(const jinja::Input &value) {
  if (const auto *whole = std::get_if<int64_t>(&value.content()))
    return static_cast<double>(*whole);
  const auto *real = std::get_if<double>(&value.content());
  return real ? *real : std::nan("");
}

Result<jinja::Input> settingsIn(std::string_view params) {
  auto read = jinja::inputFromJson(params);
  if (!read || !read->object())
    return fail(Code::Corrupt, "the settings of the stored model are no JSON object");
  return std::move(*read);
}

// A text or several, none empty.
std::optional<std::vector<std::string>> textsIn(const jinja::Input &value) {
  const jinja::Input::List one = {value};
  const jinja::Input::List &all = value.list() ? *value.list() : one;
  std::vector<std::string> texts;
  for (const jinja::Input &each : all) {
    if (!each.text() || each.text()->empty())
      return std::nullopt;
    texts.push_back(*each.text());
  }
  return texts;
}

// Nothing where it is no whole number from `least` on.
std::optional<int64_t> wholeIn(const jinja::Input &value, int64_t least) {
  const auto *whole = std::get_if<int64_t>(&value.content());
  const bool fits = whole && *whole >= least && *whole <= std::numeric_limits<int32_t>::max();
  return fits ? std::optional(*whole) : std::nullopt;
}

} // namespace

Result<void> applyStoredSettings(std::string_view params, SamplerDefaults &defaults) {
  if (params.empty())
    return {};
  SINTER_ASSIGN(const jinja::Input read, settingsIn(params));
  SamplerDefaults changed = defaults;
  for (const auto &[name, value] : *read.object()) {
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

Result<StoredAnswers> storedAnswers(std::string_view params) {
  StoredAnswers made;
  if (params.empty())
    return made;
  SINTER_ASSIGN(const jinja::Input read, settingsIn(params));
  const auto unused = [&](const char *name, const char *expected) {
    made.notes.push_back(std::string("the stored model's setting '") + name +
                         "' goes unused, expected " + expected);
  };
  if (const jinja::Input *stop = read.find("stop")) {
    if (auto texts = textsIn(*stop))
      made.stops = std::move(*texts);
    else
      unused("stop", "a text or a list of texts, none empty");
  }
  if (const jinja::Input *context = read.find("num_ctx")) {
    if (const auto tokens = wholeIn(*context, 0))
      made.context = static_cast<uint32_t>(*tokens);
    else
      unused("num_ctx", "tokens");
  }
  if (const jinja::Input *most = read.find("num_predict")) {
    const auto tokens = wholeIn(*most, -2); // -1 and -2: as many as the context holds
    if (!tokens)
      unused("num_predict", "tokens");
    else if (*tokens >= 0)
      made.tokens = static_cast<uint64_t>(*tokens);
  }
  return made;
}

Result<std::vector<ChatMessage>> storedMessages(std::string_view messages) {
  std::vector<ChatMessage> made;
  if (messages.empty())
    return made;
  const auto damaged = [](const std::string &what) {
    return fail(Code::Corrupt, "the messages of the stored model are damaged: " + what);
  };
  const auto read = jinja::inputFromJson(messages);
  if (!read || !read->list())
    return damaged("expected a JSON list");
  for (const jinja::Input &message : *read->list()) {
    const jinja::Input *role = message.find("role"), *content = message.find("content");
    if (!role || !role->text() || !content || !content->text())
      return damaged("a message needs a role and a content, both texts");
    made.push_back({*role->text(), *content->text()});
  }
  return made;
}

} // namespace sinter::host
