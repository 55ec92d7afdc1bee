// Runs the tools on files in a folder that ends with the call.
#include "tile/mlir_pch.h"

#include "compiler/temporary_folder.h"
#include "compiler/vendor_tools.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using namespace mlir;

namespace sinter::compiler {
namespace {

constexpr unsigned kMostSeconds = 120;

struct Said {
  int status;
  std::string text;
};

} // namespace

// Runs a tool; its output and errors are one text.
static Said run(const std::string &tool, ArrayRef<StringRef> arguments,
                const TemporaryFolder &folder) {
  SmallVector<StringRef> all{tool};
  llvm::append_range(all, arguments);
  std::string log = folder.file("log"), message;
  std::optional<StringRef> redirects[] = {"", log, log};
  int status =
      llvm::sys::ExecuteAndWait(tool, all, std::nullopt, redirects, kMostSeconds, 0, &message);
  auto text = llvm::MemoryBuffer::getFile(log, /*IsText=*/true);
  return {status, text ? (*text)->getBuffer().str() : message};
}

static Result<void> write(const std::string &path, const std::vector<uint8_t> &bytes) {
  std::error_code error;
  llvm::raw_fd_ostream out(path, error);
  if (!error)
    out.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  out.close();
  if (!error && !out.has_error())
    return {};
  out.clear_error();
  return fail(Code::Exhausted, "cannot write a temporary file for ptxas");
}

// Assembles into `output`; what ptxas says.
static Result<std::string> assemble(std::string_view architecture, const std::vector<uint8_t> &code,
                                    const std::string &flags, const TemporaryFolder &folder,
                                    const std::string &output) {
  auto ptxas = llvm::sys::findProgramByName("ptxas");
  if (!ptxas)
    return fail(Code::NotFound, "ptxas is not on PATH");
  if (folder.error())
    return fail(Code::Permission, "cannot make a temporary folder: " + folder.error().message());
  std::string source = folder.file("kernel.ptx"), arch = "-arch=" + std::string(architecture);
  SINTER_TRY(write(source, code));
  SmallVector<StringRef> arguments{"-v", arch, source, "-o", output};
  StringRef(flags).split(arguments, ' ', -1, /*KeepEmpty=*/false);
  Said said = run(*ptxas, arguments, folder);
  if (said.status != 0)
    return fail(Code::InvalidArgument,
                "ptxas refuses the kernels: " + StringRef(said.text).rtrim().str());
  return said.text;
}

Result<std::string> assemblerReport(std::string_view architecture, const std::vector<uint8_t> &code,
                                    const std::string &flags) {
  TemporaryFolder folder("sinter-tools");
  return assemble(architecture, code, flags, folder, "/dev/null");
}

Result<std::string> machineInstructions(std::string_view architecture,
                                        const std::vector<uint8_t> &code,
                                        const std::string &flags) {
  TemporaryFolder folder("sinter-tools");
  std::string object = folder.file("kernel.cubin");
  SINTER_TRY(assemble(architecture, code, flags, folder, object));
  const std::pair<const char *, const char *> tools[] = {{"nvdisasm", "-c"},
                                                         {"cuobjdump", "-sass"}};
  for (auto [name, option] : tools)
    if (auto tool = llvm::sys::findProgramByName(name)) {
      Said said = run(*tool, {option, object}, folder);
      if (said.status == 0)
        return said.text;
      return fail(Code::InvalidArgument, std::string(name) + " refuses what ptxas made: " +
                                             StringRef(said.text).rtrim().str());
    }
  return fail(Code::NotFound, "neither nvdisasm nor cuobjdump is on PATH");
}

} // namespace sinter::compiler
