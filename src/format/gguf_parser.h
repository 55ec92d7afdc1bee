// One pass over a GGUF file's header, metadata and tensor table. Private to src/format.
#pragma once

#include "format/byte_cursor.h"
#include "format/gguf.h"

namespace sinter {

class GgufParser {
public:
  explicit GgufParser(std::span<const uint8_t> bytes) : cursor_(bytes) { file_.bytes_ = bytes; }

  Result<GgufFile> parse();

private:
  Result<void> readHeader();
  Result<void> checkCount(uint64_t count, uint64_t minimumBytes, uint64_t limit, const char *what,
                          uint64_t at);
  Result<std::string_view> readName(uint64_t limit, const char *what);
  Result<void> readValue();
  Result<GgufType> readType(const char *what);
  Result<void> skipElements(GgufType type, uint64_t count);
  Result<void> skipScalars(GgufType type, uint64_t count);
  Result<void> skipString();
  Result<void> readAlignment();
  Result<void> readTensor();
  Result<void> readDims(GgufTensor &tensor);
  Result<uint64_t> tensorBytes(const GgufTensor &tensor, uint64_t typeAt) const;
  Result<void> placeTensors();
  Result<void> checkOverlaps();
  Result<void> indexValues();
  Result<void> indexTensors();
  static uint64_t offsetFieldAt(const GgufTensor &tensor);

  ByteCursor cursor_;
  GgufFile file_;
  uint64_t tensorCount_ = 0;
  uint64_t valueCount_ = 0;
  std::vector<uint64_t> sizes_; // bytes of each tensor's data
};

// Bytes of one scalar; 0 for strings and arrays.
uint64_t ggufScalarBytes(GgufType type);

} // namespace sinter
