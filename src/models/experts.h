// Builds the experts of a layer.
#pragma once

#include "models/decoder_features.h"
#include "models/graph_builder.h"

namespace sinter::models {

// Rows [T, width] that the experts and their router read.
struct ExpertInputs {
  mlir::Value rows, routed;
};

// The weighted sums of experts' results, [T, width], and the shared expert's with them. Errors: of
// tensors (GraphBuilder::weight).
Result<mlir::Value> buildExperts(GraphBuilder &builder, const DecoderFeatures &features,
                                 const LayerFeatures &layer, const ExpertInputs &inputs);

} // namespace sinter::models
