// Values that a caller gives to a template, before there is a render they could live in.
#pragma once

#include "base/status.h"
#include "jinja/text.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sinter::jinja {

// A tree as JSON has them, each leaf with its origin. Objects keep their order.
class Input {
public:
  using List = std::vector<Input>;
  using Object = std::vector<std::pair<std::string, Input>>;
  using Content = std::variant<std::monostate, bool, int64_t, double, std::string, List, Object>;

  Input() = default; // null
  Input(Content content, Origin origin = Origin::Input)
      : content_(std::move(content)), origin_(origin) {}

  const Content &content() const { return content_; }
  Content &content() { return content_; }
  Origin origin() const { return origin_; }
  void setOrigin(Origin origin) { origin_ = origin; }

  // Null where it is another kind.
  const std::string *text() const { return std::get_if<std::string>(&content_); }
  const List *list() const { return std::get_if<List>(&content_); }
  const Object *object() const { return std::get_if<Object>(&content_); }
  // The value of a key of an object; null where there is none.
  const Input *find(std::string_view key) const;

private:
  Content content_;               // std::monostate: null
  Origin origin_ = Origin::Input; // of a leaf
};

// Objects and lists within one another at most; deeper input is refused.
inline constexpr uint32_t kMostInputDepth = 128;

// Reads JSON, all of origin Input. Of a key that is there twice the last value counts. Corrupt,
// with the byte: it is no JSON, or no UTF-8. Unsupported: nested deeper than kMostInputDepth, or a
// whole number beyond 64 bits.
Result<Input> inputFromJson(std::string_view json);

} // namespace sinter::jinja
