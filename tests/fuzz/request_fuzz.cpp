// libFuzzer target: any body of a request is answered once, in JSON.
#include "base/check.h"
#include "serve/request_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  SINTER_CHECK(sinter::serve::requestInconsistencyOf(bytes).empty());
  return 0;
}
