// Sampling settings that a stored model has beside its file.
#pragma once

#include "llm/sampler/defaults.h"

namespace sinter::host {

// Over what the file proposes. `params` is ModelExtras::params; what is no sampling setting is left
// to others, and a value that makes no sense becomes a note. Corrupt: it is no JSON object.
Result<void> applyStoredSettings(std::string_view params, SamplerDefaults &defaults);

} // namespace sinter::host
