// Forms of answers that templates do not show.
#pragma once

#include "llm/chat/answer_syntax.h"

#include <optional>
#include <string_view>

namespace sinter {

// Calls and thoughts by texts of the template's source; nothing where none of them is there.
std::optional<CallSyntax> knownCallSyntax(std::string_view source);
ReasoningSyntax knownReasoning(std::string_view source);
// Whether answers are messages in channels, which are read by their own rules.
bool writesChannels(std::string_view source);

} // namespace sinter
