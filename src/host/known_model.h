// The model that ./demo fetches.
#pragma once

#include "base/status.h"

#include <atomic>
#include <string_view>

namespace sinter::host {

// Fetches `smollm2` into the folder of models by the script tools/fetch-model, which is part of the
// program: bash, Python and pip do the work. The script's own error where it fails. Cancelled.
Result<void> fetchKnownModel(const std::atomic<bool> &cancel);

// The script; generated from its file when Sinter is built.
std::string_view fetchModelScript();

} // namespace sinter::host
