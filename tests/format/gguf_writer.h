// Builds GGUF files, right and wrong ones, in memory.
#pragma once

#include "format/gguf.h"

#include <cstring>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace sinter {

class GgufWriter {
public:
  const std::vector<uint8_t> &bytes() const { return bytes_; }
  uint64_t size() const { return bytes_.size(); }

  // Where the next byte goes is where a broken file's error is expected.
  GgufWriter &mark() {
    mark_ = size();
    return *this;
  }
  uint64_t marked() const { return mark_; }

  template <typename T> GgufWriter &put(T value) {
    const uint8_t *raw = reinterpret_cast<const uint8_t *>(&value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof(T));
    return *this;
  }
  GgufWriter &u8(uint8_t value) { return put(value); }
  GgufWriter &u32(uint32_t value) { return put(value); }
  GgufWriter &u64(uint64_t value) { return put(value); }
  GgufWriter &type(GgufType value) { return put(static_cast<uint32_t>(value)); }
  GgufWriter &raw(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }
  GgufWriter &string(std::string_view text) { return u64(text.size()).raw(text); }
  GgufWriter &zeros(uint64_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  GgufWriter &pad(uint64_t alignment = 32) {
    return zeros((alignment - size() % alignment) % alignment);
  }

  GgufWriter &header(uint64_t tensors, uint64_t values, uint32_t version = 3) {
    return raw("GGUF").u32(version).u64(tensors).u64(values);
  }
  // A metadata entry up to its value.
  GgufWriter &key(std::string_view name, GgufType valueType) {
    return string(name).type(valueType);
  }
  GgufWriter &array(std::string_view name, GgufType elementType, uint64_t count) {
    return key(name, GgufType::Array).type(elementType).u64(count);
  }
  template <typename T> GgufWriter &value(std::string_view name, GgufType valueType, T scalar) {
    return key(name, valueType).put(scalar);
  }
  GgufWriter &text(std::string_view name, std::string_view content) {
    return key(name, GgufType::String).string(content);
  }

  // A tensor entry up to its type, and whole.
  GgufWriter &tensorHead(std::string_view name, std::initializer_list<uint64_t> dims) {
    string(name).u32(static_cast<uint32_t>(dims.size()));
    for (uint64_t dim : dims)
      u64(dim);
    return *this;
  }
  GgufWriter &tensor(std::string_view name, std::initializer_list<uint64_t> dims, TensorType type,
                     uint64_t offset) {
    return tensorHead(name, dims).u32(static_cast<uint32_t>(type)).u64(offset);
  }

private:
  std::vector<uint8_t> bytes_;
  uint64_t mark_ = 0;
};

} // namespace sinter
