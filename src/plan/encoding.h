// Byte-level encoding that the plan's writer and reader share.
#pragma once

#include "plan/plan.h"
#include "plan/validate.h"

#include <span>

namespace sinter::plan {

enum class SectionTag : uint32_t {
  Facts = 0x54434146, // "FACT"
  Symbols = 0x424d5953,
  Modules = 0x55444f4d,
  Kernels = 0x4e52454b,
  Buffers = 0x46465542,
  Procedures = 0x434f5250,
};
inline constexpr SectionTag kSectionOrder[] = {SectionTag::Facts,   SectionTag::Symbols,
                                               SectionTag::Modules, SectionTag::Kernels,
                                               SectionTag::Buffers, SectionTag::Procedures};

// The byte before each step of a procedure; If and Loop are followed by their inner steps up to
// End.
enum class StepTag : uint8_t { End, Launch, Copy, Call, If, Loop, Else };

// Appends little-endian values; texts and byte strings after their length.
class Writer {
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
  void expr(const Expr &expr);

  std::vector<uint8_t> &bytes() { return bytes_; }

private:
  void number(uint64_t value, int bytes);

  std::vector<uint8_t> bytes_;
};

// Reads what Writer wrote from [offset, end) of a file. The first fault is kept and every later
// read gives 0 or empty, so that callers check once at the end; count() bounds every loop by the
// bytes that are left.
class Reader {
public:
  Reader(std::span<const uint8_t> file, uint64_t offset, uint64_t end)
      : file_(file), offset_(offset), end_(end) {}

  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint16_t u16() { return static_cast<uint16_t>(number(2)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  int64_t i64() { return static_cast<int64_t>(number(8)); }
  std::span<const uint8_t> raw(uint64_t bytes);
  std::vector<uint8_t> blob();
  std::string text();
  Expr expr();
  // A number of entries of at least `minBytes` encoded bytes each, and no more than `limit`.
  uint32_t count(uint64_t minBytes, const char *what, uint64_t limit = UINT32_MAX);

  bool ok() const { return !error_; }
  uint64_t offset() const { return offset_; }
  uint64_t left() const { return end_ - offset_; }
  void bad(std::string message);
  // The first fault, or one when bytes are left over.
  Result<void> finish(const char *what);

private:
  uint64_t number(uint64_t bytes);

  std::span<const uint8_t> file_;
  uint64_t offset_;
  uint64_t end_;
  std::optional<Status> error_;
};

// The steps of all procedures in the file's form (steps_codec.cpp).
void writeSteps(Writer &out, const std::vector<Step> &steps);
// Reads one procedure's steps up to its End and appends each one's offset to `offsets`.
std::vector<Step> readSteps(Reader &in, std::vector<uint64_t> &offsets);

} // namespace sinter::plan
