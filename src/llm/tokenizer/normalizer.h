// Normalizers: what a tokenizer changes in a text before it splits it.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/charsmap.h"
#include "llm/tokenizer/recipe.h"
#include "llm/tokenizer/regex.h"

#include <span>
#include <string>
#include <vector>

namespace sinter {

// A list of normalizers, compiled. Movable; const use is safe from several threads.
class Normalizer {
public:
  // The most bytes that a text may grow to.
  static constexpr size_t kMaxTextBytes = UINT32_MAX;

  // Corrupt where an expression or compiled rules are damaged.
  static Result<Normalizer> create(std::span<const NormalizerStep> steps);

  // `text`, which must be valid UTF-8, in normal form. Exhausted beyond kMaxTextBytes.
  Result<std::string> apply(std::string text) const;

  bool isIdentity() const { return steps_.empty(); }

private:
  struct Step {
    NormalizerStep rule;
    std::optional<Regex> regex;
    Charsmap charsmap;
  };
  Result<std::string> applyStep(const Step &step, std::string text) const;

  std::vector<Step> steps_;
};

} // namespace sinter
