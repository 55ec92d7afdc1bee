// JSON from files, read without exceptions (by nlohmann's library).
#pragma once

#include "base/status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sinter {

// One value of a document, or the absence of one. Views into the document, which must outlive it.
class JsonValue {
public:
  JsonValue() = default;

  bool exists() const { return node_ != nullptr; }
  bool isNull() const; // or absent
  bool isObject() const;
  bool isArray() const;
  // "an object", "a string", ..., for messages.
  const char *kindName() const;

  // Nothing where the value is of another kind.
  std::optional<std::string_view> text() const;
  std::optional<bool> boolean() const;
  std::optional<int64_t> integer() const;
  std::optional<double> number() const;

  // Of an object: the member, which may be absent. Absent for other kinds.
  JsonValue find(std::string_view key) const;
  // Of an array: absent beyond its end and for other kinds.
  JsonValue at(size_t i) const;
  size_t size() const; // of an array or object, else 0
  // Members of an object in the order of their keys, stopped by the first error.
  Result<void>
  eachMember(const std::function<Result<void>(std::string_view key, JsonValue value)> &visit) const;

private:
  friend class JsonDocument;
  explicit JsonValue(const void *node) : node_(node) {}
  const void *node_ = nullptr; // an nlohmann::json
};

// A parsed text. Movable; values stay valid through moves.
class JsonDocument {
public:
  static constexpr size_t kMaxBytes = size_t{128} << 20;
  static constexpr size_t kMaxValues = size_t{8} << 20;
  static constexpr int kMaxDepth = 64;

  // Corrupt, with the byte, where it is no JSON. Exhausted beyond the limits above.
  static Result<JsonDocument> parse(std::string_view text);

  JsonDocument(JsonDocument &&) noexcept;
  JsonDocument &operator=(JsonDocument &&) noexcept;
  ~JsonDocument();

  JsonValue root() const;

private:
  struct Tree;
  JsonDocument();
  std::unique_ptr<Tree> tree_;
};

} // namespace sinter
