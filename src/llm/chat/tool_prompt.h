// Tools for models whose chat templates have the form of calls, and no place for tools.
#pragma once

#include "jinja/input.h"
#include "llm/chat/answer_syntax.h"

namespace sinter {

// Whether tools can be offered, by the template or by toolPrompt().
bool takesTools(const AnswerSyntax &syntax);

// For the system's message: the tools, each as a line of JSON, and a call as the model writes it.
// `tools`: a list.
std::string toolPrompt(const CallSyntax &syntax, const jinja::Input &tools);

} // namespace sinter
