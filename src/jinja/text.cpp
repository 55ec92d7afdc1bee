// Pieces are merged as they are appended.
#include "jinja/text.h"

#include <algorithm>

namespace sinter::jinja {
namespace {

// The piece that holds a byte.
std::vector<Text::Piece>::const_iterator pieceAt(const std::vector<Text::Piece> &pieces,
                                                 size_t byte) {
  return std::ranges::upper_bound(pieces, byte, {}, &Text::Piece::end);
}

} // namespace

Text::Text(std::string bytes, Origin origin) : bytes_(std::move(bytes)) {
  if (!bytes_.empty())
    pieces_.push_back({bytes_.size(), origin});
}

Origin Text::originAt(size_t byte) const {
  return pieceAt(pieces_, byte)->origin;
}

Origin Text::origin() const {
  const bool isTemplate =
      pieces_.empty() || (pieces_.size() == 1 && pieces_[0].origin == Origin::Template);
  return isTemplate ? Origin::Template : Origin::Input;
}

void Text::append(std::string_view bytes, Origin origin) {
  if (bytes.empty())
    return;
  bytes_ += bytes;
  if (!pieces_.empty() && pieces_.back().origin == origin)
    pieces_.back().end = bytes_.size();
  else
    pieces_.push_back({bytes_.size(), origin});
}

void Text::append(const Text &other, size_t begin, size_t end) {
  for (auto piece = pieceAt(other.pieces_, begin); begin < end; ++piece) {
    const size_t stop = std::min(end, piece->end);
    append(std::string_view(other.bytes_).substr(begin, stop - begin), piece->origin);
    begin = stop;
  }
}

Text Text::slice(size_t begin, size_t end) const {
  Text out;
  out.append(*this, begin, end);
  return out;
}

} // namespace sinter::jinja
