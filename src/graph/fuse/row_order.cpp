// Digits of row numbers for each epilogue that works on several columns together.
#include "tile/mlir_pch.h"

#include "graph/fuse/row_order.h"

using namespace mlir;

namespace sinter::graph {

SmallVector<RowPart> columnPartOrder(int64_t parts, int64_t width, int64_t columns) {
  return {{0, {{columns, 1}, {parts, width}, {width / columns, columns}}}};
}

SmallVector<RowPart> expertOrder(GroupedDotOp matmul, int64_t slices, int64_t columns) {
  const int64_t experts = matmul.getExperts(), parts = matmul.getParts();
  const int64_t rows = matmul.getB().getType().getDimSize(1), ofPart = experts * rows;
  if (slices < 2)
    return parts == 1 ? SmallVector<RowPart>()
                      : SmallVector<RowPart>{{0, {{rows, 1}, {parts, ofPart}, {experts, rows}}}};
  const int64_t width = parts * rows / slices;
  if (parts != 1 && parts != slices)
    return {};
  return {{0,
           {{columns, 1},
            {slices, parts == 1 ? width : ofPart},
            {width / columns, columns},
            {experts, rows}}}};
}

SmallVector<RowPart> headOrder(const HeadParts &heads, int64_t group) {
  const int64_t width = heads.headDim, half = width / 2;
  const bool halves = heads.pairing == Pairing::Halves;
  group = group ? group : half;
  if (!heads.pairing || (halves && group == half))
    return {};
  SmallVector<RowPart> parts;
  int64_t first = 0;
  for (auto [at, count] : llvm::enumerate(heads.counts)) {
    RowPart part{first, {}};
    if (heads.lastIsValues && at + 1 == heads.counts.size()) {
      part.digits = {{count * width, 1}};
    } else {
      part.digits = {{group, halves ? 1 : 2}, {2, halves ? half : 1}};
      if (group < half)
        part.digits.emplace_back(half / group, group * (halves ? 1 : 2));
      part.digits.emplace_back(count, width);
    }
    parts.push_back(std::move(part));
    first += count * width;
  }
  return parts;
}

} // namespace sinter::graph
