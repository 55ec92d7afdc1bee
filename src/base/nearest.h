// The word that a mistyped one was probably meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sinter {

// How many letters must be inserted, removed, replaced or swapped with their neighbour to make one
// of the other; upper and lower case are the same letter.
size_t editDistance(std::string_view a, std::string_view b);

// The candidate of the least distance, the first of several; empty where none is near: a third of
// the longer word's letters may differ, and of very long words none is near.
std::string_view nearest(std::string_view word, std::span<const std::string> candidates);

// " (did you mean 'run'?)" for messages, or nothing.
std::string nearestHint(std::string_view word, std::span<const std::string> candidates);

} // namespace sinter
