// What the host layer tells, on stderr, and Ctrl-C as the end of what it waits for.
#pragma once

#include "cli/interrupts.h"
#include "cli/terminal.h"
#include "host/observer.h"

namespace sinter::cli {

class TerminalObserver final : public host::Observer {
public:
  // Borrows `interrupts`.
  explicit TerminalObserver(Interrupts &interrupts) : interrupts_(interrupts) {}

  void note(const std::string &line) override { sayOnStderr(line); }
  // Until the end of a build Ctrl-C stops it in order, and a line shows how far it is.
  void beginBuild() override {
    guard_.emplace(interrupts_);
    line_.emplace("building the plan");
  }
  void showBuild(const host::CompilerProgress &progress) override {
    line_->show(progress.done, progress.total, progress.text);
  }
  void endBuild() override {
    line_.reset();
    guard_.reset();
  }
  const std::atomic<bool> &cancel() const override { return interrupts_.flag(); }

private:
  Interrupts &interrupts_;
  std::optional<Interrupts::Guard> guard_;
  std::optional<ProgressLine> line_;
};

} // namespace sinter::cli
