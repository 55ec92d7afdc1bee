// libFuzzer target: any template and variables give text within the limits, or an error.
#include "base/check.h"
#include "jinja/jinja_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  SINTER_CHECK(sinter::jinja::inconsistencyOfTemplate(bytes).empty());
  return 0;
}
