// DRY, "don't repeat yourself": penalises tokens that would go on with a repetition, the more the
// longer it is already. After p-e-w's proposal in text-generation-webui (pull request 5677).
//
// A token t gets the length of the longest run that ends the window and also stands earlier in it
// with t after it. From `dryAllowedLength` on its logit is lowered by multiplier * base ^ (length -
// allowed). A run does not reach over a sequence breaker, and a token that holds a whole breaker is
// not penalised.
#pragma once

#include "llm/sampler/settings.h"

#include <span>
#include <string_view>

namespace sinter {

// Finds sequence breakers in a text that comes in pieces, in time linear in the text.
class BreakerMatcher {
public:
  explicit BreakerMatcher(std::span<const std::string> breakers);

  // Forgets the text so far.
  void reset();
  // Whether a breaker ends within this piece of the text; it may have begun in an earlier one.
  bool endsIn(std::string_view piece);
  // Whether the piece alone holds one.
  bool holds(std::string_view piece) const;

private:
  // Knuth, Morris, Pratt: `borders[i]` is the length of the longest proper prefix that ends the
  // first i + 1 bytes.
  struct Breaker {
    std::string text;
    std::vector<uint8_t> borders;
    uint8_t matched = 0; // bytes that the text so far ends with

    bool step(char byte, uint8_t &state) const;
  };
  std::vector<Breaker> breakers_;
};

// Memory of one token's search, kept from token to token and shared by sequences of one thread.
struct DryScratch {
  std::vector<uint32_t> runs;    // by distance from the end of the window
  std::vector<uint32_t> longest; // by token; all zero between searches
  std::vector<TokenId> tokens;   // those with a length in `longest`, in order of their appearance
};

// Fills `scratch.tokens` and `scratch.longest` for a window. Runs are counted up to `mostRun`;
// tokens from `vocabulary` on are passed over. Linear in the window, whatever is in it. The caller
// sets `longest` of these tokens to 0 again.
void findRepetitions(std::span<const TokenId> window, size_t mostRun, size_t leastRun,
                     size_t vocabulary, DryScratch &scratch);

// The penalty for a run that is at least as long as allowed, always finite.
float dryPenalty(const SamplerSettings &settings, uint64_t run);

} // namespace sinter
