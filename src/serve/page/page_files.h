// Files of this folder, as the build lays them into the program (cmake/SinterAssets.cmake).
#pragma once

#include <span>
#include <string_view>

namespace sinter::serve {

struct PageFile {
  std::string_view name; // "page.css"
  std::string_view content;
};

std::span<const PageFile> pageFiles();

} // namespace sinter::serve
