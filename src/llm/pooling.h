// How the rows of a text's tokens become one, and what a model file says of that.
#pragma once

#include "format/gguf.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// First: that of the token which begins a text (cls).
enum class Pooling : uint8_t { None, Mean, First, Last };

// "none", "mean", "cls", "last"; nothing where the name is none of these.
std::optional<Pooling> findPooling(std::string_view name);
// "none, mean, cls, last"
std::string poolingNames();

// Whether each token sees all of its text, which one step must hold.
bool seesBothWays(const GgufFile &file);

// The file's pooling_type; without one the mean where tokens see both ways, else the last token.
// Unsupported: the file ranks. Corrupt: no number of a pooling.
Result<Pooling> poolingOf(const GgufFile &file);
// Of what a ranking head reads: as classifier.pooling_type says, else the first token where tokens
// see both ways, the last one otherwise.
Result<Pooling> rankPoolingOf(const GgufFile &file);

// One row of `rows` [tokens, width], which are those of all tokens for the mean, else one; summed
// in f64. There is at least one row.
std::vector<float> pooled(std::span<const float> rows, size_t width);

// Each row by its Euclidean length; rows of zeros stay.
void normalize(std::span<float> rows, size_t width);

} // namespace sinter
