// Rows that nobody reads are not computed: a gather of rows moves before the work on each row.
#include "tile/mlir_pch.h"

#include "graph/passes.h"

using namespace mlir;

namespace sinter::graph {

namespace {
// What lies between a value and the gather of some of its rows.
struct Stretch {
  Value from;                        // the one value of all rows that it reads
  llvm::SetVector<Operation *> work; // last first
};
} // namespace

static bool worksRowByRow(Operation *op) {
  return isa_and_nonnull<NormOp, ContractOp, MapOp>(op);
}

static bool hasRows(Value value, StringRef symbol) {
  return symbolOf(cast<RankedTensorType>(value.getType()), 0) == symbol;
}

// Of values of one block, the one that is made last; arguments of the block are made before all.
static Value lastMade(const llvm::SetVector<Value> &values) {
  Value last = values.front();
  for (Value value : values) {
    Operation *before = last.getDefiningOp(), *maker = value.getDefiningOp();
    if (maker && (!before || before->isBeforeInBlock(maker)))
      last = value;
  }
  return last;
}

// The longest stretch before `gather` whose rows nothing else reads and that begins with a single
// value, so that there is still one gather.
static Stretch stretchBefore(GatherOp gather) {
  const StringRef symbol = symbolOf(gather.getTable().getType(), 0);
  Stretch found{gather.getTable(), {}}, tried = found;
  llvm::SetVector<Value> open;
  open.insert(gather.getTable());
  while (true) {
    Value value = lastMade(open);
    Operation *maker = value.getDefiningOp();
    auto isInside = [&](Operation *user) { return user == gather || tried.work.contains(user); };
    if (!worksRowByRow(maker) || !llvm::all_of(value.getUsers(), isInside))
      return found;
    open.remove(value);
    tried.work.insert(maker);
    for (Value operand : maker->getOperands())
      if (hasRows(operand, symbol))
        open.insert(operand);
    if (open.size() == 1) {
      tried.from = open.front();
      found = tried;
    }
  }
}

static Value gatherOf(OpBuilder &b, GatherOp gather, Value table) {
  auto type = cast<RankedTensorType>(table.getType());
  RankedTensorType rows = gather.getResult().getType();
  auto result = tensorOf({symbolOf(rows, 0), type.getDimSize(1)}, type.getElementType());
  return GatherOp::create(b, gather.getLoc(), result, table, gather.getIndex());
}

static void moveBefore(GatherOp gather, const Stretch &stretch) {
  OpBuilder b(gather);
  IRMapping narrow;
  narrow.map(stretch.from, gatherOf(b, gather, stretch.from));
  const StringRef symbol = symbolOf(gather.getResult().getType(), 0);
  for (Operation *op : llvm::reverse(stretch.work)) {
    Operation *copy = b.clone(*op, narrow);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    copy->getResult(0).setType(tensorOf({symbol, type.getDimSize(1)}, type.getElementType()));
  }
  gather.getResult().replaceAllUsesWith(narrow.lookup(gather.getTable()));
  gather.erase();
  for (Operation *op : stretch.work)
    op->erase();
}

void narrowRows(ModuleOp module) {
  SmallVector<GatherOp> gathers;
  module.walk([&](GatherOp gather) {
    RankedTensorType table = gather.getTable().getType();
    if (!symbolOf(table, 0).empty() && !symbolOf(gather.getResult().getType(), 0).empty())
      gathers.push_back(gather);
  });
  for (GatherOp gather : gathers)
    if (Stretch stretch = stretchBefore(gather); !stretch.work.empty())
      moveBefore(gather, stretch);
}

} // namespace sinter::graph
