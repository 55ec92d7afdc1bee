// libFuzzer target: any GBNF or regular expression gives texts that end and exact masks, or an
// error.
#include "base/check.h"
#include "grammar/grammar_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  const std::string wrong = sinter::grammar::grammarInconsistencyOf(bytes);
  if (!wrong.empty())
    std::fprintf(stderr, "%s\n", wrong.c_str());
  SINTER_CHECK(wrong.empty());
  return 0;
}
