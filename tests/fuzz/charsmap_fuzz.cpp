// libFuzzer target: any compiled normalization rules make valid UTF-8 of a text, within its limit,
// or an error.
#include "base/check.h"
#include "llm/tokenizer_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  SINTER_CHECK(sinter::charsmapInconsistencyOf(bytes).empty());
  return 0;
}
