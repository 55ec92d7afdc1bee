// Mistral's tekken.json: tokens in order of their ranks, and one expression for words.
#pragma once

#include "llm/tokenizer/json/json_adapter.h"
#include "llm/tokenizer/vocabulary.h"

#include <deque>
#include <string>

namespace sinter {

// What the file says; the texts of tokens go to `texts`, which the result views. Corrupt where a
// part is missing or of another kind.
Result<VocabularyData> readTekken(JsonValue root, std::deque<std::string> &texts);

} // namespace sinter
