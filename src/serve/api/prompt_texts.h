// Prompts as requests spell them: a text, texts, tokens, or lists of tokens.
#pragma once

#include "serve/api/generation.h"

#include <variant>

namespace sinter::serve {

// Texts and tokens in a row, as one prompt.
using MixedPrompt = std::vector<std::variant<std::string, TokenId>>;
using PromptSource = std::variant<std::string, std::vector<TokenId>, MixedPrompt>;

// A text, tokens, both in a row or {"prompt_string": TEXT}; or several of these. A list that has a
// number is one prompt. Notes a problem where it is something else, or there is none.
std::vector<PromptSource> readPrompts(const RequestReader &body, std::string_view name,
                                      size_t mostPrompts);

// Prompts that go to the model as they stand: control tokens in their texts are such, since whoever
// sends one writes all of it; the begin token is added where the vocabulary wants it.
// InvalidArgument: a token that the model lacks.
Result<std::vector<TokenId>> rawTokens(const ModelFile &file, const PromptSource &source);
// The same as texts for embeddings, in which nothing is a control token.
Result<std::vector<TokenId>> plainTokens(const ModelFile &file, const PromptSource &source);
// As a reader would see it.
Result<std::string> promptText(const ModelFile &file, const PromptSource &source);

} // namespace sinter::serve
