// Loading kernels by name, text or C++ source.
#include "tile/mlir_pch.h"

#include "base/mapped_file.h"
#include "compiler/cpp_source.h"
#include "compiler/kernel_defaults.h"
#include "compiler/kernel_source.h"
#include "sched/sched.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace sinter::compiler {

Result<std::string> readSource(const std::string &path) {
  SINTER_ASSIGN(const MappedFile file, MappedFile::open(path));
  const std::span<const uint8_t> bytes = file.bytes();
  if (bytes.size() > kMostSourceBytes)
    return fail(Code::InvalidArgument, "'" + path + "' has " + std::to_string(bytes.size()) +
                                           " bytes, expected a source of at most " +
                                           std::to_string(kMostSourceBytes));
  return std::string(bytes.begin(), bytes.end());
}

static Result<tile::KernelModule> buildRegistered(const kernels::KernelEntry &entry,
                                                  const kernels::Settings &settings) {
  Result<void> defined;
  tile::KernelModule module = tile::KernelModule::build(
      [&](kernel::Module &m) { defined = entry.define(m, entry.name, settings); });
  SINTER_TRY(std::move(defined));
  return module;
}

Result<tile::KernelModule> loadKernels(const std::string &what, const kernels::Settings &settings,
                                       targets::TargetKind kind) {
  auto load = [&]() -> Result<tile::KernelModule> {
    Result<kernels::KernelEntry> entry = kernels::findKernel(what);
    if (entry)
      return buildRegistered(*entry, withDefaults(*entry, kind, settings));
    if (!settings.empty())
      return fail(Code::InvalidArgument,
                  "settings are for registered kernels; " + entry.error().message);
    if (!llvm::sys::fs::exists(what))
      return fail(Code::NotFound,
                  "'" + what + "' is neither a file nor a kernel; " + entry.error().message);
    if (llvm::sys::path::extension(what) == ".bundle")
      return fail(Code::InvalidArgument,
                  "'" + what +
                      "' is a bundle, which `sinter kernel run FILE.bundle` and `bench` "
                      "take as their first argument");
    if (llvm::sys::path::extension(what) == ".cpp")
      return buildCppSource(what);
    SINTER_ASSIGN(std::string text, readSource(what));
    DialectRegistry scheduled;
    scheduled.insert<sched::SchedDialect, vector::VectorDialect>();
    return tile::KernelModule::parse(text, what, &scheduled);
  };
  SINTER_ASSIGN(tile::KernelModule module, load());
  if (!module.ok())
    return fail(Code::InvalidArgument, module.diagnosticText());
  return module;
}

Result<void> keepKernel(tile::KernelModule &module, const std::string &source,
                        const std::string &name) {
  SmallVector<tile::KernelOp> kernels(module.module().getOps<tile::KernelOp>());
  SmallVector<StringRef> names;
  for (tile::KernelOp kernel : kernels)
    names.push_back(kernel.getSymName());
  if (names.empty())
    return fail(Code::InvalidArgument, "'" + source + "' has no kernel");
  if (name.empty() && names.size() > 1)
    return fail(Code::InvalidArgument, "'" + source + "' has " + std::to_string(names.size()) +
                                           " kernels: " + llvm::join(names, ", ") +
                                           "; choose one with --kernel NAME");
  if (!name.empty() && !llvm::is_contained(names, name))
    return fail(Code::NotFound, "'" + source + "' has no kernel '" + name + "', expected " +
                                    (names.size() > 1 ? "one of: " : "") + llvm::join(names, ", "));
  for (tile::KernelOp kernel : kernels)
    if (!name.empty() && kernel.getSymName() != name)
      kernel.erase();
  return {};
}

} // namespace sinter::compiler
