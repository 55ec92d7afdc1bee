// Puts cache and compiler together.
#include "cli/plan_store.h"

#include "base/mapped_file.h"
#include "base/output_file.h"
#include "cli/terminal.h"
#include "cli/tune/machine_tunings.h"
#include "plan/contract.h"
#include "plan/file.h"
#include "runtime/plan_cache.h"

#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>

namespace sinter::cli {
namespace {

using Clock = std::chrono::steady_clock;

// What the compiler is asked for: it knows this machine's CPU better than a name says.
std::string askedTarget(const std::string &target) {
  return target.starts_with("cpu:") ? "host" : target;
}

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

struct Building {
  const ModelFile &model;
  const std::string &compiler;
  PlanRequest request; // as the compiler is asked for it
  CompilerLimits limits;
  Interrupts &interrupts;
  std::vector<std::string> more = {}; // arguments of the compiler
  bool quiet = false;
  double seconds = 0; // that it took; 0: not done
};

// Runs the compiler, whose output is the open file `output`.
Result<void> compile(const Building &building, int output) {
  const std::string &path = building.model.path();
  const Interrupts::Guard guard(building.interrupts);
  std::optional<ProgressLine> line;
  if (!building.quiet)
    line.emplace("building the plan");
  std::vector<std::string> arguments = {"plan",
                                        absolutePath(path),
                                        "-o",
                                        kCompilerOutput,
                                        "--target",
                                        building.request.target,
                                        "--kv-type",
                                        building.request.precision.kvTypeOrDefault(),
                                        "--activations",
                                        building.request.precision.activationsOrDefault(),
                                        "--end-with",
                                        std::to_string(getpid())};
  arguments.insert(arguments.end(), building.more.begin(), building.more.end());
  const auto built = runCompiler(building.compiler, arguments, output, building.limits,
                                 building.interrupts.flag(), [&](const CompilerProgress &progress) {
                                   if (line)
                                     line->show(progress.done, progress.total, progress.text);
                                 });
  line.reset();
  if (!built)
    return fail(built.error().code,
                "cannot build the plan of '" + path + "': " + built.error().message);
  if (!building.model.gguf().stillIntact())
    return fail(Code::Corrupt, "'" + path + "' changed while its plan was built; run this again");
  return {};
}

Result<plan::Plan> build(Building &building) {
  const MemoryFile output;
  if (output.fd() < 0)
    return noMemoryFile();
  const auto start = Clock::now();
  SINTER_TRY(compile(building, output.fd()));
  building.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return readPlan(output);
}

// Without a cache that can be used, and trusted, the plan is built for this process alone.
Result<plan::Plan> findOrBuild(const runtime::CacheQuery &query, Building &building) {
  const auto note = [](const std::string &line) { sayOnStderr(line); };
  // A process that waits for another one's build outlasts that build's own limit.
  const uint32_t waitMs = building.limits.timeoutMs + 30'000;
  bool begun = false;
  const auto cache = runtime::PlanCache::open();
  auto plan = !cache ? Result<plan::Plan>(Fail(cache.error()))
                     : cache->findOrBuild(
                           query, waitMs,
                           [&] {
                             begun = true;
                             return build(building);
                           },
                           note);
  if (plan || begun || plan.error().code == Code::Timeout)
    return plan;
  note("plans are not kept: " + plan.error().toString());
  return build(building);
}

std::string scheduleArgument(const AskedSchedule &asked) {
  return "--schedule=" + std::to_string(asked.variant) + ":" + asked.content + "=" +
         asked.schedule.text();
}

// What tuning found for the device, as far as there is a cache and the database can be read.
MachineTunings tuningsFor(const hal::DeviceInfo &device, const std::string &compiler) {
  const auto cache = runtime::PlanCache::open();
  if (!cache)
    return {};
  auto tunings = readTunings(cache->folder(), machineText(device, compiler));
  if (!tunings) {
    sayOnStderr(tunings.error().toString() + "; kernels have the schedules of rules");
    return {};
  }
  if (!tunings->damage.empty())
    sayOnStderr(tunings->damage +
                "; kernels have the schedules of rules until `sinter tune` begins it anew");
  return std::move(*tunings);
}

// Where plans of a model for a device are kept: one by rules, whatever the device is called and how
// many units it has, and one for each such machine that tuning chose schedules for.
struct PlanKeys {
  std::string byRules, tuned;
};

PlanKeys keysOf(const Building &building, const Sha256Digest &digest, const std::string &compiler,
                const hal::DeviceInfo &device) {
  const std::string version = std::to_string(plan::kPlanVersion), digestHex = digest.hex(),
                    kvType = building.request.precision.kvTypeOrDefault(),
                    activations = building.request.precision.activationsOrDefault(),
                    machine = machineText(device, compiler);
  std::vector<std::string_view> parts = {
      "model-plan", version,     digestHex,     compiler,
      kvType,       activations, device.target, building.request.target};
  PlanKeys keys{runtime::planKey(parts), ""};
  parts.push_back(machine);
  keys.tuned = runtime::planKey(parts);
  return keys;
}

// Which kernels a plan has is known when it is built, and the plan tells: so it is looked up by its
// model and used if the schedules of its kernels are those that are asked for now.
Result<plan::Plan> findOrBuildTuned(const PlanKeys &keys, const MachineTunings &tunings,
                                    Building &building) {
  for (const runtime::TuningEntry &entry : tunings.chosen())
    building.more.push_back(scheduleArgument({0, entry.content, entry.schedule}));
  if (building.more.empty())
    return findOrBuild({{keys.byRules}}, building);
  auto plan = findOrBuild({{keys.tuned, keys.byRules},
                           [&](const plan::Plan &found) { return tunings.fits(found); },
                           [](const plan::Plan &built) { return isByRules(built) ? 1 : 0; }},
                          building);
  // What the compiler refuses otherwise it would refuse again.
  if (plan || (plan.error().code != Code::InvalidArgument && plan.error().code != Code::Internal))
    return plan;
  // An entry that does not fit costs speed, never the answer.
  sayOnStderr("no plan has the schedules of '" + tunings.path + "': " + plan.error().toString() +
              "; kernels have those of rules");
  building.more.clear();
  return findOrBuild({{keys.byRules}}, building);
}

} // namespace

// Finds or builds with `find`, which is given the keys and the compiler's identity.
template <typename Find>
static Result<ObtainedPlan> obtain(const ModelFile &model, const hal::DeviceInfo &device,
                                   const Precision &precision, Interrupts &interrupts, Find find) {
  SINTER_ASSIGN(const std::string compiler, findCompiler());
  SINTER_ASSIGN(const std::string identity, compilerIdentity(compiler));
  SINTER_ASSIGN(const Sha256Digest digest, model.gguf().digest());
  Building building{model, compiler, {askedTarget(device.target), precision}, {}, interrupts};
  SINTER_ASSIGN(building.limits, compilerLimits());
  SINTER_ASSIGN(plan::Plan plan,
                find(keysOf(building, digest, identity, device), identity, building));
  return ObtainedPlan{std::make_shared<const plan::Plan>(std::move(plan)), building.seconds};
}

Result<ObtainedPlan> obtainPlan(const ModelFile &model, const hal::DeviceInfo &device,
                                const Precision &precision, Interrupts &interrupts) {
  return obtain(model, device, precision, interrupts,
                [&](const PlanKeys &keys, const std::string &compiler, Building &building) {
                  return findOrBuildTuned(keys, tuningsFor(device, compiler), building);
                });
}

Result<ObtainedPlan> obtainPlanOfAnySchedules(const ModelFile &model, const hal::DeviceInfo &device,
                                              const Precision &precision, Interrupts &interrupts) {
  return obtain(model, device, precision, interrupts,
                [](const PlanKeys &keys, const std::string &, Building &building) {
                  return findOrBuild({{keys.tuned, keys.byRules},
                                      {},
                                      [](const plan::Plan &) { return size_t(1); }},
                                     building);
                });
}

Result<plan::Plan> buildTrialPlan(const ModelFile &model, const hal::DeviceInfo &device,
                                  const Precision &precision,
                                  const std::vector<AskedSchedule> &schedules,
                                  Interrupts &interrupts) {
  SINTER_ASSIGN(const std::string compiler, findCompiler());
  Building building{model, compiler, {askedTarget(device.target), precision}, {}, interrupts};
  SINTER_ASSIGN(building.limits, compilerLimits());
  building.quiet = true;
  for (const AskedSchedule &asked : schedules)
    building.more.push_back(scheduleArgument(asked));
  return build(building);
}

// Whether the device takes code of the plan's target: it says so before it looks at the code.
static bool runsOn(hal::Device &device, const plan::Plan &plan) {
  if (!targetOf(plan).starts_with(device.info().driver + ":"))
    return false;
  const auto module = device.loadModule(targetOf(plan), {});
  return module || module.error().code != Code::Unsupported;
}

namespace {
// A choice that plans are built for: the text that names it, what plans have that do not say, since
// they are from before there was a choice, and how it is spoken of.
struct PlanChoice {
  const char *text;
  std::string_view usual;
  const char *words, *option;
};
} // namespace

static Result<void> checkSame(const plan::Plan &plan, const PlanChoice &choice,
                              const std::string &asked) {
  const auto text = plan.texts.find(choice.text);
  const std::string found = text == plan.texts.end() ? std::string(choice.usual) : text->second;
  if (asked.empty() || found == asked)
    return {};
  return fail(Code::InvalidArgument, std::string("the plan ") + choice.words + " " + found + ", " +
                                         choice.option + " asks for " + asked);
}

static Result<void> checkPrecision(const plan::Plan &plan, const Precision &asked) {
  static constexpr PlanChoice kKv = {contract::kKvType, "f16", "keeps keys and values in",
                                     "--kv-type"};
  static constexpr PlanChoice kRows = {contract::kAskedActivations, kDefaultActivations,
                                       "was built for activations", "--activations"};
  if (asked.kvType != kDefaultKvType) // which leaves it to the plan
    SINTER_TRY(checkSame(plan, kKv, asked.kvType));
  return checkSame(plan, kRows, asked.activations);
}

Result<ObtainedPlan> readPlanFile(const std::string &path, hal::Device &device,
                                  const Precision &precision) {
  SINTER_ASSIGN(const MappedFile file, MappedFile::open(path));
  auto plan = plan::parseFor(file.bytes(), device.info().target,
                             [&](const plan::Plan &one) { return runsOn(device, one); });
  if (!plan)
    return fail(plan.error().code, "'" + path + "': " + plan.error().message,
                plan.error().byteOffset);
  if (const auto same = checkPrecision(*plan, precision); !same)
    return fail(same.error().code, "'" + path + "': " + same.error().message);
  return ObtainedPlan{std::make_shared<const plan::Plan>(std::move(*plan)), 0};
}

// The bytes of one target's plan. A child for each target, so that one whose compiler is killed or
// takes too long costs no other its plan.
static Result<std::vector<uint8_t>> buildBytes(const Building &building) {
  const MemoryFile output;
  if (output.fd() < 0)
    return noMemoryFile();
  SINTER_TRY(compile(building, output.fd()));
  const auto file = MappedFile::open(output.path());
  if (!file)
    return fail(Code::Internal, "the compiler ended well but wrote no plan");
  return std::vector<uint8_t>(file->bytes().begin(), file->bytes().end());
}

// Whether another target may do better.
static bool isOfTarget(const Status &error) {
  return error.code == Code::Internal || error.code == Code::Unsupported ||
         error.code == Code::InvalidArgument || error.code == Code::Timeout;
}

Result<size_t> compileTo(const ModelFile &model, const CompileRequest &request,
                         Interrupts &interrupts) {
  SINTER_ASSIGN(const std::string compiler, findCompiler());
  Building building{model, compiler, {"", request.precision}, {}, interrupts};
  SINTER_ASSIGN(building.limits, compilerLimits());
  SINTER_ASSIGN(OutputFile file, OutputFile::create(request.output, 0600));
  uint64_t written = 0;
  size_t failed = 0;
  for (const std::string &target : request.targets) {
    building.request.target = target;
    const auto plan = buildBytes(building);
    if (!plan && !isOfTarget(plan.error()))
      return Fail(plan.error());
    const std::string why = plan ? "" : "target '" + target + "': " + plan.error().message;
    if (!plan && !request.keepGoing)
      return fail(plan.error().code, why + "; nothing was written");
    if (!plan) {
      sayOnStderr(why);
      ++failed;
      continue;
    }
    SINTER_TRY(file.writeAt(*plan, written));
    written += plan->size();
  }
  if (failed == request.targets.size())
    return fail(Code::Internal, "no target has a plan; nothing was written");
  SINTER_TRY(file.commit());
  return failed;
}

} // namespace sinter::cli
