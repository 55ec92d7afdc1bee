// What each metadata key and each tensor of a GGUF file does to a model's results: the one table, a
// row for each, from which readers refuse what they leave out and callers hear of what nobody
// knows.
#pragma once

#include "format/gguf.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

enum class NameEffect : uint8_t {
  Harmless,       // information, or a number that only the part of a model reads that it belongs to
  ChangesResults, // a reader that leaves it out computes something else, but for neutral values
};

struct KnownName {
  std::string_view pattern; // '*' stands for any text
  NameEffect effect;
  std::string_view neutral = {}; // values that leave results alone, with '|' between
  std::string_view what = {};    // what another value asks for, in words
};

// Whether a name is of a pattern, in which '*' stands for any text.
bool matchesPattern(std::string_view pattern, std::string_view name);

// Keys after "ARCHITECTURE.", whole keys, and tensors. The first row that matches a name counts.
std::span<const KnownName> architectureKeys();
std::span<const KnownName> fileKeys();
std::span<const KnownName> tensorNames();

// Null: nobody knows the name.
const KnownName *findKnownKey(std::string_view key, std::string_view architecture);
const KnownName *findKnownTensor(std::string_view tensor);

// Whether each of these values, as valueTexts() gives them, is one of the row's neutral ones.
bool areNeutral(const KnownName &row, std::span<const std::string> values);

// The value of a metadata entry, each element apart: "false", "4", "0.5" in the fewest digits that
// read back the same, strings as they are. None of arrays of arrays and of longer arrays than
// kMostValueTexts.
inline constexpr uint64_t kMostValueTexts = 4096;
std::vector<std::string> valueTexts(const GgufValue &value);

// What a file has that no row matches, in the file's order.
struct UnknownNames {
  std::vector<std::string_view> keys, tensors;

  // "keys 'a', 'b'; tensor 'c'"; empty where everything is known. Of many names the first few and a
  // count.
  std::string text() const;
};
UnknownNames findUnknownNames(const GgufFile &file);

} // namespace sinter
