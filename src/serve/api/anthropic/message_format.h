// How an answer is spelled as blocks of a message.
#pragma once

#include "serve/api/answer_format.h"

#include <memory>

namespace sinter::serve::anthropic {

std::unique_ptr<AnswerFormat> makeMessageFormat(std::string model);

} // namespace sinter::serve::anthropic
