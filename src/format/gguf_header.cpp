// Header, metadata and tensor table, front to back.
#include "format/gguf_header.h"

#include "base/checked.h"
#include "format/byte_cursor.h"

#include <algorithm>

namespace sinter {
namespace {

class Bytes {
public:
  template <typename T> void number(T value) {
    static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");
    const auto *raw = reinterpret_cast<const uint8_t *>(&value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof value);
  }
  void type(GgufType type) { number(static_cast<uint32_t>(type)); }
  void text(std::string_view text) {
    number<uint64_t>(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  void raw(std::span<const uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void pad(uint64_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
  }
  std::vector<uint8_t> take() { return std::move(bytes_); }
  uint64_t size() const { return bytes_.size(); }

private:
  std::vector<uint8_t> bytes_;
};

bool isReplaced(const GgufContents &contents, std::string_view key) {
  return std::ranges::any_of(contents.numbers,
                             [&](const auto &number) { return number.first == key; });
}

void writeValue(const GgufValue &value, Bytes &out) {
  out.text(value.key);
  out.type(value.type);
  if (value.isArray()) {
    out.type(value.elementType);
    out.number(value.count);
  }
  out.raw(value.bytes);
}

void writeValues(const GgufContents &contents, Bytes &out) {
  const auto kept = std::ranges::count_if(
      contents.values, [&](const GgufValue &value) { return !isReplaced(contents, value.key); });
  out.number(static_cast<uint64_t>(kept) + contents.numbers.size());
  for (const GgufValue &value : contents.values)
    if (!isReplaced(contents, value.key))
      writeValue(value, out);
  for (const auto &[key, number] : contents.numbers) {
    out.text(key);
    out.type(GgufType::U32);
    out.number(number);
  }
}

CheckedSize bytesOf(const GgufTensorEntry &tensor) {
  const auto rowBytes = tensor.format->rowBytes(tensor.dims[0]);
  CheckedSize bytes = rowBytes ? CheckedSize(*rowBytes) : CheckedSize(1) - CheckedSize(2);
  for (uint32_t d = 1; d < tensor.rank; ++d)
    bytes = bytes * CheckedSize(tensor.dims[d]);
  return bytes;
}

} // namespace

Result<GgufHeader> makeGgufHeader(const GgufContents &contents) {
  constexpr uint32_t kMagic = 0x46554747, kVersion = 3; // "GGUF"
  Bytes out;
  out.number(kMagic);
  out.number(kVersion);
  out.number<uint64_t>(contents.tensors.size());
  writeValues(contents, out);
  GgufHeader header;
  CheckedSize offset = 0; // from the first tensor's data
  for (const GgufTensorEntry &tensor : contents.tensors) {
    const CheckedSize end = alignUp(offset + bytesOf(tensor), contents.alignment);
    if (!end.valid())
      return fail(Code::InvalidArgument,
                  "tensor " + quoted(tensor.name) + " has rows of " +
                      std::to_string(tensor.dims[0]) + ", expected whole blocks of " +
                      std::string(tensor.format->name) + " and a size below 2^64");
    out.text(tensor.name);
    out.number(tensor.rank);
    for (uint32_t d = 0; d < tensor.rank; ++d)
      out.number(tensor.dims[d]);
    out.number(static_cast<uint32_t>(tensor.format->type));
    out.number(*offset.value());
    header.offsets.push_back(*offset.value());
    offset = end;
  }
  out.pad(contents.alignment);
  const auto fileBytes = (CheckedSize(out.size()) + offset).value();
  if (!fileBytes)
    return fail(Code::InvalidArgument, "the file's size overflows");
  header.fileBytes = *fileBytes;
  for (uint64_t &start : header.offsets)
    start += out.size();
  header.bytes = out.take();
  return header;
}

} // namespace sinter
