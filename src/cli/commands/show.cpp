// sinter show: what a model file is, what of it is used, and what memory it takes where.
#include "cli/commands/commands.h"
#include "cli/open_model.h"
#include "cli/show/model_facts.h"
#include "cli/terminal.h"
#include "cli/terminal_observer.h"
#include "host/model_store.h"
#include "host/plan_file.h"
#include "host/plan_store.h"
#include "plan/contract.h"

namespace sinter::cli {
namespace {

std::string textOf(const plan::Plan &plan, std::string_view name) {
  const auto found = plan.texts.find(std::string(name));
  return found == plan.texts.end() ? "" : found->second;
}

Result<DeviceFacts> deviceFacts(const ModelFile &file, const ModelArguments &arguments,
                                host::Observer &observer) {
  SINTER_TRY(file.contextTokens(arguments.context)); // before minutes are spent on a plan
  SINTER_ASSIGN(const auto device, openDevice(arguments));
  SINTER_ASSIGN(const host::ObtainedPlan obtained,
                arguments.plan.empty()
                    ? host::obtainPlan(file, device->info(), arguments.precision, observer)
                    : host::readPlanFile(arguments.plan, *device, arguments.precision));
  const plan::Plan &plan = *obtained.plan;
  PlanRunnerOptions options;
  options.contextTokens = arguments.context;
  DeviceFacts facts{device->info(),
                    std::string(plan::targetOf(plan)),
                    textOf(plan, contract::kKvType),
                    {},
                    {},
                    {},
                    unusedOf(file.gguf(), plan)};
  SINTER_ASSIGN(facts.limits, limitsOf(plan, options));
  SINTER_ASSIGN(facts.memory, memoryNeedOf(plan, facts.limits));
  for (size_t group = 0; group < facts.limits.kvGroups.size(); ++group)
    facts.kvGroupBytes.push_back(kvBytes(plan, facts.limits, group).value().value_or(0));
  if (facts.limits.stateSlots > 0)
    facts.stateBytes = static_cast<uint64_t>(plan.properties.at(contract::kStateBytes.name));
  return facts;
}

Result<std::vector<std::pair<std::string, std::string>>> storedFacts(const std::string &model) {
  SINTER_ASSIGN(const host::ModelExtras extras, host::modelExtras(model));
  std::vector<std::pair<std::string, std::string>> facts;
  for (const auto &[what, text] :
       {std::pair("source", &extras.source), std::pair("system", &extras.system),
        std::pair("settings", &extras.params), std::pair("Go template", &extras.goTemplate),
        std::pair("license", &extras.license)})
    if (!text->empty())
      facts.emplace_back(what, *text);
  return facts;
}

} // namespace

// A model that cannot run still has a file to tell of; an interrupt is no reason.
Result<int> showCommand(const ShowArguments &arguments, Interrupts &interrupts) {
  TerminalObserver observer(interrupts);
  const std::string &model = arguments.model.model;
  SINTER_ASSIGN(const ModelFile file, host::openModelFile(model, observer, TextNeed::Optional));
  std::optional<DeviceFacts> device;
  std::string reason;
  auto facts = deviceFacts(file, arguments.model, observer);
  if (facts)
    device = std::move(*facts);
  else if (facts.error().code == Code::Cancelled)
    return Fail(facts.error());
  else
    reason = facts.error().message;
  FileFacts of = factsOf(file.gguf());
  SINTER_ASSIGN(of.stored, storedFacts(model));
  SINTER_TRY(
      writeStdout(arguments.json ? showJson(of, device, reason) : showText(of, device, reason)));
  return kExitOk;
}

} // namespace sinter::cli
