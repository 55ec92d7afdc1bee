// A bounded queue of lines before a descriptor.
#include "serve/http/line_writer.h"

#include "base/system_error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace sinter::serve {
namespace {

constexpr size_t kMostWaiting = 1 << 20;

} // namespace

Result<std::unique_ptr<LineWriter>> LineWriter::open(const std::string &path) {
  constexpr int kMode = 0640;
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kMode);
  if (descriptor < 0)
    return systemFailed("cannot write the log '" + path + "'", errno);
  return start(descriptor, true);
}

Result<std::unique_ptr<LineWriter>> LineWriter::to(int descriptor) {
  return start(descriptor, false);
}

Result<std::unique_ptr<LineWriter>> LineWriter::start(int descriptor, bool owns) {
  std::unique_ptr<LineWriter> writer(new LineWriter(descriptor, owns));
  // std::thread has no way but to throw where there is no memory for one.
  pthread_t thread;
  const auto run = [](void *self) -> void * {
    static_cast<LineWriter *>(self)->run();
    return nullptr;
  };
  if (const int error = pthread_create(&thread, nullptr, run, writer.get()); error != 0)
    return systemFailed("cannot start the thread that writes the log", error);
  writer->thread_ = thread;
  return writer;
}

LineWriter::~LineWriter() {
  if (thread_) {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_one();
    pthread_join(*thread_, nullptr);
  }
  if (owns_)
    close(descriptor_);
}

void LineWriter::write(std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + line.size() > kMostWaiting) {
      ++dropped_;
      return;
    }
    waiting_ += line;
    waiting_ += '\n';
  }
  changed_.notify_one();
}

void LineWriter::put(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return; // a full disk, or nobody reads: there is no one to tell
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

void LineWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty())
      return;
    std::string bytes = std::move(waiting_);
    waiting_.clear();
    if (dropped_ > 0)
      bytes += "{\"dropped_lines\":" + std::to_string(dropped_) + "}\n";
    dropped_ = 0;
    lock.unlock();
    put(bytes);
    lock.lock();
  }
}

} // namespace sinter::serve
