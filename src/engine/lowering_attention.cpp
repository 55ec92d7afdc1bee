// Lowering, attention: blocks of many rows, single rows, and single rows whose keys are so many
// that spans of them are summed up by programs of their own.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/elements.h"
#include "engine/kernel_choice.h"
#include "engine/lowering.h"
#include "numeric/dot_packing.h"

using namespace mlir;

namespace sinter::engine {

using plan::BufferKind;
using plan::Expr;
using plan::KernelId;

struct Lowering::Attend {
  mutable graph::AttendOp op; // a handle whose getters are not const
  Value result; // as it is stored
  AttentionShape shape;
  std::vector<BoundArgument> keys, rows; // q to page_table; blocks to positions
  BoundArgument out, scale;
};

// The rounded rows of joined heads where nothing else reads what attention makes, else `value`.
Value Lowering::attendedForm(Value value) {
  auto joined =
      value.hasOneUse() ? dyn_cast<graph::ReshapeOp>(*value.user_begin()) : graph::ReshapeOp();
  bool wholeBlocks =
      cast<RankedTensorType>(value.getType()).getShape().back() % kActivationLength == 0;
  if (!joined || !wholeBlocks)
    return value;
  Value rounded = storedForm(joined.getResult());
  if (rounded == joined.getResult())
    return value;
  done_.insert(joined);
  return rounded;
}

static std::vector<BoundArgument> listed(std::initializer_list<std::vector<BoundArgument>> parts) {
  std::vector<BoundArgument> all;
  for (const std::vector<BoundArgument> &part : parts)
    llvm::append_range(all, part);
  return all;
}

kernels::Attention Lowering::attentionOf(const Attend &a, RowBucket rows) const {
  return chooseAttention(a.shape, elementOf(a.result), options_.queryBlock, rows, options_.programs,
                         options_.sharedBytes);
}

Result<Lowering::Steps> Lowering::attendWhole(const Attend &a, RowBucket rows) {
  SINTER_ASSIGN(KernelId kernel,
                kernels_.add("attention", attentionOf(a, rows), kernels::attention));
  Steps steps;
  addLaunch(steps, kernel, listed({a.keys, a.rows, {a.out, a.scale}}), a.op, a.result);
  return steps;
}

// 1 where each block of the step has one row, else 0: threads have other kernels for prompts, and
// on tasks blocks are of one row if there are as many as tokens.
Expr Lowering::singleRows(const Attend &a) {
  if (options_.programs == Programs::Threads)
    return plan::symbol(symbols_.at("G"));
  Expr blocks = extentOf(a.op.getBlocks().getType(), 0),
       tokens = extentOf(a.op.getQuery().getType(), 0);
  Expr more = plan::add(blocks, plan::mul(tokens, Expr(-1)));
  return plan::minOf(Expr(1), plan::maxOf(Expr(0), plan::add(Expr(1), more)));
}

Result<Lowering::Steps> Lowering::attendSpans(const Attend &a, const Expr &spans) {
  kernels::Attention p = spanned(attentionOf(a, RowBucket::One));
  p.out = kernel::F32;
  SINTER_ASSIGN(KernelId sum, kernels_.add("attention_spans", p, kernels::attentionSpans));
  p.out = elementOf(a.result);
  SINTER_ASSIGN(KernelId join, kernels_.add("attention_join", p, kernels::attentionJoin));

  Expr tokens = extentOf(a.op.getQuery().getType(), 0), bytes(0);
  auto sums = [&](std::vector<Expr> inner) -> BoundArgument {
    std::vector<Expr> extents = {tokens, Expr(p.kvHeads * p.groupHeads), spans};
    llvm::append_range(extents, inner);
    Expr size = plan::mul(singleRows(a), Expr(int64_t(sizeof(float))));
    for (const Expr &extent : extents)
      size = plan::mul(size, extent);
    bytes = plan::add(bytes, size);
    plan::BufferId buffer =
        addBuffer("temp." + std::to_string(plan_.buffers.size()), BufferKind::Temp, size);
    return BoundView{buffer, Expr(0), extents, packedStrides(extents)};
  };
  const std::vector<BoundArgument> parts = {sums({Expr(p.headDim)}), sums({}), sums({})};

  Steps steps;
  addLaunch(steps, sum, listed({a.keys, a.rows, parts, {a.scale}}), a.op);
  auto &summed = std::get<plan::Launch>(steps.back().op);
  summed.bytesMoved = plan::add(summed.bytesMoved, bytes);
  summed.covers = {"attend, spans of keys apart"};
  addLaunch(steps, join, listed({parts, a.rows, {a.out}}), a.op, a.result);
  auto &whole = std::get<plan::Launch>(steps.back().op);
  whole.bytesMoved = bytes;
  whole.operations = bytes; // a number's product and sum for its four bytes, about
  whole.covers.front() = "attend, spans joined";
  return steps;
}

Result<void> Lowering::lowerAttend(graph::AttendOp op) {
  RankedTensorType query = op.getQuery().getType();
  graph::PoolShape pool = graph::poolShapeOf(op.getValues().getType());
  Value result = attendedForm(op.getResult());
  Stored out = allocate(result);
  if (result != op.getResult()) { // rows of joined heads, seen head by head
    out.extents = extentsOf(op.getResult().getType());
    out.strides = packedStrides(out.extents);
  }
  Attend a{op,
           result,
           {pool.heads, query.getDimSize(1) / pool.heads, pool.dim, pool.rows,
            elementOf(op.getValues())},
           {stored(op.getQuery()).view(), stored(op.getKeys()).view(),
            stored(op.getValues()).view(), stored(op.getPageTable()).view()},
           {stored(op.getBlocks()).view(), stored(op.getLengths()).view(),
            asColumn(stored(op.getPositions()))},
           out.view(),
           f32Scalar(op.getScale().convertToFloat())};
  SINTER_ASSIGN(Steps many, attendWhole(a, RowBucket::Many));
  SINTER_ASSIGN(Steps one, attendWhole(a, RowBucket::One));
  Expr spans = plan::ceilDiv(plan::symbol(symbols_.at("L")),
                             Expr(kernels::spanKeys(spanned(attentionOf(a, RowBucket::One)))));
  SINTER_ASSIGN(Steps parts, attendSpans(a, spans));
  Expr several = plan::maxOf(Expr(0), plan::add(spans, Expr(-1)));
  Steps single;
  single.push_back({plan::If{several, std::move(parts), std::move(one)}});
  steps_.push_back({plan::If{singleRows(a), std::move(single), std::move(many)}});
  return {};
}

} // namespace sinter::engine
