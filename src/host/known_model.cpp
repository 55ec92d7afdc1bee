// Runs the script as a child.
#include "host/known_model.h"

#include "base/child_process.h"
#include "base/system_error.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace sinter::host {
namespace {

constexpr const char *kShell = "/bin/bash";
constexpr std::chrono::milliseconds kPoll{50};

class Descriptor {
public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0)
      close(fd_);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int get() const { return fd_; }

private:
  const int fd_;
};

// The last line that the script wrote.
std::string lastLine(int fd) {
  std::string text(4096, '\0');
  const off_t size = lseek(fd, 0, SEEK_END);
  const off_t from = size > static_cast<off_t>(text.size()) ? size - off_t(text.size()) : 0;
  const ssize_t count = pread(fd, text.data(), text.size(), from);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  while (text.ends_with('\n'))
    text.pop_back();
  const size_t start = text.rfind('\n');
  return start == std::string::npos ? text : text.substr(start + 1);
}

} // namespace

Result<void> fetchKnownModel(const std::atomic<bool> &cancel) {
  const Descriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Descriptor errors(memfd_create("sinter-fetch", MFD_CLOEXEC));
  if (nowhere.get() < 0 || errors.get() < 0)
    return systemFailed("cannot start the script that fetches smollm2", errno);
  const std::string arguments[] = {"-c", std::string(fetchModelScript())};
  const int files[] = {nowhere.get(), errors.get()};
  ChildProcess child;
  if (auto started = child.start(kShell, arguments, files); !started)
    return fail(started.error().code, "cannot start " + std::string(kShell) +
                                          ", which fetches smollm2: " + started.error().message);
  while (true) {
    if (const std::optional<ChildEnd> end = child.ended()) {
      if (end->good())
        return {};
      const std::string why = lastLine(errors.get());
      return fail(Code::Internal, why.empty() ? "the script that fetches smollm2 failed" : why);
    }
    if (cancel.load())
      return fail(Code::Cancelled, "interrupted while smollm2 was fetched");
    std::this_thread::sleep_for(kPoll);
  }
}

} // namespace sinter::host
