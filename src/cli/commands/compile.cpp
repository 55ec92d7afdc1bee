// sinter compile: one file with a model's plans for several targets.
#include "cli/commands/commands.h"
#include "cli/open_device.h"
#include "cli/open_model.h"
#include "cli/plan_store.h"
#include "cli/terminal.h"
#include "hal/target_choice.h"

namespace sinter::cli {

Result<int> compileCommand(const CompileArguments &arguments, Interrupts &interrupts) {
  SINTER_ASSIGN(const ModelFile model, openModelFile(arguments.model));
  hal::DriverRegistry registry;
  SINTER_TRY(addDrivers(registry));
  CompileRequest request{{}, arguments.precision, arguments.output, arguments.keepGoing};
  for (const std::string &name : arguments.targets) {
    hal::TargetChoice choice = hal::chooseTarget(name, registry);
    if (!choice.why.empty())
      sayOnStderr(choice.why);
    request.targets.push_back(std::move(choice.target));
  }
  SINTER_ASSIGN(const size_t failed, compileTo(model, request, interrupts));
  if (!failed)
    return kExitOk;
  sayOnStderr("'" + arguments.output + "' has " +
              std::to_string(arguments.targets.size() - failed) + " of " +
              std::to_string(arguments.targets.size()) + " targets' plans");
  return kExitPartly;
}

} // namespace sinter::cli
