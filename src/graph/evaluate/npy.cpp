// Reads and writes .npy: a magic number, a header that is a Python dictionary, elements. The reader
// that Debian has (xtensor's) throws, and takes hostile headers apart by regular expressions.
#include "tile/mlir_pch.h"

#include "base/checked.h"
#include "graph/evaluate/npy.h"
#include "numeric/half.h"

#include <cstring>

using namespace mlir;

namespace sinter::graph {

static constexpr std::string_view kMagic = "\x93NUMPY";
static constexpr size_t kMostHeaderBytes = 1 << 16;
static constexpr size_t kMostAxes = 32;

namespace {
struct Header {
  std::string element;
  Shape shape;
  size_t dataOffset = 0;
};
} // namespace

static Fail corrupt(const Twine &what) {
  return fail(Code::Corrupt, "the .npy file " + what.str());
}

// What stands after `'key':` in the header.
static std::optional<StringRef> valueOf(StringRef header, StringRef key) {
  const std::string quoted = "'" + key.str() + "'";
  const size_t at = header.find(quoted);
  if (at == StringRef::npos)
    return std::nullopt;
  StringRef rest = header.drop_front(at + quoted.size()).ltrim();
  return rest.consume_front(":") ? std::optional(rest.ltrim()) : std::nullopt;
}

static Result<Shape> parseShape(StringRef text) {
  if (!text.consume_front("(") || !text.contains(')'))
    return corrupt("has a shape that is no tuple");
  SmallVector<StringRef> parts;
  text.take_until([](char c) { return c == ')'; }).split(parts, ',');
  Shape shape;
  for (StringRef part : parts) {
    part = part.trim();
    if (part.empty())
      continue;
    int64_t extent;
    if (part.getAsInteger(10, extent) || extent < 0 || shape.size() == kMostAxes)
      return corrupt("has extent '" + part.take_front(40) + "', expected at most " +
                     Twine(kMostAxes) + " whole numbers");
    shape.push_back(extent);
  }
  return shape;
}

static Result<Header> parseHeader(StringRef file) {
  if (!file.starts_with(StringRef(kMagic.data(), kMagic.size())) || file.size() < 12)
    return corrupt("does not begin with its magic number");
  const auto *bytes = file.bytes_begin();
  const bool wide = bytes[6] >= 2;
  size_t length = bytes[8] | bytes[9] << 8;
  if (wide)
    length |= static_cast<size_t>(bytes[10]) << 16 | static_cast<size_t>(bytes[11]) << 24;
  const size_t start = wide ? 12 : 10;
  if (length > kMostHeaderBytes || file.size() - start < length)
    return fail(Code::Truncated, "the .npy file has a header of " + std::to_string(length) +
                                     " bytes, and " + std::to_string(file.size() - start) +
                                     " are left");
  const StringRef header = file.substr(start, length);
  const auto element = valueOf(header, "descr"), order = valueOf(header, "fortran_order"),
             shape = valueOf(header, "shape");
  if (!element || !order || !shape || element->size() < 4 || element->front() != '\'')
    return corrupt("has a header without 'descr', 'fortran_order' or 'shape'");
  if (!order->starts_with("False"))
    return fail(Code::Unsupported, "the .npy file is in Fortran order, expected C order");
  SINTER_ASSIGN(Shape extents, parseShape(*shape));
  return Header{element->drop_front().take_until([](char c) { return c == '\''; }).str(),
                std::move(extents), start + length};
}

namespace {
using Read = double (*)(const uint8_t *);
struct ElementReader {
  StringRef name;
  size_t bytes;
  Read read;
};
} // namespace

template <class T> static double readAs(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return static_cast<double>(value);
}

static double readHalf(const uint8_t *bytes) {
  return f16ToF32(static_cast<uint16_t>(bytes[0] | bytes[1] << 8));
}

static double readTruth(const uint8_t *bytes) {
  return *bytes != 0;
}

static const ElementReader *findReader(StringRef name) {
  static constexpr ElementReader kReaders[] = {
      {"<f4", 4, readAs<float>},    {"<f8", 8, readAs<double>},  {"<f2", 2, readHalf},
      {"|i1", 1, readAs<int8_t>},   {"<i2", 2, readAs<int16_t>}, {"<i4", 4, readAs<int32_t>},
      {"<i8", 8, readAs<int64_t>},  {"|u1", 1, readAs<uint8_t>}, {"<u2", 2, readAs<uint16_t>},
      {"<u4", 4, readAs<uint32_t>}, {"|b1", 1, readTruth}};
  const auto *found =
      llvm::find_if(kReaders, [&](const auto &reader) { return reader.name == name; });
  return found == std::end(kReaders) ? nullptr : found;
}

Result<Tensor> decodeNpy(MLIRContext &context, std::span<const uint8_t> bytes) {
  const StringRef file(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  SINTER_ASSIGN(Header header, parseHeader(file));
  const ElementReader *reader = findReader(header.element);
  if (!reader)
    return fail(Code::Unsupported, "the .npy file has elements '" + header.element.substr(0, 40) +
                                       "', expected <f2, <f4, <f8, |i1, <i2, <i4, <i8, |u1, <u2, "
                                       "<u4 or |b1");
  CheckedSize needed = reader->bytes;
  for (int64_t extent : header.shape)
    needed = needed * CheckedSize(static_cast<uint64_t>(extent));
  const size_t held = bytes.size() - header.dataOffset;
  if (needed.value() != held)
    return fail(
        Code::Truncated,
        "the .npy file holds " + std::to_string(held) + " bytes of elements, expected " +
            (needed.value() ? std::to_string(*needed.value()) : std::string("more than 2^64")));
  SINTER_ASSIGN(Tensor tensor, makeTensor(Float64Type::get(&context), std::move(header.shape)));
  const uint8_t *at = bytes.data() + header.dataOffset;
  for (double &value : tensor.values) {
    value = reader->read(at);
    at += reader->bytes;
  }
  return tensor;
}

template <class T> static void append(std::vector<uint8_t> &bytes, double value) {
  const T element = static_cast<T>(value);
  const auto *raw = reinterpret_cast<const uint8_t *>(&element);
  bytes.insert(bytes.end(), raw, raw + sizeof element);
}

std::vector<uint8_t> encodeNpy(const Tensor &tensor, Precision precision) {
  const bool wide = tensor.element.isF32() && precision == Precision::F64;
  const bool whole = tensor.element.isInteger(32), truth = tensor.element.isInteger(1);
  std::string shape;
  for (int64_t extent : tensor.shape)
    shape += std::to_string(extent) + ", ";
  std::string header = std::string("{'descr': '") +
                       (truth   ? "|b1"
                        : whole ? "<i4"
                        : wide  ? "<f8"
                                : "<f4") +
                       "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(llvm::alignTo(header.size() + 11, 64) - 11, ' '); // magic, version, length, newline
  header += '\n';
  std::vector<uint8_t> bytes(kMagic.begin(), kMagic.end());
  bytes.insert(bytes.end(), {1, 0, static_cast<uint8_t>(header.size() & 0xff),
                             static_cast<uint8_t>(header.size() >> 8)});
  bytes.insert(bytes.end(), header.begin(), header.end());
  for (double value : tensor.values)
    truth   ? append<uint8_t>(bytes, value)
    : whole ? append<int32_t>(bytes, value)
    : wide  ? append<double>(bytes, value)
            : append<float>(bytes, value);
  return bytes;
}

} // namespace sinter::graph
