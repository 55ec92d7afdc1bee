// A file that one process at a time holds locked.
#pragma once

#include "base/status.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace sinter {

// Released when destroyed, also by the system when the process dies; move-only. The holder removes
// the file when it releases it; of a process that died the file stays until removeIfFree().
class FileLock {
public:
  // Locks `name` in the open folder `folderFd` (AT_FDCWD: `name` is a path), made with rights 0600
  // where it is missing; links are not followed. `what` names it in messages. Timeout, with the
  // text `busy` and the time: another process held it for `timeoutMs`. Cancelled: `cancel` became
  // true meanwhile. Other codes as base/system_error.h says.
  static Result<FileLock> take(int folderFd, const std::string &name, const std::string &what,
                               const std::string &busy, uint32_t timeoutMs,
                               const std::atomic<bool> *cancel = nullptr);
  // Removes a lock file that nobody holds; leaves every other file as it is.
  static void removeIfFree(int folderFd, const std::string &name);

  FileLock(FileLock &&other) noexcept;
  FileLock &operator=(FileLock &&other) noexcept;
  ~FileLock();

private:
  FileLock(int folderFd, const std::string &name, int flags);
  bool tryLock() const;
  bool isUnderItsName() const;

  int folderFd_; // of its own, so that the lock may outlive who took it
  std::string name_;
  int fd_ = -1; // of the file
  bool held_ = false;
};

} // namespace sinter
