// Readline, with Ctrl-C as a key.
#include "cli/line_editor.h"

#include <cstdio>
#include <cstdlib>
#include <readline/history.h>
#include <readline/readline.h>
#include <termios.h>
#include <unistd.h>

namespace sinter::cli {
namespace {

constexpr int kControlC = 3;

// Takes the interrupt character from the terminal while it lives.
class InterruptKey {
public:
  InterruptKey() : known_(tcgetattr(STDIN_FILENO, &former_) == 0) {
    if (!known_)
      return;
    termios now = former_;
    now.c_cc[VINTR] = _POSIX_VDISABLE;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
  }
  ~InterruptKey() {
    if (known_)
      tcsetattr(STDIN_FILENO, TCSADRAIN, &former_);
  }
  InterruptKey(const InterruptKey &) = delete;
  InterruptKey &operator=(const InterruptKey &) = delete;

private:
  termios former_;
  bool known_;
};

int clearLine(int, int) {
  rl_replace_line("", 0);
  rl_done = 1;
  return 0;
}

} // namespace

LineEditor::LineEditor() {
  rl_catch_signals = 0;
  rl_outstream = stderr;
  // A tab is a tab: there is nothing to complete.
  for (Keymap map : {emacs_standard_keymap, vi_insertion_keymap, vi_movement_keymap}) {
    rl_bind_key_in_map('\t', rl_insert, map);
    rl_bind_key_in_map(kControlC, clearLine, map);
  }
  using_history();
}

std::optional<std::string> LineEditor::readLine(const char *prompt) {
  const InterruptKey key;
  char *line = readline(prompt);
  if (!line)
    return std::nullopt;
  std::string text(line);
  std::free(line);
  if (!text.empty())
    add_history(text.c_str());
  return text;
}

} // namespace sinter::cli
