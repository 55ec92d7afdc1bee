// What a failed call of the system means.
#pragma once

#include "base/status.h"

#include <string>

namespace sinter {

// The code that an errno stands for; Internal where it is nobody's input and no limit.
Code codeOfErrno(int error);
// `what`, a colon and the system's words.
Fail systemFailed(const std::string &what, int error);

} // namespace sinter
