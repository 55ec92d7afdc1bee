// Schemas of tools as assistants' clients send them: what zod, pydantic and OpenAPI write for the
// arguments of file, search, calendar, shop, code and home tools. A seed chooses the properties.
#pragma once

#include <array>
#include <random>
#include <string>

namespace sinter::grammar {

inline constexpr uint32_t kToolSchemas = 500;

struct ToolProperty {
  const char *name, *schema;
};

// Objects of one are parts of others: "%" stands for a nested object of such properties.
inline constexpr std::array kToolProperties = std::to_array<ToolProperty>({
    {"path", R"({"type":"string","description":"Absolute path of the file","minLength":1})"},
    {"recursive", R"({"type":"boolean","default":false})"},
    {"encoding", R"({"type":"string","enum":["utf-8","latin-1","base64"],"default":"utf-8"})"},
    {"query", R"({"type":"string","minLength":1,"maxLength":400})"},
    {"limit", R"({"type":"integer","minimum":1,"maximum":100,"default":10})"},
    {"offset", R"({"type":"integer","minimum":0})"},
    {"page_size",
     R"({"anyOf":[{"type":"integer","exclusiveMinimum":0},{"type":"null"}],"default":null})"},
    {"sort_by", R"({"enum":["created","updated","relevance"]})"},
    {"order", R"({"type":"string","enum":["asc","desc"]})"},
    {"include_archived", R"({"type":["boolean","null"]})"},
    {"tags", R"({"type":"array","items":{"type":"string","minLength":1},"maxItems":5})"},
    {"labels", R"({"type":"array","items":{"enum":["bug","docs","feature"]},"uniqueItems":true})"},
    {"assignee",
     R"({"anyOf":[{"type":"string","pattern":"^[a-z][a-z0-9-]{0,20}$"},{"type":"null"}]})"},
    {"email", R"({"type":"string","format":"email"})"},
    {"recipients",
     R"({"type":"array","items":{"type":"string","format":"email"},"minItems":1,"maxItems":3})"},
    {"subject", R"({"type":"string","maxLength":120})"},
    {"body", R"({"type":"string"})"},
    {"start", R"({"type":"string","format":"date-time"})"},
    {"end", R"({"type":"string","format":"date-time","description":"After start"})"},
    {"date", R"({"type":"string","format":"date"})"},
    {"time_zone", R"({"type":"string","pattern":"^[A-Z][a-z]+/[A-Z][A-Za-z_]+$"})"},
    {"duration_minutes", R"({"type":"integer","multipleOf":15,"minimum":15,"maximum":480})"},
    {"latitude", R"({"type":"number","minimum":-90,"maximum":90})"},
    {"longitude", R"({"type":"number","minimum":-180,"maximum":180})"},
    {"city", R"({"type":"string","description":"City and country, e.g. Lisbon, Portugal"})"},
    {"unit", R"({"type":"string","enum":["celsius","fahrenheit"]})"},
    {"price", R"({"type":"number","minimum":0,"multipleOf":0.01})"},
    {"currency", R"({"type":"string","pattern":"^[A-Z]{3}$"})"},
    {"quantity", R"({"type":"integer","format":"int32","minimum":1})"},
    {"sku", R"({"type":"string","pattern":"^[A-Z]{2}-\\d{4,6}$"})"},
    {"order_id", R"({"type":"string","format":"uuid"})"},
    {"url", R"({"type":"string","format":"uri"})"},
    {"method", R"({"type":"string","enum":["GET","POST","PUT","DELETE"]})"},
    {"headers", R"({"type":"object","additionalProperties":{"type":"string"}})"},
    {"timeout", R"({"type":"number","exclusiveMinimum":0,"maximum":600})"},
    {"sql", R"({"type":"string","description":"A SELECT statement"})"},
    {"params", R"({"type":"array","items":{"type":["string","number","boolean","null"]}})"},
    {"branch", R"({"type":"string","default":"main"})"},
    {"commit", R"({"type":"string","pattern":"^[0-9a-f]{7,40}$"})"},
    {"line_range",
     R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"integer"}],"items":false,"minItems":2})"},
    {"edits",
     R"({"type":"array","items":{"type":"object","properties":{"old_text":{"type":"string"},
        "new_text":{"type":"string"}},"required":["old_text","new_text"],"additionalProperties":false},"minItems":1})"},
    {"command", R"({"type":"string"})"},
    {"args", R"({"type":"array","items":{"type":"string"}})"},
    {"env",
     R"({"type":"object","propertyNames":{"pattern":"^[A-Z_]+$"},"additionalProperties":{"type":"string"}})"},
    {"room", R"({"type":"string","enum":["kitchen","living room","bedroom"]})"},
    {"brightness", R"({"type":"integer","minimum":0,"maximum":100})"},
    {"color", R"({"type":"string","pattern":"^#[0-9a-f]{6}$"})"},
    {"mode", R"({"const":"auto"})"},
    {"metadata", R"({"type":"object"})"},
    {"options", R"({"type":"object","properties":{},"additionalProperties":false})"},
    {"ip", R"({"type":"string","format":"ipv4"})"},
    {"secret", R"({"type":"string","format":"password","writeOnly":true})"},
    {"score", R"({"type":"number","minimum":0,"maximum":1})"},
    {"filter",
     R"({"oneOf":[{"type":"object","properties":{"type":{"const":"text"},"value":{"type":"string"}},
        "required":["type","value"],"additionalProperties":false},
        {"type":"object","properties":{"type":{"const":"range"},"from":{"type":"number"},"to":{"type":"number"}},
        "required":["type","from"],"additionalProperties":false}]})"},
    {"location", R"({"$ref":"#/$defs/Location"})"},
    {"stops", R"({"type":"array","items":{"$ref":"#/$defs/Location"},"maxItems":2})"},
    {"parent", R"({"anyOf":[{"$ref":"#/$defs/Node"},{"type":"null"}]})"},
    {"contact",
     R"({"allOf":[{"$ref":"#/$defs/Location"},{"properties":{"phone":{"type":"string"}}}]})"},
    {"settings", "%"},
    {"details", "%"},
    {"items", R"({"type":"array","items":%,"maxItems":3})"},
});

inline constexpr const char *kToolDefinitions = R"("$defs":{
    "Location":{"type":"object","properties":{"name":{"type":"string"},"zip":{"type":"string","pattern":"^\\d{5}$"}},
      "required":["name"]},
    "Node":{"type":"object","properties":{"id":{"type":"integer"},
      "next":{"anyOf":[{"$ref":"#/$defs/Node"},{"type":"null"}]}},
      "required":["id"],"additionalProperties":false}})";

// Of the outermost object: what depends on what.
inline constexpr std::array kToolRules = std::to_array<const char *>({
    "",
    "",
    "",
    "",
    R"(,"dependentRequired":{"start":["end"],"latitude":["longitude"]})",
    R"(,"if":{"properties":{"unit":{"const":"celsius"}},"required":["unit"]},"then":{"required":["city"]})",
    R"(,"if":{"properties":{"method":{"enum":["POST","PUT"]}}},"then":{"properties":{"body":{"minLength":1}}},
       "else":{"properties":{"body":{"maxLength":3}}})",
});

inline std::string toolObject(std::mt19937 &random, int depth, const std::string &more) {
  std::string properties, required;
  const size_t count = depth == 0 ? 1 + random() % 8 : 1 + random() % 3;
  size_t at = random() % kToolProperties.size();
  for (size_t i = 0; i < count; ++i) {
    at = (at + 1 + random() % 6) % kToolProperties.size();
    std::string schema = kToolProperties[at].schema;
    const std::string name = '"' + std::string(kToolProperties[at].name) + '"';
    if (const size_t nested = schema.find('%'); nested != std::string::npos)
      schema.replace(nested, 1,
                     depth < 2 ? toolObject(random, depth + 1, "") : R"({"type":"object"})");
    if (properties.find(name + ':') != std::string::npos)
      continue;
    properties += (properties.empty() ? "" : ",") + name + ':' + schema;
    if (random() % 2)
      required += (required.empty() ? "" : ",") + name;
  }
  const char *const kOthers[] = {"", R"(,"additionalProperties":false)",
                                 R"(,"additionalProperties":false)",
                                 R"(,"additionalProperties":{"type":"string"})"};
  std::string made = R"({"type":"object","properties":{)" + properties + "}";
  if (!required.empty() || random() % 2)
    made += ",\"required\":[" + required + "]";
  const size_t others = random() % std::size(kOthers);
  const bool needsOthers = more.find("dependentRequired") != std::string::npos;
  return made + kOthers[needsOthers ? 0 : others] + more + "}";
}

// The schema of tool `number`, below kToolSchemas.
inline std::string toolSchema(uint32_t number) {
  std::mt19937 random(number);
  const std::string title = R"(,"title":"Tool )" + std::to_string(number) + R"(","$schema":)" +
                            R"("https://json-schema.org/draft/2020-12/schema",)";
  return toolObject(random, 0, title + kToolDefinitions + kToolRules[number % kToolRules.size()]);
}

} // namespace sinter::grammar
