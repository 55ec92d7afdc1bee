// Lines from a terminal, with editing and recall.
#pragma once

#include <optional>
#include <string>

namespace sinter::cli {

// Through GNU Readline, whose state is the process's: one at a time. While a line is edited Ctrl-C
// clears it and is no signal.
class LineEditor {
public:
  LineEditor();

  // Without the newline; nothing at the end of input. Lines that are not empty can be recalled.
  std::optional<std::string> readLine(const char *prompt);
};

} // namespace sinter::cli
