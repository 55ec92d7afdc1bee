// Libraries of drivers, which the Vulkan loader opens and closes as instances come and go.
#pragma once

#include <set>
#include <string>

namespace sinter::hal::vulkan {

// Paths of the libraries that this process has open.
std::set<std::string> openLibraries();

// Those that were opened since `before` stay open to the process's end: what a driver leaves behind
// when it is closed (threads, thread-local data, memory that it finds again) is not ours to end.
void keepLibrariesSince(const std::set<std::string> &before);

} // namespace sinter::hal::vulkan
