// Errors from input and environment: a closed code, a message, and where in the input it was found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace sinter {

// What kind of failure; callers decide on this and show the message.
enum class Code : uint8_t {
  InvalidArgument, // the caller's request makes no sense
  Truncated,       // the input ends before it should
  Corrupt,         // the input contradicts itself or its format
  Unsupported,     // well formed, but not something Sinter can do
  NotFound,        // a file, tensor, device or name does not exist
  Permission,      // the system refused access
  Exhausted,       // out of memory, disk, pages or another limit
  Timeout,         // it took longer than allowed
  Cancelled,       // the user stopped it
  BrokenPipe,      // nobody reads what is written any more
  DeviceLost,      // a device failed or disappeared
  Internal,        // a child process, a library or generated code did not do what it should
};

// The code's name in lower case with dashes, for messages and tests: "invalid-argument".
const char *codeName(Code code);

// A failure. Messages start lower-case and name what was found and what was expected.
struct Status {
  Code code;
  std::string message;
  std::optional<uint64_t> byteOffset = std::nullopt; // of the offending input byte, where there is one

  // "message" or "message (at byte N)".
  std::string toString() const;
};

template <typename T> using Result = tl::expected<T, Status>;
using Fail = tl::unexpected<Status>;

inline Fail fail(Code code, std::string message, std::optional<uint64_t> byteOffset = std::nullopt) {
  return Fail(Status{code, std::move(message), byteOffset});
}

} // namespace sinter

// Evaluates a Result or Result<void>; returns its error from the enclosing function.
#define SINTER_TRY(expr)                                                                            \
  do {                                                                                              \
    if (auto sinterTry = (expr); !sinterTry)                                                        \
      return ::tl::unexpected(std::move(sinterTry).error());                                       \
  } while (0)

#define SINTER_CONCAT2(a, b) a##b
#define SINTER_CONCAT(a, b) SINTER_CONCAT2(a, b)
#define SINTER_ASSIGN_IMPL(tmp, decl, expr)                                                         \
  auto tmp = (expr);                                                                                \
  if (!tmp)                                                                                         \
    return ::tl::unexpected(std::move(tmp).error());                                               \
  decl = std::move(*tmp)
// SINTER_ASSIGN(auto x, f()): x becomes the value of f(), or the error is returned.
#define SINTER_ASSIGN(decl, expr) SINTER_ASSIGN_IMPL(SINTER_CONCAT(sinterTmp, __LINE__), decl, expr)
