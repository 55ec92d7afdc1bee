// A lock file beside the database orders those who change it; readers see the old file or the new.
#include "runtime/tuning_database.h"

#include "base/mapped_file.h"
#include "base/output_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace sinter::runtime {
namespace {

// Of kMostTunings entries with texts of usual length; a longer file is none of ours.
constexpr uint64_t kMaxFileBytes = uint64_t(64) << 20;
constexpr auto kPollInterval = std::chrono::milliseconds(5);

// Held by flock until destroyed, or until the process dies.
class FileLock {
public:
  explicit FileLock(const std::string &path)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) {}
  ~FileLock() {
    if (fd_ >= 0)
      close(fd_);
  }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;

  Result<void> take(const std::string &path, uint32_t timeoutMs) const {
    if (fd_ < 0)
      return fail(Code::Permission,
                  "cannot open lock file '" + path + "': " + std::strerror(errno));
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeoutMs);
    while (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR)
        return fail(Code::Internal, "cannot lock '" + path + "': " + std::strerror(errno));
      if (std::chrono::steady_clock::now() >= end)
        return fail(Code::Timeout, "another process has been writing the tuning database for " +
                                       std::to_string(timeoutMs) + " ms");
      std::this_thread::sleep_for(kPollInterval);
    }
    return {};
  }

private:
  int fd_;
};

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
  const FileLock lock(lockPath);
  SINTER_TRY(lock.take(lockPath, timeoutMs));
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

} // namespace sinter::runtime
