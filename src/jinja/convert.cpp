// Python's str, repr, bool, len and iteration.
#include "jinja/convert.h"

#include "jinja/builtins.h"
#include "jinja/characters.h"
#include "jinja/operators.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace sinter::jinja {
namespace {

using Kind = Value::Kind;

// Writes reprs; of structure the origin is the input's, since a template cannot mean it as tokens.
class Repr {
public:
  explicit Repr(Runtime &runtime) : runtime_(runtime), out_(runtime) {}

  Result<Text> run(const Value &value) {
    SINTER_TRY(add(value));
    return out_.take();
  }

private:
  Result<void> add(const Value &value) {
    SINTER_TRY(runtime_.spend());
    switch (value.kind()) {
    case Kind::Text:
      return addText(value);
    case Kind::List:
      return addItems("[", value.items().items, "]");
    case Kind::Tuple:
      return addItems("(", value.items().items, value.items().items.size() == 1 ? ",)" : ")");
    case Kind::View:
      structure(value.items().spelling);
      return addItems("([", value.items().items, "])");
    case Kind::Dict:
      return addDict(value.dict());
    case Kind::Namespace:
      return addNamespace(value);
    case Kind::Undefined:
    case Kind::Missing:
      structure("Undefined");
      return {};
    default:
      return addPlain(value);
    }
  }
  void structure(std::string_view text) { out_.add(text, Origin::Input); }
  Result<void> addPlain(const Value &value) {
    SINTER_ASSIGN(const Text text, textOf(runtime_, value));
    out_.add(text);
    return {};
  }

  Result<void> addItems(std::string_view open, const std::vector<Value> &items,
                        std::string_view close) {
    SINTER_TRY(enter());
    structure(open);
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0)
        structure(", ");
      const Value item = items[i]; // stays, whatever happens to the list
      SINTER_TRY(add(item));
    }
    structure(close);
    --depth_;
    return {};
  }
  Result<void> addDict(const DictObject &dict) {
    SINTER_TRY(enter());
    structure("{");
    for (size_t i = 0; i < dict.entries.size(); ++i) {
      if (i > 0)
        structure(", ");
      SINTER_TRY(add(dict.entries[i].key));
      structure(": ");
      SINTER_TRY(add(dict.entries[i].value));
    }
    structure("}");
    --depth_;
    return {};
  }
  Result<void> addNamespace(const Value &value) {
    structure("<Namespace ");
    SINTER_TRY(addDict(value.nameSpace().attributes.dict()));
    structure(">");
    return {};
  }
  Result<void> enter() {
    return ++depth_ <= runtime_.limits().valueDepth ? Result<void>() : tooDeep(runtime_);
  }

  Result<void> addText(const Value &value) {
    structure(isSafe(value) ? "Markup(" : "");
    SINTER_TRY(addQuoted(value.text()));
    structure(isSafe(value) ? ")" : "");
    return {};
  }
  Result<void> addQuoted(const Text &text) {
    const std::string &bytes = text.bytes();
    const bool hasSingle = bytes.find('\'') != std::string::npos;
    const char quote = hasSingle && bytes.find('"') == std::string::npos ? '"' : '\'';
    SINTER_TRY(runtime_.spendBytes(bytes.size()));
    structure({&quote, 1});
    for (size_t at = 0; at < bytes.size(); at += characterBytes(bytes[at]))
      addCharacter(text, at, quote);
    structure({&quote, 1});
    return {};
  }
  void addCharacter(const Text &text, size_t at, char quote) {
    constexpr std::string_view kEscaped = "\n\r\t\\", kNames = "nrt\\";
    const uint32_t character = characterAt(text.bytes(), at);
    const char byte = text.bytes()[at];
    if (const size_t known = kEscaped.find(byte); known != std::string_view::npos) {
      const char escape[] = {'\\', kNames[known]};
      structure({escape, 2});
    } else if (byte == quote) {
      const char escape[] = {'\\', quote};
      structure({escape, 2});
    } else if (isPrintableCharacter(character)) {
      out_.add(text, at, at + characterBytes(byte));
    } else {
      char escape[16];
      const char *format = character < 0x100     ? "\\x%02x"
                           : character < 0x10000 ? "\\u%04x"
                                                 : "\\U%08x";
      structure(
          {escape, static_cast<size_t>(std::snprintf(escape, sizeof escape, format, character))});
    }
  }

  Runtime &runtime_;
  TextBuilder out_;
  uint32_t depth_ = 0;
};

std::string rangeText(const ItemsObject &range) {
  std::string text = "range(" + std::to_string(range.start) + ", " + std::to_string(range.stop);
  return text + (range.step == 1 ? "" : ", " + std::to_string(range.step)) + ")";
}

std::string functionText(const FunctionObject &function) {
  if (!function.builtin)
    return "<Macro>";
  return "<function " + std::string(function.builtin->name) + ">";
}

} // namespace

// The fewest digits that give the number back; Python writes exponents below -4 and from 16 on.
std::string floatText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const bool isNegative = text.starts_with('-');
  text.remove_prefix(isNegative);
  const size_t mark = text.find('e');
  int exponent = 0;
  const size_t sign = text[mark + 1] == '+';
  std::from_chars(text.data() + mark + 1 + sign, text.data() + text.size(), exponent);
  std::string digits(text.substr(0, 1));
  if (mark > 1)
    digits += text.substr(2, mark - 2);
  std::string out = isNegative ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1) + (digits.size() > 1 ? "." + digits.substr(1) : "");
    std::snprintf(buffer, sizeof buffer, "e%+03d", exponent);
    return out + buffer;
  }
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= whole)
    return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

Result<Text> reprOf(Runtime &runtime, const Value &value) {
  return Repr(runtime).run(value);
}

Result<Text> textOf(Runtime &runtime, const Value &value) {
  const auto made = [&](std::string text) { return Text(std::move(text), value.origin()); };
  switch (value.kind()) {
  case Kind::Missing:
  case Kind::Undefined:
    return Text();
  case Kind::None:
    return made("None");
  case Kind::Bool:
    return made(value.boolean() ? "True" : "False");
  case Kind::Int:
    return made(std::to_string(value.integer()));
  case Kind::Float:
    return made(floatText(value.real()));
  case Kind::Text:
    SINTER_TRY(runtime.checkRoom(value.text().size()));
    return value.text();
  case Kind::Range:
    return made(rangeText(value.items()));
  case Kind::Iterator:
    return made("<generator object>");
  case Kind::Loop:
    return made("<LoopContext>");
  case Kind::Function:
    return made(functionText(value.function()));
  default:
    return reprOf(runtime, value);
  }
}

bool truth(const Value &value) {
  switch (value.kind()) {
  case Kind::Missing:
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
  case Kind::Int:
    return value.integer() != 0;
  case Kind::Float:
    return value.real() != 0;
  case Kind::Text:
    return !value.text().empty();
  case Kind::List:
  case Kind::Tuple:
  case Kind::Range:
  case Kind::View:
    return !value.items().items.empty();
  case Kind::Dict:
    return !value.dict().entries.empty();
  default:
    return true;
  }
}

bool isIterable(const Value &value) {
  return value.hasItems() || value.isText() || value.is(Kind::Dict) || value.isUndefined();
}
Result<void> checkIterable(const Value &value) {
  return isIterable(value) ? Result<void>() : wrongType("something to loop over", value);
}

Value nextItem(Runtime &runtime, Cursor &cursor) {
  const Value &source = cursor.source;
  if (source.hasItems()) {
    const std::vector<Value> &items = source.items().items;
    size_t &at = source.is(Kind::Iterator) ? source.items().cursor : cursor.at;
    return at < items.size() ? items[at++] : Value();
  }
  if (source.is(Kind::Dict)) {
    const auto &entries = source.dict().entries;
    return cursor.at < entries.size() ? entries[cursor.at++].key : Value();
  }
  if (!source.isText() || cursor.at >= source.bytes().size())
    return Value();
  const size_t begin = cursor.at;
  cursor.at += characterBytes(source.bytes()[begin]);
  return runtime.text(source.text().slice(begin, cursor.at));
}

Result<std::vector<Value>> itemsOf(Runtime &runtime, const Value &iterable) {
  SINTER_TRY(checkIterable(iterable));
  std::vector<Value> items;
  Cursor cursor{iterable};
  for (Value item = nextItem(runtime, cursor); !item.isMissing();
       item = nextItem(runtime, cursor)) {
    SINTER_TRY(runtime.spend());
    items.push_back(std::move(item));
  }
  return items;
}

Result<int64_t> lengthOf(const Value &value) {
  switch (value.kind()) {
  case Kind::Text: {
    auto &object = *static_cast<TextObject *>(const_cast<Object *>(value.object()));
    if (!object.characters)
      object.characters = countCharacters(object.text.bytes());
    return static_cast<int64_t>(*object.characters);
  }
  case Kind::List:
  case Kind::Tuple:
  case Kind::Range:
  case Kind::View:
    return static_cast<int64_t>(value.items().items.size());
  case Kind::Dict:
    return static_cast<int64_t>(value.dict().entries.size());
  case Kind::Undefined:
    return 0;
  default:
    return wrongType("something that has a length", value);
  }
}

size_t clampedIndex(int64_t index, size_t size) {
  const auto most = static_cast<int64_t>(size);
  if (index < 0)
    index = std::max<int64_t>(index + most, 0);
  return static_cast<size_t>(std::min(index, most));
}

Fail isUndefined(const Value &undefined) {
  return fail(Code::InvalidArgument, undefined.undefined().message);
}
Fail tooDeep(const Runtime &runtime) {
  return fail(Code::Exhausted,
              "values are nested deeper than " + std::to_string(runtime.limits().valueDepth));
}
Fail wrongType(std::string_view expected, const Value &found) {
  if (found.isUndefined())
    return isUndefined(found);
  return fail(Code::InvalidArgument, "expected " + std::string(expected) +
                                         ", found a value of type '" +
                                         std::string(typeName(found)) + "'");
}

} // namespace sinter::jinja
