// Byte strings through pipes, each after its length: how tests and the emulated runner talk.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <unistd.h>
#include <vector>

namespace sinter::targets::cpu {

inline bool readAll(int fd, std::span<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t step = read(fd, bytes.data(), bytes.size());
    if (step == 0 || (step < 0 && errno != EINTR))
      return false;
    bytes = bytes.subspan(step > 0 ? static_cast<size_t>(step) : 0);
  }
  return true;
}

inline bool writeAll(int fd, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t step = write(fd, bytes.data(), bytes.size());
    if (step < 0 && errno != EINTR)
      return false;
    bytes = bytes.subspan(step > 0 ? static_cast<size_t>(step) : 0);
  }
  return true;
}

// None where the other side has ended.
inline std::optional<std::vector<uint8_t>> readFrame(int fd) {
  uint64_t size = 0;
  if (!readAll(fd, {reinterpret_cast<uint8_t *>(&size), sizeof size}))
    return std::nullopt;
  std::vector<uint8_t> bytes(size);
  return readAll(fd, bytes) ? std::optional(std::move(bytes)) : std::nullopt;
}

inline bool writeFrame(int fd, std::span<const uint8_t> bytes) {
  const uint64_t size = bytes.size();
  return writeAll(fd, {reinterpret_cast<const uint8_t *>(&size), sizeof size}) &&
         writeAll(fd, bytes);
}

} // namespace sinter::targets::cpu
