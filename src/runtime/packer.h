// Packing of weights: from rows of blocks as the model file holds them to what kernels read.
#pragma once

#include "hal/hal.h"
#include "plan/plan.h"
#include "runtime/weight_source.h"

#include <functional>

namespace sinter::runtime {

// Bytes of the packed form of `tensors` joined end to end (see plan::PackRecipe). InvalidArgument
// when a tensor is no whole number of rows, or on overflow. `recipe` satisfies
// plan::validateRecipe.
Result<uint64_t> packedBytes(const plan::PackRecipe &recipe,
                             std::span<const std::span<const uint8_t>> tensors);

// Packs `tensors` into `dst`, whose size must be packedBytes(). Works on a part of the rows at a
// time on the device's threads, and releases each part to `source` when it is done. InvalidArgument
// when the recipe's row order does not take each row once.
Result<void> pack(const plan::PackRecipe &recipe, std::span<const std::span<const uint8_t>> tensors,
                  std::span<uint8_t> dst, hal::Device &device, WeightSource &source);

// Takes packed bytes that begin `offset` bytes into the weight, in ascending order; they are gone
// when it returns.
using PackedSink = std::function<Result<void>(uint64_t offset, std::span<const uint8_t> bytes)>;
// The same in parts, each of which goes to `sink`: takes little memory, however large the weight.
// The sink's errors are passed on.
Result<void> packInParts(const plan::PackRecipe &recipe,
                         std::span<const std::span<const uint8_t>> tensors, const PackedSink &sink,
                         hal::Device &device, WeightSource &source);

} // namespace sinter::runtime
