// Which reductions walk for others: a question of who reads what, where, and how much of it.
#include "tile/mlir_pch.h"

#include "sched/sched.h"
#include "targets/cpu/blocking/reduction_walks.h"

using namespace mlir;

namespace sinter::targets::cpu {

static int64_t lastAxis(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank() - 1;
}

static bool isAfter(Operation *op, Operation *other) {
  Operation *here = other->getBlock()->findAncestorOpInBlock(*op);
  return here && other->isBeforeInBlock(here);
}

static bool areAfter(Operation::user_range users, Operation *op) {
  return llvm::all_of(users, [&](Operation *user) { return isAfter(user, op); });
}

// In whatever order their edges were found.
static bool areEqual(const Demand &a, const Demand &b) {
  return a.kind == b.kind && a.edges.size() == b.edges.size() &&
         llvm::all_of(a.edges, [&](const Edge &edge) { return llvm::is_contained(b.edges, edge); });
}

// Whether blocks of a format are dequantized for the value, which stand at known places.
static bool dequantizes(Value value) {
  SetVector<Value> cone;
  cone.insert(value);
  for (size_t at = 0; at < cone.size(); ++at) {
    Operation *op = cone[at].getDefiningOp();
    if (isa_and_present<tile::DequantizeOp>(op))
      return true;
    if (op && isStreamable(op))
      cone.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

namespace {

// The values that a reduction's walk could leave, while it is found out whether it may.
struct Candidate {
  tile::ReduceOp reduce;
  const Placement &placement;

  Value numbers() { return reduce.getValue(); }

  bool isInScratch(Value value) {
    return placement.of(value) == Place::Scratch && !placement.layouts.lookup(value).transposed;
  }

  // Words of neighbours in a row, read after the reduction.
  bool isWords(Operation *user) {
    auto pair = dyn_cast<sched::PairOp>(user);
    return pair && pair->getBlock() == reduce->getBlock() &&
           static_cast<int64_t>(pair.getAxis()) == lastAxis(numbers()) &&
           isInScratch(pair.getResult()) && areAfter(pair->getUsers(), reduce);
  }

  // Its rows, all elements of each.
  bool walksAll(const DemandAnalysis &demand) {
    if (static_cast<int64_t>(reduce.getAxis()) != lastAxis(numbers()))
      return false;
    for (int64_t axis = 0; axis < lastAxis(numbers()); ++axis)
      if (!areEqual(demand.of(numbers(), axis), demand.of(reduce.getResult(), axis)))
        return false;
    return true;
  }

  // Empty where some reader wants another walk.
  SmallVector<Value> left() {
    Operation *made = numbers().getDefiningOp();
    if (!made || made->getBlock() != reduce->getBlock() || !isStreamable(made) ||
        !isInScratch(numbers()) || dequantizes(numbers()))
      return {};
    SmallVector<Value> values;
    bool whole = false; // somebody reads the numbers themselves
    for (Operation *user : numbers().getUsers()) {
      if (isWords(user))
        values.push_back(user->getResult(0));
      else if (user != reduce && !isAfter(user, reduce))
        return {};
      else
        whole |= user != reduce;
    }
    if (whole)
      values.push_back(numbers());
    return values;
  }
};

} // namespace

ReductionWalks::ReductionWalks(tile::KernelOp kernel, const Placement &placement,
                               const DemandAnalysis &demand) {
  kernel.walk([&](tile::ReduceOp reduce) {
    Candidate candidate{reduce, placement};
    if (makes(candidate.numbers()) || !candidate.walksAll(demand))
      return;
    SmallVector<Value> values = candidate.left();
    if (values.empty())
      return;
    made_.insert(candidate.numbers());
    made_.insert(values.begin(), values.end());
    left_[reduce] = std::move(values);
  });
}

ArrayRef<Value> ReductionWalks::leftBy(tile::ReduceOp reduce) const {
  auto found = left_.find(reduce);
  return found == left_.end() ? ArrayRef<Value>() : ArrayRef<Value>(found->second);
}

} // namespace sinter::targets::cpu
