// What must hold of whatever bytes the GGUF reader accepts; shared by its fuzzer and its tests.
#pragma once

#include "format/gguf_header.h"

#include <algorithm>
#include <string>
#include <vector>

namespace sinter {

// Whether a getter's answer is a value, or an error that a wrong question deserves.
template <typename T> bool isFairAnswer(const Result<T> &answer) {
  return answer || answer.error().code == Code::Corrupt;
}

inline bool answersFairly(const GgufFile &file, const GgufValue &value) {
  std::string_view key = value.key;
  bool scalars = isFairAnswer(file.getU64(key)) && isFairAnswer(file.getI64(key)) &&
                 isFairAnswer(file.getF32(key)) && isFairAnswer(file.getBool(key)) &&
                 isFairAnswer(file.getString(key));
  bool arrays = isFairAnswer(file.getU64s(key)) && isFairAnswer(file.getI64s(key)) &&
                isFairAnswer(file.getF32s(key)) && isFairAnswer(file.getBools(key)) &&
                isFairAnswer(file.getStrings(key));
  auto strings = file.getStrings(key);
  if (!strings)
    return scalars && arrays;
  uint64_t length = 0;
  for (std::string_view text : *strings)
    length += 8 + text.size();
  return scalars && arrays && length == value.bytes.size() && strings->size() == value.count;
}

inline bool liesInside(std::span<const uint8_t> part, std::span<const uint8_t> whole) {
  return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

inline bool decodesItsFirstRow(const GgufTensor &tensor) {
  if (tensor.dims[0] > 4096)
    return true;
  std::vector<float> row(tensor.dims[0]);
  dequantizeRow(*tensor.format, tensor.bytes.first(tensor.rowBytes()), row);
  return true;
}

// Whether the file's contents, written anew, read as the same contents. Where alignment blows a
// small file up, it is let be.
inline bool survivesRewriting(const GgufFile &file) {
  GgufContents contents;
  contents.values = file.values();
  contents.alignment = file.alignment();
  for (const GgufTensor &tensor : file.tensors())
    contents.tensors.push_back({tensor.name, tensor.dims, tensor.rank, tensor.format});
  const auto header = makeGgufHeader(contents);
  constexpr uint64_t kMostBytes = 1 << 26;
  if (!header || header->fileBytes > kMostBytes)
    return header.has_value();
  std::vector<uint8_t> bytes = header->bytes;
  bytes.resize(header->fileBytes);
  const auto again = GgufFile::parse(bytes);
  const auto sameTensor = [](const GgufTensor &a, const GgufTensor &b) {
    return a.name == b.name && a.dims == b.dims && a.format == b.format;
  };
  const auto sameValue = [](const GgufValue &a, const GgufValue &b) {
    return a.key == b.key && a.type == b.type && std::ranges::equal(a.bytes, b.bytes);
  };
  return again && std::ranges::equal(again->tensors(), file.tensors(), sameTensor) &&
         std::ranges::equal(again->values(), file.values(), sameValue);
}

// Empty where `bytes` are refused or read as a file without contradictions; else what contradicts.
inline std::string inconsistencyOf(std::span<const uint8_t> bytes) {
  auto file = GgufFile::parse(bytes);
  if (!file) {
    bool located = file.error().byteOffset && *file.error().byteOffset <= bytes.size();
    return located ? "" : "an error outside the file: " + file.error().toString();
  }
  for (const GgufValue &value : file->values())
    if (file->find(value.key) != &value || !liesInside(value.bytes, bytes) ||
        !answersFairly(*file, value))
      return "metadata key " + std::string(value.key);
  uint64_t dataBytes = 0;
  for (const GgufTensor &tensor : file->tensors()) {
    auto row = tensor.format->rowBytes(tensor.dims[0]);
    if (file->findTensor(tensor.name) != &tensor || !liesInside(tensor.bytes, bytes) || !row ||
        tensor.bytes.size() != *row * tensor.rows() || tensor.byteOffset % file->alignment() != 0 ||
        !decodesItsFirstRow(tensor))
      return "tensor " + std::string(tensor.name);
    dataBytes += tensor.bytes.size();
  }
  if (dataBytes > bytes.size())
    return "tensors overlap";
  if (!survivesRewriting(*file))
    return "rewriting";
  return file->digest() ? "" : "no digest";
}

} // namespace sinter
