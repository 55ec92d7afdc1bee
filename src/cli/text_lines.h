// Files with a text a line.
#pragma once

#include "base/status.h"

#include <string>
#include <vector>

namespace sinter::cli {

// The lines of a file that are not empty, without their ends. InvalidArgument where there are none,
// with the file's name.
Result<std::vector<std::string>> readTextLines(const std::string &path);

} // namespace sinter::cli
