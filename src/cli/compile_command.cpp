// sinter compile: one file with a model's plans for several targets.
#include "cli/commands.h"
#include "cli/open_model.h"
#include "cli/plan_store.h"

namespace sinter::cli {

Result<int> compileCommand(const CompileArguments &arguments, Interrupts &interrupts) {
  SINTER_ASSIGN(const ModelFile model, openModelFile(arguments.model));
  const PlanRequest request{arguments.targets, arguments.precision};
  SINTER_TRY(compileTo(model, request, arguments.output, interrupts));
  return kExitOk;
}

} // namespace sinter::cli
