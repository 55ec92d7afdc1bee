// SHA-256 of bytes that come piece by piece, and digests from text.
#pragma once

#include "base/sha256.h"

#include <memory>
#include <optional>
#include <string_view>

namespace sinter {

// Of 64 hexadecimal digits in either case; nothing where the text is something else.
std::optional<Sha256Digest> digestFromHex(std::string_view text);

// Movable; one thread at a time.
class Sha256Stream {
public:
  // Internal: libcrypto has no SHA-256.
  static Result<Sha256Stream> create();

  Result<void> add(std::span<const uint8_t> bytes);
  // Of all that was added. Nothing may follow.
  Result<Sha256Digest> finish();

private:
  struct Free {
    void operator()(void *context) const;
  };
  std::unique_ptr<void, Free> context_; // libcrypto's
};

} // namespace sinter
