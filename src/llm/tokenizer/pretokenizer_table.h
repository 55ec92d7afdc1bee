// The table of known pre-tokenizers: names as in tokenizer.ggml.pre, and their regular expressions.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace sinter {

// A family of pre-tokenizers that split alike. Each expression splits the pieces of the one before
// into its matches and what lies between them.
struct PretokenizerFamily {
  std::span<const std::string_view> names;
  std::span<const std::string_view> expressions;
  bool ignoresMerges = false;
  bool addsBosByDefault = false;
};

// Every family, each name in one of them only. The expressions are those of the models' published
// tokenizer.json files; `\s` is Unicode's White_Space there.
std::span<const PretokenizerFamily> pretokenizerFamilies();

} // namespace sinter
