// Unnamed files (O_TMPFILE) where there are such, else files with a name of their own.
#include "base/output_file.h"

#include "base/system_error.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter {
namespace {

std::string folderOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
}

// Of this process and of this file in it.
std::string partSuffix() {
  static std::atomic<uint64_t> count = 0;
  return ".part-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

} // namespace

Result<OutputFile> OutputFile::create(const std::string &path, mode_t rights) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return fail(Code::InvalidArgument, "the name of the file to write is empty or has a zero byte");
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return fail(Code::InvalidArgument,
                "'" + path + "' is no regular file, expected one to replace, or nothing");
  OutputFile file(path, path + partSuffix());
  file.fd_ = open(folderOf(path).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, rights);
  if (file.fd_ < 0) {
    file.fd_ = open(file.part_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, rights);
    file.named_ = file.fd_ >= 0;
  }
  if (file.fd_ < 0)
    return file.failed("cannot write", errno);
  return file;
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : path_(std::move(other.path_)), part_(std::move(other.part_)),
      named_(std::exchange(other.named_, false)), fd_(std::exchange(other.fd_, -1)) {}

OutputFile::~OutputFile() {
  if (fd_ >= 0)
    close(fd_);
  if (named_)
    unlink(part_.c_str());
}

Fail OutputFile::failed(const std::string &what, int error) const {
  return fail(codeOfErrno(error), what + " '" + path_ + "': " + std::strerror(error));
}

Result<void> OutputFile::reserve(uint64_t bytes) {
  const auto size = static_cast<off_t>(bytes);
  if (size < 0 || ftruncate(fd_, size) != 0)
    return failed("no room for the " + std::to_string(bytes) + " bytes of",
                  size < 0 ? EFBIG : errno);
  while (bytes && fallocate(fd_, 0, 0, size) != 0) {
    if (errno == EINTR)
      continue;
    if (errno == EOPNOTSUPP || errno == ENOSYS)
      break;
    return failed("no room for the " + std::to_string(bytes) + " bytes of", errno);
  }
  return {};
}

Result<void> OutputFile::writeAt(std::span<const uint8_t> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return failed("cannot write", count < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return {};
}

Result<void> OutputFile::commit(Durability durability) {
  if (durability == Durability::Disk && fsync(fd_) != 0)
    return failed("cannot write", errno);
  const std::string link = "/proc/self/fd/" + std::to_string(fd_);
  if (!named_ && linkat(AT_FDCWD, link.c_str(), AT_FDCWD, part_.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return failed("cannot give its name to", errno);
  named_ = true;
  if (rename(part_.c_str(), path_.c_str()) != 0)
    return failed("cannot give its name to", errno);
  named_ = false;
  return {};
}

} // namespace sinter
