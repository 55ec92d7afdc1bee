// The table of known pre-tokenizers: names as in tokenizer.ggml.pre, how they split, and the flags
// that go with a name.
#pragma once

#include "llm/tokenizer/recipe.h"

#include <span>
#include <string_view>

namespace sinter {

// One split of a family: a regular expression, or a rule in code.
struct FamilySplit {
  std::string_view expression;
  SplitKind kind = SplitKind::Regex;
};

// What a name settles besides the split. The file's own keys come first, except for
// `alwaysAddsBos`.
struct PretokenizerFlags {
  bool ignoresMerges = false; // a word that is a token is taken before any merge is tried
  bool addsBos = false;       // prompts start with the begin token
  bool alwaysAddsBos = false; // whatever the file says
  bool addsSeparator = false; // between the texts of a pair
  bool cleansSpaces = true;   // whole texts lose the space before punctuation
  bool rawUtf8 = false;       // tokens are spelled in UTF-8, not in GPT-2's byte alphabet
  bool escapesSpaces = false; // a space is U+2581
  bool takesNewlines = false; // runs of newlines that are tokens are taken whole
  bool needsNoMerges = false; // files leave the list of merges out
};

// A family of pre-tokenizers that split alike and have the same flags. Each split works on the
// pieces of the one before: on its matches and what lies between them.
struct PretokenizerFamily {
  std::span<const std::string_view> names;
  std::span<const FamilySplit> splits;
  PretokenizerFlags flags = {};
};

// Every family, each name in one of them only. The expressions are those of the models' published
// tokenizer.json files; `\s` is Unicode's White_Space there.
std::span<const PretokenizerFamily> pretokenizerFamilies();

// The family of a name; null where no family has it.
const PretokenizerFamily *findPretokenizer(std::string_view name);

// A model of tokenizer, as in tokenizer.ggml.model.
struct TokenizerKind {
  std::string_view name;
  ModelKind model;
  bool hasPretokenizer = false;          // tokenizer.ggml.pre counts
  std::string_view pre = "";             // the one that counts whatever the file says
  bool addsBos = false, addsEos = false; // where the file does not say
  bool addsSpacePrefix = false;          // where the file does not say
  // The ids of tokens that the file does not name; below zero: none.
  int32_t bos = -1, eos = -1, unknown = -1, separator = -1;
};

std::span<const TokenizerKind> tokenizerKinds();

// Where the names in a file imply that special tokens take the white space beside them along. GGUF
// has no key for that.
struct StripRule {
  enum class Field : uint8_t { Pretokenizer, Architecture, ModelName };
  Field field;                                 // what holds one of the fragments
  std::span<const std::string_view> fragments; // in lower case
  std::string_view stripsLeft;                 // this token, on its left; empty:
  std::span<const std::string_view> keeps;     // all special tokens but these, on their right
  std::string_view stripsRight;                // and this one too
};

// In order; the first that fits counts.
std::span<const StripRule> stripRules();

} // namespace sinter
