// The one builder of decoder-only language models: features and a tensor table in, a graph out.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "models/decoder_features.h"
#include "numeric/formats/block_format.h"

namespace sinter::models {

struct DecoderOptions {
  int64_t pageRows = 64; // positions of a page of the KV cache
  const BlockFormat *kv =
      &blockFormat(TensorType::F16); // of its elements (numeric/formats/kv_type.h)
  bool embeddings = false; // rows of the last layer instead of logits
  int64_t topLogits = 0;   // of each row at most, given apart: contract::kTopLogits; 0: none
};

// A module with one function, the contract's step (plan/contract.h), verified. Its symbols, inputs
// and output are the contract's: logits, or embeddings of models that give none, and where they are
// asked for; states are kv.<layer>.keys and .values, in the options' format, of
// N pages. Weights have the file's formats. NotFound, Corrupt, Unsupported: a tensor is missing,
// has another shape or type than expected, or is none of the decoder's; the message names it; heads
// rotate in a way that has no kernel; or heads are no whole blocks of the KV cache. The context
// must have graph::loadDialects' dialects and outlive the result.
Result<mlir::OwningOpRef<mlir::ModuleOp>> buildDecoder(mlir::MLIRContext &context,
                                                       const DecoderFeatures &features,
                                                       const ModelSource &source,
                                                       const DecoderOptions &options = {});

} // namespace sinter::models
