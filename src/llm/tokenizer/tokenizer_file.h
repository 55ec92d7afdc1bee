// Tokenizers from files of any kind.
#pragma once

#include "llm/tokenizer/tokenizer.h"

#include <string>

namespace sinter {

// The tokenizer of a GGUF file, a tokenizer.json or a tekken.json, told apart by their first bytes.
// Errors: those of MappedFile::open, GgufFile::parse, vocabularyFromGguf, vocabularyFromJson and
// Tokenizer::create, each with the path.
Result<Tokenizer> openTokenizer(const std::string &path);

} // namespace sinter
