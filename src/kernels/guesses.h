// Kernels of steps that begin before the host has chosen the tokens of the step before: one guesses
// these as a sampler draws from the largest logits, the other gives them to the next step.
#pragma once

#include "kernels/fields.h"

namespace sinter::kernels {

// Columns of a row's rule: candidates at first (0: no guess), the share of the mass that top-p
// keeps (above 1: all), the least distance to the largest logit that min-p keeps, the share of the
// mass from which XTC takes a candidate for likely (above 1: none), the temperature above 0, and
// the place of the draw in [0, 1].
inline constexpr int64_t kGuessColumns = 6;

// The token that a draw falls on, -1 where the rule allows none or logits are not finite. The steps
// are those of llm/sampler/sampler.h; weights are summed in f32, so a draw close to the edge of two
// tokens may fall on the other. Arguments: logits f32 [M, choices], the largest first, of equal
// ones the lowest token, tokens i32 [M, choices], rules f32 [M, kGuessColumns], guesses i32 [M, 1].
// Grid x walks M.
struct GuessTokens {
  int64_t choices = 8;
};

// Writes the guesses of some rows of the step before to a step's tokens; other tokens stay.
// Arguments: sources i32 [T, 1], each a row of guesses (-1: the token stays); guesses i32 [G, 1],
// in which a negative number stands for token 0; tokens i32 [T, 1]. Grid x walks T.
struct TakeGuesses {};

void guessTokens(kernel::KernelBuilder &k, const GuessTokens &p);
void takeGuesses(kernel::KernelBuilder &k, const TakeGuesses &p);

void visitFields(GuessTokens &p, FieldVisitor &visitor);
void visitFields(TakeGuesses &p, FieldVisitor &visitor);

} // namespace sinter::kernels
