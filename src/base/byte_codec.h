// Little-endian numbers, texts and byte strings of the files that Sinter writes and reads back.
#pragma once

#include "base/status.h"

#include <span>
#include <string_view>
#include <vector>

namespace sinter {

// Appends little-endian values; texts and byte strings after their length.
class ByteWriter {
public:
  void u8(uint8_t value) { bytes_.push_back(value); }
  void u16(uint16_t value) { number(value, 2); }
  void u32(uint32_t value) { number(value, 4); }
  void u64(uint64_t value) { number(value, 8); }
  void i64(int64_t value) { number(static_cast<uint64_t>(value), 8); }
  void count(std::size_t value) { u32(static_cast<uint32_t>(value)); }
  void raw(std::span<const uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void blob(std::span<const uint8_t> bytes) {
    u64(bytes.size());
    raw(bytes);
  }
  void text(std::string_view value);

  std::vector<uint8_t> &bytes() { return bytes_; }

private:
  void number(uint64_t value, int bytes);

  std::vector<uint8_t> bytes_;
};

// Reads what ByteWriter wrote from [offset, end) of a file. The first fault is kept and every later
// read gives 0 or empty, so that callers check once at the end; count() bounds every loop by the
// bytes that are left.
class ByteReader {
public:
  ByteReader(std::span<const uint8_t> file, uint64_t offset, uint64_t end)
      : file_(file), offset_(offset), end_(end) {}

  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  int64_t i64() { return static_cast<int64_t>(number(8)); }
  std::span<const uint8_t> raw(uint64_t bytes);
  std::vector<uint8_t> blob();
  std::string text();
  // A number of entries of at least `minBytes` encoded bytes each, and no more than `limit`.
  uint32_t count(uint64_t minBytes, const char *what, uint64_t limit = UINT32_MAX);

  bool ok() const { return !error_; }
  uint64_t offset() const { return offset_; }
  uint64_t left() const { return end_ - offset_; }
  void bad(std::string message);
  // The first fault, or one when bytes are left over.
  Result<void> finish(const char *what);

protected:
  // Where the next value begins, for faults that are of an earlier byte.
  void moveTo(uint64_t offset) { offset_ = offset; }

private:
  uint64_t number(uint64_t bytes);

  std::span<const uint8_t> file_;
  uint64_t offset_;
  uint64_t end_;
  std::optional<Status> error_;
};

} // namespace sinter
