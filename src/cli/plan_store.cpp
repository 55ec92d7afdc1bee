// Puts cache and compiler together.
#include "cli/plan_store.h"

#include "base/mapped_file.h"
#include "cli/terminal.h"
#include "plan/file.h"
#include "runtime/plan_cache.h"

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace sinter::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char *kTarget = "host";
constexpr CompilerLimits kLimits;
// A process that waits for another one's build outlasts that build's own limit.
constexpr uint32_t kWaitMs = kLimits.timeoutMs + 30'000;

// A compiler that was built anew is another one, though its path is the same.
Result<std::string> compilerIdentity(const std::string &program) {
  struct stat info;
  if (stat(program.c_str(), &info) != 0)
    return fail(Code::NotFound,
                "cannot look at the compiler '" + program + "': " + std::strerror(errno));
  std::string identity = program;
  const int64_t parts[] = {static_cast<int64_t>(info.st_dev), static_cast<int64_t>(info.st_ino),
                           info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  for (const int64_t part : parts)
    identity += ":" + std::to_string(part);
  return identity;
}

// A file that is gone at the end of its scope.
class TemporaryFile {
public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  const std::string &path() const { return path_; }

private:
  std::string path_;
};

Result<plan::Plan> readPlan(const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return fail(Code::Corrupt, "the compiler ended well but left no plan: " + file.error().message);
  auto plan = plan::parse(file->bytes());
  if (!plan)
    return fail(Code::Corrupt, "the compiler wrote a damaged plan: " + plan.error().toString());
  return plan;
}

// The compiler is another process with another working folder to come, so the path is whole.
std::string absolutePath(const std::string &path) {
  char *whole = realpath(path.c_str(), nullptr);
  std::string result = whole ? whole : path;
  std::free(whole);
  return result;
}

Result<plan::Plan> build(const ModelFile &model, const std::string &compiler,
                         const std::string &output, Interrupts &interrupts) {
  const TemporaryFile file(output);
  const Interrupts::Guard guard(interrupts);
  ProgressLine line("building the plan");
  const std::string arguments[] = {
      "plan", absolutePath(model.path()), "-o", file.path(), "--target", kTarget};
  const auto built = runCompiler(compiler, arguments, kLimits, interrupts.flag(),
                                 [&](const CompilerProgress &progress) {
                                   line.show(progress.done, progress.total, progress.text);
                                 });
  line.finish();
  if (!built)
    return fail(built.error().code,
                "cannot build the plan of '" + model.path() + "': " + built.error().message);
  if (!model.gguf().stillIntact())
    return fail(Code::Corrupt,
                "'" + model.path() + "' changed while its plan was built; run this again");
  return readPlan(file.path());
}

} // namespace

Result<ObtainedPlan> obtainPlan(const ModelFile &model, const std::string &target,
                                Interrupts &interrupts) {
  SINTER_ASSIGN(const std::string compiler, findCompiler());
  SINTER_ASSIGN(const std::string identity, compilerIdentity(compiler));
  SINTER_ASSIGN(const Sha256Digest digest, model.gguf().digest());
  const std::string digestHex = digest.hex();
  const std::string version = std::to_string(plan::kPlanVersion);
  const std::string_view parts[] = {"model-plan", version, digestHex, identity, target, kTarget};
  const std::string key = runtime::planKey(parts);
  SINTER_ASSIGN(const runtime::PlanCache cache, runtime::PlanCache::open());
  ObtainedPlan result;
  // The cache clears files of this name that a killed process left.
  const std::string output =
      cache.folder() + "/" + key + ".tmp-compiler-" + std::to_string(getpid());
  SINTER_ASSIGN(plan::Plan plan,
                cache.findOrBuild(
                    key, kWaitMs,
                    [&] {
                      const auto start = Clock::now();
                      auto built = build(model, compiler, output, interrupts);
                      result.buildSeconds =
                          std::chrono::duration<double>(Clock::now() - start).count();
                      return built;
                    },
                    [](const std::string &note) { sayOnStderr(note); }));
  result.plan = std::make_shared<const plan::Plan>(std::move(plan));
  return result;
}

} // namespace sinter::cli
