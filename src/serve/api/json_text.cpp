// Writing JSON by nlohmann's library.
#include "serve/api/json_text.h"

#include <charconv>

namespace sinter::serve {

std::string jsonText(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double shortest(float value) {
  char text[32];
  const char *end = std::to_chars(text, text + sizeof text, value).ptr;
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

Json settingsJson(const SamplerSettings &settings) {
  Json made = Json::object();
  for (const SamplerSetting &setting : samplerSettingTable()) {
    const double value = setting.valueIn(settings);
    made[std::string(setting.name)] =
        setting.isWhole() ? Json(static_cast<int64_t>(value)) : Json(value);
  }
  return made;
}

// As deep as requests may be nested, which is bounded where they are read.
Json jsonOf(const jinja::Input &input) {
  if (const auto *list = input.list()) {
    Json json = Json::array();
    for (const jinja::Input &item : *list)
      json.push_back(jsonOf(item));
    return json;
  }
  if (const auto *object = input.object()) {
    Json json = Json::object();
    for (const auto &[key, value] : *object)
      json[key] = jsonOf(value);
    return json;
  }
  return std::visit(
      [](const auto &leaf) {
        using Leaf = std::decay_t<decltype(leaf)>;
        if constexpr (std::is_same_v<Leaf, std::monostate> ||
                      std::is_same_v<Leaf, jinja::Input::List> ||
                      std::is_same_v<Leaf, jinja::Input::Object>)
          return Json();
        else
          return Json(leaf);
      },
      input.content());
}

std::string serverSentEvent(const std::string &data) {
  return "data: " + data + "\n\n";
}
std::string jsonLine(const Json &json) {
  return jsonText(json) + "\n";
}

} // namespace sinter::serve
