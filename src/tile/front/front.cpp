// Running kernel sources into modules, and reading and writing the textual form.
#include "tile/front/front.h"
#include "tile/front/session.h"
#include "tile/mlir_pch.h"

#include <dlfcn.h>

using namespace mlir;

namespace sinter::tile {

std::string FrontDiagnostic::toString() const {
  return file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message;
}

void loadKernelDialects(MLIRContext &context) {
  context.loadDialect<TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
}

BuiltKernels buildKernels(MLIRContext &context, const KernelSource &source) {
  loadKernelDialects(context);
  SinterKernelSession session(context);
  kernel::Module module(&session);
  source(module);
  return {session.takeModule(), session.takeDiagnostics()};
}

KernelModule::KernelModule(std::unique_ptr<MLIRContext> context) : context_(std::move(context)) {}

static std::unique_ptr<MLIRContext> makeContext() {
  return std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
}

KernelModule KernelModule::build(const KernelSource &source) {
  KernelModule result(makeContext());
  result.kernels_ = buildKernels(*result.context_, source);
  return result;
}

Result<KernelModule> KernelModule::load(const std::string &path, std::string name) {
  if (name.empty())
    name = path;
  void *object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object)
    return fail(Code::NotFound, "kernel source cannot be loaded: " + std::string(dlerror()));
  auto version = reinterpret_cast<uint32_t (*)()>(dlsym(object, "sinterKernelsAbiVersion"));
  auto define = reinterpret_cast<void (*)(SinterKernelSession *)>(dlsym(object, "sinterKernels"));
  Result<KernelModule> result = fail(
      Code::InvalidArgument, "'" + name + "' defines no kernels, expected SINTER_KERNELS(module)");
  if (version && define && version() != SINTER_KERNEL_ABI_VERSION)
    result = fail(Code::InvalidArgument, "'" + name + "' was built for kernel ABI " +
                                             std::to_string(version()) + ", expected " +
                                             std::to_string(SINTER_KERNEL_ABI_VERSION));
  else if (version && define)
    result = build([&](kernel::Module &module) { define(module.session()); });
  dlclose(object);
  return result;
}

Result<KernelModule> KernelModule::parse(const std::string &text, const std::string &name,
                                         const DialectRegistry *more) {
  KernelModule result(makeContext());
  loadKernelDialects(*result.context_);
  if (more)
    result.context_->appendDialectRegistry(*more);
  std::string messages;
  ScopedDiagnosticHandler capture(result.context_.get(), [&](Diagnostic &diagnostic) {
    std::string place = name;
    if (auto found = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
      place += ":" + std::to_string(found.getLine()) + ":" + std::to_string(found.getColumn());
    messages += (messages.empty() ? "" : "\n") + place + ": " + diagnostic.str();
    return success();
  });
  result.kernels_.module =
      parseSourceString<ModuleOp>(text, ParserConfig(result.context_.get()), name);
  if (!result.kernels_.module)
    return fail(Code::InvalidArgument, messages);
  return result;
}

std::string KernelModule::diagnosticText() const {
  std::string text;
  for (const FrontDiagnostic &diagnostic : diagnostics())
    text += diagnostic.toString() + "\n";
  return text;
}

std::string KernelModule::text() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module().print(stream);
  return text;
}

std::string KernelModule::textWithPlaces() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module().print(stream, OpPrintingFlags().enableDebugInfo());
  return text;
}

} // namespace sinter::tile
