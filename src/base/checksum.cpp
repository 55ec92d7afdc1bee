// XXH3_128, compiled into this file: tests build it for processors without the library, too.
#include "base/checksum.h"

#include "base/check.h"

#include <algorithm>
#include <array>
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sinter {

using Checksum = std::array<uint8_t, kChecksumBytes>;

static Checksum checksumOf(std::span<const uint8_t> bytes) {
  XXH128_canonical_t sum;
  XXH128_canonicalFromHash(&sum, XXH3_128bits(bytes.data(), bytes.size()));
  Checksum result;
  std::ranges::copy(sum.digest, result.begin());
  return result;
}

void sealFile(std::span<uint8_t> file) {
  SINTER_CHECK(file.size() >= kChecksumBytes);
  std::ranges::copy(checksumOf(file.first(file.size() - kChecksumBytes)),
                    file.end() - kChecksumBytes);
}

bool isSealed(std::span<const uint8_t> file) {
  return file.size() >= kChecksumBytes &&
         std::ranges::equal(checksumOf(file.first(file.size() - kChecksumBytes)),
                            file.last(kChecksumBytes));
}

} // namespace sinter
