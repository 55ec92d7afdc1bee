// What all targets share: stages, and compiling a module alone.
#include "tile/mlir_pch.h"

#include "targets/target.h"

namespace sinter::targets {

const std::string *Stages::find(std::string_view name) const {
  for (const auto &[stage, text] : texts)
    if (stage == name)
      return &text;
  return nullptr;
}

Result<CompiledModule> compileKernels(const Target &target, mlir::ModuleOp source, Stages *stages) {
  SINTER_ASSIGN(CompiledModule module, target.compilePart(source, stages));
  SINTER_ASSIGN(module.code, target.link({&module.code, 1}));
  return module;
}

std::string printed(mlir::Operation *op) {
  std::string text;
  llvm::raw_string_ostream out(text);
  op->print(out);
  return text;
}

} // namespace sinter::targets
