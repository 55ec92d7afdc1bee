// Output to terminals, pipes and files, and figures on this process.
#include "cli/terminal.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace sinter::cli {
namespace {

void writeStderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

size_t terminalColumns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return 80;
  return size.ws_col;
}

std::string readSmallFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

uint64_t leadingNumber(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t");
  uint64_t number = 0;
  if (start != std::string_view::npos)
    std::from_chars(text.data() + start, text.data() + text.size(), number);
  return number;
}

bool isControl(unsigned char c) {
  return c < 0x20 || c == 0x7f;
}

// Whether the call is to be made again: it was interrupted, or the other side made the stream
// non-blocking, which is then waited for.
bool isWorthAnotherTry(int fd, short events) {
  if (errno == EINTR)
    return true;
  if (errno != EAGAIN)
    return false;
  pollfd watched = {fd, events, 0};
  return poll(&watched, 1, -1) >= 0 || errno == EINTR;
}

} // namespace

std::string withoutControls(std::string_view text, std::string_view kept) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool wide = c == 0xc2 && next >= 0x80 && next < 0xa0; // U+0080 to U+009F in UTF-8
    if (!wide && (!isControl(c) || kept.find(text[i]) != std::string_view::npos)) {
      out += text[i];
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02x", wide ? next : c);
    out += code;
    i += wide;
  }
  return out;
}

void sayOnStderr(std::string_view line) {
  writeStderr("sinter: " + withoutControls(line) + "\n");
}

Result<void> writeStdout(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && isWorthAnotherTry(STDOUT_FILENO, POLLOUT))
      continue;
    if (count < 0 && errno == EPIPE)
      return fail(Code::BrokenPipe, "nobody reads standard output any more");
    if (count < 0)
      return fail(errno == ENOSPC ? Code::Exhausted : Code::Internal,
                  std::string("cannot write to standard output: ") + std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Result<std::string> readStdin(size_t mostBytes) {
  std::string text;
  char bytes[65536];
  while (true) {
    const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && isWorthAnotherTry(STDIN_FILENO, POLLIN))
      continue;
    if (count < 0)
      return fail(Code::Internal,
                  std::string("cannot read standard input: ") + std::strerror(errno));
    if (count == 0)
      return text;
    text.append(bytes, static_cast<size_t>(count));
    if (text.size() > mostBytes)
      return fail(Code::InvalidArgument,
                  "standard input has more than " + std::to_string(mostBytes) + " bytes");
  }
}

bool stdinIsTerminal() {
  return isatty(STDIN_FILENO) == 1;
}
bool stdoutIsTerminal() {
  return isatty(STDOUT_FILENO) == 1;
}
bool stderrIsTerminal() {
  return isatty(STDERR_FILENO) == 1;
}

ProgressLine::ProgressLine(std::string title)
    : title_(std::move(title)), terminal_(stderrIsTerminal()) {
  if (!terminal_)
    sayOnStderr(title_);
}

void ProgressLine::show(uint64_t done, uint64_t total, std::string_view text) {
  if (!terminal_)
    return;
  constexpr uint64_t kBarCells = 24;
  const uint64_t filled = total ? done * kBarCells / total : 0;
  std::string line = title_ + " [" + std::string(filled, '#') +
                     std::string(kBarCells - filled, '.') + "] " + std::to_string(done) + "/" +
                     std::to_string(total) + " " + withoutControls(text);
  line.resize(std::min(line.size(), terminalColumns() - 1));
  writeStderr("\r\x1b[K" + line);
  drawn_ = true;
}

void ProgressLine::finish() {
  if (drawn_)
    writeStderr("\r\x1b[K");
  drawn_ = false;
}

uint64_t peakMemoryBytes() {
  const std::string status = readSmallFile("/proc/self/status");
  constexpr std::string_view kKey = "VmHWM:";
  const size_t at = status.find(kKey);
  return at == std::string::npos
             ? 0
             : leadingNumber(std::string_view(status).substr(at + kKey.size())) * 1024;
}

double secondsSinceProcessStart() {
  // The second field, the program's name, may hold anything, so fields are counted from its end.
  const std::string stat = readSmallFile("/proc/self/stat");
  size_t at = stat.rfind(')');
  constexpr int kStartTimeField = 22;
  for (int field = 2; at != std::string::npos && field < kStartTimeField; ++field)
    at = stat.find(' ', at + 1);
  timespec now;
  if (at == std::string::npos || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
    return 0;
  const double start = static_cast<double>(leadingNumber(std::string_view(stat).substr(at))) /
                       static_cast<double>(sysconf(_SC_CLK_TCK));
  return std::max(0.0, static_cast<double>(now.tv_sec) + now.tv_nsec * 1e-9 - start);
}

} // namespace sinter::cli
