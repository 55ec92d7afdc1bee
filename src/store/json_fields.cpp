// simdjson's answers as optionals.
#include "store/json_fields.h"

#include <cstdio>

namespace sinter::store {
namespace {

constexpr size_t kMostDepth = 32;

template <typename T> std::optional<T> fieldOf(JsonElement object, std::string_view name) {
  simdjson::dom::object fields;
  T value;
  if (object.get(fields) || fields.at_key(name).get(value))
    return std::nullopt;
  return value;
}

} // namespace

Result<JsonElement> parseJson(simdjson::dom::parser &parser, std::string_view text,
                              const std::string &what) {
  JsonElement root;
  auto error = parser.allocate(text.size(), kMostDepth);
  if (!error)
    error = parser.parse(text.data(), text.size()).get(root);
  if (error)
    return fail(Code::Corrupt, what + " is no JSON: " + simdjson::error_message(error));
  return root;
}

std::optional<std::string> textField(JsonElement object, std::string_view name) {
  const auto text = fieldOf<std::string_view>(object, name);
  return text ? std::optional(std::string(*text)) : std::nullopt;
}

std::optional<uint64_t> wholeField(JsonElement object, std::string_view name) {
  return fieldOf<uint64_t>(object, name);
}

std::optional<JsonElement> objectField(JsonElement object, std::string_view name) {
  const auto found = fieldOf<JsonElement>(object, name);
  return found && found->is_object() ? found : std::nullopt;
}

std::optional<simdjson::dom::array> listField(JsonElement object, std::string_view name) {
  return fieldOf<simdjson::dom::array>(object, name);
}

std::string jsonQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      quoted += c;
      continue;
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", c);
    quoted += escape;
  }
  return quoted + '"';
}

} // namespace sinter::store
