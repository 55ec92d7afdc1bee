// What tuning found, as the bytes of a file: which schedule of which kernel was the fastest on
// which machine.
//
// Little-endian. Header: magic "SINTRTUN", u32 version, u64 bytes of the whole file. Then u32
// entries, each texts (u32 bytes, bytes) machine, content, kernel, schedule, then u32 tried, u32
// times, each u32 rows, u64 rules, u64 chosen. Last the 16 bytes of XXH3_128 (canonical form) over
// everything before them.
#pragma once

#include "base/checksum.h"
#include "plan/schedule_choice.h"

#include <cstdint>
#include <span>
#include <vector>

namespace sinter::runtime {

inline constexpr std::string_view kTuningMagic = "SINTRTUN";
inline constexpr uint32_t kTuningVersion = 2;
inline constexpr size_t kTuningHeaderBytes = 20;
inline constexpr size_t kTuningChecksumBytes = kChecksumBytes;
inline constexpr size_t kMostTunings = 4096; // entries of a file; the oldest go
inline constexpr size_t kMaxTuningText = 8192;
inline constexpr size_t kMaxTuningContent = 64;
inline constexpr size_t kMostTuningTimes = 16; // of an entry

// A launch in steps of so many rows, from the rounds that compared both schedules.
struct TuningTimes {
  uint32_t rows = 0;
  uint64_t rulesNs = 0;  // by the rules, the median
  uint64_t chosenNs = 0; // that times the median of what a chosen launch takes by one of the rules
                         // in the same round

  bool operator==(const TuningTimes &) const = default;
};

// One kernel on one machine.
struct TuningEntry {
  std::string machine;            // its name, code, threads and compiler, as text
  std::string content;            // plan::Kernel::content
  std::string kernel;             // what it is called, for people
  plan::ScheduleChoice schedule;  // the fastest; by rules where none was faster
  uint32_t tried = 0;             // of its alternatives, in their order
  std::vector<TuningTimes> times; // what was compared, the most rows first; kMostTuningTimes

  bool operator==(const TuningEntry &) const = default;
};

// 1 to kMaxTuningContent characters of 0-9 and a-f.
bool isTuningContent(std::string_view content);

// The file's bytes. Expects at most kMostTunings entries whose texts are no longer than
// kMaxTuningText, and whose contents and times are such.
std::vector<uint8_t> serializeTunings(std::span<const TuningEntry> entries);

// Reads a whole file. `bytes` may be hostile: memory use is bounded by a small multiple of its
// size. Truncated: the file is shorter than it says; Unsupported: another version; Corrupt, with a
// byte offset: everything else.
Result<std::vector<TuningEntry>> parseTunings(std::span<const uint8_t> bytes);

// Writes the checksum of all the other bytes into the last 16 of `bytes`, which must have at least
// 16.
void sealTunings(std::span<uint8_t> bytes);

} // namespace sinter::runtime
