// Emission, structure: loops and branches as SPIR-V's structured ones.
#include "targets/vulkan/emitter.h"
#include "tile/mlir_pch.h"

using namespace mlir;

namespace sinter::targets::vulkan {

Emitter::Scalars Emitter::flattened(ValueRange values) {
  Scalars flat;
  for (Value value : values)
    llvm::append_range(flat, values_.find(value)->second);
  return flat;
}

SmallVector<Type> Emitter::flatTypes(TypeRange types) {
  SmallVector<Type> flat;
  for (Type type : types) {
    auto vector = dyn_cast<VectorType>(type);
    flat.append(vector ? vector.getNumElements() : 1, carrierOf(getElementTypeOrSelf(type)));
  }
  return flat;
}

void Emitter::bindFlat(ValueRange old, ValueRange flat) {
  for (Value value : old) {
    auto vector = dyn_cast<VectorType>(value.getType());
    int64_t count = vector ? vector.getNumElements() : 1;
    values_[value] = Scalars(flat.take_front(count));
    flat = flat.drop_front(count);
  }
}

LogicalResult Emitter::emitFor(scf::ForOp loop) {
  SmallVector<Type> types = flatTypes(loop.getResultTypes());
  auto now = spirv::LoopOp::create(b_, loc_, types, spirv::LoopControl::None);
  Scalars state = flattened(loop.getInitArgs());
  state.insert(state.begin(), scalar(loop.getLowerBound()));
  Value upper = scalar(loop.getUpperBound()), step = scalar(loop.getStep());
  types.insert(types.begin(), upper.getType());
  OpBuilder::InsertionGuard guard(b_);
  Region &region = now.getBody();
  Block *entry = b_.createBlock(&region);
  Block *header = b_.createBlock(&region, {}, types, SmallVector<Location>(types.size(), loc_));
  ArrayRef<Type> stateTypes = ArrayRef<Type>(types).drop_front();
  Block *body = b_.createBlock(&region);
  Block *next =
      b_.createBlock(&region, {}, stateTypes, SmallVector<Location>(stateTypes.size(), loc_));
  Block *merge = b_.createBlock(&region);
  ValueRange iterated = header->getArguments().drop_front();
  Value number = header->getArgument(0);
  b_.setInsertionPointToEnd(entry);
  spirv::BranchOp::create(b_, loc_, header, state);
  b_.setInsertionPointToEnd(header);
  Value more = loop.getUnsignedCmp()
                   ? site().make<spirv::ULessThanOp>(b_.getI1Type(), number, upper)
                   : site().make<spirv::SLessThanOp>(b_.getI1Type(), number, upper);
  spirv::BranchConditionalOp::create(b_, loc_, more, body, ValueRange(), merge, ValueRange());
  b_.setInsertionPointToEnd(merge);
  spirv::MergeOp::create(b_, loc_, iterated);
  define(loop.getInductionVar(), number);
  bindFlat(loop.getRegionIterArgs(), iterated);
  b_.setInsertionPointToEnd(body);
  if (failed(emitBlock(*loop.getBody())))
    return failure();
  // The serializer knows results of loops in a phi only where the phi comes after them.
  spirv::BranchOp::create(b_, loc_, next,
                          flattened(loop.getBody()->getTerminator()->getOperands()));
  b_.setInsertionPointToEnd(next);
  Scalars after(next->getArguments().begin(), next->getArguments().end());
  after.insert(after.begin(), site().make<spirv::IAddOp>(number.getType(), number, step));
  spirv::BranchOp::create(b_, loc_, header, after);
  bindFlat(loop.getResults(), now.getResults());
  return success();
}

LogicalResult Emitter::emitIf(scf::IfOp branch) {
  SmallVector<Type> types = flatTypes(branch.getResultTypes());
  auto now = spirv::SelectionOp::create(b_, loc_, types, spirv::SelectionControl::None);
  OpBuilder::InsertionGuard guard(b_);
  Region &region = now.getBody();
  Block *head = b_.createBlock(&region), *then = b_.createBlock(&region);
  Block *otherwise = branch.getElseRegion().empty() ? nullptr : b_.createBlock(&region);
  Block *merge = b_.createBlock(&region, {}, types, SmallVector<Location>(types.size(), loc_));
  spirv::MergeOp::create(b_, loc_, merge->getArguments());
  b_.setInsertionPointToEnd(head);
  spirv::BranchConditionalOp::create(b_, loc_, scalar(branch.getCondition()), then, ValueRange(),
                                     otherwise ? otherwise : merge, ValueRange());
  for (auto [from, to] :
       {std::pair(&branch.getThenRegion(), then), std::pair(&branch.getElseRegion(), otherwise)}) {
    if (!to)
      continue;
    b_.setInsertionPointToEnd(to);
    if (failed(emitBlock(from->front())))
      return failure();
    spirv::BranchOp::create(b_, loc_, merge,
                            flattened(from->front().getTerminator()->getOperands()));
  }
  bindFlat(branch.getResults(), now.getResults());
  return success();
}

} // namespace sinter::targets::vulkan
