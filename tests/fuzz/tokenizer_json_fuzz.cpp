// libFuzzer target: any tokenizer.json or tekken.json gives tokens that stream as valid UTF-8, or
// an error.
#include "base/check.h"
#include "llm/tokenizer_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  SINTER_CHECK(sinter::tokenizerJsonInconsistencyOf(bytes).empty());
  return 0;
}
