// sinter compile: one file with a model's plans for several targets.
#include "cli/commands.h"
#include "cli/open_model.h"
#include "cli/plan_store.h"
#include "cli/terminal.h"

namespace sinter::cli {

Result<int> compileCommand(const CompileArguments &arguments, Interrupts &interrupts) {
  SINTER_ASSIGN(const ModelFile model, openModelFile(arguments.model));
  const CompileRequest request{arguments.targets, arguments.precision, arguments.output,
                               arguments.keepGoing};
  SINTER_ASSIGN(const size_t failed, compileTo(model, request, interrupts));
  if (!failed)
    return kExitOk;
  sayOnStderr("'" + arguments.output + "' has " +
              std::to_string(arguments.targets.size() - failed) + " of " +
              std::to_string(arguments.targets.size()) + " targets' plans");
  return kExitPartly;
}

} // namespace sinter::cli
