// What must hold of a case before it is launched, whoever wrote it.
#include "hal/kernel_case.h"

#include "base/checked.h"

#include <cmath>
#include <limits>

namespace sinter::hal {
namespace {

constexpr int64_t kMostPrograms = int64_t(1) << 32; // more take hours
constexpr uint64_t kMostBytes = uint64_t(1) << 40;  // of one view, or of memory beside the views
constexpr uint32_t kMostThreads = 4096;
constexpr uint32_t kMostRank = 8;
constexpr uint32_t kMostInterleave = 4096;

Fail wrong(const std::string &found, const std::string &expected) {
  return fail(Code::InvalidArgument, found + ", expected " + expected);
}

Result<void> checkMost(const char *what, uint64_t value, uint64_t most) {
  if (value > most)
    return wrong(std::string(what) + " is " + std::to_string(value),
                 "at most " + std::to_string(most));
  return {};
}

Result<void> checkShare(const char *what, double value) {
  if (!std::isfinite(value) || value < 0)
    return wrong(std::string(what) + " is " + std::to_string(value), "0 or more");
  return {};
}

Result<void> checkGrid(const Grid &grid) {
  int64_t programs = 1;
  for (const int64_t extent : grid)
    if (extent < 0 || __builtin_mul_overflow(programs, extent, &programs))
      programs = std::numeric_limits<int64_t>::max();
  if (programs > kMostPrograms)
    return wrong("the grid is " + std::to_string(grid[0]) + " x " + std::to_string(grid[1]) +
                     " x " + std::to_string(grid[2]),
                 "extents of 0 or more and at most " + std::to_string(kMostPrograms) + " programs");
  return {};
}

Result<void> checkSpec(const KernelCase &kernel) {
  const KernelSpec &spec = kernel.spec;
  if (spec.symbol.empty() || spec.symbol.find('\0') != std::string::npos)
    return wrong("the kernel's symbol is empty or has a zero byte", "a name");
  if (kernel.views.size() != spec.bufferCount || kernel.scalars.size() != spec.scalarCount)
    return wrong("the case has " + std::to_string(kernel.views.size()) + " views and " +
                     std::to_string(kernel.scalars.size()) + " scalars",
                 std::to_string(spec.bufferCount) + " and " + std::to_string(spec.scalarCount) +
                     " as its kernel takes");
  SINTER_TRY(checkMost("the number of views", spec.bufferCount, kMaxBindings));
  SINTER_TRY(checkMost("the number of threads", spec.threads, kMostThreads));
  SINTER_TRY(checkMost("the size of scratch memory", spec.scratchBytes, kMostBytes));
  SINTER_TRY(checkMost("the size of shared memory", spec.sharedBytes, kMostBytes));
  SINTER_TRY(checkShare("the number of operations", kernel.operations));
  SINTER_TRY(checkShare("the floor of comparisons", kernel.floor));
  return checkGrid(kernel.grid);
}

// The bytes from the first element to the last; nothing where a number is negative or too large.
std::optional<uint64_t> bytesOf(const ViewPlace &place, std::span<const int64_t> numbers) {
  const std::span<const int64_t> extents = numbers.first(place.rank);
  const std::span<const int64_t> strides = numbers.subspan(place.rank);
  const uint64_t side = std::max<uint32_t>(place.interleave, 1);
  CheckedSize last = 0;
  bool empty = false;
  for (uint32_t axis = 0; axis < place.rank; ++axis) {
    const int64_t stride = axis < strides.size() ? strides[axis] : 1;
    if (extents[axis] < 0 || stride < 0)
      return std::nullopt;
    const auto extent = static_cast<uint64_t>(extents[axis]);
    empty |= extent == 0;
    const CheckedSize steps = axis == 0 ? ceilDiv(CheckedSize(extent), side) : CheckedSize(extent);
    last = last + (empty ? CheckedSize(0) : (steps - 1) * static_cast<uint64_t>(stride) * side);
  }
  if (empty)
    return 0;
  return (ceilDiv(last + side, place.unitElements) * place.unitBytes).value();
}

Result<void> checkPlace(const KernelCase &kernel, const CaseView &view, uint32_t &from) {
  const ViewPlace &place = view.place;
  if (place.rank < 1 || place.rank > kMostRank)
    return wrong("it has " + std::to_string(place.rank) + " axes",
                 "1 to " + std::to_string(kMostRank));
  if (place.firstScalar < from || place.firstScalar > kernel.scalars.size() ||
      place.scalarCount() > kernel.scalars.size() - place.firstScalar)
    return wrong("its extents are scalars from number " + std::to_string(place.firstScalar) + " on",
                 std::to_string(place.scalarCount()) + " of the launch's " +
                     std::to_string(kernel.scalars.size()) + ", behind those of the views before");
  from = place.firstScalar + place.scalarCount();
  SINTER_TRY(checkMost("its interleave", place.interleave, kMostInterleave));
  const bool plain = view.kind != ElementKind::Byte;
  if (!place.unitElements || !place.unitBytes ||
      (plain && (place.unitElements != 1 || place.unitBytes != elementBytes(view.kind))))
    return wrong("it has " + std::to_string(place.unitBytes) + " bytes for " +
                     std::to_string(place.unitElements) + " elements",
                 plain ? std::to_string(elementBytes(view.kind)) + " for 1" : "some for some");
  const auto bytes =
      bytesOf(place, std::span(kernel.scalars).subspan(place.firstScalar, place.scalarCount()));
  if (!bytes || *bytes != view.bytes)
    return wrong("it has " + std::to_string(view.bytes) + " bytes",
                 bytes ? std::to_string(*bytes) + " by its extents"
                       : "extents and strides of 0 or more that fit memory");
  return {};
}

Result<void> checkContents(const CaseView &view) {
  if (!view.read && !view.written)
    return wrong("it is neither read nor written", "one of both");
  if (!view.contents.empty() && view.contents.size() != view.bytes)
    return wrong("it has " + std::to_string(view.contents.size()) + " bytes of contents",
                 "none or " + std::to_string(view.bytes));
  if (!view.expected.empty() && (!view.written || view.expected.size() != view.bytes))
    return wrong("it has an expectation of " + std::to_string(view.expected.size()) + " bytes",
                 view.written ? "none or " + std::to_string(view.bytes)
                              : "none, as it is only read");
  return checkMost("its size", view.bytes, kMostBytes);
}

} // namespace

Result<void> checkCase(const KernelCase &kernel) {
  SINTER_TRY(checkSpec(kernel));
  uint32_t from = 0;
  for (const CaseView &view : kernel.views) {
    Result<void> good = checkContents(view);
    if (good)
      good = checkPlace(kernel, view, from);
    if (!good)
      return fail(good.error().code, "view '" + view.name + "': " + good.error().message);
  }
  return {};
}

} // namespace sinter::hal
