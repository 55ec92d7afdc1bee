// SHA-256 through OpenSSL's libcrypto, for naming model files and cache entries by content.
#pragma once

#include "base/status.h"

#include <array>
#include <initializer_list>
#include <span>
#include <string>

namespace sinter {

// A SHA-256 value; ordered and comparable, so it can key a cache.
struct Sha256Digest {
  std::array<uint8_t, 32> bytes{};

  // 64 lower-case hexadecimal digits.
  std::string hex() const;
  auto operator<=>(const Sha256Digest &) const = default;
};

// The digest of the parts one after the other. Fails only where libcrypto does (Internal).
Result<Sha256Digest> sha256(std::span<const std::span<const uint8_t>> parts);
Result<Sha256Digest> sha256(std::initializer_list<std::span<const uint8_t>> parts);

} // namespace sinter
