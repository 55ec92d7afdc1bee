// A lock file beside the database orders those who change it; readers see the old file or the new.
#include "runtime/tuning_database.h"

#include "base/file_lock.h"
#include "base/mapped_file.h"
#include "base/output_file.h"

#include <algorithm>
#include <fcntl.h>

namespace sinter::runtime {
namespace {

// Of kMostTunings entries with texts of usual length; a longer file is none of ours.
constexpr uint64_t kMaxFileBytes = uint64_t(64) << 20;

bool isSameKernel(const TuningEntry &a, const TuningEntry &b) {
  return a.machine == b.machine && a.content == b.content;
}

// Last, in place of what is known of its kernel, unless that comes from more trials.
void add(std::vector<TuningEntry> &entries, const TuningEntry &entry) {
  const auto known = std::ranges::find_if(
      entries, [&](const TuningEntry &other) { return isSameKernel(entry, other); });
  if (known != entries.end()) {
    if (known->tried > entry.tried)
      return;
    entries.erase(known);
  }
  entries.push_back(entry);
}

} // namespace

Result<TuningLookup> TuningDatabase::read() const {
  const auto damaged = [&](const Status &status) {
    return TuningLookup{{}, "tuning database '" + path_ + "' is damaged: " + status.toString()};
  };
  auto file = MappedFile::open(path_);
  if (!file && file.error().code == Code::NotFound)
    return TuningLookup{};
  if (!file && (file.error().code == Code::Truncated || file.error().code == Code::InvalidArgument))
    return damaged(file.error());
  if (!file)
    return tl::unexpected(std::move(file).error());
  if (file->bytes().size() > kMaxFileBytes)
    return damaged({Code::Corrupt, "found " + std::to_string(file->bytes().size()) +
                                       " bytes, expected at most " +
                                       std::to_string(kMaxFileBytes)});
  auto entries = parseTunings(file->bytes());
  if (!entries && entries.error().code == Code::Unsupported)
    return fail(Code::Unsupported, "tuning database '" + path_ + "': " + entries.error().message +
                                       "; remove it to tune anew");
  if (!entries)
    return damaged(entries.error());
  return TuningLookup{std::move(*entries), ""};
}

Result<void> TuningDatabase::merge(std::span<const TuningEntry> found,
                                   std::span<const TuningEntry> unfit, uint32_t timeoutMs) const {
  const std::string lockPath = path_ + ".lock";
  SINTER_ASSIGN(const FileLock lock,
                FileLock::take(AT_FDCWD, lockPath, "lock file '" + lockPath + "'",
                               "another process has been writing the tuning database", timeoutMs));
  SINTER_ASSIGN(TuningLookup now, read());
  std::erase_if(now.entries,
                [&](const TuningEntry &entry) { return std::ranges::count(unfit, entry) > 0; });
  for (const TuningEntry &entry : found)
    add(now.entries, entry);
  if (now.entries.size() > kMostTunings)
    now.entries.erase(now.entries.begin(),
                      now.entries.end() - static_cast<ptrdiff_t>(kMostTunings));
  SINTER_ASSIGN(OutputFile file, OutputFile::create(path_, 0600));
  const std::vector<uint8_t> bytes = serializeTunings(now.entries);
  SINTER_TRY(file.reserve(bytes.size()));
  SINTER_TRY(file.writeAt(bytes, 0));
  return file.commit();
}

Result<void> TuningDatabase::checkWritable() const {
  return OutputFile::create(path_, 0600).map([](const OutputFile &) {});
}

} // namespace sinter::runtime
