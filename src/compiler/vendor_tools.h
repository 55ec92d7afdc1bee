// NVIDIA's own assembler and disassembler, where they are on PATH.
#pragma once

#include "base/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::compiler {

// What ptxas says with -v of this PTX for an architecture such as "sm_90a", called with `flags`
// (separated by spaces). NotFound: it is not on PATH. InvalidArgument: it refuses the code or the
// flags.
Result<std::string> assemblerReport(std::string_view architecture, const std::vector<uint8_t> &code,
                                    const std::string &flags);

// The machine instructions that ptxas makes of it, as nvdisasm or cuobjdump prints them; errors
// likewise.
Result<std::string> machineInstructions(std::string_view architecture,
                                        const std::vector<uint8_t> &code, const std::string &flags);

} // namespace sinter::compiler
