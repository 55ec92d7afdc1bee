// Fields of JSON that others wrote, without exceptions.
#pragma once

#include "base/status.h"

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

namespace sinter::store {

using JsonElement = simdjson::dom::element;

// The whole of `text`, which the parser keeps. Corrupt: it is no JSON, or nested deeper than 32.
Result<JsonElement> parseJson(simdjson::dom::parser &parser, std::string_view text,
                              const std::string &what);

// Nothing where the field is absent or of another type.
std::optional<std::string> textField(JsonElement object, std::string_view name);
std::optional<uint64_t> wholeField(JsonElement object, std::string_view name);
std::optional<JsonElement> objectField(JsonElement object, std::string_view name);
std::optional<simdjson::dom::array> listField(JsonElement object, std::string_view name);

// With quotes, escaped.
std::string jsonQuoted(std::string_view text);

} // namespace sinter::store
