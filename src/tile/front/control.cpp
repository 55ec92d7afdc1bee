// The kernel front's loops and branches: opening and closing their regions, and carrying values in
// and out.
#include "tile/front/session.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::tile {

FrontSession::Frame *FrontSession::frame(ArrayRef<FrameKind> kinds, StringRef what, At at) {
  if (!inKernel(at))
    return nullptr;
  if (!frames_.empty() && llvm::is_contained(kinds, frames_.back().kind))
    return &frames_.back();
  error(at, what + " ends that is not the innermost open one");
  return nullptr;
}

void FrontSession::push(FrameKind kind, Operation *op, ArrayRef<Value> inits) {
  Frame frame;
  frame.kind = kind;
  frame.op = op;
  frame.inits.assign(inits.begin(), inits.end());
  frame.outside = builder_.saveInsertionPoint();
  frames_.push_back(std::move(frame));
}

// Null stands for what cannot be carried.
SmallVector<Value> FrontSession::useCarried(ArrayRef<SinterValue> ids, At at) {
  SmallVector<Value> values;
  for (SinterValue id : ids) {
    Value value = use(id, at);
    if (value && isa<ViewType>(value.getType())) {
      error(at, "carried value is " + describe(value.getType()) + ", expected a tile or scalar");
      value = {};
    }
    values.push_back(value);
  }
  return values;
}

static SmallVector<Value> present(ArrayRef<Value> values) {
  return llvm::filter_to_vector(values, [](Value value) { return static_cast<bool>(value); });
}

// Handles for `values`, which stand for the inits that are not null.
void FrontSession::answer(MutableArrayRef<SinterValue> out, ArrayRef<Value> inits,
                          ValueRange values) {
  size_t next = 0;
  for (auto [index, id] : llvm::enumerate(out)) {
    bool good = index < inits.size() && inits[index] && next < values.size();
    id = good ? add(values[next++]) : SINTER_VALUE_POISON;
  }
}

// The values that a body returns, one for each init that is not null; `otherwise` takes the place
// of what was refused.
SmallVector<Value> FrontSession::checkYields(const Frame &frame, ArrayRef<SinterValue> yields,
                                             ValueRange otherwise, StringRef what, At at) {
  if (yields.size() != frame.inits.size())
    error(at, what + " returns " + Twine(yields.size()) + " values, expected " +
                  Twine(frame.inits.size()) + " as carried");
  SmallVector<Value> values(otherwise);
  size_t next = 0;
  for (auto [index, id] : llvm::enumerate(yields)) {
    Value value = use(id, at);
    if (index >= frame.inits.size() || !frame.inits[index])
      continue;
    size_t place = next++;
    Type expected = frame.inits[index].getType();
    if (value && value.getType() != expected)
      error(at, what + " returns " + describe(value.getType()) + " for carried value " +
                    Twine(index) + ", expected " + describe(expected));
    else if (value)
      values[place] = value;
  }
  return values;
}

// ---- for ----

SinterValue FrontSession::beginFor(ArrayRef<SinterOperand> bounds, ArrayRef<SinterValue> inits,
                                   MutableArrayRef<SinterValue> carried, At at) {
  if (!inKernel(at))
    return SINTER_VALUE_POISON;
  static constexpr const char *kNames[] = {"loop start", "loop end", "loop step"};
  SmallVector<Value> values;
  for (auto [name, bound] : llvm::zip_equal(kNames, bounds)) {
    Value value = useIndex(bound, name, at);
    values.push_back(value ? value : indexConstant(1, at));
  }
  if (bounds[2].kind == SINTER_OPERAND_INTEGER && bounds[2].integer <= 0)
    error(at, "loop step is " + Twine(bounds[2].integer) + ", expected a positive one");
  SmallVector<Value> starts = useCarried(inits, at);
  auto loop =
      scf::ForOp::create(builder_, loc(at), values[0], values[1], values[2], present(starts));
  push(FrameKind::For, loop, starts);
  Block *body = loop.getBody();
  if (!body->empty())
    body->back().erase();
  builder_.setInsertionPointToEnd(body);
  answer(carried, starts, loop.getRegionIterArgs());
  return add(loop.getInductionVar());
}

void FrontSession::endFor(ArrayRef<SinterValue> yields, MutableArrayRef<SinterValue> results,
                          At at) {
  llvm::fill(results, SINTER_VALUE_POISON);
  Frame *open = frame({FrameKind::For}, "loop", at);
  if (!open)
    return;
  auto loop = cast<scf::ForOp>(open->op);
  scf::YieldOp::create(builder_, loc(at),
                       checkYields(*open, yields, loop.getRegionIterArgs(), "loop body", at));
  builder_.restoreInsertionPoint(open->outside);
  answer(results, open->inits, loop.getResults());
  frames_.pop_back();
}

// ---- while ----

void FrontSession::beginWhile(ArrayRef<SinterValue> inits, MutableArrayRef<SinterValue> carried,
                              At at) {
  if (!inKernel(at))
    return;
  SmallVector<Value> starts = useCarried(inits, at), kept = present(starts);
  SmallVector<Type> types = llvm::to_vector(TypeRange(ValueRange(kept)));
  auto loop = scf::WhileOp::create(builder_, loc(at), types, kept);
  push(FrameKind::WhileCondition, loop, starts);
  SmallVector<Location> places(types.size(), loc(at));
  builder_.createBlock(&loop.getAfter(), {}, types, places);
  builder_.createBlock(&loop.getBefore(), {}, types, places);
  answer(carried, starts, loop.getBeforeArguments());
}

void FrontSession::whileBody(SinterValue condition, MutableArrayRef<SinterValue> carried, At at) {
  llvm::fill(carried, SINTER_VALUE_POISON);
  Frame *open = frame({FrameKind::WhileCondition}, "loop condition", at);
  if (!open)
    return;
  Value holds = use(condition, at);
  if (holds && !holds.getType().isInteger(1)) {
    error(at, "loop condition is " + describe(holds.getType()) + ", expected an i1 scalar");
    holds = {};
  }
  auto loop = cast<scf::WhileOp>(open->op);
  if (!holds)
    holds = constant(builder_.getBoolAttr(false), at);
  scf::ConditionOp::create(builder_, loc(at), holds, loop.getBeforeArguments());
  open->kind = FrameKind::WhileBody;
  builder_.setInsertionPointToEnd(loop.getAfterBody());
  answer(carried, open->inits, loop.getAfterArguments());
}

void FrontSession::endWhile(ArrayRef<SinterValue> yields, MutableArrayRef<SinterValue> results,
                            At at) {
  llvm::fill(results, SINTER_VALUE_POISON);
  Frame *open = frame({FrameKind::WhileBody}, "loop", at);
  if (!open)
    return;
  auto loop = cast<scf::WhileOp>(open->op);
  scf::YieldOp::create(builder_, loc(at),
                       checkYields(*open, yields, loop.getAfterArguments(), "loop body", at));
  builder_.restoreInsertionPoint(open->outside);
  answer(results, open->inits, loop.getResults());
  frames_.pop_back();
}

// ---- if ----

void FrontSession::beginIf(SinterValue condition, At at) {
  if (!inKernel(at))
    return;
  Value holds = use(condition, at);
  if (holds && !holds.getType().isInteger(1)) {
    error(at, "condition is " + describe(holds.getType()) + ", expected an i1 scalar");
    holds = {};
  }
  if (!holds)
    holds = constant(builder_.getBoolAttr(false), at);
  auto branch = scf::IfOp::create(builder_, loc(at), TypeRange(), holds, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  push(FrameKind::Then, branch, {});
  for (Block *block : {branch.thenBlock(), branch.elseBlock()})
    if (!block->empty())
      block->back().erase();
  builder_.setInsertionPointToEnd(branch.thenBlock());
}

void FrontSession::ifElse(ArrayRef<SinterValue> yields, At at) {
  Frame *open = frame({FrameKind::Then}, "branch", at);
  if (!open)
    return;
  open->yields = useCarried(yields, at);
  open->kind = FrameKind::Else;
  builder_.setInsertionPointToEnd(cast<scf::IfOp>(open->op).elseBlock());
}

// The branch again with results for the pairs of values that agree, and which ones those are: its
// types are known only once both sides have ended.
scf::IfOp FrontSession::closeIf(const Frame &open, ArrayRef<SinterValue> ids,
                                SmallVectorImpl<bool> &good, At at) {
  auto old = cast<scf::IfOp>(open.op);
  SmallVector<Value> thenYields, elseYields;
  for (auto [index, otherwise] : llvm::enumerate(useCarried(ids, at))) {
    Value value = index < open.yields.size() ? open.yields[index] : Value();
    good.push_back(value && otherwise && value.getType() == otherwise.getType());
    if (value && otherwise && !good.back())
      error(at, "branches return " + describe(value.getType()) + " and " +
                    describe(otherwise.getType()) + " as value " + Twine(index) +
                    ", expected the same type");
    if (!good.back())
      continue;
    thenYields.push_back(value);
    elseYields.push_back(otherwise);
  }
  scf::YieldOp::create(builder_, loc(at), elseYields);
  builder_.setInsertionPointToEnd(old.thenBlock());
  scf::YieldOp::create(builder_, loc(at), thenYields);
  builder_.restoreInsertionPoint(open.outside);
  auto branch = scf::IfOp::create(builder_, old.getLoc(), TypeRange(ValueRange(thenYields)),
                                  old.getCondition(), /*addThenBlock=*/false,
                                  /*addElseBlock=*/false);
  branch.getThenRegion().takeBody(old.getThenRegion());
  if (!thenYields.empty() || old.elseBlock()->getOperations().size() > 1)
    branch.getElseRegion().takeBody(old.getElseRegion());
  return branch;
}

void FrontSession::endIf(ArrayRef<SinterValue> yields, MutableArrayRef<SinterValue> results,
                         At at) {
  llvm::fill(results, SINTER_VALUE_POISON);
  Frame *open = frame({FrameKind::Else}, "branch", at);
  if (!open)
    return;
  if (yields.size() != open->yields.size())
    error(at, "branches return " + Twine(open->yields.size()) + " and " + Twine(yields.size()) +
                  " values, expected as many");
  SmallVector<bool> good;
  scf::IfOp branch = closeIf(*open, yields, good, at);
  size_t next = 0;
  for (auto [index, same] : llvm::enumerate(good))
    if (same)
      results[index] = add(branch.getResult(next++));
  builder_.setInsertionPointAfter(branch);
  open->op->erase();
  frames_.pop_back();
}

} // namespace sinter::tile
