// One launch of one kernel with made-up arguments: what `sinter kernel` runs, checks and times,
// here or on a machine without a compiler.
#pragma once

#include "base/checksum.h"
#include "hal/hal.h"

#include <random>

namespace sinter::hal {

// What a view's bytes are, for filling and comparing them. Block formats and the like are bytes.
enum class ElementKind : uint8_t { F32, F16, BF16, I32, Byte };

// Of one element.
size_t elementBytes(ElementKind kind);

// Contents for tests: floats near a normal distribution, integers from 0 to 6, bytes such that
// scales read from them are normal numbers of f16 and of f32. The same everywhere for one state of
// `random`.
void fillRandom(ElementKind kind, std::span<uint8_t> bytes, std::mt19937_64 &random);

// An output beside its reference.
struct Comparison {
  std::string name;
  uint64_t bytes = 0;
  bool equal = false;   // bit for bit
  bool within = false;  // see compareElements
  double worst = 0;     // largest difference, of numbers
  double largest = 0;   // magnitude in the reference
  uint64_t outside = 0; // elements beyond the bound; bytes that differ, of bytes
};

// Numbers are within the bound where |mine - reference| <= u |reference| + 2^-16 of the largest
// magnitude, or the share `floor` of it, u = 2^-16 for f32, 2^-10 for f16, 2^-7 for bf16; NaN
// matches NaN. Integers and bytes must be equal.
Comparison compareElements(std::string name, ElementKind kind, std::span<const uint8_t> mine,
                           std::span<const uint8_t> reference, double floor = 0x1p-16);

// Where a view's extents stand among the scalars of a launch, and how its elements lie in memory:
// `rank` extents, then the strides in elements, of the last axis only where it is `strided`. With
// interleave = R, R rows lie side by side and the first stride is of R rows.
struct ViewPlace {
  uint32_t firstScalar = 0, rank = 0;
  bool strided = false;
  uint32_t interleave = 0;
  uint32_t unitElements = 1; // elements of a block along the last axis, of `unitBytes`; or 1
  uint32_t unitBytes = 1;

  uint32_t scalarCount() const { return rank + (strided || rank == 0 ? rank : rank - 1); }
};

struct CaseView {
  std::string name;
  ElementKind kind = ElementKind::F32;
  uint64_t bytes = 0;
  bool read = false, written = false; // by the kernel
  std::vector<uint8_t> expected;      // of a written view; empty where nothing is compared
  std::vector<uint8_t> contents;      // of a read view; random where empty
  ViewPlace place;
};

struct KernelCase {
  std::string label;
  std::string target;
  std::vector<uint8_t> code;
  KernelSpec spec;
  Grid grid{};
  uint64_t seed = 1;
  std::vector<CaseView> views; // in argument order; those read are filled in this order
  std::vector<int64_t> scalars;
  double operations = 0;  // of its dots
  double floor = 0x1p-16; // of its comparisons
};

// That a launch fits its own description: counts, ranges, and each view's bytes, which must be
// those of the extents and strides that the kernel is told. What the kernel does with them is
// code, and trusted. InvalidArgument names the view or the field.
Result<void> checkCase(const KernelCase &kernel);

/// A case with its memory on a device, filled from the case's seed. The device and the case outlive
/// it.
class BoundCase {
public:
  // Errors are checkCase()'s and the device's. Exhausted: its views take more than the device has.
  static Result<BoundCase> create(Device &device, const KernelCase &kernel);

  // Into the stream; returns before it has run where the device works on its own.
  Result<void> launch();
  // Views by their number: all of their bytes.
  Result<void> write(size_t view, std::span<const uint8_t> bytes);
  Result<std::vector<uint8_t>> read(size_t view);
  Stream &stream() { return *stream_; }

private:
  explicit BoundCase(const KernelCase &kernel) : case_(&kernel) {}

  const KernelCase *case_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<BufferBinding> bindings_;
};

// Launches the case once; one comparison for each view that has an expectation. Views that are only
// written start as bytes of 0xff.
Result<std::vector<Comparison>> runCase(Device &device, const KernelCase &kernel);

struct CaseTiming {
  uint64_t launches = 0;
  double median = 0, fastest = 0; // seconds of one launch
};

// Launches the case for about `seconds`: by the device's own clock, many launches between two
// events, where it has one, else each by the host's.
Result<CaseTiming> benchCase(Device &device, const KernelCase &kernel, double seconds);

// Lines for people, each with its newline.
std::string comparisonText(const Comparison &comparison);
std::string timingText(const CaseTiming &timing, const KernelCase &kernel);

// A file of cases, little-endian. Header: magic "SINTRBUN", u32 version, u64 bytes of the whole
// file. Then u32 cases and the fields of each in order. Last the checksum of base/checksum.h over
// everything before it.
//
// The checksum finds damage, not malice: a bundle holds native code, which runs with the rights of
// whoever runs it, like a program. With the code goes what it needs (KernelSpec), under a checksum
// of their own. Everything else in it is checked, here and by checkCase().
inline constexpr std::string_view kBundleMagic = "SINTRBUN";
inline constexpr uint32_t kBundleVersion = 6;
inline constexpr std::size_t kBundleHeaderBytes = 20;

std::vector<uint8_t> writeBundle(std::span<const KernelCase> cases);
// Memory use is bounded by a small multiple of the file's size. Truncated: the file is shorter than
// it says; Unsupported: another version; Corrupt, with a byte offset: everything else.
Result<std::vector<KernelCase>> readBundle(std::span<const uint8_t> file);
// Writes the size and the checksum of `file`, which has at least a header's and a checksum's bytes.
void sealBundle(std::span<uint8_t> file);

} // namespace sinter::hal
