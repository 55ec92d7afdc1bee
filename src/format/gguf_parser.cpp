// The checks of a GGUF file, in the file's order: header, metadata, tensor table, then where the
// data lies.
#include "format/gguf_parser.h"

#include "base/checked.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace sinter {
namespace {

// The smallest entries there can be: a key of one byte with a one-byte value, a tensor of no
// dimensions.
constexpr uint64_t kMinValueBytes = 8 + 1 + 4 + 1;
constexpr uint64_t kMinTensorBytes = 8 + 1 + 4 + 4 + 8;
constexpr uint64_t kArrayHeadBytes = 4 + 8;
constexpr uint64_t kStringHeadBytes = 8;

// Indices of `items`, ascending by name and then by index.
template <typename Items, typename Name>
std::vector<uint32_t> sortedByName(const Items &items, Name name) {
  std::vector<uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    int compared = name(items[a]).compare(name(items[b]));
    return compared != 0 ? compared < 0 : a < b;
  });
  return order;
}

// The first item, in the file's order, whose name an earlier one has.
template <typename Items, typename Name>
std::optional<uint32_t> firstRepeated(const Items &items, const std::vector<uint32_t> &order,
                                      Name name) {
  std::optional<uint32_t> first;
  for (size_t i = 1; i < order.size(); ++i)
    if (name(items[order[i]]) == name(items[order[i - 1]]) && (!first || order[i] < *first))
      first = order[i];
  return first;
}

std::string_view textOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

} // namespace

uint64_t ggufScalarBytes(GgufType type) {
  switch (type) {
  case GgufType::U8:
  case GgufType::I8:
  case GgufType::Bool:
    return 1;
  case GgufType::U16:
  case GgufType::I16:
    return 2;
  case GgufType::U32:
  case GgufType::I32:
  case GgufType::F32:
    return 4;
  case GgufType::U64:
  case GgufType::I64:
  case GgufType::F64:
    return 8;
  case GgufType::String:
  case GgufType::Array:
    break;
  }
  return 0;
}

Result<GgufFile> GgufParser::parse() {
  SINTER_TRY(readHeader());
  file_.values_.reserve(valueCount_);
  for (uint64_t i = 0; i < valueCount_; ++i)
    SINTER_TRY(readValue());
  SINTER_TRY(indexValues());
  SINTER_TRY(readAlignment());
  SINTER_TRY(checkCount(tensorCount_, kMinTensorBytes, kGgufMaxTensors, "tensors", 8));
  file_.tensors_.reserve(tensorCount_);
  sizes_.reserve(tensorCount_);
  for (uint64_t i = 0; i < tensorCount_; ++i)
    SINTER_TRY(readTensor());
  file_.tableEnd_ = cursor_.offset();
  SINTER_TRY(indexTensors());
  SINTER_TRY(placeTensors());
  SINTER_TRY(checkOverlaps());
  return std::move(file_);
}

Result<void> GgufParser::readHeader() {
  SINTER_ASSIGN(auto magic, cursor_.take(4, "the magic"));
  if (textOf(magic) != "GGUF")
    return fail(Code::Corrupt, "file begins with " + quoted(textOf(magic)) + ", expected 'GGUF'",
                0);
  SINTER_ASSIGN(file_.version_, cursor_.number<uint32_t>("the version"));
  if (file_.version_ != 0 && (file_.version_ & 0xffff) == 0)
    return fail(Code::Unsupported, "file is big-endian, expected little-endian GGUF", 4);
  if (file_.version_ != 2 && file_.version_ != 3)
    return fail(Code::Unsupported,
                "GGUF version is " + std::to_string(file_.version_) + ", expected 2 or 3", 4);
  SINTER_ASSIGN(tensorCount_, cursor_.number<uint64_t>("the tensor count"));
  SINTER_ASSIGN(valueCount_, cursor_.number<uint64_t>("the metadata count"));
  SINTER_TRY(checkCount(tensorCount_, kMinTensorBytes, kGgufMaxTensors, "tensors", 8));
  return checkCount(valueCount_, kMinValueBytes, kGgufMaxKeys, "metadata entries", 16);
}

// Before anything is allocated for `count` entries: do they fit in the rest of the file, and in our
// limit?
Result<void> GgufParser::checkCount(uint64_t count, uint64_t minimumBytes, uint64_t limit,
                                    const char *what, uint64_t at) {
  if (count > cursor_.remaining() / minimumBytes)
    return fail(Code::Truncated,
                "header announces " + std::to_string(count) + ' ' + what + ", but the " +
                    std::to_string(cursor_.remaining()) + " bytes left hold at most " +
                    std::to_string(cursor_.remaining() / minimumBytes),
                at);
  if (count > limit)
    return fail(Code::Exhausted,
                "header announces " + std::to_string(count) + ' ' + what + ", expected at most " +
                    std::to_string(limit),
                at);
  return {};
}

// A length and that many bytes, none of them a control character: names end up in messages and
// logs.
Result<std::string_view> GgufParser::readName(uint64_t limit, const char *what) {
  uint64_t at = cursor_.offset();
  SINTER_ASSIGN(uint64_t length, cursor_.number<uint64_t>(std::string("the length of ") + what));
  if (length == 0 || length > limit)
    return fail(Code::Corrupt,
                std::string(what) + " has " + std::to_string(length) + " bytes, expected 1 to " +
                    std::to_string(limit),
                at);
  SINTER_ASSIGN(auto raw, cursor_.take(length, what));
  auto bad = std::ranges::find_if(raw, [](uint8_t byte) { return byte < 0x20 || byte == 0x7f; });
  if (bad != raw.end())
    return fail(Code::Corrupt,
                std::string(what) + ' ' + quoted(textOf(raw)) + " contains a control character",
                at + 8 + static_cast<uint64_t>(bad - raw.begin()));
  return textOf(raw);
}

Result<GgufType> GgufParser::readType(const char *what) {
  uint64_t at = cursor_.offset();
  SINTER_ASSIGN(uint32_t type, cursor_.number<uint32_t>(what));
  if (type > static_cast<uint32_t>(GgufType::F64))
    return fail(Code::Corrupt,
                std::string(what) + " is " + std::to_string(type) + ", expected 0 to 12", at);
  return static_cast<GgufType>(type);
}

Result<void> GgufParser::readValue() {
  GgufValue value{};
  SINTER_ASSIGN(value.key, readName(kGgufMaxKeyBytes, "a metadata key"));
  SINTER_ASSIGN(value.type, readType("a metadata value's type"));
  value.elementType = value.type;
  value.count = 1;
  if (value.isArray()) {
    SINTER_ASSIGN(value.elementType, readType("an array's element type"));
    SINTER_ASSIGN(value.count, cursor_.number<uint64_t>("an array's length"));
  }
  value.byteOffset = cursor_.offset();
  SINTER_TRY(skipElements(value.elementType, value.count));
  value.bytes = file_.bytes_.subspan(value.byteOffset, cursor_.offset() - value.byteOffset);
  file_.values_.push_back(value);
  return {};
}

// Walks nested arrays with a stack of fixed depth, so that a hostile file cannot exhaust ours.
Result<void> GgufParser::skipElements(GgufType type, uint64_t count) {
  struct Level {
    GgufType type;
    uint64_t left;
  };
  std::array<Level, kGgufMaxArrayDepth> levels{Level{type, count}};
  uint32_t depth = 1;
  while (depth > 0) {
    Level &level = levels[depth - 1];
    if (level.type != GgufType::Array) {
      SINTER_TRY(skipScalars(level.type, level.left));
      level.left = 0;
    }
    if (level.left == 0) {
      --depth;
      continue;
    }
    uint64_t at = cursor_.offset();
    if (level.left > cursor_.remaining() / kArrayHeadBytes)
      return fail(Code::Truncated,
                  "an array announces " + std::to_string(level.left) + " more arrays, but " +
                      std::to_string(cursor_.remaining()) + " bytes are left",
                  at);
    if (depth == kGgufMaxArrayDepth)
      return fail(Code::Unsupported,
                  "arrays are nested deeper than " + std::to_string(kGgufMaxArrayDepth) + " levels",
                  at);
    --level.left;
    SINTER_ASSIGN(levels[depth].type, readType("an array's element type"));
    SINTER_ASSIGN(levels[depth].left, cursor_.number<uint64_t>("an array's length"));
    ++depth;
  }
  return {};
}

Result<void> GgufParser::skipScalars(GgufType type, uint64_t count) {
  uint64_t size = type == GgufType::String ? kStringHeadBytes : ggufScalarBytes(type);
  if (count > cursor_.remaining() / size)
    return fail(Code::Truncated,
                "input ends inside " + std::to_string(count) + " elements of type " +
                    std::string(ggufTypeName(type)) + ": " + std::to_string(cursor_.remaining()) +
                    " bytes left",
                cursor_.offset());
  if (type == GgufType::String) {
    for (uint64_t i = 0; i < count; ++i)
      SINTER_TRY(skipString());
    return {};
  }
  uint64_t at = cursor_.offset();
  SINTER_ASSIGN(auto raw, cursor_.take(count * size, "a metadata value"));
  if (type != GgufType::Bool)
    return {};
  auto bad = std::ranges::find_if(raw, [](uint8_t byte) { return byte > 1; });
  if (bad != raw.end())
    return fail(Code::Corrupt, "a bool is " + std::to_string(*bad) + ", expected 0 or 1",
                at + static_cast<uint64_t>(bad - raw.begin()));
  return {};
}

Result<void> GgufParser::skipString() {
  SINTER_ASSIGN(uint64_t length, cursor_.number<uint64_t>("a string's length"));
  SINTER_TRY(cursor_.take(length, "a string"));
  return {};
}

Result<void> GgufParser::readAlignment() {
  const GgufValue *value = file_.find("general.alignment");
  if (!value)
    return {};
  if (value->type != GgufType::U32)
    return fail(Code::Corrupt,
                "general.alignment has type " + std::string(ggufTypeName(value->type)) +
                    ", expected u32",
                value->byteOffset);
  uint32_t alignment;
  std::memcpy(&alignment, value->bytes.data(), sizeof alignment);
  if (!std::has_single_bit(alignment) || alignment < kGgufMinAlignment ||
      alignment > kGgufMaxAlignment)
    return fail(Code::Corrupt,
                "general.alignment is " + std::to_string(alignment) +
                    ", expected a power of two from " + std::to_string(kGgufMinAlignment) + " to " +
                    std::to_string(kGgufMaxAlignment),
                value->byteOffset);
  file_.alignment_ = alignment;
  return {};
}

Result<void> GgufParser::readTensor() {
  GgufTensor tensor{};
  tensor.tableOffset = cursor_.offset();
  SINTER_ASSIGN(tensor.name, readName(kGgufMaxTensorNameBytes, "a tensor name"));
  SINTER_TRY(readDims(tensor));
  uint64_t typeAt = cursor_.offset();
  SINTER_ASSIGN(uint32_t type, cursor_.number<uint32_t>("a tensor's type"));
  tensor.format = findBlockFormat(type);
  if (!tensor.format)
    return fail(Code::Unsupported,
                "tensor " + quoted(tensor.name) + " has type " + std::to_string(type) +
                    ", which is not a GGUF tensor type that Sinter knows",
                typeAt);
  SINTER_ASSIGN(tensor.byteOffset, cursor_.number<uint64_t>("a tensor's offset"));
  SINTER_ASSIGN(uint64_t size, tensorBytes(tensor, typeAt));
  sizes_.push_back(size);
  file_.tensors_.push_back(tensor);
  return {};
}

Result<void> GgufParser::readDims(GgufTensor &tensor) {
  uint64_t at = cursor_.offset();
  SINTER_ASSIGN(tensor.rank, cursor_.number<uint32_t>("a tensor's number of dimensions"));
  if (tensor.rank > kGgufMaxDims)
    return fail(Code::Unsupported,
                "tensor " + quoted(tensor.name) + " has " + std::to_string(tensor.rank) +
                    " dims, expected at most " + std::to_string(kGgufMaxDims),
                at);
  tensor.dims.fill(1);
  for (uint32_t d = 0; d < tensor.rank; ++d) {
    at = cursor_.offset();
    SINTER_ASSIGN(tensor.dims[d], cursor_.number<uint64_t>("a tensor's dimension"));
    if (tensor.dims[d] == 0)
      return fail(Code::Corrupt,
                  "dim " + std::to_string(d) + " of tensor " + quoted(tensor.name) +
                      " is 0, expected at least 1",
                  at);
  }
  return {};
}

// The size of the data, with the product of the dims itself within 64 bits.
Result<uint64_t> GgufParser::tensorBytes(const GgufTensor &tensor, uint64_t typeAt) const {
  uint64_t dimsAt = typeAt - tensor.rank * 8;
  if (tensor.dims[0] % tensor.format->blockLength != 0)
    return fail(Code::Corrupt,
                "rows of tensor " + quoted(tensor.name) + " have " +
                    std::to_string(tensor.dims[0]) + " elements, expected a multiple of " +
                    std::to_string(tensor.format->blockLength) + " for " +
                    std::string(tensor.format->name),
                dimsAt);
  CheckedSize rows = CheckedSize(tensor.dims[1]) * tensor.dims[2] * tensor.dims[3];
  CheckedSize elements = rows * tensor.dims[0];
  auto row = tensor.format->rowBytes(tensor.dims[0]);
  auto bytes = row ? (rows * *row).value() : std::nullopt;
  if (!elements.valid() || !bytes)
    return fail(Code::Corrupt, "dims of tensor " + quoted(tensor.name) + " multiply beyond 64 bits",
                dimsAt);
  return *bytes;
}

// Where the entry's offset field lies: its last 8 bytes.
uint64_t GgufParser::offsetFieldAt(const GgufTensor &tensor) {
  return tensor.tableOffset + 8 + tensor.name.size() + 4 + tensor.rank * 8u + 4;
}

// Turns offsets from the start of the data into offsets in the file, each against the file's size.
Result<void> GgufParser::placeTensors() {
  CheckedSize dataStart = alignUp(CheckedSize(file_.tableEnd_), file_.alignment_);
  for (size_t i = 0; i < file_.tensors_.size(); ++i) {
    GgufTensor &tensor = file_.tensors_[i];
    uint64_t fieldAt = offsetFieldAt(tensor);
    if (tensor.byteOffset % file_.alignment_ != 0)
      return fail(Code::Corrupt,
                  "offset of tensor " + quoted(tensor.name) + " is " +
                      std::to_string(tensor.byteOffset) + ", expected a multiple of " +
                      std::to_string(file_.alignment_),
                  fieldAt);
    CheckedSize start = dataStart + tensor.byteOffset;
    CheckedSize end = start + sizes_[i];
    if (!end.valid())
      return fail(Code::Corrupt, "end of tensor " + quoted(tensor.name) + " is beyond 64 bits",
                  fieldAt);
    if (*end.value() > file_.bytes_.size())
      return fail(Code::Truncated,
                  "tensor " + quoted(tensor.name) + " ends at byte " +
                      std::to_string(*end.value()) + ", but the file has " +
                      std::to_string(file_.bytes_.size()) + " bytes",
                  fieldAt);
    tensor.byteOffset = *start.value();
    tensor.bytes = file_.bytes_.subspan(tensor.byteOffset, sizes_[i]);
  }
  return {};
}

Result<void> GgufParser::checkOverlaps() {
  std::vector<uint32_t> order(file_.tensors_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {},
                    [&](uint32_t i) { return std::pair(file_.tensors_[i].byteOffset, i); });
  for (size_t i = 1; i < order.size(); ++i) {
    const GgufTensor &before = file_.tensors_[order[i - 1]];
    const GgufTensor &tensor = file_.tensors_[order[i]];
    if (before.byteOffset + before.bytes.size() > tensor.byteOffset)
      return fail(Code::Corrupt,
                  "tensors " + quoted(before.name) + " and " + quoted(tensor.name) +
                      " overlap at byte " + std::to_string(tensor.byteOffset),
                  offsetFieldAt(tensor));
  }
  return {};
}

Result<void> GgufParser::indexValues() {
  auto key = [](const GgufValue &value) { return value.key; };
  file_.valuesByKey_ = sortedByName(file_.values_, key);
  auto repeated = firstRepeated(file_.values_, file_.valuesByKey_, key);
  if (!repeated)
    return {};
  const GgufValue &value = file_.values_[*repeated];
  uint64_t keyAt = static_cast<uint64_t>(reinterpret_cast<const uint8_t *>(value.key.data()) -
                                         file_.bytes_.data());
  return fail(Code::Corrupt, "metadata key " + quoted(value.key) + " appears twice", keyAt);
}

Result<void> GgufParser::indexTensors() {
  auto name = [](const GgufTensor &tensor) { return tensor.name; };
  file_.tensorsByName_ = sortedByName(file_.tensors_, name);
  auto repeated = firstRepeated(file_.tensors_, file_.tensorsByName_, name);
  if (!repeated)
    return {};
  const GgufTensor &tensor = file_.tensors_[*repeated];
  return fail(Code::Corrupt, "tensor name " + quoted(tensor.name) + " appears twice",
              tensor.tableOffset + 8);
}

} // namespace sinter
