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

// Digits of the columns of one head that rotate, `group` of them beside their partners.
static SmallVector<std::pair<int64_t, int64_t>> rotatingDigits(const MatmulHeads &heads,
                                                               int64_t group) {
  const int64_t half = heads.rotating() / 2;
  const bool halves = heads.rope().getPairing() == Pairing::Halves;
  SmallVector<std::pair<int64_t, int64_t>> digits = {{group, halves ? 1 : 2},
                                                     {2, halves ? half : 1}};
  if (group < half)
    digits.emplace_back(half / group, group * (halves ? 1 : 2));
  return digits;
}

SmallVector<RowPart> headOrder(const MatmulHeads &heads, int64_t group) {
  const int64_t width = heads.headDim(), rotating = heads.rotating(), half = rotating / 2;
  group = group ? group : half;
  if (!rotating || (heads.rope().getPairing() == Pairing::Halves && group == half))
    return {};
  SmallVector<RowPart> parts;
  int64_t first = 0;
  for (HeadPart part : heads.parts) {
    const int64_t count = part.count();
    if (part.kind() == HeadKind::Values) {
      parts.push_back({first, {{count * width, 1}}});
    } else if (rotating == width) {
      parts.push_back({first, rotatingDigits(heads, group)});
      parts.back().digits.emplace_back(count, width);
    } else {
      for (int64_t head = first; head < first + count * width; head += width) {
        parts.push_back({head, rotatingDigits(heads, group)});
        parts.push_back({head + rotating, {{width - rotating, 1}}});
      }
    }
    first += count * width;
  }
  return parts;
}

bool hasGroups(const MatmulHeads &heads, int64_t columns) {
  return columns % 2 == 0 && heads.headDim() % (2 * columns) == 0 &&
         heads.rotating() % columns == 0;
}

} // namespace sinter::graph
