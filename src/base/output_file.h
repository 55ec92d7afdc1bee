// A file that appears under its name only when it is whole.
#pragma once

#include "base/status.h"

#include <span>
#include <string>
#include <sys/types.h>

namespace sinter {

// Written beside its name and renamed at the end, so that readers see the old file or the whole new
// one, and a failure leaves nothing. Where the file system can, it has no name until then, so that
// a killed process leaves nothing either. Move-only; one thread at a time.
class OutputFile {
public:
  // InvalidArgument: `path` names something other than a regular file or nothing; NotFound,
  // Permission: there is no such folder, or no right to write there.
  // `rights` as for open().
  static Result<OutputFile> create(const std::string &path, mode_t rights = 0666);

  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  // For another process that writes it.
  int fd() const { return fd_; }
  // Takes room for `bytes` from the disk, where the file system can, and makes that the file's
  // size. Exhausted: there is not as much, naming how much was asked for.
  Result<void> reserve(uint64_t bytes);
  // Exhausted: the disk is full.
  Result<void> writeAt(std::span<const uint8_t> bytes, uint64_t offset);
  // Disk: waits until the disk has all bytes. Checked: does not, for readers that notice when a
  // crash lost some.
  enum class Durability : uint8_t { Disk, Checked };
  // Puts the file under its name, in place of what had it. Nothing may follow.
  Result<void> commit(Durability durability = Durability::Disk);

private:
  OutputFile(std::string path, std::string part) : path_(std::move(path)), part_(std::move(part)) {}
  Fail failed(const std::string &what, int error) const;

  std::string path_;
  std::string part_; // its name until it is whole
  bool named_ = false;
  int fd_ = -1;
};

} // namespace sinter
