// libFuzzer target: any bytes are read as the same requests however they arrive, or refused.
#include "base/check.h"
#include "serve/http_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  SINTER_CHECK(sinter::serve::httpInconsistencyOf(bytes).empty());
  return 0;
}
