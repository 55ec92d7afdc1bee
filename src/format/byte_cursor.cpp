// The messages of the byte reader.
#include "format/byte_cursor.h"

namespace sinter {

std::string quoted(std::string_view name) {
  static constexpr size_t kMaxBytes = 64;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "'";
  for (char c : name.substr(0, kMaxBytes)) {
    uint8_t byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte < 0x7f)
      text += c;
    else
      text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  text += name.size() > kMaxBytes ? "...'" : "'";
  return text;
}

Fail ByteCursor::truncated(uint64_t count, std::string_view what) const {
  return fail(Code::Truncated,
              "input ends inside " + std::string(what) + ": " + std::to_string(remaining()) +
                  " bytes left, expected " + std::to_string(count),
              offset_);
}

} // namespace sinter
