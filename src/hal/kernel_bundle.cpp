// Writes and reads the file of kernel cases.
#include "hal/kernel_case.h"

#include "base/byte_codec.h"
#include "base/check.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>

namespace sinter::hal {
namespace {

// The least bytes of an encoded case and of an encoded view, to bound announced counts.
constexpr uint64_t kMinViewBytes = 4 + 1 + 8 + 1 + 8 + 8 + 4 + 4 + 1 + 4 + 4 + 4;
constexpr uint64_t kMinCaseBytes =
    4 + 4 + 8 + 4 + 4 + 4 + 8 + 4 + 8 + 1 + kChecksumBytes + 8 + 3 * 8 + 8 + 8 + 4 + 4;
constexpr uint64_t kMostScalars = 4096;
constexpr size_t kMostName = 256;

// That a file of these bytes would end with.
std::array<uint8_t, kChecksumBytes> checksumOf(std::span<const uint8_t> bytes) {
  std::vector<uint8_t> file(bytes.begin(), bytes.end());
  file.resize(file.size() + kChecksumBytes);
  sealFile(file);
  std::array<uint8_t, kChecksumBytes> checksum;
  std::copy(file.end() - kChecksumBytes, file.end(), checksum.begin());
  return checksum;
}

void writeView(ByteWriter &out, const CaseView &view) {
  out.text(view.name);
  out.u8(static_cast<uint8_t>(view.kind));
  out.u64(view.bytes);
  out.u8((view.read ? 1 : 0) + (view.written ? 2 : 0));
  out.blob(view.expected);
  out.blob(view.contents);
  out.u32(view.place.firstScalar);
  out.u32(view.place.rank);
  out.u8(view.place.strided);
  out.u32(view.place.interleave);
  out.u32(view.place.unitElements);
  out.u32(view.place.unitBytes);
}

void writeCase(ByteWriter &out, const KernelCase &kernel) {
  out.text(kernel.label);
  out.text(kernel.target);
  const size_t trusted = out.bytes().size();
  out.blob(kernel.code);
  out.text(kernel.spec.symbol);
  out.u32(kernel.spec.bufferCount);
  out.u32(kernel.spec.scalarCount);
  out.u64(kernel.spec.scratchBytes);
  out.u32(kernel.spec.threads);
  out.u64(kernel.spec.sharedBytes);
  out.u8(kernel.spec.overlaps);
  out.raw(checksumOf(std::span(out.bytes()).subspan(trusted)));
  out.u64(kernel.seed);
  for (const int64_t extent : kernel.grid)
    out.i64(extent);
  out.u64(std::bit_cast<uint64_t>(kernel.operations));
  out.u64(std::bit_cast<uint64_t>(kernel.floor));
  out.count(kernel.scalars.size());
  for (const int64_t scalar : kernel.scalars)
    out.i64(scalar);
  out.count(kernel.views.size());
  for (const CaseView &view : kernel.views)
    writeView(out, view);
}

uint8_t readMost(ByteReader &in, uint8_t most, const char *what) {
  const uint8_t value = in.u8();
  if (value > most)
    in.bad(std::string(what) + " is " + std::to_string(value) + ", expected at most " +
           std::to_string(most));
  return value;
}

// It becomes a part of a file's name (--dump).
std::string readName(ByteReader &in) {
  std::string name = in.text();
  const auto isPlain = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  if (in.ok() && (name.empty() || name.size() > kMostName || !std::ranges::all_of(name, isPlain)))
    in.bad("a view's name is not 1 to " + std::to_string(kMostName) + " letters, digits and _");
  return name;
}

CaseView readView(ByteReader &in) {
  CaseView view;
  view.name = readName(in);
  view.kind = static_cast<ElementKind>(
      readMost(in, static_cast<uint8_t>(ElementKind::Byte), "an element kind"));
  view.bytes = in.u64();
  const uint8_t use = readMost(in, 3, "a view's use");
  view.read = use & 1;
  view.written = use & 2;
  view.expected = in.blob();
  view.contents = in.blob();
  view.place.firstScalar = in.u32();
  view.place.rank = in.u32();
  view.place.strided = readMost(in, 1, "whether a view is strided");
  view.place.interleave = in.u32();
  view.place.unitElements = in.u32();
  view.place.unitBytes = in.u32();
  return view;
}

// What a kernel needs is said by who compiled it: a checksum binds it to the code.
void checkTrusted(ByteReader &in, std::span<const uint8_t> file, uint64_t begin) {
  const uint64_t end = in.offset();
  const std::span<const uint8_t> sum = in.raw(kChecksumBytes);
  if (in.ok() && !std::ranges::equal(sum, checksumOf(file.subspan(begin, end - begin))))
    in.bad("a kernel's code and what it needs do not match their checksum");
}

KernelCase readCase(ByteReader &in, std::span<const uint8_t> file) {
  KernelCase kernel;
  kernel.label = in.text();
  kernel.target = in.text();
  const uint64_t trusted = in.offset();
  kernel.code = in.blob();
  kernel.spec.symbol = in.text();
  kernel.spec.bufferCount = in.u32();
  kernel.spec.scalarCount = in.u32();
  kernel.spec.scratchBytes = in.u64();
  kernel.spec.threads = in.u32();
  kernel.spec.sharedBytes = in.u64();
  kernel.spec.overlaps = readMost(in, 1, "whether a kernel overlaps");
  checkTrusted(in, file, trusted);
  kernel.seed = in.u64();
  for (int64_t &extent : kernel.grid)
    extent = in.i64();
  kernel.operations = std::bit_cast<double>(in.u64());
  kernel.floor = std::bit_cast<double>(in.u64());
  for (uint32_t left = in.count(8, "scalars", kMostScalars); left > 0 && in.ok(); --left)
    kernel.scalars.push_back(in.i64());
  for (uint32_t left = in.count(kMinViewBytes, "views", kMaxBindings); left > 0 && in.ok(); --left)
    kernel.views.push_back(readView(in));
  return kernel;
}

// Magic, version, size and checksum.
Result<void> checkFrame(std::span<const uint8_t> file) {
  const size_t shown = std::min(file.size(), kBundleMagic.size());
  if (!std::equal(file.begin(), file.begin() + shown, kBundleMagic.begin()))
    return fail(Code::Corrupt,
                "the file is no bundle of kernels, expected one that sinter kernel pack wrote", 0);
  if (file.size() < kBundleHeaderBytes + kChecksumBytes)
    return fail(Code::Truncated,
                "the bundle has " + std::to_string(file.size()) + " bytes, expected at least " +
                    std::to_string(kBundleHeaderBytes + kChecksumBytes),
                file.size());
  ByteReader in(file, kBundleMagic.size(), kBundleHeaderBytes);
  const uint32_t version = in.u32();
  const uint64_t size = in.u64();
  if (version != kBundleVersion)
    return fail(Code::Unsupported,
                "the bundle has version " + std::to_string(version) + ", expected " +
                    std::to_string(kBundleVersion) + ": pack it again",
                kBundleMagic.size());
  if (size != file.size())
    return fail(size > file.size() ? Code::Truncated : Code::Corrupt,
                "the bundle has " + std::to_string(file.size()) + " bytes, expected " +
                    std::to_string(size),
                std::min<uint64_t>(size, file.size()));
  if (!isSealed(file))
    return fail(Code::Corrupt, "the bundle does not match its checksum",
                file.size() - kChecksumBytes);
  return {};
}

} // namespace

void sealBundle(std::span<uint8_t> file) {
  SINTER_CHECK(file.size() >= kBundleHeaderBytes + kChecksumBytes);
  ByteWriter size;
  size.u64(file.size());
  std::ranges::copy(size.bytes(), file.begin() + kBundleHeaderBytes - 8);
  sealFile(file);
}

std::vector<uint8_t> writeBundle(std::span<const KernelCase> cases) {
  ByteWriter out;
  out.raw({reinterpret_cast<const uint8_t *>(kBundleMagic.data()), kBundleMagic.size()});
  out.u32(kBundleVersion);
  out.u64(0);
  out.count(cases.size());
  for (const KernelCase &kernel : cases)
    writeCase(out, kernel);
  out.bytes().resize(out.bytes().size() + kChecksumBytes);
  sealBundle(out.bytes());
  return std::move(out.bytes());
}

Result<std::vector<KernelCase>> readBundle(std::span<const uint8_t> file) {
  SINTER_TRY(checkFrame(file));
  ByteReader in(file, kBundleHeaderBytes, file.size() - kChecksumBytes);
  std::vector<KernelCase> cases;
  for (uint32_t left = in.count(kMinCaseBytes, "cases"); left > 0 && in.ok(); --left)
    cases.push_back(readCase(in, file));
  SINTER_TRY(in.finish("the cases"));
  return cases;
}

} // namespace sinter::hal
