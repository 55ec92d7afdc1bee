// libFuzzer target: any answer's text gives the same calls in pieces and as a whole.
#include "base/check.h"
#include "serve/answer_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  SINTER_CHECK(sinter::serve::answerInconsistencyOf(bytes).empty());
  return 0;
}
