// Running and timing cases, and comparing what they give.
#include "hal/kernel_case.h"

#include "base/checked.h"
#include "numeric/half.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace sinter::hal {

// ---- contents ----

template <class Make> static void fillWith(std::span<uint8_t> bytes, Make make) {
  using T = decltype(make());
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value = make();
    std::memcpy(bytes.data() + at, &value, sizeof value);
  }
}

// The sum of four uniform numbers, of variance 1: exact arithmetic, so alike with every C library.
static float nearNormal(std::mt19937_64 &random) {
  const uint64_t bits = random();
  int32_t sum = -131070; // four times the mean
  for (int shift = 0; shift < 64; shift += 16)
    sum += static_cast<int32_t>(bits >> shift & 0xffff);
  return static_cast<float>(sum) * 2.64291e-05f; // sqrt(3) / 65536
}

void fillRandom(ElementKind kind, std::span<uint8_t> bytes, std::mt19937_64 &random) {
  switch (kind) {
  case ElementKind::F32:
    return fillWith(bytes, [&] { return nearNormal(random); });
  case ElementKind::F16:
    return fillWith(bytes, [&] { return f32ToF16(nearNormal(random)); });
  case ElementKind::BF16:
    return fillWith(bytes, [&] { return f32ToBf16(nearNormal(random)); });
  case ElementKind::I32:
    return fillWith(bytes, [&] { return static_cast<int32_t>(random() % 7); });
  case ElementKind::Byte:
    return fillWith(bytes, [&] { return static_cast<uint8_t>(0x20 + random() % 16); });
  }
}

// ---- comparing ----

size_t elementBytes(ElementKind kind) {
  switch (kind) {
  case ElementKind::F32:
  case ElementKind::I32:
    return 4;
  case ElementKind::F16:
  case ElementKind::BF16:
    return 2;
  case ElementKind::Byte:
    return 1;
  }
  return 1;
}

static double elementAt(ElementKind kind, std::span<const uint8_t> bytes, size_t index) {
  auto read = [&]<typename T>(T value) {
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
  };
  switch (kind) {
  case ElementKind::F32:
    return read(float());
  case ElementKind::F16:
    return f16ToF32(read(uint16_t()));
  case ElementKind::BF16:
    return bf16ToF32(read(uint16_t()));
  case ElementKind::I32:
    return read(int32_t());
  case ElementKind::Byte:
    break;
  }
  return bytes[index];
}

static double unitOf(ElementKind kind) {
  switch (kind) {
  case ElementKind::F32:
    return 0x1p-16;
  case ElementKind::F16:
    return 0x1p-10;
  case ElementKind::BF16:
    return 0x1p-7;
  default:
    return 0;
  }
}

Comparison compareElements(std::string name, ElementKind kind, std::span<const uint8_t> mine,
                           std::span<const uint8_t> reference, double share) {
  Comparison result{std::move(name), mine.size()};
  const size_t count = std::min(mine.size(), reference.size()) / elementBytes(kind);
  for (size_t i = 0; i < count; ++i)
    if (double value = std::fabs(elementAt(kind, reference, i)); std::isfinite(value))
      result.largest = std::max(result.largest, value);
  const double unit = unitOf(kind), floor = unit ? result.largest * share : 0;
  for (size_t i = 0; i < count; ++i) {
    const double a = elementAt(kind, mine, i), b = elementAt(kind, reference, i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    const double error = std::fabs(a - b);
    result.worst = std::isnan(error) || error > result.worst ? error : result.worst;
    result.outside += !(error <= unit * std::fabs(b) + floor);
  }
  result.equal = mine.size() == reference.size() && std::ranges::equal(mine, reference);
  result.within = mine.size() == reference.size() && result.outside == 0;
  return result;
}

// ---- launching ----

// Fills a view through a buffer of its own, so that a large view does not stand in memory twice.
static Result<void> fillView(Stream &stream, Buffer &buffer, const CaseView &view,
                             std::mt19937_64 &random) {
  if (!view.contents.empty())
    return stream.write(buffer, 0, view.contents);
  constexpr uint64_t kPieceBytes = uint64_t(16) << 20; // whole elements
  std::vector<uint8_t> piece(std::min(view.bytes, kPieceBytes), 0xff);
  for (uint64_t at = 0; at < view.bytes; at += piece.size()) {
    piece.resize(std::min<uint64_t>(piece.size(), view.bytes - at));
    if (view.read)
      fillRandom(view.kind, piece, random);
    SINTER_TRY(stream.write(buffer, at, piece));
  }
  return {};
}

static Result<void> checkMemory(const Device &device, const KernelCase &kernel) {
  uint64_t bytes = 0; // checkCase() bounds each view, and their number
  for (const CaseView &view : kernel.views)
    bytes += view.bytes;
  if (device.info().memoryBytes && bytes > device.info().memoryBytes)
    return fail(Code::Exhausted, "the views take " + std::to_string(bytes) +
                                     " bytes, and device '" + device.info().name + "' has " +
                                     std::to_string(device.info().memoryBytes));
  return {};
}

Result<BoundCase> BoundCase::create(Device &device, const KernelCase &kernel) {
  SINTER_TRY(checkCase(kernel));
  SINTER_TRY(checkMemory(device, kernel));
  BoundCase bound(kernel);
  SINTER_ASSIGN(bound.module_, device.loadModule(kernel.target, kernel.code));
  SINTER_ASSIGN(bound.kernel_, bound.module_->kernel(kernel.spec));
  SINTER_ASSIGN(bound.stream_, device.createStream());
  std::mt19937_64 random(kernel.seed);
  for (const CaseView &view : kernel.views) {
    SINTER_ASSIGN(auto buffer, device.allocate(std::max<uint64_t>(1, view.bytes)));
    SINTER_TRY(fillView(*bound.stream_, *buffer, view, random));
    bound.bindings_.push_back({buffer.get(), 0});
    bound.buffers_.push_back(std::move(buffer));
  }
  SINTER_TRY(bound.stream_->synchronize());
  return bound;
}

Result<void> BoundCase::launch() {
  return stream_->launch(*kernel_, case_->grid, bindings_, case_->scalars);
}

Result<void> BoundCase::write(size_t view, std::span<const uint8_t> bytes) {
  if (view >= buffers_.size() || bytes.size() != case_->views[view].bytes)
    return fail(Code::InvalidArgument, "found " + std::to_string(bytes.size()) +
                                           " bytes for view " + std::to_string(view) +
                                           ", which has others");
  SINTER_TRY(stream_->write(*buffers_[view], 0, bytes));
  return stream_->synchronize();
}

Result<std::vector<uint8_t>> BoundCase::read(size_t view) {
  if (view >= buffers_.size())
    return fail(Code::InvalidArgument, "found no view " + std::to_string(view));
  std::vector<uint8_t> bytes(case_->views[view].bytes);
  SINTER_TRY(stream_->read(*buffers_[view], 0, bytes));
  SINTER_TRY(stream_->synchronize());
  return bytes;
}

Result<std::vector<Comparison>> runCase(Device &device, const KernelCase &kernel) {
  SINTER_ASSIGN(BoundCase bound, BoundCase::create(device, kernel));
  SINTER_TRY(bound.launch());
  SINTER_TRY(bound.stream().synchronize());
  std::vector<Comparison> comparisons;
  for (size_t i = 0; i < kernel.views.size(); ++i) {
    const CaseView &view = kernel.views[i];
    if (!view.written || view.expected.size() != view.bytes)
      continue;
    SINTER_ASSIGN(const std::vector<uint8_t> bytes, bound.read(i));
    comparisons.push_back(
        compareElements(view.name, view.kind, bytes, view.expected, kernel.floor));
  }
  return comparisons;
}

// ---- timing ----

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

static Result<double> timeByHost(BoundCase &bound) {
  const auto start = Clock::now();
  SINTER_TRY(bound.launch());
  SINTER_TRY(bound.stream().synchronize());
  return secondsSince(start);
}

static Result<double> timeByDevice(Device &device, BoundCase &bound, uint64_t count) {
  SINTER_ASSIGN(auto before, device.createEvent());
  SINTER_ASSIGN(auto after, device.createEvent());
  SINTER_TRY(bound.stream().record(*before));
  for (uint64_t i = 0; i < count; ++i)
    SINTER_TRY(bound.launch());
  SINTER_TRY(bound.stream().record(*after));
  SINTER_TRY(bound.stream().synchronize());
  SINTER_ASSIGN(uint64_t nanoseconds, after->nanosecondsSince(*before));
  return static_cast<double>(nanoseconds) * 1e-9 / static_cast<double>(count);
}

// Launches between two events, so that what the events cost is small beside them.
static uint64_t batchOf(double seconds) {
  constexpr double kBatchSeconds = 5e-3;
  return static_cast<uint64_t>(std::clamp(kBatchSeconds / std::max(seconds, 1e-7), 1.0, 1000.0));
}

Result<CaseTiming> benchCase(Device &device, const KernelCase &kernel, double seconds) {
  // A host's events are read by the same clock, and its launches have nothing to overlap.
  const bool byDevice = device.supports(Feature::Timing) && !device.supports(Feature::HostVisible);
  SINTER_ASSIGN(BoundCase bound, BoundCase::create(device, kernel));
  SINTER_ASSIGN(double first, timeByHost(bound));
  SINTER_ASSIGN(first, timeByHost(bound));
  const uint64_t batch = byDevice ? batchOf(first) : 1;
  std::vector<double> times;
  const auto start = Clock::now();
  while (times.size() < 3 || secondsSince(start) < seconds) {
    SINTER_ASSIGN(double time, byDevice ? timeByDevice(device, bound, batch) : timeByHost(bound));
    times.push_back(time);
  }
  std::sort(times.begin(), times.end());
  return CaseTiming{times.size() * batch, times[times.size() / 2], times.front()};
}

// ---- text ----

template <class... Args> static std::string format(const char *pattern, Args... args) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, args...);
  return text;
}

std::string comparisonText(const Comparison &c) {
  std::string text = c.name + ": " + std::to_string(c.bytes) + " bytes, ";
  if (c.equal)
    return text + "equal to the interpreter bit for bit\n";
  text += c.within ? "near the interpreter" : "DIFFERENT from the interpreter";
  text += format(", largest difference %.3g of values up to %.3g", c.worst, c.largest);
  if (!c.within)
    text += ", " + std::to_string(c.outside) + " elements outside the bound";
  return text + "\n";
}

std::string timingText(const CaseTiming &timing, const KernelCase &kernel) {
  double bytes = 0;
  for (const CaseView &view : kernel.views)
    bytes += static_cast<double>(view.bytes);
  std::string text = format("%llu launches, median %.1f us, fastest %.1f us; arguments %.2f GB/s",
                            static_cast<unsigned long long>(timing.launches), timing.median * 1e6,
                            timing.fastest * 1e6, bytes / timing.median / 1e9);
  if (kernel.operations > 0)
    text += format("; dots %.1f GOP/s", kernel.operations / timing.median / 1e9);
  return text + "\n";
}

} // namespace sinter::hal
