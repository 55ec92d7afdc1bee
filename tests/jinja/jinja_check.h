// What must hold of whatever template and variables come from bytes; shared by the fuzzer and the
// test that replays its corpus.
#pragma once

#include "jinja/template.h"

#include <string>
#include <string_view>

namespace sinter::jinja {

// What is wrong with the outcome of "TEMPLATE\0JSON"; empty when nothing is. Limits are small, so
// that a run is short.
inline std::string inconsistencyOfTemplate(std::string_view bytes) {
  Limits limits;
  limits.steps = 20'000;
  limits.valueBytes = size_t{1} << 22;
  limits.outputBytes = size_t{1} << 20;
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  const auto parsed = Template::parse(bytes.substr(0, end), limits);
  if (!parsed)
    return parsed.error().message.empty() ? "an error has no message" : "";
  const auto json = inputFromJson(bytes.substr(std::min(end + 1, bytes.size())));
  Input::Object variables;
  if (json && json->object())
    variables = *json->object();
  variables.emplace_back("messages", Input(std::string("<|in|>")));
  const auto text = parsed->render(variables, std::tm{});
  if (!text)
    return text.error().message.empty() ? "an error has no message" : "";
  if (text->size() > limits.outputBytes)
    return "the output is longer than its limit";
  if (!text->pieces().empty() && text->pieces().back().end != text->size())
    return "the pieces do not cover the output";
  for (size_t i = 1; i < text->pieces().size(); ++i)
    if (text->pieces()[i].end <= text->pieces()[i - 1].end)
      return "the pieces do not ascend";
  return "";
}

} // namespace sinter::jinja
