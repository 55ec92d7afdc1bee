// Stored models whose file is quantized.
#pragma once

#include "host/quantize/scheme.h"
#include "store/pull.h"

namespace sinter::host {

// InvalidArgument: a matrix of the model is quantized already, which would lose more.
Result<void> checkUnquantized(const store::Store &models, const store::Manifest &manifest);

// Quantizes a model's file into a blob, and gives its manifest that in place of its model files.
// Tells `observer` how far it is. Errors of checkUnquantized(), writeQuantized() and the store.
Result<void> quantizeModel(const store::Store &models, const QuantizeTypes &types,
                           store::Manifest &manifest, store::PullObserver &observer,
                           const std::atomic<bool> &cancel);

} // namespace sinter::host
