// Checks on row orders, and the odometer that walks one.
#include "plan/row_order.h"

#include "base/check.h"

namespace sinter::plan {
namespace {

CheckedSize rowsOf(const RowSegment &segment) {
  CheckedSize rows = 1;
  for (const RowMode &mode : segment.modes)
    rows = rows * mode.extent;
  return rows;
}

// The highest source row of a segment whose extents are at least 1.
CheckedSize lastSource(const RowSegment &segment) {
  CheckedSize row = segment.firstSource;
  for (const RowMode &mode : segment.modes)
    row = row + CheckedSize(mode.extent - 1) * mode.stride;
  return row;
}

} // namespace

CheckedSize orderedRows(std::span<const RowSegment> order) {
  CheckedSize rows = 0;
  for (const RowSegment &segment : order)
    rows = rows + rowsOf(segment);
  return rows;
}

Result<void> validateRowOrder(std::span<const RowSegment> order, const std::string &what) {
  auto bad = [&](std::string message) { return fail(Code::Corrupt, what + " " + message); };
  if (order.size() > kMaxRowSegments)
    return bad("has a row order of " + std::to_string(order.size()) +
               " segments, expected at most " + std::to_string(kMaxRowSegments));
  for (const RowSegment &segment : order) {
    if (segment.modes.size() > kMaxRowModes)
      return bad("has a row segment of " + std::to_string(segment.modes.size()) +
                 " modes, expected at most " + std::to_string(kMaxRowModes));
    for (const RowMode &mode : segment.modes)
      if (mode.extent == 0)
        return bad("has a row mode of extent 0, expected at least 1");
  }
  const auto rows = orderedRows(order).value();
  if (!rows)
    return bad("orders more rows than 64 bits count");
  for (std::size_t i = 0; i < order.size(); ++i)
    if (const auto last = lastSource(order[i]).value(); !last || *last >= *rows)
      return bad("orders " + std::to_string(*rows) + " rows, but row segment " + std::to_string(i) +
                 " reaches beyond them");
  return {};
}

Result<void> checkPermutation(std::span<const RowSegment> order, uint64_t rows) {
  if (const auto ordered = orderedRows(order).value(); ordered != rows)
    return fail(Code::InvalidArgument, "the row order has " +
                                           std::to_string(ordered.value_or(UINT64_MAX)) +
                                           " rows, the tensors have " + std::to_string(rows));
  std::vector<bool> taken(rows);
  RowWalker walker(order);
  for (uint64_t i = 0; i < rows; ++i) {
    const uint64_t row = walker.next();
    SINTER_CHECK(row < rows);
    if (taken[row])
      return fail(Code::InvalidArgument, "the row order takes row " + std::to_string(row) +
                                             " twice, expected each of " + std::to_string(rows) +
                                             " once");
    taken[row] = true;
  }
  return {};
}

RowWalker::RowWalker(std::span<const RowSegment> order)
    : order_(order), row_(order.empty() ? 0 : order.front().firstSource) {}

uint64_t RowWalker::next() {
  SINTER_CHECK(!order_.empty());
  const uint64_t row = row_;
  for (std::size_t i = 0; i < order_.front().modes.size(); ++i) {
    const RowMode &mode = order_.front().modes[i];
    if (++digits_[i] < mode.extent) {
      row_ += mode.stride;
      return row;
    }
    digits_[i] = 0;
    row_ -= uint64_t(mode.extent - 1) * mode.stride;
  }
  order_ = order_.subspan(1);
  row_ = order_.empty() ? 0 : order_.front().firstSource;
  return row;
}

} // namespace sinter::plan
