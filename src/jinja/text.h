// Text that knows where each of its bytes came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::jinja {

// Input: a message, a tool, a file name. Template: the template's own text, and what its owner put
// on a par with it. Only the latter may become control tokens.
enum class Origin : uint8_t { Input, Template };

// Bytes, UTF-8, in pieces of one origin each.
class Text {
public:
  struct Piece {
    size_t end; // the first byte after it
    Origin origin;
  };

  Text() = default;
  Text(std::string bytes, Origin origin);

  const std::string &bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // Ascending; neighbours differ in origin; the last one ends where the text does.
  const std::vector<Piece> &pieces() const { return pieces_; }
  Origin originAt(size_t byte) const;
  // Template where all of it is; so it is for an empty text.
  Origin origin() const;

  void append(std::string_view bytes, Origin origin);
  void append(const Text &other) { append(other, 0, other.size()); }
  // The bytes [begin, end) of another text.
  void append(const Text &other, size_t begin, size_t end);
  Text slice(size_t begin, size_t end) const;

private:
  std::string bytes_;
  std::vector<Piece> pieces_;
};

} // namespace sinter::jinja
