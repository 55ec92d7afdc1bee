// The recipe of a GGUF file's tokenizer: what its kind, its pre-tokenizer's name and its flags
// mean.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/pretokenizer_table.h"
#include "llm/tokenizer/vocabulary.h"

#include <functional>
#include <string>

namespace sinter {

// What a kind of tokenizer settles where the file does not.
struct KindDefaults {
  TokenizerKind kind;
  PretokenizerFlags flags; // of its pre-tokenizer
};

// Unsupported, naming it, for a model of tokenizer or a pre-tokenizer that is not one of ours.
Result<KindDefaults> kindDefaults(const VocabularyData &data,
                                  const std::function<void(std::string)> &note);

// The recipe where the file states none.
Result<TokenizerRecipe> recipeForKind(const VocabularyData &data, const KindDefaults &defaults);

// How special tokens are found, which GGUF files leave to the names of models.
std::vector<TokenTraits> traitsForNames(const VocabularyData &data, const TextIndex &texts);

} // namespace sinter
