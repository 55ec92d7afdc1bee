// Lowering of top_k: wide rows are cut into groups, groups into groups of these, until few enough
// are left to be ranked. The groups that come first give the elements that are ranked next.
#include "tile/mlir_pch.h"

#include "engine/elements.h"
#include "engine/lowering.h"
#include "kernels/selection.h"

using namespace mlir;

namespace sinter::engine {

using plan::BufferKind;
using plan::Expr;
using plan::KernelId;

// So many are compared each with each: 2,048 take four million comparisons a row.
static constexpr int64_t kMostRanked = 2048;

// Rows of elements, of groups or of candidates.
struct Lowering::Selected {
  BoundView view;          // [M, columns]
  kernel::Element element; // f32 values or i32 keys
  int64_t columns;
  std::optional<BoundView> numbers = std::nullopt; // indices; none: places
};

static BoundView rowsOf(const Stored &stored, int64_t columns) {
  Expr rows(1);
  for (size_t axis = 0; axis + 1 < stored.extents.size(); ++axis)
    rows = plan::mul(rows, stored.extents[axis]);
  return {stored.buffer, stored.byteOffset, {rows, Expr(columns)}, {Expr(columns), Expr(1)}};
}

// Elements of all these kernels have four bytes.
static Expr bytesOfViews(const std::vector<BoundArgument> &arguments) {
  Expr total(0);
  for (const BoundArgument &argument : arguments) {
    Expr bytes(int64_t(sizeof(int32_t)));
    for (const Expr &extent : std::get<BoundView>(argument).extents)
      bytes = plan::mul(bytes, extent);
    total = plan::add(total, bytes);
  }
  return total;
}

BoundView Lowering::addKeys(const Expr &rows, int64_t columns) {
  const Expr bytes = plan::mul(rows, Expr(columns * int64_t(sizeof(int32_t))));
  return {addBuffer("temp." + std::to_string(plan_.buffers.size()), BufferKind::Temp,
                    plan::mul(bytes, phase_)),
          Expr(0),
          {rows, Expr(columns)},
          {Expr(columns), Expr(1)}};
}

void Lowering::addSelection(KernelId kernel, const std::vector<BoundArgument> &arguments,
                            std::string covered, graph::LaunchOp launch) {
  addLaunch(steps_, kernel, arguments, launch);
  auto &added = std::get<plan::Launch>(steps_.back().op);
  added.bytesMoved = bytesOfViews(arguments);
  added.covers = {std::move(covered)};
}

Result<Lowering::Selected> Lowering::topsOf(const Selected &elements, graph::LaunchOp launch) {
  const int64_t groups = (elements.columns - 1) / kernels::kGroupElements + 1;
  const BoundView tops = addKeys(elements.view.extents[0], groups);
  SINTER_ASSIGN(KernelId kernel, kernels_.add("group_tops", kernels::GroupTops{elements.element},
                                              kernels::groupTops));
  addSelection(kernel, {elements.view, tops}, "top_k: tops of groups", launch);
  return Selected{tops, kernel::I32, groups};
}

Result<BoundView> Lowering::ranksOf(const Selected &elements, graph::LaunchOp launch) {
  const kernels::RankElements p{elements.element, elements.numbers.has_value()};
  SINTER_ASSIGN(KernelId kernel, kernels_.add("rank_elements", p, kernels::rankElements));
  const BoundView ranks = addKeys(elements.view.extents[0], elements.columns);
  std::vector<BoundArgument> arguments = {elements.view};
  if (elements.numbers)
    arguments.push_back(*elements.numbers);
  arguments.push_back(ranks);
  addSelection(kernel, arguments, "top_k: ranks", launch);
  return ranks;
}

// Those of the first `choices` of the groups.
Result<Lowering::Selected> Lowering::elementsOf(const Selected &elements, const Selected &groups,
                                                int64_t choices, graph::LaunchOp launch) {
  SINTER_ASSIGN(const BoundView ranks, ranksOf(groups, launch));
  const kernels::SpreadGroups p{elements.element, groups.numbers.has_value(), choices};
  SINTER_ASSIGN(KernelId kernel, kernels_.add("spread_groups", p, kernels::spreadGroups));
  const int64_t columns = choices * kernels::kGroupElements;
  const BoundView keys = addKeys(elements.view.extents[0], columns);
  const BoundView indices = addKeys(elements.view.extents[0], columns);
  std::vector<BoundArgument> arguments = {elements.view, ranks};
  if (groups.numbers)
    arguments.push_back(*groups.numbers);
  arguments.insert(arguments.end(), {keys, indices});
  addSelection(kernel, arguments, "top_k: elements of groups", launch);
  return Selected{keys, kernel::I32, columns, indices};
}

Result<void> Lowering::lowerTopK(graph::LaunchOp launch) {
  auto op = graph::mainOf<graph::TopKOp>(launch);
  const int64_t columns = graph::columnsOf(op.getValue());
  const int64_t choices = graph::columnsOf(op.getLargest());
  if (choices > kernels::kMaxBlock)
    return fail(Code::Unsupported, "a top_k chooses " + std::to_string(choices) +
                                       " elements, expected at most " +
                                       std::to_string(kernels::kMaxBlock));
  SINTER_ASSIGN(const Stored value, operand(op.getValue()));
  if (value.strides != packedStrides(value.extents))
    return fail(Code::Unsupported,
                "the value of a top_k lies apart in memory, which has no kernel");
  std::vector<Selected> levels = {{rowsOf(value, columns), kernel::F32, columns}};
  while (levels.back().columns > std::max(kMostRanked, choices * kernels::kGroupElements)) {
    SINTER_ASSIGN(Selected tops, topsOf(levels.back(), launch));
    levels.push_back(std::move(tops));
  }
  Selected left = levels.back();
  for (size_t level = levels.size() - 1; level-- > 0;) {
    SINTER_ASSIGN(left, elementsOf(levels[level], left, choices, launch));
  }
  SINTER_ASSIGN(const BoundView ranks, ranksOf(left, launch));
  const kernels::ChooseRanked p{left.element, left.numbers.has_value(), choices};
  SINTER_ASSIGN(KernelId kernel, kernels_.add("choose_ranked", p, kernels::chooseRanked));
  std::vector<BoundArgument> arguments = {left.view, ranks};
  if (left.numbers)
    arguments.push_back(*left.numbers);
  arguments.push_back(rowsOf(allocate(launch.getResult(0)), choices));
  arguments.push_back(rowsOf(allocate(launch.getResult(1)), choices));
  addSelection(kernel, arguments, "top_k: choices", launch);
  return {};
}

} // namespace sinter::engine
