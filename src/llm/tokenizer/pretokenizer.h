// Pre-tokenizers: the split of a text into the words that a subword model works on.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/recipe.h"
#include "llm/tokenizer/regex.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// A text and the words in it, ascending and apart. What lies between them is left out.
struct Words {
  struct Span {
    uint32_t begin;
    uint32_t end;
  };
  std::string text; // valid UTF-8
  std::vector<Span> spans;

  std::string_view at(size_t i) const {
    return std::string_view(text).substr(spans[i].begin, spans[i].end - spans[i].begin);
  }
};

// A list of splits, compiled. Movable; const use is safe from several threads.
class Pretokenizer {
public:
  // The most bytes that a text may have, before and after splits that replace characters.
  static constexpr size_t kMaxTextBytes = UINT32_MAX;

  // Corrupt where an expression is none.
  static Result<Pretokenizer> create(std::span<const SplitStep> steps);
  // Those of a tokenizer.ggml.pre. Unsupported, naming it, where it is not one of ours.
  static Result<Pretokenizer> create(std::string_view name);

  // The words of a text, which must be valid UTF-8; none is empty. `isFirst`: the prompt starts
  // with this text. Exhausted where a match needs more steps than allowed, or the text grows beyond
  // kMaxTextBytes.
  Result<Words> split(std::string text, bool isFirst = true) const;

private:
  struct Step {
    SplitStep rule;
    std::optional<Regex> regex;
  };

  std::vector<Step> steps_; // each splits the pieces of the one before
};

} // namespace sinter
