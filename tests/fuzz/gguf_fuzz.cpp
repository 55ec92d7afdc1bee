// libFuzzer target: any bytes are refused at a byte of theirs or read as a consistent GGUF file.
#include "base/check.h"
#include "format/gguf_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  SINTER_CHECK(sinter::inconsistencyOf({data, size}).empty());
  return 0;
}
