// A whole regular file as read-only bytes in memory, without a copy.
#pragma once

#include "base/status.h"

#include <cstddef>
#include <ctime>
#include <span>
#include <string>

namespace sinter {

// Owns the mapping and an open descriptor; move-only, and a move keeps the address of the bytes.
// Safe to read from any number of threads. Another process that shrinks the file makes reads past
// its new end fault: check stillIntact() before and after long work on a file that others may
// write.
class MappedFile {
public:
  // Maps `path`. NotFound: no such file; Permission: not readable; InvalidArgument: a directory, a
  // device or a pipe; Truncated: empty; Exhausted: the system has no descriptors or address space
  // left.
  static Result<MappedFile> open(const std::string &path);

  MappedFile(MappedFile &&other) noexcept;
  MappedFile &operator=(MappedFile &&other) noexcept;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  // The file's bytes; valid while this object (or the one it was moved to) lives. The start is
  // page-aligned.
  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  const std::string &path() const { return path_; }

  // Whether the file still has the size, modification time and inode it had when mapped.
  bool stillIntact() const;
  // A text that no other file has, nor this one after a change: device, inode, size and times.
  // Empty where a change could hide: what was changed within the last second may be changed again
  // at what the file system takes for the same time.
  std::string settledIdentity() const;
  // Asks for huge pages, where the system has them for files.
  void preferHugePages() const;

private:
  struct Identity {
    uint64_t device, inode, size;
    timespec modified;
  };
  MappedFile() = default;
  void release();
  static Result<Identity> identify(int fd, const std::string &path);

  std::string path_;
  const uint8_t *data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;
  Identity identity_{};
};

} // namespace sinter
