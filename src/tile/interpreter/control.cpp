// Control flow of the interpreter: scf.for, scf.if and scf.while on an explicit stack of blocks.
#include "tile/mlir_pch.h"

#include "tile/interpreter/engine.h"

using namespace mlir;

namespace sinter::tile {

Result<Step> Task::dispatch(Operation &op) {
  auto done = [](Result<void> result) -> Result<Step> {
    SINTER_TRY(std::move(result));
    return Step::Done;
  };
  Extension *extension = engine_.extension;
  if (!isa<scf::SCFDialect>(op.getDialect()))
    return extension && extension->executesAll() ? extension->execute(op, *this) : execute(op);
  SINTER_TRY(engine_.charge(op, 0, *this));
  if (extension)
    SINTER_TRY(extension->checkControl(op, *this));
  if (isa<scf::ForOp>(op))
    return done(startFor(op));
  if (isa<scf::IfOp>(op))
    return done(startIf(op));
  if (isa<scf::WhileOp>(op))
    return done(startWhile(op));
  if (isa<scf::ConditionOp>(op))
    return done(finishCondition(op));
  if (isa<scf::YieldOp>(op))
    return done(finishBlock(op));
  return fail(op, Code::Unsupported, "is not an operation that the interpreter knows");
}

Task::Values Task::operandsOf(Operation &op, unsigned first) const {
  Values values;
  for (mlir::Value operand : op.getOperands().drop_front(first))
    values.push_back(lookup(operand));
  return values;
}

static Tile counter(Type type, uint64_t value) {
  return Tile::integer(*elementOf(type), value);
}

Result<void> Task::startFor(Operation &op) {
  auto loop = cast<scf::ForOp>(op);
  Type type = loop.getLowerBound().getType();
  if (!elementOf(type))
    return fail(op, Code::Unsupported, "counts with more than 64 bits");
  auto scalar = [&](mlir::Value value) {
    const Tile &tile = std::get<Tile>(lookup(value));
    return loop.getUnsignedCmp() ? static_cast<int64_t>(tile.unsignedAt(0)) : tile.signedAt(0);
  };
  int64_t lower = scalar(loop.getLowerBound()), upper = scalar(loop.getUpperBound());
  int64_t step = scalar(loop.getStep());
  if (step <= 0)
    return fail(op, Code::InvalidArgument, "has step " + Twine(step) + ", expected a positive one");
  bool any = loop.getUnsignedCmp() ? uint64_t(lower) < uint64_t(upper) : lower < upper;
  Values inits = operandsOf(op, loop.getNumControlOperands());
  if (!any) {
    for (auto [result, init] : llvm::zip_equal(op.getResults(), inits))
      bind(result, std::move(init));
    return {};
  }
  uint64_t last = (uint64_t(upper) - uint64_t(lower) - 1) / uint64_t(step);
  bind(loop.getInductionVar(), counter(type, uint64_t(lower)));
  for (auto [argument, init] : llvm::zip_equal(loop.getRegionIterArgs(), inits))
    bind(argument, std::move(init));
  Block *body = loop.getBody();
  frames_.push_back({&op, body, body->begin(), last, uint64_t(lower), uint64_t(step)});
  return {};
}

void Task::continueFor(Operation &terminator) {
  Frame &frame = frames_.back();
  auto loop = cast<scf::ForOp>(frame.owner);
  --frame.remaining;
  frame.induction += frame.step;
  bind(loop.getInductionVar(), counter(loop.getInductionVar().getType(), frame.induction));
  // All are read before any is bound: they may swap places.
  Values yielded = operandsOf(terminator, 0);
  for (auto [argument, value] : llvm::zip_equal(loop.getRegionIterArgs(), yielded))
    bind(argument, std::move(value));
  frame.next = frame.block->begin();
}

Result<void> Task::startIf(Operation &op) {
  auto branch = cast<scf::IfOp>(op);
  bool taken = std::get<Tile>(lookup(branch.getCondition())).unsignedAt(0) != 0;
  Region &region = taken ? branch.getThenRegion() : branch.getElseRegion();
  if (!region.empty())
    push(op, region.front());
  return {};
}

Result<void> Task::startWhile(Operation &op) {
  auto loop = cast<scf::WhileOp>(op);
  Values inits = operandsOf(op, 0);
  for (auto [argument, init] : llvm::zip_equal(loop.getBeforeArguments(), inits))
    bind(argument, std::move(init));
  push(op, *loop.getBeforeBody());
  return {};
}

Result<void> Task::finishCondition(Operation &terminator) {
  if (std::get<Tile>(lookup(terminator.getOperand(0))).unsignedAt(0) == 0) {
    leave(terminator, 1);
    return {};
  }
  Frame &frame = frames_.back();
  auto loop = cast<scf::WhileOp>(frame.owner);
  Values forwarded = operandsOf(terminator, 1);
  for (auto [argument, value] : llvm::zip_equal(loop.getAfterArguments(), forwarded))
    bind(argument, std::move(value));
  frame.block = loop.getAfterBody();
  frame.next = frame.block->begin();
  return {};
}

Result<void> Task::finishBlock(Operation &terminator) {
  Frame &frame = frames_.back();
  if (isa<scf::ForOp>(frame.owner) && frame.remaining > 0) {
    continueFor(terminator);
    return {};
  }
  if (auto loop = dyn_cast<scf::WhileOp>(frame.owner)) {
    Values yielded = operandsOf(terminator, 0);
    for (auto [argument, value] : llvm::zip_equal(loop.getBeforeArguments(), yielded))
      bind(argument, std::move(value));
    frame.block = loop.getBeforeBody();
    frame.next = frame.block->begin();
    return {};
  }
  leave(terminator, 0);
  return {};
}

void Task::leave(Operation &terminator, unsigned firstOperand) {
  Values yielded = operandsOf(terminator, firstOperand);
  for (auto [result, value] : llvm::zip_equal(frames_.back().owner->getResults(), yielded))
    bind(result, std::move(value));
  frames_.pop_back();
}

} // namespace sinter::tile
