// Source text of whole modules: what stands before kernels, functions that they call, joining.
#pragma once

#include "base/status.h"

#include <set>
#include <span>
#include <string>
#include <string_view>

namespace sinter::targets::metal {

/// Names of functions in the namespace `lanes` that kernels call, as partText and joinSource know
/// them.
using Helpers = std::set<std::string, std::less<>>;

/// Whether a kernel may have this name: a C++ identifier that neither MSL nor a helper has taken.
bool isKernelName(std::string_view name);

/// Kernels' text with the helpers that it needs: what joinSource takes.
std::string partText(const Helpers &helpers, std::string_view kernels);

/// One MSL source with the kernels of all parts; their names are distinct. Internal: a part is not
/// partText's, or two have a kernel of the same name.
Result<std::string> joinSource(std::span<const std::string_view> parts);

} // namespace sinter::targets::metal
