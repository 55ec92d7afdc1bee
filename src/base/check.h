// SINTER_CHECK: an invariant of our own code, on in release; its failure is our bug, never the user's input.
#pragma once

namespace sinter {
[[noreturn]] void checkFailed(const char *condition, const char *file, int line);
} // namespace sinter

#define SINTER_CHECK(cond)                                                                          \
  (static_cast<bool>(cond) ? (void)0 : ::sinter::checkFailed(#cond, __FILE__, __LINE__))
