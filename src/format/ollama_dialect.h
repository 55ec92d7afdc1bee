// Ollama's dialect of GGUF: what its converter writes otherwise than llama.cpp's, and how it reads
// in llama.cpp's words. A table; it changes nothing in files without the dialect.
#pragma once

#include "format/gguf.h"

#include <span>
#include <string_view>

namespace sinter {

enum class DialectChange : uint8_t {
  Architecture, // is called `to`; keys "ARCHITECTURE.*" follow it
  Key,          // `from` is called `to`, unless there is a `to`
  TensorEnd,    // names that end with `from` end with `to`; without a '.' at its start, whole names
  DefaultNumber,  // a key `from` that is missing is the float `to`
  DefaultText,    // ... is the text `to`
  Text,           // the value of `from` is the text `to`
  TextInPlace,    // ... where it is one of the texts in `when`, '|' between; missing is empty
  SizeOfTensor,   // the key `from` is the tensor `to`'s second dimension
  Largest,        // the list `from` is its largest element
  FourSections,   // the list `from`, of three elements, is `to`, of four, the last one 0
  CutToEmbedding, // the list `from` has as many elements as the embedding has rows, at most
  ListLength,     // the key `from` is the length of the list `to`, unless there is one
};

// What must be so for a row to count.
enum class DialectMarker : uint8_t {
  None,
  HasTensor,      // one whose name begins with `when`
  LacksTensor,    // none whose name is `when`
  HasLlama3Token, // token 128009 is <|eot_id|>
};

// Keys are those after "ARCHITECTURE.", but for "tokenizer.*".
struct DialectRow {
  std::string_view architecture; // as the file has it; '|' between several
  DialectChange change;
  std::string_view from, to;
  DialectMarker marker = DialectMarker::None;
  std::string_view when = {};
};

// In the order in which they are applied.
std::span<const DialectRow> ollamaDialect();

// Applies the rows that count for the file. Corrupt: a list that a row reads is another type.
Result<void> readDialect(GgufFile &file);

} // namespace sinter
