// nlohmann's JSON library behind values that do not throw.
#include "llm/tokenizer/json/json_adapter.h"

#include <nlohmann/json.hpp>

namespace sinter {
namespace {

using Json = nlohmann::json;

const Json *nodeOf(const void *node) {
  return static_cast<const Json *>(node);
}

// What a file's shape exceeds; ends the parser.
struct LimitReached {
  std::string text;
};

} // namespace

struct JsonDocument::Tree {
  Json root;
};

JsonDocument::JsonDocument() = default;
JsonDocument::JsonDocument(JsonDocument &&) noexcept = default;
JsonDocument &JsonDocument::operator=(JsonDocument &&) noexcept = default;
JsonDocument::~JsonDocument() = default;

Result<JsonDocument> JsonDocument::parse(std::string_view text) {
  if (text.size() > kMaxBytes)
    return fail(Code::Exhausted, "the JSON has " + std::to_string(text.size()) +
                                     " bytes, expected at most " + std::to_string(kMaxBytes));
  JsonDocument made;
  made.tree_ = std::make_unique<Tree>();
  size_t values = 0;
  const auto watch = [&values](int depth, Json::parse_event_t event, Json &) {
    if (depth > kMaxDepth)
      throw LimitReached{"is nested deeper than " + std::to_string(kMaxDepth) + " levels"};
    const bool ends =
        event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end;
    if (!ends && ++values > kMaxValues)
      throw LimitReached{"has more than " + std::to_string(kMaxValues) + " values"};
    return true;
  };
  try {
    made.tree_->root = Json::parse(text.begin(), text.end(), watch);
  } catch (const LimitReached &limit) {
    return fail(Code::Exhausted, "the JSON " + limit.text);
  } catch (const Json::parse_error &error) {
    return fail(Code::Corrupt, "the file is no JSON", error.byte > 0 ? error.byte - 1 : 0);
  } catch (const Json::exception &) {
    return fail(Code::Corrupt, "the file is no JSON: a number is out of range");
  }
  return made;
}

JsonValue JsonDocument::root() const {
  return JsonValue(&tree_->root);
}

bool JsonValue::isNull() const {
  return !node_ || nodeOf(node_)->is_null();
}

bool JsonValue::isObject() const {
  return node_ && nodeOf(node_)->is_object();
}

bool JsonValue::isArray() const {
  return node_ && nodeOf(node_)->is_array();
}

const char *JsonValue::kindName() const {
  if (!node_)
    return "nothing";
  const Json &json = *nodeOf(node_);
  return json.is_object()    ? "an object"
         : json.is_array()   ? "an array"
         : json.is_string()  ? "a string"
         : json.is_boolean() ? "a boolean"
         : json.is_number()  ? "a number"
                             : "null";
}

std::optional<std::string_view> JsonValue::text() const {
  const auto *text = node_ ? nodeOf(node_)->get_ptr<const std::string *>() : nullptr;
  return text ? std::optional(std::string_view(*text)) : std::nullopt;
}

std::optional<bool> JsonValue::boolean() const {
  const auto *value = node_ ? nodeOf(node_)->get_ptr<const bool *>() : nullptr;
  return value ? std::optional(*value) : std::nullopt;
}

std::optional<int64_t> JsonValue::integer() const {
  if (!node_ || !nodeOf(node_)->is_number_integer())
    return std::nullopt;
  if (const auto *value = nodeOf(node_)->get_ptr<const uint64_t *>(); value && *value > INT64_MAX)
    return std::nullopt;
  return nodeOf(node_)->get<int64_t>();
}

std::optional<double> JsonValue::number() const {
  if (!node_ || !nodeOf(node_)->is_number())
    return std::nullopt;
  return nodeOf(node_)->get<double>();
}

JsonValue JsonValue::find(std::string_view key) const {
  if (!isObject())
    return {};
  const auto found = nodeOf(node_)->find(key);
  return found == nodeOf(node_)->end() ? JsonValue() : JsonValue(&*found);
}

JsonValue JsonValue::at(size_t i) const {
  return isArray() && i < nodeOf(node_)->size() ? JsonValue(&(*nodeOf(node_))[i]) : JsonValue();
}

size_t JsonValue::size() const {
  return isArray() || isObject() ? nodeOf(node_)->size() : 0;
}

Result<void>
JsonValue::eachMember(const std::function<Result<void>(std::string_view, JsonValue)> &visit) const {
  if (!isObject())
    return {};
  for (auto member = nodeOf(node_)->begin(); member != nodeOf(node_)->end(); ++member)
    if (auto done = visit(member.key(), JsonValue(&*member)); !done)
      return done;
  return {};
}

} // namespace sinter
