// Lines from a terminal, with editing and recall.
#pragma once

#include <optional>
#include <string>
#include <termios.h>

namespace sinter::cli {

// Through GNU Readline, whose state is the process's: one at a time. While it lives the terminal
// shows nothing that is typed but on a line that is edited, and keeps what is typed between lines
// for the next one, a whole page if need be. While a line is edited Ctrl-C clears it and is no
// signal, and a process that was stopped and continued draws the line again. Interrupts must live.
class LineEditor {
public:
  LineEditor();
  ~LineEditor();
  LineEditor(const LineEditor &) = delete;
  LineEditor &operator=(const LineEditor &) = delete;

  // Without the newline; nothing at the end of input.
  std::optional<std::string> readLine(const char *prompt);
  // Whether Ctrl-C ended the last line.
  bool wasCleared() const;
  // Can be recalled from now on; it may have several lines.
  void remember(const std::string &text);

private:
  bool known_;
  termios former_, between_, editing_; // modes: as found, between lines, while one is edited
};

} // namespace sinter::cli
