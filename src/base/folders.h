// Folders for what the user keeps.
#pragma once

#include "base/status.h"

#include <string>

namespace sinter {

// Makes the folder `path`, which is absolute, and those above it, for the user alone; one that is
// there is as good. `what` names it in messages. Codes as base/system_error.h says.
Result<void> makeFolders(const std::string &path, const std::string &what);

} // namespace sinter
