// sinter doctor: what this machine lacks, and how to mend it.
#include "cli/commands/commands.h"
#include "cli/doctor/checks.h"
#include "cli/terminal.h"
#include "host/device_choice.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sinter::cli {
namespace {

using Object = nlohmann::ordered_json;

Result<std::vector<Finding>> examine(Interrupts &interrupts) {
  hal::DriverRegistry registry;
  SINTER_TRY(host::addDrivers(registry));
  const std::string root; // this system's
  std::vector<Finding> findings = {checkProcessor(registry), checkCuda(registry, root),
                                   checkVulkan(registry, root)};
  SINTER_ASSIGN(Finding compiler, checkCompiler(interrupts));
  findings.push_back(std::move(compiler));
  for (Finding finding : {checkCache(), checkDisk(), checkModel(), checkMemory(root),
                          checkHugePages(root), checkTerminal()})
    findings.push_back(std::move(finding));
  return findings;
}

std::string counted(size_t count, const std::string &what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string textOf(const std::vector<Finding> &findings, size_t problems, size_t warnings) {
  std::string text;
  for (const Finding &finding : findings) {
    constexpr size_t kStateWidth = 9, kWhatWidth = 12;
    std::string state = healthName(finding.health), what = finding.what;
    state.resize(kStateWidth, ' ');
    what.resize(kWhatWidth, ' ');
    text += state + what + withoutControls(finding.found) + "\n";
    if (!finding.mend.empty())
      text +=
          std::string(kStateWidth + kWhatWidth, ' ') + "-> " + withoutControls(finding.mend) + "\n";
  }
  return text + counted(problems, "problem") + ", " + counted(warnings, "warning") +
         (problems ? ": models do not run here yet\n" : ": models run here\n");
}

std::string jsonOf(const std::vector<Finding> &findings, size_t problems, size_t warnings) {
  Object checks = Object::array();
  for (const Finding &finding : findings)
    checks.push_back({{"check", finding.what},
                      {"state", healthName(finding.health)},
                      {"found", finding.found},
                      {"mend", finding.mend}});
  const Object object = {
      {"problems", problems}, {"warnings", warnings}, {"checks", std::move(checks)}};
  return object.dump(-1, ' ', false, Object::error_handler_t::replace) + "\n";
}

} // namespace

Result<int> doctorCommand(const DoctorArguments &arguments, Interrupts &interrupts) {
  SINTER_ASSIGN(const std::vector<Finding> findings, examine(interrupts));
  const auto count = [&](Health health) {
    return static_cast<size_t>(std::ranges::count(findings, health, &Finding::health));
  };
  const size_t problems = count(Health::Problem), warnings = count(Health::Warning);
  SINTER_TRY(writeStdout(arguments.json ? jsonOf(findings, problems, warnings)
                                        : textOf(findings, problems, warnings)));
  return problems ? kExitFailure : kExitOk;
}

} // namespace sinter::cli
