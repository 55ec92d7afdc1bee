// Loading kernels by name, text or C++ source.
#include "tile/mlir_pch.h"

#include "compiler/kernel_defaults.h"
#include "compiler/kernel_source.h"
#include "sched/sched.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cstdlib>

namespace sinter::compiler {

static Result<std::string> readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return fail(Code::NotFound, "cannot read '" + path + "': " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

// The headers beside the program: include/ of the source tree it was built from, or SINTER_INCLUDE.
static std::string includeFolder() {
  if (const char *folder = std::getenv("SINTER_INCLUDE"))
    return folder;
  return SINTER_INCLUDE_DIR;
}

static Result<std::string> findCompiler() {
  for (const char *name : {"clang++-22", "clang++", "g++", "c++"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return fail(Code::NotFound,
              "no C++ compiler found, expected clang++-22, clang++, g++ or c++ on PATH");
}

static Result<void> compileSource(const std::string &source, const std::string &object,
                                  const std::string &log) {
  SINTER_ASSIGN(std::string compiler, findCompiler());
  std::string include = "-I" + includeFolder();
  llvm::StringRef args[] = {compiler, "-std=c++20", "-O1", "-fPIC", "-shared",
                            include,  source,       "-o",  object};
  std::optional<llvm::StringRef> redirects[] = {"", log, log};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(compiler, args, std::nullopt, redirects,
                                         /*SecondsToWait=*/300, 0, &message);
  if (status == 0)
    return {};
  Result<std::string> text = readFile(log);
  return fail(Code::InvalidArgument,
              "'" + source + "' does not compile:\n" + (text ? *text : message));
}

Result<tile::KernelModule> buildSource(const std::string &path) {
  if (!llvm::sys::fs::exists(path))
    return fail(Code::NotFound, "cannot read '" + path + "': no such file");
  llvm::SmallString<128> folder;
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("sinter-kernel", folder))
    return fail(Code::Permission, "cannot make a temporary folder: " + error.message());
  std::string object = (folder + "/kernel.so").str();
  Result<tile::KernelModule> result = [&]() -> Result<tile::KernelModule> {
    SINTER_TRY(compileSource(path, object, (folder + "/log").str()));
    return tile::KernelModule::load(object);
  }();
  llvm::sys::fs::remove_directories(folder);
  return result;
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
                                       std::string_view target) {
  auto load = [&]() -> Result<tile::KernelModule> {
    Result<kernels::KernelEntry> entry = kernels::findKernel(what);
    if (entry)
      return buildRegistered(*entry, withDefaults(*entry, target, settings));
    if (!settings.empty())
      return fail(Code::InvalidArgument,
                  "settings are for registered kernels; " + entry.error().message);
    if (llvm::sys::path::extension(what) == ".cpp")
      return buildSource(what);
    if (!llvm::sys::fs::exists(what))
      return fail(Code::NotFound,
                  "'" + what + "' is neither a file nor a kernel; " + entry.error().message);
    SINTER_ASSIGN(std::string text, readFile(what));
    mlir::DialectRegistry scheduled;
    scheduled.insert<sched::SchedDialect, mlir::vector::VectorDialect>();
    return tile::KernelModule::parse(text, what, &scheduled);
  };
  SINTER_ASSIGN(tile::KernelModule module, load());
  if (!module.ok())
    return fail(Code::InvalidArgument, module.diagnosticText());
  return module;
}

} // namespace sinter::compiler
