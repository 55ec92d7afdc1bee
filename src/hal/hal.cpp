// The driver registry and the checks that all drivers share.
#include "hal/hal.h"

#include "base/checked.h"

namespace sinter::hal {
namespace {

// Of devices whose streams are done with a command when its call returns.
class HostReadback final : public Readback {
public:
  explicit HostReadback(uint64_t bytes) : bytes_(bytes) {}
  Result<std::span<const uint8_t>> wait() override { return std::span<const uint8_t>(bytes_); }
  std::span<uint8_t> bytes() { return bytes_; }

private:
  std::vector<uint8_t> bytes_;
};

} // namespace

const char *featureName(Feature feature) {
  switch (feature) {
  case Feature::Execute:
    return "execution";
  case Feature::HostVisible:
    return "host-visible memory";
  case Feature::WrapMemory:
    return "wrapping of host memory";
  case Feature::CapturedGraph:
    return "captured graphs";
  case Feature::Timing:
    return "event timing";
  case Feature::Scratch:
    return "scratch memory of kernels";
  }
  return "unknown";
}

Fail unsupported(const DeviceInfo &device, Feature feature) {
  return fail(Code::Unsupported, "device '" + device.name + "' of driver '" + device.driver +
                                     "' has no " + featureName(feature));
}

void Device::parallelFor(int64_t count, HostTask task, void *context) {
  for (int64_t i = 0; i < count; ++i)
    task(context, i);
}

Result<std::unique_ptr<Readback>> Device::createReadback(uint64_t bytes) {
  return std::make_unique<HostReadback>(bytes);
}

Result<void> Stream::beginRead(const Buffer &src, uint64_t offset, uint64_t bytes, Readback &into,
                               uint64_t at) {
  const std::span<uint8_t> memory = static_cast<HostReadback &>(into).bytes();
  SINTER_TRY(checkBeginRead(src, offset, bytes, memory.size(), at));
  return read(src, offset, memory.subspan(at, bytes));
}

Result<PeakRate> Device::peakRate(Arithmetic arithmetic) {
  return fail(Code::Unsupported, "device '" + info().name + "' of driver '" + info().driver +
                                     "' does not tell its rate of " + arithmeticName(arithmetic));
}

Result<void> DriverRegistry::add(std::unique_ptr<Driver> driver) {
  for (const auto &known : drivers_)
    if (known->name() == driver->name())
      return fail(Code::InvalidArgument,
                  "driver '" + std::string(driver->name()) + "' is registered already");
  drivers_.push_back(std::move(driver));
  return {};
}

Result<Driver *> DriverRegistry::find(std::string_view name) const {
  std::string names;
  for (const auto &driver : drivers_) {
    if (driver->name() == name)
      return driver.get();
    names += (names.empty() ? "" : ", ") + std::string(driver->name());
  }
  return fail(Code::NotFound, "no driver is named '" + std::string(name) +
                                  "', expected one of: " + (names.empty() ? "(none)" : names));
}

Result<void> checkRange(const Buffer &buffer, uint64_t offset, uint64_t bytes, const char *what) {
  auto end = (CheckedSize(offset) + bytes).value();
  if (!end || *end > buffer.bytes())
    return fail(Code::InvalidArgument, std::string(what) + " of " + std::to_string(bytes) +
                                           " bytes at " + std::to_string(offset) +
                                           " exceeds a buffer of " +
                                           std::to_string(buffer.bytes()) + " bytes");
  return {};
}

Result<void> checkBeginRead(const Buffer &src, uint64_t offset, uint64_t bytes, uint64_t held,
                            uint64_t at) {
  SINTER_TRY(checkRange(src, offset, bytes, "read"));
  auto end = (CheckedSize(at) + bytes).value();
  if (!end || *end > held)
    return fail(Code::InvalidArgument, "read of " + std::to_string(bytes) + " bytes to byte " +
                                           std::to_string(at) + " of a readback of " +
                                           std::to_string(held) + " bytes");
  return {};
}

Result<void> checkWritable(const Buffer &buffer, const char *what) {
  if (buffer.readOnly())
    return fail(Code::InvalidArgument, std::string(what) + " writes to a read-only buffer");
  return {};
}

Result<void> checkCopy(const Buffer &dst, uint64_t dstOffset, const Buffer &src, uint64_t srcOffset,
                       uint64_t bytes) {
  SINTER_TRY(checkWritable(dst, "copy"));
  SINTER_TRY(checkRange(src, srcOffset, bytes, "copy"));
  SINTER_TRY(checkRange(dst, dstOffset, bytes, "copy"));
  if (&dst == &src && bytes != 0 && dstOffset < srcOffset + bytes && srcOffset < dstOffset + bytes)
    return fail(Code::InvalidArgument, "copy of " + std::to_string(bytes) + " bytes from byte " +
                                           std::to_string(srcOffset) + " to byte " +
                                           std::to_string(dstOffset) +
                                           " of a buffer overlaps itself");
  return {};
}

Result<void> checkLaunch(const Kernel &kernel, const Grid &grid,
                         std::span<const BufferBinding> buffers, std::span<const int64_t> scalars) {
  const KernelSpec &spec = kernel.spec();
  if (buffers.size() != spec.bufferCount || scalars.size() != spec.scalarCount) [[unlikely]]
    return fail(Code::InvalidArgument,
                "launch of '" + spec.symbol + "' passes " + std::to_string(buffers.size()) +
                    " buffers and " + std::to_string(scalars.size()) + " scalars, expected " +
                    std::to_string(spec.bufferCount) + " and " + std::to_string(spec.scalarCount));
  int64_t points = 0;
  const bool overflow = __builtin_mul_overflow(grid[0], grid[1], &points) ||
                        __builtin_mul_overflow(points, grid[2], &points);
  if (grid[0] < 0 || grid[1] < 0 || grid[2] < 0 || overflow) [[unlikely]]
    return fail(Code::InvalidArgument,
                "launch of '" + spec.symbol + "' has grid " + std::to_string(grid[0]) + " x " +
                    std::to_string(grid[1]) + " x " + std::to_string(grid[2]) +
                    ", expected extents of at least 0 and less than 2^63 points");
  for (const BufferBinding &binding : buffers)
    if (!binding.buffer || binding.offset > binding.buffer->bytes()) [[unlikely]]
      return fail(Code::InvalidArgument,
                  "launch of '" + spec.symbol + "' has a buffer argument at byte " +
                      std::to_string(binding.offset) + " of " +
                      std::to_string(binding.buffer ? binding.buffer->bytes() : 0));
  return {};
}

} // namespace sinter::hal
