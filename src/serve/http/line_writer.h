// Lines to a file or pipe from a thread of its own, so that whoever logs never waits for a reader.
#pragma once

#include "base/status.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <string>

namespace sinter::serve {

class LineWriter {
public:
  // Appends to the file. Codes as base/system_error.h says.
  static Result<std::unique_ptr<LineWriter>> open(const std::string &path);
  // To a descriptor, which stays the caller's.
  static Result<std::unique_ptr<LineWriter>> to(int descriptor);
  // Writes what is left.
  ~LineWriter();
  LineWriter(const LineWriter &) = delete;
  LineWriter &operator=(const LineWriter &) = delete;

  // Thread-safe. Where the reader is so slow that a megabyte waits, lines are dropped; a line then
  // says how many.
  void write(std::string_view line);

private:
  LineWriter(int descriptor, bool owns) : descriptor_(descriptor), owns_(owns) {}
  static Result<std::unique_ptr<LineWriter>> start(int descriptor, bool owns);
  void run();
  void put(std::string_view bytes) const;

  const int descriptor_;
  const bool owns_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  size_t dropped_ = 0;
  bool ends_ = false;
  std::optional<pthread_t> thread_;
};

} // namespace sinter::serve
