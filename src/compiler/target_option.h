// --target of the compiler's commands.
#pragma once

#include "base/status.h"

#include <string>

namespace sinter::compiler {

/// The target that `name` means (hal/target_choice.h). Says on stderr what a family's name alone
/// was taken for.
Result<std::string> resolveTarget(const std::string &name);

} // namespace sinter::compiler
