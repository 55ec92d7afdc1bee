// A model's experts, read from metadata and checked.
#pragma once

#include "base/status.h"
#include "models/expert_family.h"

#include <vector>

namespace sinter::models {

class MetadataReader;
struct DecoderFeatures;

// One layer's experts.
struct LayerExperts {
  int64_t used = 0;   // of a token; 0: the layer has a feed-forward without experts
  int64_t hidden = 0; // elements of an expert's hidden row
  // Of activated gates, and of both signs of what they multiply; 0: none. `sharedClamp` is for all
  // but experts.
  float clamp = 0, sharedClamp = 0;
};

struct ExpertFeatures {
  ExpertFamily family;
  int64_t count = 0; // 0: no layer has experts
  int64_t groups = 1, usedGroups = 1;
  int64_t sharedHidden = 0; // elements of the shared expert's hidden row; 0: there is none
  int64_t chunkHidden = 0;  // the same of chunk experts, each of which so many experts share
  int64_t sharing = 1;
  float chunkScale = 1;     // of what chunk experts give
  graph::RouterKind router = graph::RouterKind::Softmax;
  bool normalized = false;
  float scale = 1;
};

inline constexpr int64_t kMostExperts = 4096;

// Experts of the model and of its layers, which are known. Unsupported: the file has experts and
// the family has none. Corrupt: counts that do not fit one another; each message names the key.
Result<void> readExperts(MetadataReader &reader, DecoderFeatures &f);

} // namespace sinter::models
