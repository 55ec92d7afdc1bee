// slices of one value -> one map each, with vectors of their own -> one map of the whole value with
// the vectors joined: biases of queries, keys and values become one of the joined matmul.
#include "tile/mlir_pch.h"

#include "graph/rewrite/passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace sinter::graph {

namespace {
// A map of a slice and vectors [columns] of the model file.
struct MapOfSlice {
  SliceOp slice;
  MapOp map;
};
} // namespace

static bool isVector(Value value, int64_t columns) {
  auto weight = value.getDefiningOp<WeightOp>();
  return weight && weight.getResult().getType().getShape() == ArrayRef(columns);
}

static std::optional<MapOfSlice> match(Operation *user) {
  auto slice = dyn_cast<SliceOp>(user);
  if (!slice || !slice.columnOffset() || !slice.getResult().hasOneUse())
    return std::nullopt;
  auto map = dyn_cast<MapOp>(*slice.getResult().user_begin());
  const int64_t columns = slice.getResult().getType().getShape().back();
  if (!map || map.getResult().getType() != slice.getResult().getType() ||
      !llvm::all_of(map.getValues(),
                    [&](Value value) {
                      return value == slice.getResult() || isVector(value, columns);
                    }))
    return std::nullopt;
  return MapOfSlice{slice, map};
}

static bool areAlike(MapOp a, MapOp b, Value ofA, Value ofB) {
  if (a.getValues().size() != b.getValues().size())
    return false;
  for (auto [x, y] : llvm::zip_equal(a.getValues(), b.getValues()))
    if ((x == ofA) != (y == ofB) ||
        getElementTypeOrSelf(x.getType()) != getElementTypeOrSelf(y.getType()))
      return false;
  return OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

// Slices of all columns, in order, whose maps are alike.
static SmallVector<MapOfSlice> matchAll(Value value) {
  SmallVector<MapOfSlice> parts;
  for (Operation *user : value.getUsers()) {
    std::optional<MapOfSlice> part = match(user);
    if (!part)
      return {};
    parts.push_back(*part);
  }
  llvm::sort(parts, [](MapOfSlice a, MapOfSlice b) {
    return *a.slice.columnOffset() < *b.slice.columnOffset();
  });
  int64_t end = 0;
  for (MapOfSlice &part : parts) {
    if (*part.slice.columnOffset() != end ||
        !areAlike(parts[0].map, part.map, parts[0].slice.getResult(), part.slice.getResult()))
      return {};
    end += part.slice.getResult().getType().getDimSize(1);
  }
  const bool all = end == cast<RankedTensorType>(value.getType()).getShape().back();
  return all && parts.size() > 1 ? parts : SmallVector<MapOfSlice>();
}

// The vectors that maps have as operand `index`, one after another.
static Value joinVectors(OpBuilder &b, MutableArrayRef<MapOfSlice> parts, size_t index) {
  SmallVector<Attribute> tensors;
  int64_t length = 0;
  RankedTensorType type;
  for (MapOfSlice &part : parts) {
    auto weight = part.map.getValues()[index].getDefiningOp<WeightOp>();
    llvm::append_range(tensors, weight.getTensors());
    type = weight.getResult().getType();
    length += type.getDimSize(0);
  }
  return WeightOp::create(b, parts[0].map.getLoc(),
                          RankedTensorType::get({length}, type.getElementType()),
                          b.getArrayAttr(tensors));
}

static void join(Value value, MutableArrayRef<MapOfSlice> parts) {
  MapOp first = parts[0].map;
  OpBuilder b(first.getContext());
  b.setInsertionPointAfterValue(value);
  IRMapping values;
  for (auto [index, operand] : llvm::enumerate(first.getValues()))
    values.map(operand,
               operand == parts[0].slice.getResult() ? value : joinVectors(b, parts, index));
  auto whole = cast<MapOp>(b.clone(*first, values));
  whole.getResult().setType(cast<RankedTensorType>(value.getType()));
  for (MapOfSlice &part : parts) {
    b.setInsertionPoint(part.map);
    Value slice =
        SliceOp::create(b, part.slice.getLoc(), part.slice.getResult().getType(), whole.getResult(),
                        part.slice.getOffsetsAttr(), part.slice.getStepsAttr());
    part.map.getResult().replaceAllUsesWith(slice);
    part.map.erase();
    part.slice.erase();
  }
}

void joinMaps(ModuleOp module) {
  SmallVector<Value> matmuls;
  module.walk([&](DotGeneralOp matmul) { matmuls.push_back(matmul.getResult()); });
  for (Value value : matmuls)
    if (SmallVector<MapOfSlice> parts = matchAll(value); !parts.empty())
      join(value, parts);
}

} // namespace sinter::graph
