// Tokenizer files beside GGUF: tokenizer.json of Hugging Face's library, and Mistral's tekken.json.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/json/json_adapter.h"
#include "llm/tokenizer/vocabulary.h"

#include <string_view>

namespace sinter {

// What the file says, with a recipe; Tokenizer::create checks the content. The result keeps what it
// views alive. Corrupt where a part is missing or of another kind; Unsupported, naming it, for a
// part that is not known; errors of JsonDocument::parse.
Result<VocabularyData> vocabularyFromJson(std::string_view bytes);

// Adds the steps of one "normalizer" or "pre_tokenizer"; nothing for null.
Result<void> readNormalizer(JsonValue value, TokenizerRecipe &recipe);
Result<void> readPretokenizer(JsonValue value, TokenizerRecipe &recipe);
// What the "decoder" adds to the recipe: how the texts of tokens spell bytes.
void readDecoder(JsonValue value, TokenizerRecipe &recipe);

} // namespace sinter
