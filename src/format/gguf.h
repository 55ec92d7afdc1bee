// GGUF model files, versions 2 and 3: typed metadata and a table of tensors, fully checked before
// anything is returned. Hostile files give a Status with the offending byte; they never abort, and
// take memory in proportion to their size.
#pragma once

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/status.h"
#include "numeric/formats/block_format.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// Limits of our own, beyond what the file's size implies.
inline constexpr uint32_t kGgufMaxDims = 4;
inline constexpr uint64_t kGgufMaxKeyBytes = 65535;
inline constexpr uint64_t kGgufMaxTensorNameBytes = 255;
inline constexpr uint32_t kGgufMaxArrayDepth = 4;
inline constexpr uint64_t kGgufMaxTensors = 1u << 20;
inline constexpr uint64_t kGgufMaxKeys = 1u << 20;
inline constexpr uint64_t kGgufMinAlignment = 8;
inline constexpr uint64_t kGgufMaxAlignment = 1u << 24;

// GGUF's numbers for the types of metadata values.
enum class GgufType : uint32_t {
  U8 = 0,
  I8 = 1,
  U16 = 2,
  I16 = 3,
  U32 = 4,
  I32 = 5,
  F32 = 6,
  Bool = 7,
  String = 8,
  Array = 9,
  U64 = 10,
  I64 = 11,
  F64 = 12,
};

// One metadata entry. Everything points into the file's bytes.
struct GgufValue {
  std::string_view key;
  GgufType type;                  // Array for an array
  GgufType elementType;           // the element's type of an array; otherwise `type`
  uint64_t count;                 // elements; 1 where it is no array
  std::span<const uint8_t> bytes; // the element or elements as stored (strings with their lengths)
  uint64_t byteOffset;            // of `bytes` in the file

  bool isArray() const { return type == GgufType::Array; }
};

// One tensor. Name and data point into the file's bytes.
struct GgufTensor {
  std::string_view name;
  std::array<uint64_t, kGgufMaxDims>
      dims; // ggml's order: dims[0] is the row length; 1 beyond `rank`; none is 0
  uint32_t rank;
  const BlockFormat *format; // never null; the row length is a whole number of its blocks
  uint64_t byteOffset;       // of the data, from the start of the file; a multiple of the alignment
  std::span<const uint8_t> bytes;
  uint64_t tableOffset; // of the entry in the tensor table

  uint64_t rows() const { return dims[1] * dims[2] * dims[3]; }
  uint64_t elements() const { return dims[0] * rows(); }
  uint64_t rowBytes() const { return bytes.size() / rows(); }
};

// A checked GGUF file. Move-only; every view it hands out stays valid through moves, until the file
// object dies (after open()) or the caller's bytes do (after parse()). Const use is safe from many
// threads.
class GgufFile {
public:
  // Maps the file. Errors: MappedFile::open's and parse()'s, the path prepended.
  static Result<GgufFile> open(const std::string &path);

  // Maps a model. Where the file is the first part of one in several (split.count, split.no), its
  // other parts are those beside it, by name; their tensors follow its own. Errors: open's;
  // NotFound: a part is missing; InvalidArgument: the file is another part than the first, or its
  // name has no -00001-of-0000N.gguf; Corrupt: the parts do not belong together. Keys and tensors
  // of Ollama's dialect have llama.cpp's names then (ollama_dialect.h).
  static Result<GgufFile> openModel(const std::string &path);

  // Reads from the caller's bytes, which must outlive this object. Truncated: a count, string or
  // tensor reaches beyond the end; Corrupt: the content breaks the format's rules; Unsupported:
  // big-endian, another version, an unknown tensor type, more dimensions or deeper arrays than the
  // limits; Exhausted: more keys or tensors than the limits.
  static Result<GgufFile> parse(std::span<const uint8_t> bytes);

  uint32_t version() const { return version_; }
  uint64_t alignment() const { return alignment_; }
  std::span<const uint8_t> bytes() const { return bytes_; }

  // In the file's order.
  std::span<const GgufTensor> tensors() const { return tensors_; }
  std::span<const GgufValue> values() const { return values_; }

  // Null where there is none.
  const GgufTensor *findTensor(std::string_view name) const;
  const GgufValue *find(std::string_view key) const;

  // NotFound: no such tensor.
  Result<const GgufTensor *> tensor(std::string_view name) const;

  // A scalar of the asked kind; integers of any width that fit, F64 rounded to f32. NotFound: no
  // such key; Corrupt: it has another type or does not fit, at the value's byte.
  Result<uint64_t> getU64(std::string_view key) const;
  Result<int64_t> getI64(std::string_view key) const;
  Result<float> getF32(std::string_view key) const;
  Result<bool> getBool(std::string_view key) const;
  Result<std::string_view> getString(std::string_view key) const;

  // The same, `fallback` where the key is absent; a wrong type stays an error.
  Result<uint64_t> getU64Or(std::string_view key, uint64_t fallback) const;
  Result<int64_t> getI64Or(std::string_view key, int64_t fallback) const;
  Result<float> getF32Or(std::string_view key, float fallback) const;
  Result<bool> getBoolOr(std::string_view key, bool fallback) const;
  Result<std::string_view> getStringOr(std::string_view key, std::string_view fallback) const;

  // Arrays of one dimension, with the same rules for each element. Strings are views into the file,
  // of any bytes.
  Result<std::vector<std::string_view>> getStrings(std::string_view key) const;
  Result<std::vector<uint64_t>> getU64s(std::string_view key) const;
  Result<std::vector<int64_t>> getI64s(std::string_view key) const;
  Result<std::vector<float>> getF32s(std::string_view key) const;
  Result<std::vector<bool>> getBools(std::string_view key) const;

  // Unsupported: the model has further parts, which were not opened with this one.
  Result<void> checkWhole() const;

  // What names this model: SHA-256 of the header, metadata and tensor table, then the file's size
  // as 8 little-endian bytes, of each part after another. The weights are not read.
  Result<Sha256Digest> digest() const;

  // The bytes of each file, the first one's first.
  std::vector<std::span<const uint8_t>> parts() const;
  // Of the file, or of all parts; none after parse().
  std::vector<std::string> paths() const;
  // Bytes of the file, or of all parts together.
  uint64_t totalBytes() const;
  // Whether the mapped files are still as they were when opened; always true after parse().
  bool stillIntact() const;
  // As MappedFile's, of all parts; empty where no file is mapped or one has none.
  std::string settledIdentity() const;

private:
  friend class GgufParser;
  friend class DialectReader;
  GgufFile() = default;
  Result<const GgufValue *> require(std::string_view key) const;
  Result<void> openParts(const std::string &path, uint64_t count);
  Result<void> checkPart(const GgufFile &part, uint64_t number, uint64_t count) const;
  Result<void> take(GgufFile part);

  std::optional<MappedFile> mapped_;
  std::span<const uint8_t> bytes_;
  uint32_t version_ = 0;
  uint64_t alignment_ = 32;
  uint64_t tableEnd_ = 0; // first byte after the tensor table
  std::vector<GgufValue> values_;
  std::vector<GgufTensor> tensors_;
  std::vector<uint32_t> valuesByKey_; // indices, ascending by key
  std::vector<uint32_t> tensorsByName_;
  std::vector<GgufFile> parts_;                            // after this one
  std::vector<std::unique_ptr<std::vector<uint8_t>>> own_; // names and values that the file lacks
};

// The type's name in messages: "u32", "string".
std::string_view ggufTypeName(GgufType type);

} // namespace sinter
