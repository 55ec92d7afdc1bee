// The compiler's arguments, and the file in memory that takes its output.
#include "host/plan_builder.h"

#include "base/mapped_file.h"
#include "plan/file.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace sinter::host {
namespace {

using Clock = std::chrono::steady_clock;

// A file in memory, so that a full disk or a killed process leaves nothing behind.
class MemoryFile {
public:
  MemoryFile() : fd_(memfd_create("sinter-plan", MFD_CLOEXEC)) {}
  ~MemoryFile() {
    if (fd_ >= 0)
      close(fd_);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  int fd() const { return fd_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

private:
  int fd_;
};

Fail noMemoryFile() {
  return fail(Code::Exhausted,
              std::string("cannot make a file in memory for the plan: ") + std::strerror(errno));
}

Result<plan::Plan> readPlan(const MemoryFile &output) {
  auto file = MappedFile::open(output.path());
  if (!file && file.error().code == Code::Truncated)
    return fail(Code::Corrupt, "the compiler ended well but wrote no plan");
  if (!file)
    return Fail(std::move(file).error());
  auto plan = plan::parse(file->bytes());
  if (!plan)
    return fail(Code::Corrupt, "the compiler wrote a damaged plan: " + plan.error().toString());
  return plan;
}

// One that does not look like an option.
std::string absolutePath(const std::string &path) {
  char *whole = realpath(path.c_str(), nullptr);
  std::string result = whole ? whole : path;
  std::free(whole);
  return result;
}

} // namespace

Result<PlanBuilder> PlanBuilder::create(const ModelFile &model, PlanRequest request,
                                        Observer &observer) {
  PlanBuilder builder(model, std::move(request), observer);
  SINTER_ASSIGN(builder.compiler_, findCompiler());
  SINTER_ASSIGN(builder.limits_, compilerLimits());
  return builder;
}

std::vector<std::string> PlanBuilder::arguments() const {
  std::vector<std::string> arguments = {"plan",
                                        absolutePath(model_->path()),
                                        "-o",
                                        kCompilerOutput,
                                        "--target",
                                        request_.target,
                                        "--kv-type",
                                        request_.precision.kvTypeOrDefault(),
                                        "--activations",
                                        request_.precision.activationsOrDefault(),
                                        "--end-with",
                                        std::to_string(getpid())};
  if (!request_.precision.output.empty())
    arguments.insert(arguments.end(), {"--output", request_.precision.output});
  arguments.insert(arguments.end(), more_.begin(), more_.end());
  return arguments;
}

// Runs the compiler, whose output is the open file `output`.
Result<void> PlanBuilder::compile(int output) {
  const std::string &path = model_->path();
  std::optional<BuildScope> announced;
  if (!quiet_)
    announced.emplace(*observer_);
  const auto start = Clock::now();
  const auto built = runCompiler(compiler_, arguments(), output, limits_, observer_->cancel(),
                                 [&](const CompilerProgress &progress) {
                                   if (!quiet_)
                                     observer_->showBuild(progress);
                                 });
  seconds_ = std::chrono::duration<double>(Clock::now() - start).count();
  if (!built)
    return fail(built.error().code,
                "cannot build the plan of '" + path + "': " + built.error().message);
  if (!model_->gguf().stillIntact())
    return fail(Code::Corrupt, "'" + path + "' changed while its plan was built; run this again");
  return {};
}

Result<plan::Plan> PlanBuilder::build() {
  const MemoryFile output;
  if (output.fd() < 0)
    return noMemoryFile();
  SINTER_TRY(compile(output.fd()));
  return readPlan(output);
}

Result<std::vector<uint8_t>> PlanBuilder::buildBytes() {
  const MemoryFile output;
  if (output.fd() < 0)
    return noMemoryFile();
  SINTER_TRY(compile(output.fd()));
  const auto file = MappedFile::open(output.path());
  if (!file)
    return fail(Code::Internal, "the compiler ended well but wrote no plan");
  return std::vector<uint8_t>(file->bytes().begin(), file->bytes().end());
}

} // namespace sinter::host
