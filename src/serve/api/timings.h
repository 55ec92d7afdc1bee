// What llama-server's answers say beside the answer itself.
#pragma once

#include "serve/api/answer_format.h"
#include "serve/api/json_text.h"

#include <span>

namespace sinter::serve {

// "timings": tokens and milliseconds of prefill and decode.
Json timings(const AnswerSummary &summary);
// "generation_settings": what the answer was sampled with. `ends`: the model's end tokens where the
// answer ignores them, else none.
Json generationSettings(const Choice &choice, const std::vector<std::string> &stops,
                        std::span<const TokenId> ends);

} // namespace sinter::serve
