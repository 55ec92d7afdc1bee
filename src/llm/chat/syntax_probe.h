// Learns a model's syntax of answers from its chat template: conversations with known calls and
// thoughts are rendered, and what lies around the known texts are the marks.
#pragma once

#include "llm/chat/answer_syntax.h"
#include "llm/chat/template.h"

namespace sinter {

// `tokens` as for ChatTemplate::render. Where the template does not show a form, knownSyntax()
// tells it by texts of the template; else the answer is plain text.
AnswerSyntax probeAnswerSyntax(const ChatTemplate &chat, const ChatVariables &tokens);

} // namespace sinter
