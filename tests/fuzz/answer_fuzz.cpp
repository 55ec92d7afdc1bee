// libFuzzer target: any answer's text gives the same calls in pieces and as a whole.
#include "base/check.h"
#include "serve/answer_check.h"

#include <cstdio>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  const std::string wrong = sinter::serve::answerInconsistencyOf(bytes);
  if (!wrong.empty())
    std::fprintf(stderr, "%s\n", wrong.c_str());
  SINTER_CHECK(wrong.empty());
  return 0;
}
