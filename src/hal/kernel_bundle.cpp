// The file of kernel cases: a magic number, then each case's fields in order, numbers
// little-endian.
#include "hal/kernel_case.h"

#include <bit>
#include <cstring>

namespace sinter::hal {

static constexpr char kMagic[8] = {'s', 'i', 'n', 't', 'e', 'r', 'k', '4'};
static constexpr uint64_t kMostBytes = uint64_t(1) << 40; // of one view

namespace {
class BundleWriter {
public:
  void number(uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      bytes_.push_back(static_cast<uint8_t>(value >> shift));
  }
  void blob(std::span<const uint8_t> value) {
    number(value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  void text(const std::string &value) {
    blob({reinterpret_cast<const uint8_t *>(value.data()), value.size()});
  }
  std::vector<uint8_t> &bytes() { return bytes_; }

private:
  std::vector<uint8_t> bytes_;
};

// The first fault is kept; later reads give nothing.
class BundleReader {
public:
  explicit BundleReader(std::span<const uint8_t> file) : file_(file) {}

  uint64_t number() {
    const std::span<const uint8_t> raw = take(8);
    uint64_t value = 0;
    for (size_t i = 0; i < raw.size(); ++i)
      value |= uint64_t(raw[i]) << (8 * i);
    return value;
  }
  uint64_t number(uint64_t most, const char *what) {
    const uint64_t value = number();
    if (value <= most)
      return value;
    bad(std::string(what) + " is " + std::to_string(value) + ", expected at most " +
        std::to_string(most));
    return 0;
  }
  // A number of entries of at least `entryBytes` each.
  uint64_t count(uint64_t entryBytes, const char *what) {
    return number((file_.size() - at_) / entryBytes, what);
  }
  std::vector<uint8_t> blob() {
    const std::span<const uint8_t> raw = take(number());
    return {raw.begin(), raw.end()};
  }
  std::string text() {
    const std::span<const uint8_t> raw = take(number());
    return {raw.begin(), raw.end()};
  }
  void bad(std::string message) {
    if (!error_)
      error_ = Status{Code::Corrupt, "bundle: " + std::move(message), at_};
  }
  bool ok() const { return !error_; }
  Result<void> finish() {
    if (!error_ && at_ != file_.size())
      bad(std::to_string(file_.size() - at_) + " bytes follow the last case");
    if (error_)
      return tl::unexpected(*error_);
    return {};
  }

private:
  std::span<const uint8_t> take(uint64_t bytes) {
    if (!error_ && bytes > file_.size() - at_)
      error_ = Status{Code::Truncated, "bundle ends within a field", at_};
    if (error_)
      return {};
    at_ += bytes;
    return file_.subspan(at_ - bytes, bytes);
  }

  std::span<const uint8_t> file_;
  uint64_t at_ = 0;
  std::optional<Status> error_;
};
} // namespace

static void writeCase(BundleWriter &out, const KernelCase &kernel) {
  out.text(kernel.label);
  out.text(kernel.target);
  out.blob(kernel.code);
  out.text(kernel.spec.symbol);
  for (uint64_t value : {uint64_t(kernel.spec.bufferCount), uint64_t(kernel.spec.scalarCount),
                         kernel.spec.scratchBytes, uint64_t(kernel.spec.threads),
                         kernel.spec.sharedBytes, uint64_t(kernel.spec.overlaps), kernel.seed})
    out.number(value);
  for (int64_t extent : kernel.grid)
    out.number(static_cast<uint64_t>(extent));
  out.number(std::bit_cast<uint64_t>(kernel.operations));
  out.number(std::bit_cast<uint64_t>(kernel.floor));
  out.number(kernel.scalars.size());
  for (int64_t scalar : kernel.scalars)
    out.number(static_cast<uint64_t>(scalar));
  out.number(kernel.views.size());
  for (const CaseView &view : kernel.views) {
    out.text(view.name);
    out.number(static_cast<uint64_t>(view.kind));
    out.number(view.bytes);
    out.number((view.read ? 1 : 0) + (view.written ? 2 : 0));
    out.blob(view.expected);
    out.blob(view.contents);
  }
}

std::vector<uint8_t> writeBundle(std::span<const KernelCase> cases) {
  BundleWriter out;
  out.bytes().assign(std::begin(kMagic), std::end(kMagic));
  out.number(cases.size());
  for (const KernelCase &kernel : cases)
    writeCase(out, kernel);
  return std::move(out.bytes());
}

static CaseView readView(BundleReader &in) {
  CaseView view;
  view.name = in.text();
  view.kind = static_cast<ElementKind>(
      in.number(static_cast<uint64_t>(ElementKind::Byte), "an element kind"));
  view.bytes = in.number(kMostBytes, "a view's size");
  const uint64_t use = in.number(3, "a view's use");
  view.read = use & 1;
  view.written = use & 2;
  view.expected = in.blob();
  view.contents = in.blob();
  if (!view.contents.empty() && view.contents.size() != view.bytes)
    in.bad("view '" + view.name + "' has " + std::to_string(view.contents.size()) +
           " bytes of contents, expected " + std::to_string(view.bytes));
  return view;
}

static KernelCase readCase(BundleReader &in) {
  KernelCase kernel;
  kernel.label = in.text();
  kernel.target = in.text();
  kernel.code = in.blob();
  kernel.spec.symbol = in.text();
  kernel.spec.bufferCount = static_cast<uint32_t>(in.number(kMaxBindings, "a buffer count"));
  kernel.spec.scalarCount = static_cast<uint32_t>(in.number(4096, "a scalar count"));
  kernel.spec.scratchBytes = in.number(kMostBytes, "a scratch size");
  kernel.spec.threads = static_cast<uint32_t>(in.number(65536, "a number of threads"));
  kernel.spec.sharedBytes = in.number(kMostBytes, "a size of shared memory");
  kernel.spec.overlaps = in.number(1, "whether a kernel overlaps");
  kernel.seed = in.number();
  for (int64_t &extent : kernel.grid)
    extent = static_cast<int64_t>(in.number(uint64_t(1) << 40, "a grid's extent"));
  kernel.operations = std::bit_cast<double>(in.number());
  kernel.floor = std::bit_cast<double>(in.number());
  for (uint64_t left = in.count(8, "a number of scalars"); left > 0 && in.ok(); --left)
    kernel.scalars.push_back(static_cast<int64_t>(in.number()));
  for (uint64_t left = in.count(48, "a number of views"); left > 0 && in.ok(); --left)
    kernel.views.push_back(readView(in));
  if (kernel.scalars.size() != kernel.spec.scalarCount ||
      kernel.views.size() != kernel.spec.bufferCount)
    in.bad("case '" + kernel.label + "' has " + std::to_string(kernel.views.size()) +
           " views and " + std::to_string(kernel.scalars.size()) + " scalars, expected " +
           std::to_string(kernel.spec.bufferCount) + " and " +
           std::to_string(kernel.spec.scalarCount));
  return kernel;
}

Result<std::vector<KernelCase>> readBundle(std::span<const uint8_t> file) {
  if (file.size() < sizeof kMagic || std::memcmp(file.data(), kMagic, sizeof kMagic) != 0)
    return fail(Code::Corrupt,
                "the file is no bundle of kernels, expected one that sinter kernel "
                "pack wrote",
                0);
  BundleReader in(file.subspan(sizeof kMagic));
  std::vector<KernelCase> cases;
  for (uint64_t left = in.count(136, "a number of cases"); left > 0 && in.ok(); --left)
    cases.push_back(readCase(in));
  SINTER_TRY(in.finish());
  return cases;
}

} // namespace sinter::hal
