// Two children and a folder for their files that ends with the call.
#include "tile/mlir_pch.h"

#include "base/child_process.h"
#include "base/mapped_file.h"
#include "base/system_error.h"
#include "compiler/cpp_source.h"
#include "compiler/kernel_source.h"
#include "compiler/temporary_folder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

using namespace mlir;

namespace sinter::compiler {

namespace {

// Compiling a source of a few kernels takes 0.3 GB and 2 s; defining them, next to nothing.
constexpr uint64_t kMemoryBytes = uint64_t(4) << 30;
constexpr uint64_t kFileBytes = uint64_t(256) << 20;
constexpr uint32_t kSeconds = 120;
constexpr uint32_t kMostSeconds = 24 * 3600;
constexpr size_t kMostLogBytes = 16384; // shown of what a C++ compiler says

// Of the second child, where kernels or whole sources are wrong: no code that a source's own exit
// is likely to have.
constexpr int kExitRefused = 93;

/// A file that a child writes to.
class LogFile {
public:
  explicit LogFile(std::string path)
      : path_(std::move(path)), fd_(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) {}
  ~LogFile() {
    if (fd_ >= 0)
      close(fd_);
  }
  LogFile(const LogFile &) = delete;
  LogFile &operator=(const LogFile &) = delete;
  int fd() const { return fd_; }
  std::string text() const {
    auto file = MappedFile::open(path_);
    if (!file)
      return "";
    const auto bytes = file->bytes();
    std::string text(bytes.begin(), bytes.begin() + std::min(bytes.size(), kMostLogBytes));
    return text + (bytes.size() > kMostLogBytes ? "\n..." : "");
  }

private:
  std::string path_;
  int fd_;
};

} // namespace

// The headers beside the program: include/ of the source tree it was built from, or SINTER_INCLUDE.
static std::string includeFolder() {
  if (const char *folder = std::getenv("SINTER_INCLUDE"))
    return folder;
  return SINTER_INCLUDE_DIR;
}

static Result<std::string> findCppCompiler() {
  for (const char *name : {"clang++-22", "clang++", "g++", "c++"})
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return fail(Code::NotFound,
              "no C++ compiler found, expected clang++-22, clang++, g++ or c++ on PATH");
}

static Result<uint32_t> limitSeconds() {
  const char *text = std::getenv("SINTER_COMPILE_SECONDS");
  uint32_t seconds = kSeconds;
  if (text && *text &&
      (StringRef(text).getAsInteger(10, seconds) || seconds < 1 || seconds > kMostSeconds))
    return fail(Code::InvalidArgument, std::string("SINTER_COMPILE_SECONDS is '") + text +
                                           "', expected a whole number from 1 to " +
                                           std::to_string(kMostSeconds));
  return seconds;
}

// Runs one of the children on `source`, whose work is `what`.
static Result<ChildEnd> runLimited(const std::string &program, ArrayRef<std::string> arguments,
                                   int output, const std::string &source, const char *what) {
  SINTER_ASSIGN(const uint32_t seconds, limitSeconds());
  const int files[] = {output, output};
  auto end = runChildProcess(
      program, arguments, files,
      {.memoryBytes = kMemoryBytes, .fileBytes = kFileBytes, .cpuSeconds = seconds + 1},
      seconds * 1000);
  if (!end && end.error().code == Code::Timeout)
    return fail(Code::Timeout, "'" + source + "' took more than " + std::to_string(seconds) +
                                   " s to " + what + " and was stopped");
  if (!end)
    return end;
  if (end->signal)
    return fail(Code::Internal, "'" + source + "' could not " + what + ": killed by " +
                                    signalText(end->signal) + "; its limits are " +
                                    std::to_string(kMemoryBytes >> 30) + " GiB of memory and " +
                                    std::to_string(kFileBytes >> 20) + " MiB a file");
  return end;
}

static Result<void> compileObject(const std::string &source, const std::string &object,
                                  const TemporaryFolder &folder) {
  SINTER_ASSIGN(const std::string compiler, findCppCompiler());
  LogFile log(folder.file("log"));
  if (log.fd() < 0)
    return systemFailed("cannot write a temporary file", errno);
  // A name with a dash in front would be an option.
  const std::string named = StringRef(source).starts_with("-") ? "./" + source : source;
  const std::string arguments[] = {"-std=c++20",           "-O1", "-fPIC", "-shared",
                                   "-I" + includeFolder(), named, "-o",    object};
  auto end = runLimited(compiler, arguments, log.fd(), source, "compile");
  if (end && end->good())
    return {};
  const std::string said = log.text();
  if (!end)
    return fail(end.error().code,
                end.error().message + (said.empty() ? "" : "; it said:\n" + said));
  return fail(Code::InvalidArgument, "'" + source + "' does not compile:\n" + said);
}

static Result<std::string> ownProgram() {
  const std::string path = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  if (path.empty())
    return fail(Code::NotFound, "cannot tell where this program lies (/proc/self/exe), to start "
                                "it for a C++ source");
  return path;
}

// What a source prints goes to standard error: kernels' text may go to standard output.
static Result<std::string> defineInChild(const std::string &source, const std::string &object,
                                         const std::string &output) {
  SINTER_ASSIGN(const std::string program, ownProgram());
  const std::string arguments[] = {"define-kernels", object, output, source};
  SINTER_ASSIGN(const ChildEnd end,
                runLimited(program, arguments, STDERR_FILENO, source, "define its kernels"));
  auto file = MappedFile::open(output);
  if (!file || (end.code != 0 && end.code != kExitRefused))
    return fail(Code::Internal, "'" + source + "' ended its process with code " +
                                    std::to_string(end.code) +
                                    " while it defined its kernels, expected a return");
  std::string text(file->bytes().begin(), file->bytes().end());
  if (end.code == kExitRefused)
    return fail(Code::InvalidArgument, std::move(text));
  return text;
}

Result<tile::KernelModule> buildCppSource(const std::string &path) {
  SINTER_TRY(readSource(path));
  TemporaryFolder folder("sinter-kernel");
  if (folder.error())
    return fail(Code::Permission, "cannot make a temporary folder: " + folder.error().message());
  const std::string object = folder.file("kernel.so");
  SINTER_TRY(compileObject(path, object, folder));
  SINTER_ASSIGN(const std::string text, defineInChild(path, object, folder.file("kernels")));
  return tile::KernelModule::parse(text, path);
}

int defineKernels(int argc, char **argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL); // a parent that was interrupted leaves no endless source behind
  if (argc != 4) {
    llvm::errs() << "sinter-compiler: define-kernels takes OBJECT OUTPUT NAME\n";
    return 2;
  }
  auto module = tile::KernelModule::load(argv[1], argv[3]);
  const bool good = module && module->ok();
  const std::string text = good     ? module->textWithPlaces()
                           : module ? module->diagnosticText()
                                    : module.error().message;
  std::error_code error;
  llvm::raw_fd_ostream out(argv[2], error);
  if (!error)
    out << text;
  out.close();
  if (error || out.has_error()) {
    out.clear_error();
    llvm::errs() << "sinter-compiler: cannot write a temporary file\n";
    return 1;
  }
  return good ? 0 : kExitRefused;
}

} // namespace sinter::compiler
