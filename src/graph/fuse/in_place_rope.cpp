// RoPE alone: the result takes the operand's place where nothing else reads that. Saves its memory.
#include "tile/mlir_pch.h"

#include "graph/fuse/launch.h"
#include "graph/fuse/passes.h"

using namespace mlir;

namespace sinter::graph {

// Whether a value is memory that a launch makes for its readers.
static bool isMade(Value value) {
  auto launch = value.getDefiningOp<LaunchOp>();
  return launch && !runs<KvAppendOp>(launch);
}

// Whether another reader of the sliced matrix sees these columns.
static bool overlaps(SliceOp slice, Operation *user) {
  auto other = dyn_cast<SliceOp>(user);
  if (other == slice)
    return false;
  if (!other || !slice.columnOffset() || !other.columnOffset())
    return true;
  const int64_t first = *slice.columnOffset(), second = *other.columnOffset();
  return second < first + columnsOf(slice.getResult()) &&
         first < second + columnsOf(other.getResult());
}

// Whether nothing but its one reader sees the memory of `value`.
static bool ownsMemory(Value value) {
  if (!value.hasOneUse())
    return false;
  if (auto reshape = value.getDefiningOp<ReshapeOp>())
    return ownsMemory(reshape.getValue());
  auto slice = value.getDefiningOp<SliceOp>();
  if (!slice)
    return isMade(value);
  return isMade(slice.getValue()) &&
         llvm::none_of(slice.getValue().getUsers(),
                       [&](Operation *user) { return overlaps(slice, user); });
}

// Outputs have memory of their own.
static bool isOutput(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) { return isa<OutputOp>(user); });
}

void placeRopeInPlace(ModuleOp module, const FuseOptions &) {
  for (LaunchOp rope : launchesOf<RopeOp>(module))
    if (isAlone(rope) && ownsMemory(outerValue(mainOf<RopeOp>(rope).getValue())) &&
        !isOutput(rope.getResult(0)))
      rope.setInPlace(true);
}

} // namespace sinter::graph
