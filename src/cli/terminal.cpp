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

} // namespace

void sayOnStderr(std::string_view line) {
  writeStderr("sinter: " + std::string(line) + "\n");
}

Result<void> writeStdout(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return fail(errno == ENOSPC ? Code::Exhausted : Code::Internal,
                  std::string("cannot write to standard output: ") + std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

bool stdinIsTerminal() {
  return isatty(STDIN_FILENO) == 1;
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
                     std::to_string(total) + " " + std::string(text);
  line.resize(std::min(line.size(), terminalColumns() - 1));
  writeStderr("\r\x1b[K" + line);
  drawn_ = true;
}

void ProgressLine::finish() {
  if (drawn_)
    writeStderr("\r\x1b[K");
  drawn_ = false;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string bytesText(double bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    bytes /= 1024;
  return fixed(bytes, unit == 0 ? 0 : 1) + " " + kUnits[unit];
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
