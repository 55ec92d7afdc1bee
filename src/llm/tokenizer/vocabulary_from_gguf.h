// The tokenizer's part of a GGUF file's metadata.
#pragma once

#include "base/status.h"
#include "format/gguf.h"
#include "llm/tokenizer/vocabulary.h"

namespace sinter {

// What the file says about its tokenizer, as views into it; the file must outlive the result.
// NotFound or Corrupt where keys are missing or of another type. Tokenizer::create checks the
// content.
Result<VocabularyData> vocabularyFromGguf(const GgufFile &file);

} // namespace sinter
