// Which fusions pay on a target.
#pragma once

#include "engine/choice/norm_squares.h"
#include "engine/choice/precision.h"
#include "graph/fuse/passes.h"

namespace sinter::engine {

// What decides how operations become launches.
graph::FuseOptions fuseOptions(const TargetProfile &profile,
                               Activations activations = Activations::Fastest,
                               DecodeNorms norms = DecodeNorms::Apart);

} // namespace sinter::engine
