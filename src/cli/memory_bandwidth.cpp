// Sums up a large block of memory, slice by slice, on all threads where those are the host's;
// copies one where the device has memory of its own.
#include "cli/memory_bandwidth.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace sinter::cli {
namespace {

constexpr uint64_t kBytes = uint64_t{256} << 20;
constexpr uint64_t kPartBytes = uint64_t{1} << 20;
constexpr uint64_t kSliceBytes = uint64_t{32} << 20; // read in a few milliseconds
constexpr int kPasses = 6;

struct Reading {
  const uint64_t *words;
  std::atomic<uint64_t> sum = 0;
};

void readPart(void *context, int64_t index) {
  auto &reading = *static_cast<Reading *>(context);
  constexpr uint64_t kWords = kPartBytes / sizeof(uint64_t);
  constexpr uint64_t kLanes = 16;
  const uint64_t *words = reading.words + static_cast<uint64_t>(index) * kWords;
  uint64_t sums[kLanes] = {};
  for (uint64_t i = 0; i < kWords; i += kLanes)
    for (uint64_t lane = 0; lane < kLanes; ++lane)
      sums[lane] += words[i + lane];
  uint64_t total = 0;
  for (const uint64_t sum : sums)
    total += sum;
  reading.sum += total;
}

Result<double> hostBandwidth(hal::Device &device) {
  SINTER_ASSIGN(const auto buffer, device.allocate(kBytes));
  const std::span<uint8_t> bytes = buffer->host();
  if (bytes.empty())
    return hal::unsupported(device.info(), hal::Feature::HostVisible);
  // Untouched pages may all be one page of zeros.
  std::fill(bytes.begin(), bytes.end(), uint8_t{1});
  double best = 0;
  for (uint64_t at = 0; at < kPasses * kBytes; at += kSliceBytes) {
    Reading reading{reinterpret_cast<const uint64_t *>(bytes.data() + at % kBytes)};
    const auto start = std::chrono::steady_clock::now();
    device.parallelFor(kSliceBytes / kPartBytes, readPart, &reading);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::max(best, kSliceBytes / taken.count());
  }
  return best;
}

// A copy moves each byte twice.
Result<double> copyBandwidth(hal::Device &device) {
  SINTER_ASSIGN(const auto from, device.allocate(kBytes));
  SINTER_ASSIGN(const auto to, device.allocate(kBytes));
  SINTER_ASSIGN(const auto stream, device.createStream());
  SINTER_ASSIGN(const auto end, device.createEvent());
  SINTER_ASSIGN(const auto start, device.createEvent());
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    SINTER_TRY(stream->record(*start));
    SINTER_TRY(stream->copy(*to, 0, *from, 0, kBytes));
    SINTER_TRY(stream->record(*end));
    SINTER_TRY(stream->synchronize());
    SINTER_ASSIGN(const uint64_t nanoseconds, end->nanosecondsSince(*start));
    best = std::max(best, 2e9 * kBytes / static_cast<double>(std::max<uint64_t>(nanoseconds, 1)));
  }
  return best;
}

} // namespace

Result<Bandwidth> measureBandwidth(hal::Device &device) {
  if (!device.supports(hal::Feature::WrapMemory)) {
    SINTER_ASSIGN(const double copied, copyBandwidth(device));
    return Bandwidth{copied, "the rate at which a copy moved bytes in the device just now"};
  }
  SINTER_ASSIGN(const double read, hostBandwidth(device));
  return Bandwidth{read, "the rate at which memory was read just now"};
}

} // namespace sinter::cli
