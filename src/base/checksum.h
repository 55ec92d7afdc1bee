// The checksum that closes files of Sinter's own: the 16 bytes of XXH3_128 (canonical form) over
// everything before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sinter {

inline constexpr std::size_t kChecksumBytes = 16;

// Writes the checksum of all the other bytes into the last kChecksumBytes of `file`, which must
// have at least as many.
void sealFile(std::span<uint8_t> file);

// Whether the last kChecksumBytes are the checksum of the bytes before them; not of a shorter file.
bool isSealed(std::span<const uint8_t> file);

} // namespace sinter
