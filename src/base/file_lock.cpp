// flock, asked for again and again until it is had or the time is over. Holders remove the file, so
// a process may get the lock of a file that has no name any more while another one locks a new file
// of that name: a lock counts only while its file is the one under the name.
#include "base/file_lock.h"

#include "base/system_error.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace sinter {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(10);
constexpr int kOpenFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

} // namespace

FileLock::FileLock(int folderFd, const std::string &name, int flags)
    : folderFd_(folderFd == AT_FDCWD ? AT_FDCWD : fcntl(folderFd, F_DUPFD_CLOEXEC, 0)),
      name_(name) {
  if (folderFd_ != -1)
    fd_ = openat(folderFd_, name_.c_str(), flags, 0600);
}

// errno is EWOULDBLOCK where another process has the lock.
bool FileLock::tryLock() const {
  return flock(fd_, LOCK_EX | LOCK_NB) == 0;
}

bool FileLock::isUnderItsName() const {
  struct stat locked, named;
  return fstat(fd_, &locked) == 0 &&
         fstatat(folderFd_, name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

Result<FileLock> FileLock::take(int folderFd, const std::string &name, const std::string &what,
                                const std::string &busy, uint32_t timeoutMs,
                                const std::atomic<bool> *cancel) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeoutMs);
  while (true) {
    FileLock lock(folderFd, name, kOpenFlags | O_CREAT);
    if (lock.fd_ < 0)
      return systemFailed("cannot open " + what, errno);
    while (!lock.tryLock()) {
      if (errno != EWOULDBLOCK && errno != EINTR)
        return systemFailed("cannot lock " + what, errno);
      if (cancel && cancel->load())
        return fail(Code::Cancelled, "interrupted while " + busy);
      if (std::chrono::steady_clock::now() >= end)
        return fail(Code::Timeout, busy + " for " + std::to_string(timeoutMs) + " ms");
      std::this_thread::sleep_for(kPollInterval);
    }
    if (!lock.isUnderItsName())
      continue;
    lock.held_ = true;
    return lock;
  }
}

// While it is locked nobody else can count on it, so that it may be removed.
void FileLock::removeIfFree(int folderFd, const std::string &name) {
  FileLock lock(folderFd, name, kOpenFlags);
  lock.held_ = lock.fd_ >= 0 && lock.tryLock() && lock.isUnderItsName();
}

FileLock::FileLock(FileLock &&other) noexcept
    : folderFd_(std::exchange(other.folderFd_, -1)), name_(std::move(other.name_)),
      fd_(std::exchange(other.fd_, -1)), held_(std::exchange(other.held_, false)) {}
FileLock &FileLock::operator=(FileLock &&other) noexcept {
  std::swap(folderFd_, other.folderFd_);
  std::swap(name_, other.name_);
  std::swap(fd_, other.fd_);
  std::swap(held_, other.held_);
  return *this;
}
FileLock::~FileLock() {
  if (held_)
    unlinkat(folderFd_, name_.c_str(), 0);
  if (fd_ >= 0)
    close(fd_);
  if (folderFd_ >= 0)
    close(folderFd_);
}

} // namespace sinter
