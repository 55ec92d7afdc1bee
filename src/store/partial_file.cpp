// The journal is a line of text: sizes, then the bytes that each segment has.
#include "store/partial_file.h"

#include "base/system_error.h"
#include "store/file_bytes.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <numeric>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::store {
namespace {

constexpr uint64_t kJournalInterval = 32 << 20; // bytes; as much may be fetched twice after a crash
constexpr uint64_t kMostJournalBytes = 16 << 20;
constexpr std::string_view kMagic = "partial-1";

std::optional<uint64_t> takeNumber(std::string_view &text) {
  while (text.starts_with(' '))
    text.remove_prefix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc())
    return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

} // namespace

PartialFile::PartialFile(std::string path, uint64_t bytes, uint64_t segmentBytes)
    : path_(std::move(path)), bytes_(bytes), segmentBytes_(segmentBytes),
      done_((bytes + segmentBytes - 1) / segmentBytes) {}

PartialFile::PartialFile(PartialFile &&other) noexcept
    : path_(std::move(other.path_)), bytes_(other.bytes_), segmentBytes_(other.segmentBytes_),
      fd_(std::exchange(other.fd_, -1)), mutex_(std::move(other.mutex_)),
      done_(std::move(other.done_)), unsaved_(other.unsaved_) {}

PartialFile::~PartialFile() {
  if (fd_ >= 0)
    close(fd_);
}

Result<PartialFile> PartialFile::open(const std::string &path, uint64_t bytes,
                                      uint64_t segmentBytes) {
  PartialFile file(path, bytes, segmentBytes);
  file.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  struct stat info;
  if (file.fd_ < 0 || fstat(file.fd_, &info) != 0)
    return systemFailed("cannot write '" + path + "'", errno);
  const bool isSized = static_cast<uint64_t>(info.st_size) == bytes;
  if (!isSized || !file.readJournal())
    file.clear();
  if (!isSized && ftruncate(file.fd_, static_cast<off_t>(bytes)) != 0)
    return systemFailed("no room for the " + std::to_string(bytes) + " bytes of '" + path + "'",
                        errno);
  return file;
}

bool PartialFile::readJournal() {
  const auto read = readWholeFile(journalPath(), kMostJournalBytes);
  if (!read || !read->starts_with(kMagic))
    return false;
  std::string_view text = std::string_view(*read).substr(kMagic.size());
  if (takeNumber(text) != bytes_ || takeNumber(text) != segmentBytes_)
    return false;
  for (size_t segment = 0; segment < done_.size(); ++segment) {
    const auto done = takeNumber(text);
    if (!done || *done > segmentEnd(segment) - segmentBegin(segment))
      return false;
    done_[segment] = *done;
  }
  return true;
}

uint64_t PartialFile::segmentEnd(size_t segment) const {
  return std::min(bytes_, (segment + 1) * segmentBytes_);
}

uint64_t PartialFile::done(size_t segment) const {
  const std::lock_guard lock(*mutex_);
  return done_[segment];
}

uint64_t PartialFile::doneBytes() const {
  const std::lock_guard lock(*mutex_);
  return std::accumulate(done_.begin(), done_.end(), uint64_t{0});
}

void PartialFile::clear() {
  const std::lock_guard lock(*mutex_);
  std::ranges::fill(done_, 0);
}

Result<void> PartialFile::append(size_t segment, std::span<const uint8_t> data) {
  bool isDue = false;
  while (!data.empty() && segment < segments()) {
    const uint64_t at = segmentBegin(segment) + done(segment);
    const size_t room = std::min<uint64_t>(data.size(), segmentEnd(segment) - at);
    if (room == 0) {
      ++segment;
      continue;
    }
    const ssize_t count = pwrite(fd_, data.data(), room, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return systemFailed("cannot write '" + path_ + "'", count < 0 ? errno : ENOSPC);
    data = data.subspan(static_cast<size_t>(count));
    const std::lock_guard lock(*mutex_);
    done_[segment] += static_cast<uint64_t>(count);
    unsaved_ += static_cast<uint64_t>(count);
    isDue |= unsaved_ >= kJournalInterval;
    if (isDue)
      unsaved_ = 0;
  }
  if (isDue)
    return saveJournal();
  return {};
}

Result<void> PartialFile::saveJournal() const {
  std::string text =
      std::string(kMagic) + " " + std::to_string(bytes_) + " " + std::to_string(segmentBytes_);
  const std::lock_guard lock(*mutex_);
  for (const uint64_t done : done_)
    text += " " + std::to_string(done);
  SINTER_ASSIGN(OutputFile file, OutputFile::create(journalPath(), 0600));
  SINTER_TRY(file.writeAt({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, 0));
  return file.commit(OutputFile::Durability::Checked);
}

Result<void> PartialFile::sync() const {
  if (fsync(fd_) != 0)
    return systemFailed("cannot write '" + path_ + "'", errno);
  return {};
}

void PartialFile::removeFiles() const {
  unlink(path_.c_str());
  unlink(journalPath().c_str());
}

} // namespace sinter::store
