// The AMD target: tile kernels in, one code object out, linked in process. No toolkit takes part.
#pragma once

#include "targets/amd/facts.h"
#include "targets/target.h"

#include <memory>

namespace sinter::targets::amd {

/// `rest` follows "amd:" in a target string: a processor such as "gfx942". Parts are relocatable
/// objects; link() makes the code object that drivers load. A kernel's arguments are its kernarg
/// segment: 64-bit words, first the buffers' addresses, then the scalars. Shared memory lies in
/// the code object: a launch adds none.
Result<std::unique_ptr<Target>> findAmdTarget(std::string_view rest);

} // namespace sinter::targets::amd
