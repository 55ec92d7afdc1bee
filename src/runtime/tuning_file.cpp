// Writes and reads tuning files with the plan's encoding.
#include "runtime/tuning_file.h"

#include "base/check.h"
#include "plan/encoding.h"

#include <algorithm>

namespace sinter::runtime {
namespace {

constexpr uint64_t kMinEntryBytes = 4 * 4 + 4 + 4, kTimesBytes = 4 + 8 + 8;

// Magic, version, size and checksum.
Result<void> checkFrame(std::span<const uint8_t> bytes) {
  if (bytes.size() < kTuningHeaderBytes + kTuningChecksumBytes)
    return fail(Code::Truncated, "found " + std::to_string(bytes.size()) +
                                     " bytes, expected at least " +
                                     std::to_string(kTuningHeaderBytes + kTuningChecksumBytes));
  if (!std::ranges::equal(bytes.first(kTuningMagic.size()), kTuningMagic))
    return fail(Code::Corrupt, "found no magic word SINTRTUN", 0);
  plan::Reader in(bytes, kTuningMagic.size(), kTuningHeaderBytes);
  const uint32_t version = in.u32();
  const uint64_t size = in.u64();
  if (version != kTuningVersion)
    return fail(Code::Unsupported, "found version " + std::to_string(version) + ", expected " +
                                       std::to_string(kTuningVersion));
  if (size != bytes.size())
    return fail(size > bytes.size() ? Code::Truncated : Code::Corrupt,
                "found " + std::to_string(bytes.size()) + " bytes, its header says " +
                    std::to_string(size));
  if (!isSealed(bytes))
    return fail(Code::Corrupt, "the checksum is not that of its bytes",
                bytes.size() - kTuningChecksumBytes);
  return {};
}

std::string readText(plan::Reader &in, const char *what) {
  std::string text = in.text();
  if (text.size() > kMaxTuningText)
    in.bad("found " + std::string(what) + " of " + std::to_string(text.size()) +
           " bytes, expected at most " + std::to_string(kMaxTuningText));
  return text;
}

// It goes into an argument of the compiler.
void checkContent(plan::Reader &in, std::string_view content) {
  if (!isTuningContent(content))
    in.bad("found kernel content '" + std::string(content.substr(0, kMaxTuningContent)) +
           "', expected 1 to " + std::to_string(kMaxTuningContent) + " characters of 0-9 and a-f");
}

TuningEntry readEntry(plan::Reader &in) {
  TuningEntry entry;
  entry.machine = readText(in, "a machine");
  entry.content = readText(in, "a kernel's content");
  checkContent(in, entry.content);
  entry.kernel = readText(in, "a kernel");
  auto schedule = plan::ScheduleChoice::parse(readText(in, "a schedule"));
  if (schedule)
    entry.schedule = std::move(*schedule);
  else
    in.bad(schedule.error().message);
  entry.tried = in.u32();
  const uint32_t times = in.count(kTimesBytes, "times", kMostTuningTimes);
  for (uint32_t i = 0; i < times && in.ok(); ++i) {
    TuningTimes &read = entry.times.emplace_back();
    read.rows = in.u32();
    read.rulesNs = in.u64();
    read.chosenNs = in.u64();
  }
  return entry;
}

} // namespace

bool isTuningContent(std::string_view content) {
  return !content.empty() && content.size() <= kMaxTuningContent &&
         content.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void sealTunings(std::span<uint8_t> bytes) {
  sealFile(bytes);
}

std::vector<uint8_t> serializeTunings(std::span<const TuningEntry> entries) {
  SINTER_CHECK(entries.size() <= kMostTunings);
  plan::Writer body;
  body.count(entries.size());
  for (const TuningEntry &entry : entries) {
    SINTER_CHECK(isTuningContent(entry.content));
    for (const std::string *text : {&entry.machine, &entry.content, &entry.kernel}) {
      SINTER_CHECK(text->size() <= kMaxTuningText);
      body.text(*text);
    }
    body.text(entry.schedule.text());
    body.u32(entry.tried);
    SINTER_CHECK(entry.times.size() <= kMostTuningTimes);
    body.count(entry.times.size());
    for (const TuningTimes &times : entry.times) {
      body.u32(times.rows);
      body.u64(times.rulesNs);
      body.u64(times.chosenNs);
    }
  }
  plan::Writer out;
  out.raw({reinterpret_cast<const uint8_t *>(kTuningMagic.data()), kTuningMagic.size()});
  out.u32(kTuningVersion);
  out.u64(kTuningHeaderBytes + body.bytes().size() + kTuningChecksumBytes);
  out.raw(body.bytes());
  out.bytes().resize(out.bytes().size() + kTuningChecksumBytes);
  sealTunings(out.bytes());
  return std::move(out.bytes());
}

Result<std::vector<TuningEntry>> parseTunings(std::span<const uint8_t> bytes) {
  SINTER_TRY(checkFrame(bytes));
  plan::Reader in(bytes, kTuningHeaderBytes, bytes.size() - kTuningChecksumBytes);
  const uint32_t count = in.count(kMinEntryBytes, "entries", kMostTunings);
  std::vector<TuningEntry> entries;
  for (uint32_t i = 0; i < count && in.ok(); ++i)
    entries.push_back(readEntry(in));
  SINTER_TRY(in.finish("the entries"));
  return entries;
}

} // namespace sinter::runtime
