// Chat templates for model files that have none.
#pragma once

#include <string>
#include <string_view>

namespace sinter {

// The source of a template by its name; empty where there is none of it.
std::string_view builtinTemplate(std::string_view name);
// All names: "chatml, command-r, ...".
std::string builtinTemplateNames();

} // namespace sinter
