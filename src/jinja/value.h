// What expressions evaluate to: Python's values as far as templates meet them.
#pragma once

#include "base/status.h"
#include "jinja/heap.h"
#include "jinja/text.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::jinja {

struct Builtin;
struct DictObject;
struct FunctionObject;
struct ItemsObject;
struct LoopObject;
struct NamespaceObject;
struct TextObject;
struct UndefinedObject;

// A value, or none at all (Missing: an argument that was not given).
class Value {
public:
  enum class Kind : uint8_t {
    Missing,
    Undefined,
    None,
    Bool,
    Int,
    Float,
    Text,
    List,
    Tuple,
    Range,
    View,     // of a dict's keys, values or items
    Iterator, // gives each item once
    Dict,
    Namespace,
    Loop,
    Function,
  };

  Value() = default;
  static Value none(Origin origin = Origin::Template) { return Value(Kind::None, origin); }
  static Value boolean(bool value, Origin origin = Origin::Template) {
    return integral(Kind::Bool, value, origin);
  }
  static Value integer(int64_t value, Origin origin = Origin::Template) {
    return integral(Kind::Int, value, origin);
  }
  static Value real(double value, Origin origin = Origin::Template) {
    Value made(Kind::Float, origin);
    made.real_ = value;
    return made;
  }
  // Of an object; Kind says which.
  Value(Kind kind, Object *object) : kind_(kind), isObject_(true), object_(object) {
    retain(object_);
  }
  Value(const Value &other) noexcept { copy(other); }
  Value(Value &&other) noexcept {
    copyBits(other);
    other.isObject_ = false;
    other.kind_ = Kind::Missing;
  }
  Value &operator=(Value other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(isObject_, other.isObject_);
    std::swap(origin_, other.origin_);
    std::swap(integer_, other.integer_);
    return *this;
  }
  ~Value() {
    if (isObject_)
      release(object_);
  }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool isMissing() const { return kind_ == Kind::Missing; }
  bool isUndefined() const { return kind_ == Kind::Undefined; }
  bool isText() const { return kind_ == Kind::Text; }
  // Numbers as Python counts them, truth values among them.
  bool isNumber() const { return isIntegral() || kind_ == Kind::Float; }
  bool isIntegral() const { return kind_ == Kind::Int || kind_ == Kind::Bool; }
  // Those that ItemsObject holds.
  bool hasItems() const { return kind_ >= Kind::List && kind_ <= Kind::Iterator; }

  // Each for the kinds that its name says.
  int64_t integer() const { return integer_; }
  double real() const { return kind_ == Kind::Float ? real_ : static_cast<double>(integer_); }
  bool boolean() const { return integer_ != 0; }
  const Text &text() const;
  std::string_view bytes() const; // of a Text
  ItemsObject &items() const;
  DictObject &dict() const;
  NamespaceObject &nameSpace() const;
  LoopObject &loop() const;
  FunctionObject &function() const;
  const UndefinedObject &undefined() const;
  const Object *object() const { return isObject_ ? object_ : nullptr; }

  // Where a number, a truth value or None came from; for others where all of it did.
  Origin origin() const;

private:
  Value(Kind kind, Origin origin) : kind_(kind), origin_(origin) {}
  static Value integral(Kind kind, int64_t value, Origin origin) {
    Value made(kind, origin);
    made.integer_ = value;
    return made;
  }
  void copyBits(const Value &other) {
    kind_ = other.kind_;
    isObject_ = other.isObject_;
    origin_ = other.origin_;
    integer_ = other.integer_;
  }
  void copy(const Value &other) {
    copyBits(other);
    if (isObject_)
      retain(object_);
  }

  Kind kind_ = Kind::Missing;
  bool isObject_ = false;
  Origin origin_ = Origin::Template;
  union {
    int64_t integer_ = 0; // copied for all: the others are no larger
    double real_;
    Object *object_;
  };
};

struct TextObject : Object {
  TextObject(Text value, bool isSafeText) : text(std::move(value)), isSafe(isSafeText) {}
  Text text;
  bool isSafe; // HTML that the filters `safe` and `escape` made: what is added to it is escaped
  std::optional<size_t> characters; // counted once
};

struct ItemsObject : Object {
  void dropReferences() override { std::exchange(items, {}); }
  std::vector<Value> items;
  size_t cursor = 0;                     // of an Iterator
  std::string_view spelling;             // of a View, Range or Iterator: how str() names its type
  int64_t start = 0, step = 1, stop = 0; // of a Range
};

struct DictObject : Object {
  void dropReferences() override {
    std::exchange(entries, {});
    std::exchange(byText, {});
  }
  struct Entry {
    Value key, value;
  };
  std::vector<Entry> entries;                        // in order of insertion
  std::map<std::string, size_t, std::less<>> byText; // of large ones, where their keys are texts
};

struct NamespaceObject : Object {
  void dropReferences() override { attributes = Value(); }
  Value attributes; // a Dict
};

// Why there is no value.
struct UndefinedObject : Object {
  explicit UndefinedObject(std::string text) : message(std::move(text)) {}
  std::string message; // "'tools' is undefined"
};

struct FunctionObject : Object {
  void dropReferences() override {
    self = Value();
    scope = Ref<Object>();
  }
  const Builtin *builtin = nullptr; // else a macro
  Value self;                       // of a method
  uint32_t macro = 0;               // the statement that defines it
  Ref<Object> scope;                // a Scope: in which it was defined
};

// The items of something, one after another, as a `for` takes them.
struct Cursor {
  Value source;
  size_t at = 0; // an index, or a byte of a Text
};

// What `loop` is in the body of a `for`.
struct LoopObject : Object {
  void dropReferences() override {
    fetch = nullptr;
    source = current = before = after = lastChanged = Value();
    std::exchange(rest, {});
  }
  Value source;                         // what is looped over
  bool isFiltered = false;              // then its length is known at the end only
  std::function<Result<Value>()> fetch; // the next item of it; Missing at the end
  int64_t index0 = -1;
  int64_t depth0 = 0;
  Value current, before;
  Value after;             // fetched ahead; Missing: not, or there is none
  std::vector<Value> rest; // all that follows `after`, once the length was asked for
  size_t restAt = 0;
  bool hasRest = false;
  std::optional<int64_t> length;
  Value lastChanged; // a Tuple
};

inline const Text &Value::text() const {
  return static_cast<const TextObject *>(object_)->text;
}
inline std::string_view Value::bytes() const {
  return text().bytes();
}
inline ItemsObject &Value::items() const {
  return *static_cast<ItemsObject *>(object_);
}
inline DictObject &Value::dict() const {
  return *static_cast<DictObject *>(object_);
}
inline NamespaceObject &Value::nameSpace() const {
  return *static_cast<NamespaceObject *>(object_);
}
inline LoopObject &Value::loop() const {
  return *static_cast<LoopObject *>(object_);
}
inline FunctionObject &Value::function() const {
  return *static_cast<FunctionObject *>(object_);
}
inline const UndefinedObject &Value::undefined() const {
  return *static_cast<const UndefinedObject *>(object_);
}
inline Origin Value::origin() const {
  if (kind_ == Kind::Text)
    return text().origin();
  return isObject_ ? Origin::Input : origin_;
}

// Of results that depend on two values.
inline Origin joined(Origin left, Origin right) {
  return left == Origin::Template && right == Origin::Template ? Origin::Template : Origin::Input;
}

// How Python names a value's type in its messages: "str", "int", "NoneType".
std::string_view typeName(const Value &value);

} // namespace sinter::jinja
