// What decoders' layers are and how they rotate, read from metadata.
#pragma once

#include "models/decoder_features.h"
#include "models/metadata_reader.h"

namespace sinter::models {

// The layers of the step but for their RoPE, and what follows for the whole model. Needs the family
// and the width.
Result<void> readLayers(MetadataReader &reader, DecoderFeatures &f);

// Which layers have states of sequences instead of keys and values. Needs counts of heads.
Result<void> readRecurrence(MetadataReader &reader, DecoderFeatures &f);

// RoPE of all layers. Needs them.
Result<void> readRope(MetadataReader &reader, DecoderFeatures &f);

} // namespace sinter::models
