// A file that a command writes: there in full under its name, or not at all.
#pragma once

#include "base/status.h"

#include <string>
#include <string_view>
#include <sys/types.h>

namespace sinter::cli {

// Written as PATH.part, which goes away unless keep() was reached.
class OutputFile {
public:
  // `rights` as for open(). Permission, naming the file and the cause: it cannot be written.
  static Result<OutputFile> create(const std::string &path, mode_t rights);
  ~OutputFile();
  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;

  int fd() const { return fd_; }
  // Appends. Permission, naming the cause: a full disk.
  Result<void> write(std::string_view bytes);
  // Gives the file its name.
  Result<void> keep();

private:
  OutputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string partPath() const { return path_ + ".part"; }

  std::string path_;
  int fd_;
};

} // namespace sinter::cli
