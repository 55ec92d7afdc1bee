// sinter tune: what is known and what is tunable, the tuner, and a table of what it found.
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/kernel_labels.h"
#include "cli/open_model.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "cli/tune/tuner.h"
#include "host/machine_tunings.h"
#include "host/model_store.h"
#include "host/plan_store.h"
#include "runtime/plan_cache.h"

#include <algorithm>

namespace sinter::cli {
namespace {

std::string microseconds(uint64_t nanoseconds) {
  return fixed(static_cast<double>(nanoseconds) / 1e3, 1);
}

// A line for each size of step, the kernel's name and what was decided in the first.
void addRows(const std::string &name, const runtime::TuningEntry &entry, Table &table) {
  for (const runtime::TuningTimes &size : entry.times) {
    const bool first = &size == entry.times.data();
    const std::string schedule = entry.schedule.byRules() ? "by rules" : entry.schedule.text();
    table.addRow({first ? name : "", std::to_string(size.rows), microseconds(size.rulesNs),
                  microseconds(size.chosenNs), fixed(ratioOf({size}), 3),
                  first ? fixed(ratioOf(entry.times), 3) : "", first ? schedule : ""});
  }
}

// And an empty line; nothing of no entries. Each entry is of a kernel of the plan.
std::string table(const std::vector<runtime::TuningEntry> &entries, const plan::Plan &plan) {
  if (entries.empty())
    return "";
  std::vector<const plan::Kernel *> kernels;
  for (const runtime::TuningEntry &entry : entries)
    kernels.push_back(&*std::ranges::find(plan.kernels, entry.content, &plan::Kernel::content));
  const std::vector<std::string> labels = kernelLabels(kernels);
  Table table({"kernel", "rows", "by rules us", "best us", "ratio", "all sizes", "schedule"});
  for (size_t i = 0; i < entries.size(); ++i)
    addRows(labels[i], entries[i], table);
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
Result<void> prepare(const runtime::TuningDatabase &database, const host::MachineTunings &known,
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
  TerminalObserver observer(interrupts);
  SINTER_ASSIGN(const ModelFile file, host::openModelFile(arguments.model.model, observer));
  SINTER_ASSIGN(const auto opened, openDevice(arguments.model));
  hal::Device &device = *opened;
  SINTER_ASSIGN(const runtime::PlanCache cache, runtime::PlanCache::open());
  SINTER_ASSIGN(const std::string compiler, host::findCompiler());
  SINTER_ASSIGN(const std::string identity, host::compilerIdentity(compiler));
  const std::string machine = host::machineText(device.info(), identity);
  SINTER_ASSIGN(const host::MachineTunings known, host::readTunings(cache.folder(), machine));
  const Precision &precision = arguments.model.precision;
  SINTER_ASSIGN(const host::ObtainedPlan obtained,
                host::obtainPlanOfAnySchedules(file, device.info(), precision, observer));
  TuneSearch search(*obtained.plan, known.entries, machine);
  SINTER_TRY(checkTunable(search, device));
  const runtime::TuningDatabase database(cache.folder());
  SINTER_TRY(prepare(database, known, search));
  const Interrupts::Guard guard(interrupts); // until all is said
  Tuner tuner(file, device, observer, precision, database, obtained, arguments.budgetSeconds);
  const Result<void> tuned = tuner.run(search);
  const bool failed = !tuned && tuned.error().code != Code::Cancelled;
  if (tuner.trials() > 0 || !failed)
    SINTER_TRY(writeStdout(table(search.entries(), *obtained.plan) + summary(search, tuner)));
  if (failed)
    return tl::unexpected(tuned.error());
  return interrupts.pending() ? kExitInterrupted : kExitOk;
}

} // namespace sinter::cli
