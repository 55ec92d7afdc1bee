// Drivers are asked only for a family's name.
#include "tile/mlir_pch.h"

#include "compiler/target_option.h"
#include "hal/cuda/cuda_driver.h"
#include "hal/target_choice.h"
#include "hal/vulkan/vulkan_driver.h"

namespace sinter::compiler {

Result<std::string> resolveTarget(const std::string &name) {
  hal::DriverRegistry registry;
  SINTER_TRY(hal::addCudaDriver(registry));
  SINTER_TRY(hal::addVulkanDriver(registry));
  hal::TargetChoice choice = hal::chooseTarget(name, registry);
  if (!choice.why.empty())
    llvm::errs() << "sinter-compiler: " << choice.why << "\n";
  return std::move(choice.target);
}

} // namespace sinter::compiler
