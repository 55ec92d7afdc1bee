// sinter compile: one file with a model's plans for several targets.
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "hal/target_choice.h"
#include "host/device_choice.h"
#include "host/model_store.h"
#include "host/plan_file.h"

namespace sinter::cli {

Result<int> compileCommand(const CompileArguments &arguments, Interrupts &interrupts) {
  TerminalObserver observer(interrupts);
  SINTER_ASSIGN(const ModelFile model, host::openModelFile(arguments.model, observer));
  hal::DriverRegistry registry;
  SINTER_TRY(host::addDrivers(registry));
  host::CompileRequest request{{}, arguments.precision, arguments.output, arguments.keepGoing};
  for (const std::string &name : arguments.targets) {
    hal::TargetChoice choice = hal::chooseTarget(name, registry);
    if (!choice.why.empty())
      sayOnStderr(choice.why);
    request.targets.push_back(std::move(choice.target));
  }
  SINTER_ASSIGN(const size_t failed, host::compileTo(model, request, observer));
  if (!failed)
    return kExitOk;
  sayOnStderr("'" + arguments.output + "' has " +
              std::to_string(arguments.targets.size() - failed) + " of " +
              std::to_string(arguments.targets.size()) + " targets' plans");
  return kExitPartly;
}

} // namespace sinter::cli
