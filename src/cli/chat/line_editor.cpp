// Readline, with Ctrl-C as a key, in a terminal whose modes are set for all of a chat.
#include "cli/chat/line_editor.h"

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <readline/history.h>
#include <readline/readline.h>
#include <unistd.h>

namespace sinter::cli {
namespace {

constexpr int kControlC = 3;

bool cleared = false; // readline's keys have no other way to say so

int clearLine(int, int) {
  cleared = true;
  rl_replace_line("", 0);
  rl_done = 1;
  return 0;
}

// Lets SIGCONT interrupt readline's waiting while it lives.
class Resuming {
public:
  Resuming() {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    sigaction(SIGCONT, &action, nullptr);
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGCONT);
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  }
  ~Resuming() { pthread_sigmask(SIG_BLOCK, &signals_, nullptr); }
  Resuming(const Resuming &) = delete;
  Resuming &operator=(const Resuming &) = delete;

private:
  sigset_t signals_;
};

// SIGCONT is the only signal that readline's thread is interrupted by. Who stopped the process has
// used the terminal meanwhile.
int drawAgain() {
  rl_deprep_terminal();
  rl_prep_terminal(1);
  rl_on_new_line();
  rl_redisplay();
  return 0;
}

// Text is UTF-8, whatever the locale says.
void takeAllBytes() {
  rl_variable_bind("input-meta", "on");
  rl_variable_bind("output-meta", "on");
  rl_variable_bind("convert-meta", "off");
}
// Called by readline for each line, after it has set the locale of the environment.
int editCharacters() {
  if (MB_CUR_MAX == 1)
    setlocale(LC_CTYPE, "C.UTF-8");
  return 0;
}

} // namespace

LineEditor::LineEditor() : known_(tcgetattr(STDIN_FILENO, &former_) == 0) {
  // Not by lines, which a terminal cuts off at 4095 bytes and loses where the mode changes.
  editing_ = former_;
  editing_.c_lflag &= ~static_cast<tcflag_t>(ICANON);
  editing_.c_cc[VMIN] = 1;
  editing_.c_cc[VTIME] = 0;
  between_ = editing_;
  between_.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  editing_.c_cc[VINTR] = _POSIX_VDISABLE;
  rl_catch_signals = 0;
  rl_outstream = stderr;
  rl_signal_event_hook = drawAgain;
  rl_startup_hook = editCharacters;
  rl_initialize();
  takeAllBytes();
  // A tab is a tab: there is nothing to complete.
  for (Keymap map : {emacs_standard_keymap, vi_insertion_keymap, vi_movement_keymap}) {
    rl_bind_key_in_map('\t', rl_insert, map);
    rl_bind_key_in_map(kControlC, clearLine, map);
  }
  using_history();
}

LineEditor::~LineEditor() {
  if (known_)
    tcsetattr(STDIN_FILENO, TCSADRAIN, &former_);
}

std::optional<std::string> LineEditor::readLine(const char *prompt) {
  if (known_)
    tcsetattr(STDIN_FILENO, TCSADRAIN, &editing_);
  char *line = nullptr;
  cleared = false;
  {
    const Resuming resuming;
    line = readline(prompt);
  }
  if (known_)
    tcsetattr(STDIN_FILENO, TCSADRAIN, &between_);
  if (!line)
    return std::nullopt;
  std::string text(line);
  std::free(line);
  return text;
}

bool LineEditor::wasCleared() const {
  return cleared;
}

void LineEditor::remember(const std::string &text) {
  add_history(text.c_str());
}

} // namespace sinter::cli
