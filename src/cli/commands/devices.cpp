// sinter devices: what there is to run on.
#include "base/number_text.h"
#include "cli/commands/commands.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "host/device_choice.h"

namespace sinter::cli {

Result<int> devicesCommand() {
  hal::DriverRegistry registry;
  SINTER_TRY(host::addDrivers(registry));
  Table table({"device", "name", "units", "memory", "target"});
  for (const auto &driver : registry.drivers()) {
    auto devices = driver->devices();
    if (!devices) {
      sayOnStderr("driver '" + std::string(driver->name()) + "': " + devices.error().toString());
      continue;
    }
    for (size_t i = 0; i < devices->size(); ++i) {
      const hal::DeviceInfo &info = (*devices)[i];
      table.addRow({info.driver + ":" + std::to_string(i), info.name,
                    std::to_string(info.computeUnits),
                    bytesText(static_cast<double>(info.memoryBytes)), info.target});
    }
  }
  SINTER_TRY(writeStdout(table.text()));
  return kExitOk;
}

} // namespace sinter::cli
