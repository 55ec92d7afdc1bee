// Writes beside the place and renames.
#include "cli/output_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace sinter::cli {

static Fail cannotWrite(const std::string &path) {
  return fail(Code::Permission, "cannot write '" + path + "': " + std::strerror(errno));
}

Result<OutputFile> OutputFile::create(const std::string &path, mode_t rights) {
  OutputFile file(path, -1);
  const std::string part = file.partPath();
  file.fd_ = open(part.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, rights);
  if (file.fd_ < 0)
    return cannotWrite(part);
  return file;
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

OutputFile::~OutputFile() {
  if (fd_ < 0)
    return;
  close(fd_);
  unlink(partPath().c_str());
}

Result<void> OutputFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return cannotWrite(path_);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<void> OutputFile::keep() {
  if (rename(partPath().c_str(), path_.c_str()) != 0)
    return cannotWrite(path_);
  close(std::exchange(fd_, -1));
  return {};
}

} // namespace sinter::cli
