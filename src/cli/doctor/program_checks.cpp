// The compiler program, and the folders of plans, weights and models.
#include "cli/doctor/checks.h"

#include "base/number_text.h"
#include "host/compiler_process.h"
#include "host/model_store.h"
#include "runtime/plan_cache.h"
#include "runtime/weight_cache.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace sinter::cli {
namespace {

constexpr const char *kCompilerMend =
    "build sinter-compiler beside sinter, or name it by SINTER_COMPILER; plans of `sinter compile` "
    "run without it (--plan)";

Finding compilerProblem(const std::string &found, const std::string &mend = kCompilerMend) {
  return {"compiler", Health::Problem, found, mend};
}

// The cheapest of the compiler's works that asks for this processor's target.
Result<void> tryCompiler(const std::string &program, Interrupts &interrupts) {
  constexpr uint32_t kMostMs = 60'000;
  const std::string arguments[] = {"kernel", "emit", "add", "--target", "host", "--emit", "tile"};
  const int output = open("/dev/null", O_WRONLY | O_CLOEXEC);
  host::CompilerLimits limits;
  limits.timeoutMs = kMostMs;
  const Interrupts::Guard guard(interrupts);
  const auto done = host::runCompiler(program, arguments, output, limits, interrupts.flag(),
                                      [](const host::CompilerProgress &) {});
  close(output);
  return done;
}

struct Kept {
  size_t plans = 0, weights = 0;
  uint64_t planBytes = 0, weightBytes = 0;
};

Kept keptIn(const std::string &folder) {
  Kept kept;
  std::error_code failed;
  std::filesystem::directory_iterator at(folder, failed);
  for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed)) {
    const std::string name = at->path().extension().string();
    std::error_code gone;
    const uintmax_t bytes = at->file_size(gone);
    if (gone || (name != ".plan" && name != ".weights"))
      continue;
    (name == ".plan" ? kept.plans : kept.weights) += 1;
    (name == ".plan" ? kept.planBytes : kept.weightBytes) += bytes;
  }
  return kept;
}

// Makes a file and removes it: modes alone do not tell of disks that are full or read-only.
Result<void> tryWriting(const std::string &folder) {
  std::string path = folder + "/doctor-XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0)
    return fail(Code::Permission,
                "cannot make a file in '" + folder + "': " + std::strerror(errno));
  const char byte = 0;
  const bool written = write(file, &byte, 1) == 1;
  const int error = errno;
  close(file);
  unlink(path.c_str());
  if (!written)
    return fail(Code::Exhausted, "cannot write in '" + folder + "': " + std::strerror(error));
  return {};
}

std::string modeOf(const std::string &folder) {
  struct stat info {};
  char mode[8] = "unknown";
  if (stat(folder.c_str(), &info) == 0)
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(info.st_mode & 07777));
  return mode;
}

} // namespace

Result<Finding> checkCompiler(Interrupts &interrupts) {
  const auto program = host::findCompiler();
  if (!program)
    return compilerProblem(program.error().toString());
  if (const auto limits = host::compilerLimits(); !limits)
    return compilerProblem(limits.error().toString(), "unset SINTER_COMPILE_SECONDS");
  const auto done = tryCompiler(*program, interrupts);
  if (!done && done.error().code == Code::Cancelled)
    return Fail(done.error());
  if (!done)
    return compilerProblem("'" + *program + "': " + done.error().toString(),
                           "build it again from the same sources as sinter");
  return Finding{"compiler", Health::Ok, "'" + *program + "' compiles for this processor", ""};
}

Finding checkCache() {
  const auto cache = runtime::PlanCache::open();
  const auto writable = cache ? tryWriting(cache->folder()) : Result<void>(Fail(cache.error()));
  if (!writable)
    return {"cache", Health::Warning, writable.error().toString(),
            "every start compiles and packs anew until the folder is this user's, with mode 0700 "
            "and room on its disk, or XDG_CACHE_HOME names another"};
  const Kept kept = keptIn(cache->folder());
  return {"cache", Health::Ok,
          "'" + cache->folder() + "', mode " + modeOf(cache->folder()) + ": " +
              std::to_string(kept.plans) + " plans, " +
              bytesText(static_cast<double>(kept.planBytes)) + "; packed weights of " +
              std::to_string(kept.weights) + " models, " +
              bytesText(static_cast<double>(kept.weightBytes)),
          ""};
}

Finding checkDisk() {
  const auto cache = runtime::PlanCache::open();
  struct statvfs disk {};
  if (!cache || statvfs(cache->folder().c_str(), &disk) != 0)
    return {"disk", Health::Warning, "not looked at, since there is no cache folder",
            "mend the cache first"};
  const uint64_t free = disk.f_bavail * disk.f_frsize, all = disk.f_blocks * disk.f_frsize;
  const std::string found = bytesText(static_cast<double>(free)) + " of " +
                            bytesText(static_cast<double>(all)) + " free for the cache";
  if (free >= all / runtime::kKeptPart)
    return {"disk", Health::Ok, found, ""};
  return {"disk", Health::Warning, found,
          "free some: packed weights are kept only where a tenth of the disk stays free"};
}

Finding checkModel() {
  const auto path = host::modelPath("smollm2");
  if (!path)
    return {"model", Health::Ok, "smollm2 is not here; any .gguf file's path does as well",
            "./demo fetches smollm2"};
  return {"model", Health::Ok, "smollm2 is at '" + *path + "'", ""};
}

} // namespace sinter::cli
