// What was typed in chats, kept from one to the next.
#pragma once

#include "base/status.h"

#include <string>
#include <vector>

namespace sinter::cli {

inline constexpr size_t kMostHistoryEntries = 1000;
inline constexpr size_t kMostHistoryBytes = size_t{1} << 20;      // of the file
inline constexpr size_t kMostHistoryEntryBytes = size_t{1} << 16; // longer ones are not kept

// A text file with an entry a line, in which \n and \\ stand for a newline and a backslash. Several
// chats may use it at a time.
class ChatHistory {
public:
  // $XDG_STATE_HOME/sinter/history, else $HOME/.local/state/sinter/history; folders are made, for
  // the user alone. NotFound: neither variable names a folder. Other codes as base/system_error.h
  // says.
  static Result<ChatHistory> open();
  // The file `path` in a folder that exists.
  explicit ChatHistory(std::string path) : path_(std::move(path)) {}

  // The entries, the oldest first; none where there is no file. When there are more than the limits
  // allow, the oldest are removed from the file. Corrupt: it is no regular file, or far too large.
  Result<std::vector<std::string>> read() const;
  // Adds an entry to the file, which has rights 0600.
  Result<void> append(const std::string &entry) const;

private:
  Result<void> replace(const std::vector<std::string> &entries) const;

  std::string path_;
};

} // namespace sinter::cli
