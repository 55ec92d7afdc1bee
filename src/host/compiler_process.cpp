// Two pipes, and a watch that ends in every case.
#include "host/compiler_process.h"

#include "base/child_process.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace sinter::host {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxLineBytes = 4096;   // of the child's output; longer lines are cut
constexpr size_t kMaxErrorBytes = 16384; // kept of its stderr, from the end
constexpr int kPollMs = 50;
constexpr int kReadsAtOnce = 64; // then the clock is looked at, however much there is

// The read end of a pipe whose write end goes to the child.
class Pipe {
public:
  Pipe() = default;
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;
  ~Pipe() {
    closeRead();
    closeWrite();
  }
  bool open() { return pipe2(ends_, O_CLOEXEC) == 0 && fcntl(ends_[0], F_SETFL, O_NONBLOCK) == 0; }
  int readEnd() const { return ends_[0]; }
  int writeEnd() const { return ends_[1]; }
  void closeRead() { closeEnd(ends_[0]); }
  void closeWrite() { closeEnd(ends_[1]); }

private:
  static void closeEnd(int &fd) {
    if (fd >= 0)
      close(fd);
    fd = -1;
  }
  int ends_[2] = {-1, -1};
};

// The child's two outputs: lines of progress, and the end of what it said on stderr.
class Outputs {
public:
  explicit Outputs(const ProgressSink &progress) : progress_(progress) {}
  bool open() { return out_.open() && err_.open(); }
  Pipe &out() { return out_; }
  Pipe &err() { return err_; }

  // Waits at most kPollMs for output and takes what is there; false when both are at their end.
  bool read() {
    pollfd watched[] = {{out_.readEnd(), POLLIN, 0}, {err_.readEnd(), POLLIN, 0}};
    poll(watched, 2, kPollMs);
    return drain();
  }
  bool drain() {
    drain(out_, [this](std::string_view bytes) { addOut(bytes); });
    drain(err_, [this](std::string_view bytes) { addErr(bytes); });
    return out_.readEnd() >= 0 || err_.readEnd() >= 0;
  }
  // The last line that the child wrote to stderr, without its name in front.
  std::string lastError() const;
  const std::string &lastProgress() const { return lastProgress_; }

private:
  template <typename Take> static void drain(Pipe &pipe, Take take) {
    char bytes[4096];
    for (int i = 0; i < kReadsAtOnce && pipe.readEnd() >= 0; ++i) {
      const ssize_t count = ::read(pipe.readEnd(), bytes, sizeof bytes);
      if (count > 0)
        take(std::string_view(bytes, static_cast<size_t>(count)));
      else if (count == 0 || (errno != EAGAIN && errno != EINTR))
        pipe.closeRead();
      else if (errno == EAGAIN)
        return;
    }
  }
  void addOut(std::string_view bytes);
  void addErr(std::string_view bytes) {
    errors_.append(bytes);
    if (errors_.size() > kMaxErrorBytes)
      errors_.erase(0, errors_.size() - kMaxErrorBytes);
  }

  const ProgressSink &progress_;
  Pipe out_, err_;
  std::string line_, errors_, lastProgress_;
};

void Outputs::addOut(std::string_view bytes) {
  for (const char byte : bytes) {
    if (byte != '\n') {
      if (line_.size() < kMaxLineBytes)
        line_.push_back(byte);
      continue;
    }
    if (const auto progress = parseProgress(line_)) {
      lastProgress_ = progress->text;
      progress_(*progress);
    }
    line_.clear();
  }
}

std::string Outputs::lastError() const {
  std::string_view text = errors_;
  const size_t end = text.find_last_not_of(" \n\r\t");
  if (end == std::string_view::npos)
    return "";
  text = text.substr(0, end + 1);
  const size_t start = text.rfind('\n');
  std::string last(start == std::string_view::npos ? text : text.substr(start + 1));
  constexpr std::string_view kName = "sinter-compiler: ";
  if (last.starts_with(kName))
    last.erase(0, kName.size());
  return last;
}

Result<void> judge(const ChildEnd &end, const Outputs &outputs) {
  if (end.good())
    return {};
  const std::string said = outputs.lastError();
  const std::string during =
      outputs.lastProgress().empty() ? "" : " during '" + outputs.lastProgress() + "'";
  if (end.signal)
    return fail(Code::Internal, "the compiler was killed by " + signalText(end.signal) + during +
                                    (said.empty() ? "" : "; it said last: " + said));
  if (said.empty())
    return fail(Code::Internal, "the compiler ended with status " + std::to_string(end.code) +
                                    during + " and said nothing");
  switch (end.code) {
  case 1:
    return fail(Code::Unsupported, said);
  case 2:
    return fail(Code::InvalidArgument, said);
  default:
    return fail(Code::Internal, said);
  }
}

Result<ChildEnd> watch(ChildProcess &child, Outputs &outputs, const CompilerLimits &limits,
                       const std::atomic<bool> &cancel) {
  const auto end = Clock::now() + std::chrono::milliseconds(limits.timeoutMs);
  for (bool open = true;;) {
    if (open)
      open = outputs.read();
    else
      usleep(1000);
    if (const auto ended = child.ended()) {
      outputs.drain();
      return *ended;
    }
    if (cancel.load()) {
      child.stop();
      return fail(Code::Cancelled, "interrupted while the compiler was running");
    }
    if (Clock::now() >= end) {
      child.stop();
      return fail(Code::Timeout, "the compiler did not end within " +
                                     std::to_string(limits.timeoutMs / 1000) +
                                     " s and was stopped");
    }
  }
}

} // namespace

std::optional<CompilerProgress> parseProgress(std::string_view line) {
  constexpr std::string_view kWord = "progress ";
  if (!line.starts_with(kWord))
    return std::nullopt;
  CompilerProgress progress;
  const char *at = line.data() + kWord.size();
  const char *end = line.data() + line.size();
  for (uint64_t *number : {&progress.done, &progress.total}) {
    const auto parsed = std::from_chars(at, end, *number);
    if (parsed.ec != std::errc() || (parsed.ptr != end && *parsed.ptr != ' '))
      return std::nullopt;
    at = parsed.ptr == end ? end : parsed.ptr + 1;
  }
  if (progress.done > progress.total)
    return std::nullopt;
  progress.text.assign(at, end);
  return progress;
}

Result<std::string> findCompiler() {
  std::string program;
  if (const char *named = std::getenv("SINTER_COMPILER"); named && *named) {
    program = named;
  } else {
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self);
    if (length <= 0 || length == static_cast<ssize_t>(sizeof self))
      return fail(Code::NotFound, "cannot tell where this program lies (/proc/self/exe), to find "
                                  "the compiler beside it");
    program.assign(self, static_cast<size_t>(length));
    program.replace(program.rfind('/') + 1, std::string::npos, "sinter-compiler");
  }
  if (access(program.c_str(), X_OK) != 0)
    return fail(errno == ENOENT ? Code::NotFound : Code::Permission,
                "cannot start the compiler '" + program + "': " + std::strerror(errno));
  return program;
}

Result<CompilerLimits> compilerLimits() {
  constexpr uint32_t kMostSeconds = 24 * 3600;
  CompilerLimits limits;
  const char *text = std::getenv("SINTER_COMPILE_SECONDS");
  if (!text || !*text)
    return limits;
  uint32_t seconds = 0;
  const char *end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end || seconds < 1 || seconds > kMostSeconds)
    return fail(Code::InvalidArgument, std::string("SINTER_COMPILE_SECONDS is '") + text +
                                           "', expected a whole number from 1 to " +
                                           std::to_string(kMostSeconds));
  limits.timeoutMs = seconds * 1000;
  return limits;
}

Result<void> runCompiler(const std::string &program, std::span<const std::string> arguments,
                         int output, const CompilerLimits &limits, const std::atomic<bool> &cancel,
                         const ProgressSink &progress) {
  Outputs outputs(progress);
  if (!outputs.open())
    return fail(Code::Exhausted,
                std::string("cannot make a pipe for the compiler: ") + std::strerror(errno));
  // The last is kCompilerOutput.
  const int files[] = {outputs.out().writeEnd(), outputs.err().writeEnd(), output};
  ChildProcess child;
  if (Result<void> started = child.start(program, arguments, files); !started)
    return fail(started.error().code,
                "cannot start the compiler '" + program + "': " + started.error().message);
  child.limit({.memoryBytes = limits.memoryBytes});
  outputs.out().closeWrite();
  outputs.err().closeWrite();
  SINTER_ASSIGN(const ChildEnd end, watch(child, outputs, limits, cancel));
  return judge(end, outputs);
}

} // namespace sinter::host
