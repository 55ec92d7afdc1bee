// libFuzzer target: whatever bytes a client sends, a connection ends, and its routes see the same
// requests however the bytes arrive. Its corpus is that of http_fuzz.
#include "base/check.h"
#include "serve/connection_check.h"

#include <cstdio>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  const std::string wrong = sinter::serve::conversationInconsistencyOf(bytes);
  if (!wrong.empty())
    std::fprintf(stderr, "%s\n", wrong.c_str());
  SINTER_CHECK(wrong.empty());
  return 0;
}
