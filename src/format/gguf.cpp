// Opening GGUF files and typed access to their metadata.
#include "format/gguf.h"

#include "format/gguf_parser.h"

#include <algorithm>
#include <limits>

namespace sinter {
namespace {

template <typename T> T load(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

Fail wrongType(const GgufValue &value, const char *expected) {
  std::string found = value.isArray()
                          ? "an array of " + std::string(ggufTypeName(value.elementType))
                          : std::string(ggufTypeName(value.type));
  return fail(Code::Corrupt,
              "metadata key " + quoted(value.key) + " is " + found + ", expected " + expected,
              value.byteOffset);
}

// An integer of any width: its low 64 bits, and whether they stand for a negative number.
struct Integer {
  uint64_t bits;
  bool negative;
};

std::optional<Integer> integerAt(GgufType type, const uint8_t *at) {
  auto fromSigned = [](int64_t value) { return Integer{static_cast<uint64_t>(value), value < 0}; };
  switch (type) {
  case GgufType::U8:
    return Integer{load<uint8_t>(at), false};
  case GgufType::U16:
    return Integer{load<uint16_t>(at), false};
  case GgufType::U32:
    return Integer{load<uint32_t>(at), false};
  case GgufType::U64:
    return Integer{load<uint64_t>(at), false};
  case GgufType::I8:
    return fromSigned(load<int8_t>(at));
  case GgufType::I16:
    return fromSigned(load<int16_t>(at));
  case GgufType::I32:
    return fromSigned(load<int32_t>(at));
  case GgufType::I64:
    return fromSigned(load<int64_t>(at));
  default:
    return std::nullopt;
  }
}

// Readers of one element of type value.elementType, `index` places on.
Result<uint64_t> elementU64(const GgufValue &value, uint64_t index) {
  uint64_t at = index * ggufScalarBytes(value.elementType);
  auto integer = integerAt(value.elementType, value.bytes.data() + at);
  if (!integer)
    return wrongType(value, "an unsigned integer");
  if (integer->negative)
    return fail(Code::Corrupt,
                "metadata key " + quoted(value.key) + " has the value " +
                    std::to_string(static_cast<int64_t>(integer->bits)) +
                    ", expected an unsigned integer",
                value.byteOffset + at);
  return integer->bits;
}

Result<int64_t> elementI64(const GgufValue &value, uint64_t index) {
  uint64_t at = index * ggufScalarBytes(value.elementType);
  auto integer = integerAt(value.elementType, value.bytes.data() + at);
  if (!integer)
    return wrongType(value, "an integer");
  if (!integer->negative && integer->bits > uint64_t{std::numeric_limits<int64_t>::max()})
    return fail(Code::Corrupt,
                "metadata key " + quoted(value.key) + " has the value " +
                    std::to_string(integer->bits) + ", expected at most 2^63 - 1",
                value.byteOffset + at);
  return static_cast<int64_t>(integer->bits);
}

Result<float> elementF32(const GgufValue &value, uint64_t index) {
  const uint8_t *at = value.bytes.data() + index * ggufScalarBytes(value.elementType);
  if (value.elementType == GgufType::F32)
    return load<float>(at);
  if (value.elementType == GgufType::F64)
    return static_cast<float>(load<double>(at));
  return wrongType(value, "a floating-point number");
}

Result<bool> elementBool(const GgufValue &value, uint64_t index) {
  if (value.elementType != GgufType::Bool)
    return wrongType(value, "a bool");
  return value.bytes[index] != 0;
}

template <typename T>
Result<T> scalar(Result<const GgufValue *> value, const char *expected,
                 Result<T> (*element)(const GgufValue &, uint64_t)) {
  if (!value)
    return tl::unexpected(std::move(value).error());
  if ((*value)->isArray())
    return wrongType(**value, expected);
  return element(**value, 0);
}

template <typename T>
Result<std::vector<T>> array(Result<const GgufValue *> value, const char *expected,
                             Result<T> (*element)(const GgufValue &, uint64_t)) {
  if (!value)
    return tl::unexpected(std::move(value).error());
  if (!(*value)->isArray() || ggufScalarBytes((*value)->elementType) == 0)
    return wrongType(**value, expected);
  std::vector<T> elements;
  elements.reserve((*value)->count);
  for (uint64_t i = 0; i < (*value)->count; ++i) {
    SINTER_ASSIGN(T one, element(**value, i));
    elements.push_back(one);
  }
  return elements;
}

} // namespace

std::string_view ggufTypeName(GgufType type) {
  static constexpr std::string_view kNames[] = {"u8",  "i8",  "u16",  "i16",    "u32",
                                                "i32", "f32", "bool", "string", "array",
                                                "u64", "i64", "f64"};
  return kNames[static_cast<uint32_t>(type)];
}

Result<GgufFile> GgufFile::open(const std::string &path) {
  SINTER_ASSIGN(MappedFile mapped, MappedFile::open(path));
  auto file = parse(mapped.bytes());
  if (!file) {
    Status status = std::move(file).error();
    status.message = "'" + path + "': " + status.message;
    return tl::unexpected(std::move(status));
  }
  file->mapped_ = std::move(mapped);
  return file;
}

Result<GgufFile> GgufFile::parse(std::span<const uint8_t> bytes) {
  return GgufParser(bytes).parse();
}

const GgufTensor *GgufFile::findTensor(std::string_view name) const {
  auto byName = [&](uint32_t i) { return tensors_[i].name; };
  auto found = std::ranges::lower_bound(tensorsByName_, name, {}, byName);
  bool hit = found != tensorsByName_.end() && byName(*found) == name;
  return hit ? &tensors_[*found] : nullptr;
}

const GgufValue *GgufFile::find(std::string_view key) const {
  auto byKey = [&](uint32_t i) { return values_[i].key; };
  auto found = std::ranges::lower_bound(valuesByKey_, key, {}, byKey);
  bool hit = found != valuesByKey_.end() && byKey(*found) == key;
  return hit ? &values_[*found] : nullptr;
}

Result<const GgufTensor *> GgufFile::tensor(std::string_view name) const {
  if (const GgufTensor *found = findTensor(name))
    return found;
  return fail(Code::NotFound, "tensor " + quoted(name) + " is missing from the file");
}

Result<const GgufValue *> GgufFile::require(std::string_view key) const {
  if (const GgufValue *found = find(key))
    return found;
  return fail(Code::NotFound, "metadata key " + quoted(key) + " is missing from the file");
}

Result<uint64_t> GgufFile::getU64(std::string_view key) const {
  return scalar<uint64_t>(require(key), "an unsigned integer", elementU64);
}
Result<int64_t> GgufFile::getI64(std::string_view key) const {
  return scalar<int64_t>(require(key), "an integer", elementI64);
}
Result<float> GgufFile::getF32(std::string_view key) const {
  return scalar<float>(require(key), "a floating-point number", elementF32);
}
Result<bool> GgufFile::getBool(std::string_view key) const {
  return scalar<bool>(require(key), "a bool", elementBool);
}
Result<std::string_view> GgufFile::getString(std::string_view key) const {
  SINTER_ASSIGN(const GgufValue *value, require(key));
  if (value->type != GgufType::String)
    return wrongType(*value, "a string");
  auto text = value->bytes.subspan(8);
  return std::string_view(reinterpret_cast<const char *>(text.data()), text.size());
}

Result<uint64_t> GgufFile::getU64Or(std::string_view key, uint64_t fallback) const {
  return find(key) ? getU64(key) : fallback;
}
Result<int64_t> GgufFile::getI64Or(std::string_view key, int64_t fallback) const {
  return find(key) ? getI64(key) : fallback;
}
Result<float> GgufFile::getF32Or(std::string_view key, float fallback) const {
  return find(key) ? getF32(key) : fallback;
}
Result<bool> GgufFile::getBoolOr(std::string_view key, bool fallback) const {
  return find(key) ? getBool(key) : fallback;
}
Result<std::string_view> GgufFile::getStringOr(std::string_view key,
                                               std::string_view fallback) const {
  return find(key) ? getString(key) : fallback;
}

Result<std::vector<std::string_view>> GgufFile::getStrings(std::string_view key) const {
  SINTER_ASSIGN(const GgufValue *value, require(key));
  if (!value->isArray() || value->elementType != GgufType::String)
    return wrongType(*value, "an array of strings");
  std::vector<std::string_view> strings;
  strings.reserve(value->count);
  const uint8_t *at = value->bytes.data();
  for (uint64_t i = 0; i < value->count; ++i) {
    uint64_t length = load<uint64_t>(at);
    strings.emplace_back(reinterpret_cast<const char *>(at + 8), length);
    at += 8 + length;
  }
  return strings;
}

Result<std::vector<uint64_t>> GgufFile::getU64s(std::string_view key) const {
  return array<uint64_t>(require(key), "an array of unsigned integers", elementU64);
}
Result<std::vector<int64_t>> GgufFile::getI64s(std::string_view key) const {
  return array<int64_t>(require(key), "an array of integers", elementI64);
}
Result<std::vector<float>> GgufFile::getF32s(std::string_view key) const {
  return array<float>(require(key), "an array of floating-point numbers", elementF32);
}
Result<std::vector<bool>> GgufFile::getBools(std::string_view key) const {
  return array<bool>(require(key), "an array of bools", elementBool);
}

Result<void> GgufFile::checkWhole() const {
  SINTER_ASSIGN(uint64_t count, getU64Or("split.count", 1));
  if (count <= parts_.size() + 1)
    return {};
  SINTER_ASSIGN(uint64_t before, getU64Or("split.no", 0));
  return fail(Code::Unsupported, "the file is part " + std::to_string(before + 1) + " of " +
                                     std::to_string(count) +
                                     " of a split model, expected the whole model");
}

Result<Sha256Digest> GgufFile::digest() const {
  std::vector<std::array<uint8_t, 8>> sizes;
  std::vector<std::span<const uint8_t>> texts;
  sizes.reserve(parts_.size() + 1);
  auto add = [&](const GgufFile &file) {
    sizes.emplace_back();
    for (size_t i = 0; i < sizes.back().size(); ++i)
      sizes.back()[i] = static_cast<uint8_t>(static_cast<uint64_t>(file.bytes_.size()) >> 8 * i);
    texts.push_back(file.bytes_.first(file.tableEnd_));
    texts.push_back(sizes.back());
  };
  add(*this);
  for (const GgufFile &part : parts_)
    add(part);
  return sha256(texts);
}

std::vector<std::span<const uint8_t>> GgufFile::parts() const {
  std::vector<std::span<const uint8_t>> parts = {bytes_};
  for (const GgufFile &part : parts_)
    parts.push_back(part.bytes_);
  return parts;
}

std::vector<std::string> GgufFile::paths() const {
  std::vector<std::string> paths;
  if (mapped_)
    paths.push_back(mapped_->path());
  for (const GgufFile &part : parts_)
    paths.push_back(part.mapped_->path());
  return paths;
}

uint64_t GgufFile::totalBytes() const {
  uint64_t bytes = bytes_.size();
  for (const GgufFile &part : parts_)
    bytes += part.totalBytes();
  return bytes;
}

bool GgufFile::stillIntact() const {
  return (!mapped_ || mapped_->stillIntact()) &&
         std::ranges::all_of(parts_, [](const GgufFile &part) { return part.stillIntact(); });
}

std::string GgufFile::settledIdentity() const {
  std::string identity = mapped_ ? mapped_->settledIdentity() : "";
  for (const GgufFile &part : parts_) {
    const std::string next = part.settledIdentity();
    identity = identity.empty() || next.empty() ? "" : identity + "|" + next;
  }
  return identity;
}

} // namespace sinter
