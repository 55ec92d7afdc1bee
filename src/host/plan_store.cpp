// Puts cache, tuning database and compiler together.
#include "host/plan_store.h"

#include "host/machine_tunings.h"
#include "host/plan_builder.h"
#include "plan/file.h"
#include "runtime/plan_cache.h"

namespace sinter::host {
namespace {

// The compiler knows this machine's CPU better than a name says.
std::string askedTarget(const std::string &target) {
  return target.starts_with("cpu:") ? "host" : target;
}

Result<PlanBuilder> builderFor(const ModelFile &model, const hal::DeviceInfo &device,
                               const Precision &precision, Observer &observer) {
  return PlanBuilder::create(model, {askedTarget(device.target), precision}, observer);
}

// Without a cache that can be used, and trusted, the plan is built for this process alone.
Result<plan::Plan> findOrBuild(runtime::CacheQuery query, PlanBuilder &builder,
                               Observer &observer) {
  query.cancel = &observer.cancel();
  const auto note = [&](const std::string &line) { observer.note(line); };
  // A process that waits for another one's build outlasts that build's own limit.
  const uint32_t waitMs = builder.limits().timeoutMs + 30'000;
  bool begun = false;
  const auto cache = runtime::PlanCache::open();
  auto plan = !cache ? Result<plan::Plan>(Fail(cache.error()))
                     : cache->findOrBuild(
                           query, waitMs,
                           [&] {
                             begun = true;
                             return builder.build();
                           },
                           note);
  const bool hasWaited =
      !plan && (plan.error().code == Code::Timeout || plan.error().code == Code::Cancelled);
  if (plan || begun || hasWaited)
    return plan;
  note("plans are not kept: " + plan.error().toString());
  return builder.build();
}

std::string scheduleArgument(const AskedSchedule &asked) {
  return "--schedule=" + std::to_string(asked.variant) + ":" + asked.content + "=" +
         asked.schedule.text();
}

// What tuning found for the device, as far as there is a cache and the database can be read.
MachineTunings tuningsFor(const hal::DeviceInfo &device, const std::string &compiler,
                          Observer &observer) {
  const auto cache = runtime::PlanCache::open();
  if (!cache)
    return {};
  auto tunings = readTunings(cache->folder(), machineText(device, compiler));
  if (!tunings) {
    observer.note(tunings.error().toString() + "; kernels have the schedules of rules");
    return {};
  }
  if (!tunings->damage.empty())
    observer.note(tunings->damage +
                  "; kernels have the schedules of rules until `sinter tune` begins it anew");
  return std::move(*tunings);
}

// Where plans of a model for a device are kept: one by rules, whatever the device is called and how
// many units it has, and one for each such machine that tuning chose schedules for.
struct PlanKeys {
  std::string byRules, tuned;
};

PlanKeys keysOf(const PlanRequest &request, const Sha256Digest &digest, const std::string &compiler,
                const hal::DeviceInfo &device) {
  const std::string version = std::to_string(plan::kPlanVersion), digestHex = digest.hex(),
                    kvType = request.precision.kvTypeOrDefault(),
                    activations = request.precision.activationsOrDefault(),
                    machine = machineText(device, compiler);
  std::vector<std::string_view> parts = {"model-plan", version,     digestHex,     compiler,
                                         kvType,       activations, device.target, request.target};
  if (!request.precision.output.empty())
    parts.push_back(request.precision.output);
  PlanKeys keys{runtime::planKey(parts), ""};
  parts.push_back(machine);
  keys.tuned = runtime::planKey(parts);
  return keys;
}

// Which kernels a plan has is known when it is built, and the plan tells: so it is looked up by its
// model and used if the schedules of its kernels are those that are asked for now.
Result<plan::Plan> findOrBuildTuned(const PlanKeys &keys, const MachineTunings &tunings,
                                    PlanBuilder &builder, Observer &observer) {
  for (const runtime::TuningEntry &entry : tunings.chosen())
    builder.more().push_back(scheduleArgument({0, entry.content, entry.schedule}));
  if (builder.more().empty())
    return findOrBuild({{keys.byRules}}, builder, observer);
  auto plan = findOrBuild({{keys.tuned, keys.byRules},
                           [&](const plan::Plan &found) { return tunings.fits(found); },
                           [](const plan::Plan &built) { return isByRules(built) ? 1 : 0; }},
                          builder, observer);
  // What the compiler refuses otherwise it would refuse again.
  if (plan || (plan.error().code != Code::InvalidArgument && plan.error().code != Code::Internal))
    return plan;
  // An entry that does not fit costs speed, never the answer.
  observer.note("no plan has the schedules of '" + tunings.path + "': " + plan.error().toString() +
                "; kernels have those of rules");
  builder.more().clear();
  return findOrBuild({{keys.byRules}}, builder, observer);
}

// Finds or builds with `find`, which is given the keys, the compiler's identity and a builder.
template <typename Find>
Result<ObtainedPlan> obtain(const ModelFile &model, const hal::DeviceInfo &device,
                            const Precision &precision, Observer &observer, Find find) {
  SINTER_ASSIGN(PlanBuilder builder, builderFor(model, device, precision, observer));
  SINTER_ASSIGN(const std::string identity, compilerIdentity(builder.compiler()));
  SINTER_ASSIGN(const Sha256Digest digest, model.gguf().digest());
  SINTER_ASSIGN(plan::Plan plan,
                find(keysOf(builder.request(), digest, identity, device), identity, builder));
  return ObtainedPlan{std::make_shared<const plan::Plan>(std::move(plan)), builder.seconds()};
}

} // namespace

Result<ObtainedPlan> obtainPlan(const ModelFile &model, const hal::DeviceInfo &device,
                                const Precision &precision, Observer &observer) {
  return obtain(model, device, precision, observer,
                [&](const PlanKeys &keys, const std::string &compiler, PlanBuilder &builder) {
                  return findOrBuildTuned(keys, tuningsFor(device, compiler, observer), builder,
                                          observer);
                });
}

Result<ObtainedPlan> obtainPlanOfAnySchedules(const ModelFile &model, const hal::DeviceInfo &device,
                                              const Precision &precision, Observer &observer) {
  return obtain(model, device, precision, observer,
                [&](const PlanKeys &keys, const std::string &, PlanBuilder &builder) {
                  return findOrBuild({{keys.tuned, keys.byRules},
                                      {},
                                      [](const plan::Plan &) { return size_t(1); }},
                                     builder, observer);
                });
}

Result<plan::Plan> buildTrialPlan(const ModelFile &model, const hal::DeviceInfo &device,
                                  const Precision &precision,
                                  const std::vector<AskedSchedule> &schedules, Observer &observer) {
  SINTER_ASSIGN(PlanBuilder builder, builderFor(model, device, precision, observer));
  builder.setQuiet();
  for (const AskedSchedule &asked : schedules)
    builder.more().push_back(scheduleArgument(asked));
  return builder.build();
}

} // namespace sinter::host
