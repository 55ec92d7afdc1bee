// sinter tune: trials of schedules within a time budget, the database they end in, and a table.
#include "cli/commands.h"
#include "cli/kernel_names.h"
#include "cli/machine_tunings.h"
#include "cli/open_model.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/tune_search.h"
#include "runtime/plan_cache.h"

#include <chrono>

namespace sinter::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Schedules of each kernel that are compiled and timed together: more share the cost of the rules'
// own times, fewer keep to the budget.
constexpr size_t kVariants = 6;
// Rounds of screening that the final takes as long as.
constexpr double kFinalRounds = 1.5;
constexpr TrialEffort kScreening = {3, 15, 1.0};
constexpr TrialEffort kFinal = {7, 31, 2.0};

class Tuner {
public:
  Tuner(const ModelFile &file, hal::Device &device, Interrupts &interrupts,
        const TuneArguments &arguments, const runtime::TuningDatabase &database)
      : file_(file), device_(device), interrupts_(interrupts), database_(database),
        precision_(arguments.model.precision), budgetSeconds_(arguments.budgetSeconds) {}

  // Trials until none is left, the budget is spent or the user ends them. What each round found is
  // in the database before the next begins.
  Result<void> run(TuneSearch &search);
  size_t trials() const { return trials_; }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

private:
  Result<void> screen(TuneSearch &search);
  Result<std::vector<StepTimes>> time(const std::vector<Assignment> &variants,
                                      const TrialEffort &effort);

  const ModelFile &file_;
  hal::Device &device_;
  Interrupts &interrupts_;
  const runtime::TuningDatabase &database_;
  const Precision precision_;
  const double budgetSeconds_;
  const Clock::time_point start_ = Clock::now();
  size_t trials_ = 0;
};

Result<std::vector<StepTimes>> Tuner::time(const std::vector<Assignment> &variants,
                                           const TrialEffort &effort) {
  std::vector<AskedSchedule> asked;
  for (uint32_t i = 0; i < variants.size(); ++i)
    for (const auto &[content, schedule] : variants[i])
      asked.push_back({i + 1, content, schedule});
  SINTER_ASSIGN(plan::Plan plan,
                buildTrialPlan(file_, device_.info(), precision_, asked, interrupts_));
  return timeTrials(device_, file_.gguf(), std::make_shared<const plan::Plan>(std::move(plan)),
                    effort, interrupts_.flag());
}

Result<void> Tuner::screen(TuneSearch &search) {
  const size_t all = search.left();
  double round = 0; // what the last one took
  ProgressLine line("tuning");
  while (search.left() > 0 && seconds() + (1 + kFinalRounds) * round < budgetSeconds_) {
    const double before = seconds();
    line.show(all - search.left(), all,
              "trials, " + fixed(seconds(), 0) + " of " + fixed(budgetSeconds_, 0) + " s");
    const std::vector<Assignment> variants = search.next(kVariants);
    SINTER_ASSIGN(const std::vector<StepTimes> times, time(variants, kScreening));
    search.learn(variants, times);
    trials_ = all - search.left();
    SINTER_TRY(database_.merge(search.entries()));
    round = seconds() - before;
  }
  return {};
}

Result<void> Tuner::run(TuneSearch &search) {
  SINTER_TRY(screen(search));
  const std::vector<Assignment> finalists = search.finalists();
  if (finalists.empty())
    return {};
  ProgressLine line("comparing the best");
  line.show(0, 1, "final");
  SINTER_ASSIGN(const std::vector<StepTimes> times, time(finalists, kFinal));
  search.settle(finalists, times);
  return database_.merge(search.entries());
}

// And an empty line; nothing of no entries.
std::string table(const std::vector<runtime::TuningEntry> &entries) {
  if (entries.empty())
    return "";
  std::vector<std::string> names;
  for (const runtime::TuningEntry &entry : entries)
    names.push_back(entry.kernel);
  const std::vector<std::string> shortNames = shortKernelNames(names);
  Table table({"kernel", "rows", "by rules us", "best us", "rules' speed", "schedule"});
  for (size_t i = 0; i < entries.size(); ++i) {
    const runtime::TuningEntry &entry = entries[i];
    const auto rules = static_cast<double>(entry.rulesNs),
               best = static_cast<double>(entry.chosenNs);
    table.addRow({shortNames[i], std::to_string(entry.rows), fixed(rules / 1e3, 1),
                  fixed(best / 1e3, 1), fixed(rules > 0 ? best / rules : 1, 3),
                  entry.schedule.byRules() ? "by rules" : entry.schedule.text()});
  }
  return table.text() + "\n";
}

// What happened, after the table.
std::string summary(const TuneSearch &search, const Tuner &tuner) {
  const size_t trials = tuner.trials();
  const std::string text = trials == 0 ? "no trial"
                                       : std::to_string(trials) +
                                             (trials == 1 ? " trial in " : " trials in ") +
                                             fixed(tuner.seconds(), 0) + " s";
  if (search.left() > 0)
    return text + "; " + std::to_string(search.left()) + " are left, which `sinter tune` goes on " +
           "with when it is run again\n";
  return text + ": every schedule of the " + std::to_string(search.kernels()) +
         " kernels was tried" + (trials == 0 ? " before" : "") + "\n";
}

Result<void> checkTunable(const TuneSearch &search, const hal::Device &device) {
  if (search.kernels() > 0)
    return {};
  return fail(Code::Unsupported, "no kernel has another schedule on device '" + device.info().name +
                                     "': found target '" + device.info().target +
                                     "', expected that of a cpu, whose schedules can be tuned");
}

// A place that cannot be written to is found before minutes are spent. A damaged file stays as it
// is until there is something to begin it anew with.
Result<void> prepare(const runtime::TuningDatabase &database, const MachineTunings &known,
                     const TuneSearch &search) {
  if (!known.damage.empty()) {
    SINTER_TRY(database.checkWritable());
    sayOnStderr(known.damage + "; it is begun anew");
    return {};
  }
  return search.left() > 0 ? database.merge({}, search.unfit()) : Result<void>();
}

} // namespace

Result<int> tuneCommand(const TuneArguments &arguments, Interrupts &interrupts) {
  SINTER_ASSIGN(const ModelFile file, openModelFile(arguments.model.model));
  SINTER_ASSIGN(DeviceChoice choice, openDevice(arguments.model.device, arguments.model.threads));
  if (!choice.why.empty())
    sayOnStderr(choice.why);
  hal::Device &device = *choice.device;
  SINTER_ASSIGN(const runtime::PlanCache cache, runtime::PlanCache::open());
  SINTER_ASSIGN(const std::string compiler, findCompiler());
  SINTER_ASSIGN(const std::string identity, compilerIdentity(compiler));
  const std::string machine = machineText(device.info(), identity);
  SINTER_ASSIGN(const MachineTunings known, readTunings(cache.folder(), machine));
  SINTER_ASSIGN(const plan::Plan plan,
                buildTrialPlan(file, device.info(), arguments.model.precision, {}, interrupts));
  TuneSearch search(plan, known.entries, machine);
  SINTER_TRY(checkTunable(search, device));
  const runtime::TuningDatabase database(cache.folder());
  SINTER_TRY(prepare(database, known, search));
  const Interrupts::Guard guard(interrupts); // until all is said
  Tuner tuner(file, device, interrupts, arguments, database);
  const Result<void> tuned = tuner.run(search);
  const bool failed = !tuned && tuned.error().code != Code::Cancelled;
  if (tuner.trials() > 0 || !failed)
    SINTER_TRY(writeStdout(table(search.entries()) + summary(search, tuner)));
  if (failed)
    return tl::unexpected(tuned.error());
  return interrupts.pending() ? kExitInterrupted : kExitOk;
}

} // namespace sinter::cli
