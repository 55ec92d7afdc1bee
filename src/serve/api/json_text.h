// JSON that answers are made of.
#pragma once

#include "jinja/input.h"
#include "llm/sampler/settings.h"

#include <nlohmann/json.hpp>

#include <string>

namespace sinter::serve {

using Json = nlohmann::ordered_json;

// In one line. Bytes that are not UTF-8 become U+FFFD; they do not throw.
std::string jsonText(const Json &json);
// The number whose shortest decimal form is that of the float.
double shortest(float value);
// Every setting of samplerSettingTable() by its name, whole numbers as such.
Json settingsJson(const SamplerSettings &settings);
// The tree of a request as JSON again.
Json jsonOf(const jinja::Input &input);

// One server-sent event, and one line of Ollama's streams.
std::string serverSentEvent(const std::string &data);
std::string jsonLine(const Json &json);

} // namespace sinter::serve
