// The end of a process whose own invariant does not hold.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sinter {

void checkFailed(const char *condition, const char *file, int line) {
  std::fprintf(stderr, "sinter: internal error: '%s' does not hold (%s:%d)\n", condition, file,
               line);
  std::abort();
}

} // namespace sinter
