// Writing GGUF 3: what comes before the tensors' data, and where each tensor's data goes.
#pragma once

#include "format/gguf.h"

namespace sinter {

// A tensor to be written.
struct GgufTensorEntry {
  std::string_view name;
  std::array<uint64_t, kGgufMaxDims> dims; // as in GgufTensor
  uint32_t rank;
  const BlockFormat *format;
};

struct GgufContents {
  std::span<const GgufValue> values; // written as they stand
  // In place of a value of that key, or after the others.
  std::vector<std::pair<std::string_view, uint32_t>> numbers;
  std::vector<GgufTensorEntry> tensors;
  uint64_t alignment = 32; // must be what `values` say
};

struct GgufHeader {
  std::vector<uint8_t> bytes;    // of the file's start, up to the first tensor's data
  std::vector<uint64_t> offsets; // of each tensor's data, from the start of the file
  uint64_t fileBytes = 0;
};

// InvalidArgument: the rows of a tensor are no whole blocks of its format, or the file's size
// overflows.
Result<GgufHeader> makeGgufHeader(const GgufContents &contents);

} // namespace sinter
