// Answers in channels, as gpt-oss writes them: <|channel|>analysis<|message|>...<|end|>.
#pragma once

#include "serve/api/answer_parser.h"

namespace sinter::serve {

// The channel `analysis` is reasoning, `final` is content. What is addressed to a function is a
// call of it; other commentary is content.
std::unique_ptr<AnswerParser> makeChannelParser(const AnswerStyle &style);

} // namespace sinter::serve
