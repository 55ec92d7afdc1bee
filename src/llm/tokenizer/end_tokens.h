// Tokens that end a generation by their text: converters often leave their ids out of the metadata.
#pragma once

#include "llm/tokenizer/vocabulary.h"

#include <optional>
#include <vector>

namespace sinter {

// Tokens around the parts of a text whose middle is to be filled in.
struct InfillTokens {
  std::optional<TokenId> prefix, suffix, middle;
  std::optional<TokenId> repository, separator; // before its name, and before each file's

  bool canFill() const { return prefix && suffix && middle; }
};

struct EndTokens {
  std::vector<TokenId>
      known;                 // ends by text, and tokens of infilling; control tokens all, ascending
  std::vector<TokenId> ends; // of those, what ends a generation, ascending
  std::vector<TokenId> never; // ends of other models that go on here, whoever names them; ascending
  std::vector<TokenId> shown; // control tokens that structure an answer: never hidden; ascending
  std::optional<TokenId> turn; // what most likely ends a turn
  InfillTokens infill;         // by their texts
};

// `texts` are those of the vocabulary. An infilling token known by its text ends a generation only
// where the file names none.
EndTokens findEndTokens(const VocabularyData &data, const TextIndex &texts);

} // namespace sinter
