// Recursion is bounded by Limits::valueDepth.
#include "jinja/json_text.h"

#include "jinja/characters.h"
#include "jinja/compare.h"
#include "jinja/convert.h"
#include "jinja/sorting.h"

#include <cmath>
#include <cstdio>
#include <numeric>

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

class JsonWriter {
public:
  JsonWriter(Runtime &runtime, const JsonStyle &style)
      : runtime_(runtime), style_(style), out_(runtime) {}

  Result<Value> run(const Value &value) {
    SINTER_TRY(add(value));
    return out_.finish();
  }

private:
  void structure(std::string_view text) { out_.add(text, Origin::Input); }

  Result<void> add(const Value &value) {
    SINTER_TRY(runtime_.spend());
    switch (value.kind()) {
    case Kind::None:
    case Kind::Bool:
    case Kind::Int:
    case Kind::Float:
      out_.add(scalar(value), value.origin());
      return {};
    case Kind::Text:
      return addText(value.text());
    case Kind::List:
    case Kind::Tuple:
      return addItems(value.items().items);
    case Kind::Dict:
      return addDict(value.dict());
    default:
      if (value.isUndefined())
        return isUndefined(value);
      return fail(Code::InvalidArgument, "a value of type '" + std::string(typeName(value)) +
                                             "' cannot be written as JSON");
    }
  }
  static std::string scalar(const Value &value) {
    if (value.is(Kind::None))
      return "null";
    if (value.is(Kind::Bool))
      return value.boolean() ? "true" : "false";
    if (value.is(Kind::Int))
      return std::to_string(value.integer());
    if (std::isnan(value.real()))
      return "NaN";
    if (std::isinf(value.real()))
      return value.real() < 0 ? "-Infinity" : "Infinity";
    return floatText(value.real());
  }

  void newLine() {
    if (!style_.hasIndent)
      return;
    structure("\n");
    for (uint32_t i = 0; i < depth_; ++i)
      out_.add(style_.indent);
  }
  Result<void> enter() {
    return ++depth_ <= runtime_.limits().valueDepth ? Result<void>() : tooDeep(runtime_);
  }
  Result<void> addItems(const std::vector<Value> &items) {
    if (items.empty()) {
      structure("[]");
      return {};
    }
    SINTER_TRY(enter());
    structure("[");
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0)
        out_.add(style_.betweenItems);
      newLine();
      SINTER_TRY(add(items[i]));
    }
    --depth_;
    newLine();
    structure("]");
    return {};
  }
  Result<void> addDict(const DictObject &dict) {
    if (dict.entries.empty()) {
      structure("{}");
      return {};
    }
    SINTER_ASSIGN(const std::vector<size_t> order, orderOf(dict));
    SINTER_TRY(enter());
    structure("{");
    for (size_t i = 0; i < order.size(); ++i) {
      if (i > 0)
        out_.add(style_.betweenItems);
      newLine();
      SINTER_TRY(addKey(dict.entries[order[i]].key));
      out_.add(style_.afterKey);
      SINTER_TRY(add(dict.entries[order[i]].value));
    }
    --depth_;
    newLine();
    structure("}");
    return {};
  }
  Result<std::vector<size_t>> orderOf(const DictObject &dict) {
    std::vector<size_t> order(dict.entries.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (!style_.isSorted)
      return order;
    std::vector<Value> keys;
    for (const DictObject::Entry &entry : dict.entries)
      keys.push_back(entry.key);
    return sortedOrder(runtime_, keys, false);
  }
  Result<void> addKey(const Value &key) {
    if (key.isText())
      return addText(key.text());
    if (!key.isNumber() && !key.is(Kind::None))
      return fail(Code::InvalidArgument,
                  "a key of type '" + std::string(typeName(key)) + "' cannot be written as JSON");
    return addText(Text(scalar(key), key.origin()));
  }

  Result<void> addText(const Text &text) {
    SINTER_TRY(runtime_.spendBytes(text.size()));
    structure("\"");
    size_t done = 0;
    const std::string &bytes = text.bytes();
    for (size_t at = 0; at < bytes.size(); at += characterBytes(bytes[at])) {
      const auto byte = static_cast<unsigned char>(bytes[at]);
      const bool isPlain =
          byte >= 0x80 ? !style_.isAscii : byte >= 0x20 && byte != '"' && byte != '\\';
      if (isPlain)
        continue;
      out_.add(text, done, at);
      out_.add(escape(characterAt(bytes, at)), text.originAt(at));
      done = at + characterBytes(bytes[at]);
    }
    out_.add(text, done, bytes.size());
    structure("\"");
    return {};
  }
  static std::string escape(uint32_t character) {
    constexpr std::string_view kEscaped = "\"\\\n\r\t\f\b", kNames = "\"\\nrtfb";
    if (character < 0x80)
      if (const size_t known = kEscaped.find(static_cast<char>(character));
          known != std::string_view::npos)
        return {'\\', kNames[known]};
    char unit[16];
    if (character < 0x10000) {
      std::snprintf(unit, sizeof unit, "\\u%04x", character);
    } else {
      const uint32_t rest = character - 0x10000;
      std::snprintf(unit, sizeof unit, "\\u%04x\\u%04x", 0xd800 | rest >> 10,
                    0xdc00 | (rest & 0x3ff));
    }
    return unit;
  }

  Runtime &runtime_;
  const JsonStyle &style_;
  TextBuilder out_;
  uint32_t depth_ = 0;
};

} // namespace

Result<Value> jsonText(Runtime &runtime, const Value &value, const JsonStyle &style) {
  return JsonWriter(runtime, style).run(value);
}

} // namespace sinter::jinja
