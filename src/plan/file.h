// The plan file: how a plan is written to bytes and read back.
//
// Little-endian. Header: magic "SINTRPLN", u32 version, u32 number of sections, u64 bytes of the
// whole file. Then the sections in fixed order (facts with devices, symbols, modules, kernels,
// buffers, procedures), each u32 tag, u64 bytes, contents. Last the 16 bytes of XXH3_128 (canonical
// form) over everything before them.
#pragma once

#include "base/checksum.h"
#include "plan/plan.h"

#include <functional>
#include <span>

namespace sinter::plan {

inline constexpr std::string_view kPlanMagic = "SINTRPLN";
inline constexpr uint32_t kPlanVersion = 11;
inline constexpr std::size_t kPlanHeaderBytes = 24;
inline constexpr std::size_t kPlanChecksumBytes = kChecksumBytes;

// The file's bytes. Fails as validate() does: no plan is written that would not be read back. Equal
// plans give equal bytes.
Result<std::vector<uint8_t>> serialize(const Plan &plan);

// Reads and validates a whole file. `bytes` may be hostile: memory use is bounded by a small
// multiple of its size, and a plan that parses satisfies validate(). Truncated: the file is shorter
// than it says. Unsupported: another version. Corrupt, with a byte offset: everything else.
Result<Plan> parse(std::span<const uint8_t> bytes);

// Plans of one model for several targets are a file of their files one after another. The plan
// whose modules are for `target`; else, where `fits` is given, the first whose target it takes.
// Errors of a part are parse()'s; NotFound, naming the targets there are: none of them fits.
using TargetTest = std::function<bool(const Plan &)>;
Result<Plan> parseFor(std::span<const uint8_t> bytes, std::string_view target,
                      const TargetTest &fits = {});

// Writes the checksum of all the other bytes into the last 16 of `bytes`, which must have at
// least 16.
void sealPlan(std::span<uint8_t> bytes);

} // namespace sinter::plan
