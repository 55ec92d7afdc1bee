// Layers of a gated convolution over a few rows: states in slots, and the short convolution.
#include "tile/mlir_pch.h"

#include "models/decoder_layer.h"
#include "models/tensor_names.h"
#include "plan/contract.h"

using namespace mlir;

namespace sinter::models {

using graph::Extent;
using graph::tensorOf;

Value LayerBuilder::state(std::string_view part, ArrayRef<int64_t> shape) {
  SmallVector<Extent> extents = {Extent(contract::nameOf(contract::Symbol::StateSlots))};
  for (int64_t extent : shape)
    extents.push_back(Extent(extent));
  return graph::StateOp::create(g_.b, g_.loc, tensorOf(extents, g_.b.getF32Type()),
                                "state." + std::to_string(number_) + "." + std::string(part));
}

Result<Value> LayerBuilder::causalConv(Value rows, std::string_view part) {
  const int64_t columns = cast<RankedTensorType>(rows.getType()).getDimSize(1),
                width = f_.recurrent.convWidth;
  const std::string tensor = name(part) + ".weight";
  SINTER_ASSIGN(Value weight, g_.weight(tensor, {columns, width}));
  if (!cast<RankedTensorType>(weight.getType()).getElementType().isF32())
    return fail(Code::Unsupported, "tensor '" + tensor + "' has type " +
                                       std::string(g_.source().tensor(tensor)->format->name) +
                                       ", expected F32");
  Value before = state("rows", {width - 1, columns});
  return graph::CausalConvOp::create(g_.b, g_.loc, rows.getType(), before.getType(), rows, weight,
                                     at_.stateSpans, before)
      .getResult();
}

// Rows times a gate, convolved, times another gate.
Result<Value> LayerBuilder::shortConv(Value n) {
  const auto times = [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], v[1]); };
  SINTER_ASSIGN(Value all, g_.linear(n, name(kShortConvIn), 3 * f_.width, family_));
  Value before = g_.columns(all, 0, f_.width), after = g_.columns(all, f_.width, f_.width),
        rows = g_.columns(all, 2 * f_.width, f_.width);
  SINTER_ASSIGN(Value convolved, causalConv(g_.map({before, rows}, times), kShortConv));
  Value mixed = wantedOnly(g_.map({after, convolved}, times));
  return g_.linear(mixed, name(kShortConvOut), f_.width, family_);
}

} // namespace sinter::models
