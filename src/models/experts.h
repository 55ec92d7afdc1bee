// The feed-forward of a layer with experts.
#pragma once

#include "models/decoder_features.h"
#include "models/graph_builder.h"

namespace sinter::models {

// Of normed rows. Errors: of tensors (GraphBuilder::weight).
Result<mlir::Value> buildExperts(GraphBuilder &builder, const DecoderFeatures &features,
                                 const LayerFeatures &layer, mlir::Value rows);

} // namespace sinter::models
