// Queries and keys that meet, pool by pool.
#include "tile/mlir_pch.h"

#include "graph/fuse/pair_order.h"

using namespace mlir;

namespace sinter::graph {

static bool isNeighbours(RopeOp rope) {
  return rope.getPairing() == Pairing::Neighbours;
}

void PairOrder::add(RopeOp rope) {
  if (rope && isNeighbours(rope))
    ropes_.insert(rope);
}

bool PairOrder::contains(RopeOp rope) const {
  return !isNeighbours(rope) || ropes_.contains(rope);
}

namespace {
/// The RoPE of all queries and keys that meet in one pool.
struct Meeting {
  SmallVector<Operation *> ropes;
  bool consistent = true;
};
} // namespace

/// The operation that alone makes a value, in a launch.
template <class Op> static Op madeBy(Value value) {
  auto launch = value.getDefiningOp<LaunchOp>();
  return launch && isAlone(launch) ? mainOf<Op>(launch) : Op();
}

/// The operand of a map whose elements it multiplies, or changes otherwise, by one number for a
/// whole head; null where it has no such one.
static Value scaledHeads(MapOp map) {
  Value heads;
  for (Value value : map.getValues()) {
    auto type = cast<RankedTensorType>(value.getType());
    if (type == map.getResult().getType() && !heads)
      heads = outerValue(value);
    else if (type.getRank() && type.getShape().back() != 1)
      return {};
  }
  return heads;
}

static RopeOp ropeOfQueries(Value query) {
  for (auto map = madeBy<MapOp>(query); map; map = madeBy<MapOp>(query)) {
    query = scaledHeads(map);
    if (!query)
      return {};
  }
  return madeBy<RopeOp>(query);
}

/// The state that a pool is a version of; empty where it is none.
static StringRef stateOf(Value pool) {
  while (auto append = madeBy<KvAppendOp>(pool))
    pool = outerValue(append.getPool());
  auto state = pool.getDefiningOp<StateOp>();
  return state ? state.getName() : StringRef();
}

/// Whether attention alone reads heads, and the pools that they are appended to.
static bool areOfAttention(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    auto launch = dyn_cast<LaunchOp>(use.getOwner());
    if (!launch)
      return false;
    Value inner = launch.getBody().getArgument(use.getOperandNumber());
    if (auto attend = mainOf<PagedAttentionOp>(launch))
      return llvm::is_contained({attend.getQuery(), attend.getKeys()}, inner);
    if (!isAlone(launch))
      return false;
    if (mainOf<KvAppendOp>(launch))
      return areOfAttention(launch.getResult(0));
    auto map = mainOf<MapOp>(launch);
    return map && scaledHeads(map) == use.get() && areOfAttention(launch.getResult(0));
  });
}

void PairOrder::keepConsistent() {
  llvm::StringMap<Meeting> meetings;
  auto join = [&](StringRef state, RopeOp rope) {
    Meeting &meeting = meetings[state];
    const bool known = rope && isNeighbours(rope) && ropes_.contains(rope);
    meeting.consistent &= known && !state.empty() &&
                          (meeting.ropes.empty() ||
                           cast<RopeOp>(meeting.ropes.front()).rotating() == rope.rotating());
    if (known)
      meeting.ropes.push_back(rope);
  };
  for (bool changed = true; changed;) {
    meetings.clear();
    module_.walk([&](StateOp state) {
      if (!areOfAttention(state.getResult()))
        meetings[state.getName()].consistent = false;
    });
    module_.walk([&](KvAppendOp append) {
      if (append.getPart() == KvPart::Keys)
        join(stateOf(outerValue(append.getPool())), madeBy<RopeOp>(outerValue(append.getRows())));
    });
    module_.walk([&](PagedAttentionOp attend) {
      join(stateOf(outerValue(attend.getKeys())), ropeOfQueries(outerValue(attend.getQuery())));
    });
    llvm::SmallPtrSet<Operation *, 8> met;
    changed = false;
    for (auto &[state, meeting] : meetings)
      for (Operation *rope : meeting.ropes) {
        met.insert(rope);
        if (!meeting.consistent)
          changed |= ropes_.remove(rope);
      }
    for (Operation *rope : llvm::to_vector(ropes_))
      if (!met.contains(rope) || !areOfAttention(rope->getParentOp()->getResult(0)))
        changed |= ropes_.remove(rope);
  }
}

} // namespace sinter::graph
