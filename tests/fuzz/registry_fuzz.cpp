// libFuzzer target: any bytes as what a registry answers, as a manifest of the store and as a name
// are read consistently, or give an error.
#include "base/check.h"
#include "store/registry_check.h"

#include <cstdio>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const std::string wrong = sinter::store::registryInconsistencyOf(text);
  if (!wrong.empty())
    std::fprintf(stderr, "%s\n", wrong.c_str());
  SINTER_CHECK(wrong.empty());
  return 0;
}
