// flock, asked for again and again until it is had or the time is over.
#include "base/file_lock.h"

#include "base/system_error.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace sinter {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(10);

} // namespace

Result<FileLock> FileLock::take(int folderFd, const std::string &name, const std::string &what,
                                const std::string &busy, uint32_t timeoutMs) {
  FileLock lock(
      openat(folderFd, name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (lock.fd_ < 0)
    return systemFailed("cannot open " + what, errno);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeoutMs);
  while (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return systemFailed("cannot lock " + what, errno);
    if (std::chrono::steady_clock::now() >= end)
      return fail(Code::Timeout, busy + " for " + std::to_string(timeoutMs) + " ms");
    std::this_thread::sleep_for(kPollInterval);
  }
  return lock;
}

FileLock::FileLock(FileLock &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
FileLock &FileLock::operator=(FileLock &&other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
FileLock::~FileLock() {
  if (fd_ >= 0)
    close(fd_);
}

} // namespace sinter
