// Values are made in one place, so that each of their bytes is counted.
#include "jinja/runtime.h"

#include "jinja/compare.h"

namespace sinter::jinja {
namespace {

// From here on a dict finds texts by an index.
constexpr size_t kIndexedEntries = 16;

void index(DictObject &dict, size_t entry) {
  const Value &key = dict.entries[entry].key;
  if (key.isText())
    dict.byText.emplace(key.bytes(), entry);
}

} // namespace

Fail Runtime::exhausted() const {
  if (heap_.isFull())
    return outOfBytes();
  return fail(Code::Exhausted,
              "the template takes more than " + std::to_string(limits_.steps) + " steps");
}
Fail Runtime::outOfBytes() const {
  return fail(Code::Exhausted, "the template's values take more than " +
                                   std::to_string(limits_.valueBytes) + " bytes");
}

Value Runtime::text(Text text, bool isSafe) {
  const size_t bytes = text.size() + text.pieces().size() * sizeof(Text::Piece);
  auto *object = heap_.make<TextObject>(std::move(text), isSafe);
  heap_.charge(object, bytes);
  return Value(Value::Kind::Text, object);
}

Value Runtime::items_(Value::Kind kind, std::vector<Value> items) {
  auto *object = heap_.make<ItemsObject>();
  heap_.charge(object, items.size() * sizeof(Value));
  object->items = std::move(items);
  return Value(kind, object);
}
Value Runtime::view(std::string_view spelling, std::vector<Value> items) {
  const Value made = items_(Value::Kind::View, std::move(items));
  made.items().spelling = spelling;
  return made;
}
Value Runtime::range(int64_t start, int64_t stop, int64_t step, std::vector<Value> items) {
  const Value made = items_(Value::Kind::Range, std::move(items));
  made.items().start = start;
  made.items().stop = stop;
  made.items().step = step;
  return made;
}

Value Runtime::dict() {
  return Value(Value::Kind::Dict, heap_.make<DictObject>());
}
Value Runtime::undefined(std::string message) {
  const size_t bytes = message.size();
  auto *object = heap_.make<UndefinedObject>(std::move(message));
  heap_.charge(object, bytes);
  return Value(Value::Kind::Undefined, object);
}
Value Runtime::nameSpace(Value attributes) {
  auto *object = heap_.make<NamespaceObject>();
  object->attributes = std::move(attributes);
  return Value(Value::Kind::Namespace, object);
}
Value Runtime::loop(Value source, int64_t depth0) {
  auto *object = heap_.make<LoopObject>();
  object->source = std::move(source);
  object->depth0 = depth0;
  return Value(Value::Kind::Loop, object);
}
Value Runtime::method(const Builtin *builtin, Value self) {
  auto *object = heap_.make<FunctionObject>();
  object->builtin = builtin;
  object->self = std::move(self);
  return Value(Value::Kind::Function, object);
}
Value Runtime::macro(uint32_t statement, Ref<Object> scope) {
  auto *object = heap_.make<FunctionObject>();
  object->macro = statement;
  object->scope = std::move(scope);
  return Value(Value::Kind::Function, object);
}

Value Runtime::from(const Input &input) {
  const Origin origin = input.origin();
  const Input::Content &content = input.content();
  if (const auto *value = std::get_if<bool>(&content))
    return Value::boolean(*value, origin);
  if (const auto *value = std::get_if<int64_t>(&content))
    return Value::integer(*value, origin);
  if (const auto *value = std::get_if<double>(&content))
    return Value::real(*value, origin);
  if (const std::string *value = input.text())
    return text(*value, origin);
  if (const Input::List *items = input.list()) {
    std::vector<Value> values;
    values.reserve(items->size());
    for (const Input &item : *items)
      values.push_back(from(item));
    return list(std::move(values));
  }
  if (const Input::Object *entries = input.object()) {
    Value made = dict();
    for (const auto &[key, value] : *entries)
      (void)set(made, text(key, origin), from(value)); // a text can be a key
    return made;
  }
  return Value::none(origin);
}

Result<void> Runtime::spendLookup(const DictObject &dict, const Value &key) {
  return key.isText() ? spendBytes(key.bytes().size()) : spend(1 + dict.entries.size() / 8);
}

Result<void> Runtime::set(const Value &dict, const Value &key, Value value) {
  if (!isHashable(key))
    return fail(Code::InvalidArgument,
                "a value of type '" + std::string(typeName(key)) + "' cannot be a key");
  DictObject &object = dict.dict();
  SINTER_TRY(spendLookup(object, key));
  if (const Value *found = find(object, key)) {
    const_cast<Value &>(*found) = std::move(value);
    return {};
  }
  object.entries.push_back({key, std::move(value)});
  heap_.charge(&object, sizeof(DictObject::Entry) + (key.isText() ? key.bytes().size() : 0));
  if (object.entries.size() == kIndexedEntries)
    for (size_t i = 0; i < kIndexedEntries; ++i)
      index(object, i);
  else if (object.entries.size() > kIndexedEntries)
    index(object, object.entries.size() - 1);
  return {};
}
void Runtime::set(const Value &dict, std::string_view key, Value value) {
  (void)set(dict, text(std::string(key), Origin::Template), std::move(value));
}
void Runtime::push(const Value &list, Value item) {
  list.items().items.push_back(std::move(item));
  heap_.charge(&list.items(), sizeof(Value));
}

bool TextBuilder::hasRoom(size_t bytes) {
  isFull_ = isFull_ || !runtime_.heap().hasRoomFor(bytes);
  if (isFull_)
    return false;
  runtime_.heap().charge(bytes);
  charged_ += bytes;
  return true;
}
Result<Text> TextBuilder::take() {
  if (isFull_)
    SINTER_TRY(runtime_.checkRoom(SIZE_MAX));
  SINTER_TRY(runtime_.spendBytes(text_.size()));
  return std::move(text_);
}
Result<Value> TextBuilder::finish(bool isSafe) {
  SINTER_ASSIGN(Text text, take());
  runtime_.heap().discharge(std::exchange(charged_, 0));
  return runtime_.text(std::move(text), isSafe);
}

const Value *find(const DictObject &dict, std::string_view key) {
  if (dict.entries.size() >= kIndexedEntries) {
    const auto found = dict.byText.find(key);
    return found == dict.byText.end() ? nullptr : &dict.entries[found->second].value;
  }
  for (const DictObject::Entry &entry : dict.entries)
    if (entry.key.isText() && entry.key.bytes() == key)
      return &entry.value;
  return nullptr;
}
const Value *find(const DictObject &dict, const Value &key) {
  if (key.isText())
    return find(dict, key.bytes());
  for (const DictObject::Entry &entry : dict.entries)
    if (!entry.key.isText() && isSameKey(entry.key, key))
      return &entry.value;
  return nullptr;
}

bool isHashable(const Value &value) {
  switch (value.kind()) {
  case Value::Kind::List:
  case Value::Kind::Dict:
    return false;
  case Value::Kind::Tuple:
    for (const Value &item : value.items().items)
      if (item.is(Value::Kind::Tuple) || !isHashable(item))
        return false; // tuples within tuples are no keys here: they have no use
    return true;
  default:
    return !value.isMissing();
  }
}

std::string_view typeName(const Value &value) {
  using Kind = Value::Kind;
  switch (value.kind()) {
  case Kind::Missing:
  case Kind::Undefined:
    return "Undefined";
  case Kind::None:
    return "NoneType";
  case Kind::Bool:
    return "bool";
  case Kind::Int:
    return "int";
  case Kind::Float:
    return "float";
  case Kind::Text:
    return "str";
  case Kind::List:
    return "list";
  case Kind::Tuple:
    return "tuple";
  case Kind::Range:
    return "range";
  case Kind::View:
    return "dict view";
  case Kind::Iterator:
    return "generator";
  case Kind::Dict:
    return "dict";
  case Kind::Namespace:
    return "Namespace";
  case Kind::Loop:
    return "LoopContext";
  case Kind::Function:
    return "function";
  }
  return "";
}

} // namespace sinter::jinja
