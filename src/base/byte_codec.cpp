// Little-endian numbers, texts and byte strings.
#include "base/byte_codec.h"

#include <algorithm>

namespace sinter {

void ByteWriter::number(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

void ByteWriter::text(std::string_view value) {
  count(value.size());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
}

void ByteReader::bad(std::string message) {
  if (!error_)
    error_ = Status{Code::Corrupt, std::move(message), offset_};
}

std::span<const uint8_t> ByteReader::raw(uint64_t bytes) {
  if (!error_ && bytes > left())
    bad("a value of " + std::to_string(bytes) + " bytes is past its section's end, " +
        std::to_string(left()) + " are left");
  if (error_)
    return {};
  auto result = file_.subspan(offset_, bytes);
  offset_ += bytes;
  return result;
}

uint64_t ByteReader::number(uint64_t bytes) {
  uint64_t value = 0;
  auto data = raw(bytes);
  for (std::size_t i = 0; i < data.size(); ++i)
    value |= uint64_t(data[i]) << (8 * i);
  return value;
}

std::vector<uint8_t> ByteReader::blob() {
  auto data = raw(u64());
  return {data.begin(), data.end()};
}

std::string ByteReader::text() {
  auto data = raw(u32());
  return {data.begin(), data.end()};
}

uint32_t ByteReader::count(uint64_t minBytes, const char *what, uint64_t limit) {
  const uint64_t begin = offset_;
  const uint32_t value = u32();
  if (!ok() || (value <= left() / minBytes && value <= limit))
    return ok() ? value : 0;
  const uint64_t bytesLeft = left();
  offset_ = begin;
  bad(std::to_string(value) + " " + what + " announced, expected at most " +
      std::to_string(std::min(limit, bytesLeft / minBytes)));
  return 0;
}

Result<void> ByteReader::finish(const char *what) {
  if (ok() && left() != 0)
    bad(std::to_string(left()) + " bytes are left over in section '" + what + "'");
  if (error_)
    return tl::unexpected(*error_);
  return {};
}

} // namespace sinter
