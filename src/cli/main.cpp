// sinter: compiles models for the processor at hand and runs them. This file starts the command.
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/interrupts.h"
#include "cli/terminal.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace {

using namespace sinter;
using namespace sinter::cli;

// Reads of a mapped model file whose end was cut off fault; nothing can go on after that.
void sayFileIsGone(int) {
  constexpr char kText[] = "\nsinter: the model file was cut short while it was in use\n";
  (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(kExitFailure);
}

void prepareSignals() {
  struct sigaction action{};
  action.sa_handler = sayFileIsGone;
  sigaction(SIGBUS, &action, nullptr);
  // A file size limit is then an error of the write that hits it.
  std::signal(SIGXFSZ, SIG_IGN);
}

int report(const Result<int> &result) {
  if (result)
    return *result;
  if (result.error().code == Code::Cancelled)
    return kExitInterrupted;
  sayOnStderr(result.error().toString());
  return kExitFailure;
}

Result<int> dispatch(const Arguments &arguments, Interrupts &interrupts) {
  if (const auto *run = std::get_if<RunArguments>(&arguments))
    return runCommand(*run, interrupts);
  if (const auto *bench = std::get_if<BenchArguments>(&arguments))
    return benchCommand(*bench, interrupts);
  if (const auto *explain = std::get_if<ExplainArguments>(&arguments))
    return explainCommand(*explain, interrupts);
  if (const auto *perplexity = std::get_if<PerplexityArguments>(&arguments))
    return perplexityCommand(*perplexity, interrupts);
  return devicesCommand();
}

} // namespace

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], "kernel") == 0)
    return report(kernelCommand(argv));
  const auto arguments = parseArguments({argv, static_cast<size_t>(argc)});
  if (!arguments) {
    const Message &message = arguments.error();
    std::fputs(message.text.c_str(), message.exitCode == kExitOk ? stdout : stderr);
    return message.exitCode;
  }
  prepareSignals();
  const auto interrupts = Interrupts::create();
  if (!interrupts)
    return report(Fail(interrupts.error()));
  return report(dispatch(*arguments, **interrupts));
}
