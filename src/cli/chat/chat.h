// A conversation in the terminal.
#pragma once

#include "cli/answer.h"
#include "cli/interrupts.h"
#include "llm/model.h"

namespace sinter::cli {

// Until /quit or the end of input. Ctrl-C stops an answer, or clears the line being edited.
Result<int> chat(ModelFile file, const RunArguments &arguments, ChatInputs inputs,
                 SamplingChoice sampling, StoredParts stored, Interrupts &interrupts);

} // namespace sinter::cli
