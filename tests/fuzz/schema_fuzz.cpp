// libFuzzer target: any schema gives values that satisfy it, or an error.
#include "base/check.h"
#include "grammar/grammar_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  const std::string wrong = sinter::grammar::schemaInconsistencyOf(bytes);
  if (!wrong.empty())
    std::fprintf(stderr, "%s\n", wrong.c_str());
  SINTER_CHECK(wrong.empty());
  return 0;
}
