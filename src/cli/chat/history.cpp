// Entries are added by one write each at the file's end, so that those of two chats do not mix.
#include "cli/chat/history.h"

#include "base/file_lock.h"
#include "base/folders.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "base/system_error.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::cli {
namespace {

constexpr uint32_t kLockMs = 1000;
constexpr mode_t kRights = 0600;
// What was written before a chat trims the file may go beyond its limit, but not by this much.
constexpr size_t kMostFileBytes = size_t{64} << 20;

std::string escaped(const std::string &entry) {
  std::string line;
  for (const char c : entry)
    line += c == '\n' ? "\\n" : c == '\\' ? "\\\\" : std::string(1, c);
  return line + "\n";
}

std::string unescaped(std::string_view line) {
  std::string entry;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool escapes = line[i] == '\\' && i + 1 < line.size();
    entry += !escapes ? line[i] : line[++i] == 'n' ? '\n' : line[i];
  }
  return entry;
}

std::vector<std::string> entriesOf(std::string_view text) {
  std::vector<std::string> entries;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0)
      entries.push_back(unescaped(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return entries;
}

// How many of the oldest are beyond the limits.
size_t surplus(const std::vector<std::string> &entries) {
  size_t bytes = 0, kept = 0;
  while (kept < std::min(entries.size(), kMostHistoryEntries)) {
    bytes += escaped(entries[entries.size() - 1 - kept]).size();
    if (bytes > kMostHistoryBytes)
      break;
    ++kept;
  }
  return entries.size() - kept;
}

Result<std::string> folder() {
  const char *state = std::getenv("XDG_STATE_HOME"), *home = std::getenv("HOME");
  if (state && state[0] == '/')
    return std::string(state) + "/sinter";
  if (home && home[0] == '/')
    return std::string(home) + "/.local/state/sinter";
  return fail(Code::NotFound, "neither XDG_STATE_HOME nor HOME names a folder");
}

Result<FileLock> lockOf(const std::string &path) {
  const std::string name = path + ".lock";
  return FileLock::take(AT_FDCWD, name, "lock file '" + name + "'",
                        "another process has been using '" + path + "'", kLockMs);
}

} // namespace

Result<ChatHistory> ChatHistory::open() {
  SINTER_ASSIGN(const std::string place, folder());
  SINTER_TRY(makeFolders(place, "folder"));
  return ChatHistory(place + "/history");
}

Result<std::vector<std::string>> ChatHistory::read() const {
  SINTER_ASSIGN(const FileLock lock, lockOf(path_));
  const auto file = MappedFile::open(path_);
  if (!file && (file.error().code == Code::NotFound || file.error().code == Code::Truncated))
    return std::vector<std::string>();
  if (!file)
    return Fail(file.error());
  const std::string_view text(reinterpret_cast<const char *>(file->bytes().data()),
                              file->bytes().size());
  if (text.size() > kMostFileBytes)
    return fail(Code::Corrupt, "'" + path_ + "' has " + std::to_string(text.size()) +
                                   " bytes, expected at most " + std::to_string(kMostFileBytes));
  std::vector<std::string> entries = entriesOf(text);
  const size_t huge = std::erase_if(
      entries, [](const std::string &entry) { return entry.size() > kMostHistoryEntryBytes; });
  const size_t tooMany = surplus(entries);
  entries.erase(entries.begin(), entries.begin() + static_cast<ptrdiff_t>(tooMany));
  if (huge + tooMany > 0)
    SINTER_TRY(replace(entries));
  return entries;
}

Result<void> ChatHistory::replace(const std::vector<std::string> &entries) const {
  std::string text;
  for (const std::string &entry : entries)
    text += escaped(entry);
  SINTER_ASSIGN(OutputFile file, OutputFile::create(path_, kRights));
  SINTER_TRY(file.writeAt({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, 0));
  return file.commit(OutputFile::Durability::Checked);
}

Result<void> ChatHistory::append(const std::string &entry) const {
  if (entry.empty() || entry.size() > kMostHistoryEntryBytes)
    return {};
  SINTER_ASSIGN(const FileLock lock, lockOf(path_));
  // Non-blocking, so that a pipe in the file's place does not hang the open.
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  const int fd = ::open(path_.c_str(), kFlags, kRights);
  if (fd < 0)
    return systemFailed("cannot write '" + path_ + "'", errno);
  const std::string line = escaped(entry);
  const ssize_t written = fchmod(fd, kRights) == 0 ? write(fd, line.data(), line.size()) : -1;
  const int error = written < 0 ? errno : ENOSPC;
  close(fd);
  if (written != static_cast<ssize_t>(line.size()))
    return systemFailed("cannot write '" + path_ + "'", error);
  return {};
}

} // namespace sinter::cli
