// The table of kernels: name, parameters and how to build one. The command line, conformance tests
// and the tuner expand from it, so no kernel is untested.
#pragma once

#include "base/status.h"
#include "sinter/kernel.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::kernels {

enum class ParamKind { Integer, Extent, Format, Flag };

// A parameter of a kernel. `standard` is its default as text.
struct ParamInfo {
  std::string name;
  ParamKind kind;
  std::string standard;
  std::string help;
  int64_t low = 0, high = 0; // bounds of an Integer
};

// Settings by parameter name: integers in decimal, extents also "dyn", formats as f32 or q4_1,
// flags true or false.
using Settings = std::map<std::string, std::string>;

struct KernelEntry {
  std::string name;
  std::string summary;
  std::vector<ParamInfo> params;
  // Defines the kernel as `as` in a module. InvalidArgument, naming the setting, where a setting is
  // unknown or out of range; a combination that makes no kernel is the module's diagnostic instead.
  std::function<Result<void>(kernel::Module &, const std::string &as, const Settings &)> define;
};

// All kernels, in a fixed order. Built on each call: keep it.
std::vector<KernelEntry> kernelRegistry();

// The entry of that name; NotFound, with the names that exist.
Result<KernelEntry> findKernel(std::string_view name);

} // namespace sinter::kernels
