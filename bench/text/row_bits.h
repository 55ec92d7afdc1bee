// Whether a row's bits depend on the rows beside it.
#pragma once

#include "llm/model.h"

namespace sinter {

// Sequences that are generated together, and tokens that the model's pool must hold for each.
inline constexpr uint32_t kComparedSequences = 64, kComparedTokens = 256;
inline constexpr uint32_t kComparedRows = 513;

// Compares logits among 1, 8, 65 and a whole step's rows of a prompt, and of generated tokens alone
// and among 8 to 64; prints a JSON line for each and returns whether all are equal.
Result<bool> rowsAreEqual(Model &model);

} // namespace sinter
