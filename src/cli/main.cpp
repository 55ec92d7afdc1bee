// sinter: compiles models for the processor at hand and runs them. This file starts the command.
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/interrupts.h"
#include "cli/terminal.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <termios.h>
#include <unistd.h>

namespace {

using namespace sinter;
using namespace sinter::cli;

// The numbers 0 to 2 stay with the standard streams where those were closed, so that no other file
// gets one. What is opened here refuses to be read (0) or written (1), as a closed file would.
void reserveStandardStreams() {
  constexpr int kModes[] = {O_WRONLY, O_RDONLY, O_RDWR};
  // The lowest free number is given out, so going up fills each gap by itself.
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0)
      (void)!open("/dev/null", kModes[fd]);
}

// A chat shows nothing that is typed between its lines.
void showTyping() {
  termios modes;
  if (tcgetattr(STDIN_FILENO, &modes) != 0 || tcgetpgrp(STDIN_FILENO) != getpgrp())
    return;
  modes.c_lflag |= ICANON | ECHO;
  tcsetattr(STDIN_FILENO, TCSANOW, &modes);
}

// Reads of a mapped file whose end was cut off fault; nothing can go on after that.
void sayFileIsGone(int) {
  constexpr char kText[] = "\nsinter: a file was cut short while it was in use\n";
  (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
  showTyping();
  _exit(kExitFailure);
}

// Nothing that failed to get memory could go on: there are no exceptions to unwind.
void sayOutOfMemory() {
  constexpr char kText[] = "\nsinter: out of memory\n";
  (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
  showTyping();
  _exit(kExitFailure);
}

void prepareSignals() {
  struct sigaction action{};
  action.sa_handler = sayFileIsGone;
  sigaction(SIGBUS, &action, nullptr);
  // A file size limit and a closed pipe are then errors of the write that meets them.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

int report(const Result<int> &result) {
  if (result)
    return *result;
  if (result.error().code == Code::Cancelled)
    return kExitInterrupted;
  // As a filter ends that the signal killed.
  if (result.error().code == Code::BrokenPipe)
    return kExitSignal + SIGPIPE;
  sayOnStderr(result.error().toString());
  return kExitFailure;
}

Result<int> dispatch(const Arguments &arguments, Interrupts &interrupts) {
  if (const auto *run = std::get_if<RunArguments>(&arguments))
    return runCommand(*run, interrupts);
  if (const auto *bench = std::get_if<BenchArguments>(&arguments))
    return benchCommand(*bench, interrupts);
  if (const auto *load = std::get_if<LoadArguments>(&arguments))
    return benchServeCommand(*load, interrupts);
  if (const auto *explain = std::get_if<ExplainArguments>(&arguments))
    return explainCommand(*explain, interrupts);
  if (const auto *tune = std::get_if<TuneArguments>(&arguments))
    return tuneCommand(*tune, interrupts);
  if (const auto *perplexity = std::get_if<PerplexityArguments>(&arguments))
    return perplexityCommand(*perplexity, interrupts);
  if (const auto *logits = std::get_if<LogitsArguments>(&arguments))
    return logitsCommand(*logits, interrupts);
  if (const auto *embed = std::get_if<EmbedArguments>(&arguments))
    return embedCommand(*embed, interrupts);
  if (const auto *rerank = std::get_if<RerankArguments>(&arguments))
    return rerankCommand(*rerank, interrupts);
  if (const auto *show = std::get_if<ShowArguments>(&arguments))
    return showCommand(*show, interrupts);
  if (const auto *pull = std::get_if<PullArguments>(&arguments))
    return pullCommand(*pull, interrupts);
  if (const auto *list = std::get_if<ListArguments>(&arguments))
    return listCommand(*list);
  if (const auto *remove = std::get_if<RemoveArguments>(&arguments))
    return removeCommand(*remove);
  if (const auto *copy = std::get_if<CopyArguments>(&arguments))
    return copyCommand(*copy, interrupts);
  if (const auto *compile = std::get_if<CompileArguments>(&arguments))
    return compileCommand(*compile, interrupts);
  if (const auto *quantize = std::get_if<QuantizeArguments>(&arguments))
    return quantizeCommand(*quantize, interrupts);
  if (const auto *serve = std::get_if<ServeArguments>(&arguments))
    return serveCommand(*serve, interrupts);
  if (const auto *tokenize = std::get_if<TokenizeArguments>(&arguments))
    return tokenizeCommand(*tokenize);
  if (const auto *chatTemplate = std::get_if<ChatTemplateArguments>(&arguments))
    return chatTemplateCommand(*chatTemplate, interrupts);
  if (const auto *doctor = std::get_if<DoctorArguments>(&arguments))
    return doctorCommand(*doctor, interrupts);
  return devicesCommand();
}

} // namespace

int main(int argc, char **argv) {
  reserveStandardStreams();
  std::set_new_handler(sayOutOfMemory);
  if (argc > 1 && std::strcmp(argv[1], "kernel") == 0)
    return report(kernelCommand(argv));
  prepareSignals();
  if (argc < 2) {
    std::fputs(kFirstSteps, stderr);
    return kExitUsage;
  }
  const auto arguments = parseArguments({argv, static_cast<size_t>(argc)});
  if (!arguments) {
    const Message &message = arguments.error();
    if (message.exitCode == kExitOk)
      return report(writeStdout(message.text).map([] { return kExitOk; }));
    sayOnStderr(message.text);
    return message.exitCode;
  }
  const auto interrupts = Interrupts::create();
  if (!interrupts)
    return report(Fail(interrupts.error()));
  return report(dispatch(*arguments, **interrupts));
}
