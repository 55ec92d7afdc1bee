// LLVM IR to PTX, and several PTX texts to one.
#pragma once

#include "base/status.h"
#include "targets/nvidia/facts.h"

#include <span>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace sinter::targets::nvidia {

/// Every kernel's dynamic shared memory: one array whose size is given at launch.
inline constexpr const char *kSharedName = "sinter_shared";

/// Optimises `module` for the architecture, as text in `optimised` where given, and prints it as
/// PTX. Unsupported, in LLVM's words, where the back end refuses a kernel. Threads may do so side
/// by side, each with modules of a context of its own.
Result<std::string> compilePtx(llvm::Module &module, const NvidiaFacts &facts,
                               std::string *optimised = nullptr);

/// One text with one header; the texts are compilePtx's for one architecture. Internal: two have an
/// entry point of the same name, or one is not of that form.
Result<std::string> joinPtx(std::span<const std::string_view> texts);

} // namespace sinter::targets::nvidia
