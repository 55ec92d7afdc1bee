// Plans lie in a file one after another.
#include "host/plan_file.h"

#include "base/mapped_file.h"
#include "base/output_file.h"
#include "host/plan_builder.h"
#include "plan/contract.h"
#include "plan/file.h"

namespace sinter::host {
namespace {

// Whether the device takes code of the plan's target: it says so before it looks at the code.
bool runsOn(hal::Device &device, const plan::Plan &plan) {
  if (!targetOf(plan).starts_with(device.info().driver + ":"))
    return false;
  const auto module = device.loadModule(targetOf(plan), {});
  return module || module.error().code != Code::Unsupported;
}

// A choice that plans are built for: the text that names it, what plans have that do not say, since
// they are from before there was a choice, and how it is spoken of.
struct PlanChoice {
  const char *text;
  std::string_view usual;
  const char *words;
};

Result<void> checkSame(const plan::Plan &plan, const PlanChoice &choice, const std::string &asked) {
  const auto text = plan.texts.find(choice.text);
  const std::string found = text == plan.texts.end() ? std::string(choice.usual) : text->second;
  if (asked.empty() || found == asked)
    return {};
  return fail(Code::InvalidArgument,
              std::string("the plan ") + choice.words + " " + found + ", asked for is " + asked);
}

Result<void> checkPrecision(const plan::Plan &plan, const Precision &asked) {
  static constexpr PlanChoice kKv = {contract::kKvType, "f16", "keeps keys and values in"};
  static constexpr PlanChoice kRows = {contract::kAskedActivations, kDefaultActivations,
                                       "was built for activations"};
  if (asked.kvType != kDefaultKvType) // which leaves it to the plan
    SINTER_TRY(checkSame(plan, kKv, asked.kvType));
  return checkSame(plan, kRows, asked.activations);
}

// Whether another target may do better.
bool isOfTarget(const Status &error) {
  return error.code == Code::Internal || error.code == Code::Unsupported ||
         error.code == Code::InvalidArgument || error.code == Code::Timeout;
}

} // namespace

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

// A child for each target, so that one whose compiler is killed or takes too long costs no other
// its plan.
Result<size_t> compileTo(const ModelFile &model, const CompileRequest &request,
                         Observer &observer) {
  SINTER_ASSIGN(PlanBuilder builder, PlanBuilder::create(model, {"", request.precision}, observer));
  SINTER_ASSIGN(OutputFile file, OutputFile::create(request.output, 0600));
  uint64_t written = 0;
  size_t failed = 0;
  for (const std::string &target : request.targets) {
    builder.setTarget(target);
    const auto plan = builder.buildBytes();
    if (!plan && !isOfTarget(plan.error()))
      return Fail(plan.error());
    const std::string why = plan ? "" : "target '" + target + "': " + plan.error().message;
    if (!plan && !request.keepGoing)
      return fail(plan.error().code, why + "; nothing was written");
    if (!plan) {
      observer.note(why);
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

} // namespace sinter::host
