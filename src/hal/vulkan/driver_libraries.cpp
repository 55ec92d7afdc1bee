// What the dynamic linker has loaded.
#include "hal/vulkan/driver_libraries.h"

#include <dlfcn.h>
#include <link.h>

namespace sinter::hal::vulkan {

std::set<std::string> openLibraries() {
  std::set<std::string> paths;
  const auto add = [](dl_phdr_info *info, size_t, void *to) {
    if (info->dlpi_name && *info->dlpi_name)
      static_cast<std::set<std::string> *>(to)->insert(info->dlpi_name);
    return 0;
  };
  dl_iterate_phdr(add, &paths);
  return paths;
}

void keepLibrariesSince(const std::set<std::string> &before) {
  for (const std::string &path : openLibraries())
    if (!before.contains(path))
      (void)dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

} // namespace sinter::hal::vulkan
