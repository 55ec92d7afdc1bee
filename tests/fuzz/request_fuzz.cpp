// libFuzzer target: any body of a request is answered once, in JSON.
#include "base/check.h"
#include "serve/request_check.h"

#include <cstdio>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  static sinter::serve::RequestCheck check;
  GTEST_FLAG_SET(break_on_failure, true); // the check's own expectations
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  const std::string wrong = check.inconsistencyOf(bytes);
  if (!wrong.empty())
    std::fprintf(stderr, "%s\n", wrong.c_str());
  SINTER_CHECK(wrong.empty());
  return 0;
}
