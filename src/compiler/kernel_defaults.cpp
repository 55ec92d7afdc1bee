// The table of defaults: blocks for programs that are blocks of threads.
#include "tile/mlir_pch.h"

#include "compiler/kernel_defaults.h"
#include "kernels/fields.h"

namespace sinter::compiler {

namespace {
struct Default {
  std::string_view kernels; // of these names, each between commas; empty: all with the setting
  std::string_view setting;
  int64_t value; // kWholeRow: the columns where they are static and one block can hold them
};
} // namespace

static constexpr int64_t kWholeRow = 0;
// Of a row without static columns: each of 256 threads reads 16 bytes of 16-bit numbers.
static constexpr int64_t kPartOfRow = 2048;

// Programs of threads: a row each, whole where its width is known; products by blocks that some
// hundred threads hold in registers.
static constexpr Default kThreads[] = {
    {",rms_norm,layer_norm,softmax,", "block_rows", 1},
    {",rms_norm,layer_norm,softmax,", "block_columns", kWholeRow},
    {",add,silu_mul,", "block_rows", 1},
    {",add,silu_mul,", "block_columns", 2048},
    {"", "block_m", 128},
    {"", "block_n", 128},
    {"", "block_k", 32},
};

static int64_t wholeRow(const kernels::Settings &settings) {
  auto found = settings.find("columns");
  int64_t columns = 0;
  if (found == settings.end() || llvm::StringRef(found->second).getAsInteger(10, columns) ||
      columns < 1 || columns > kernels::kMaxBlock)
    return kPartOfRow;
  return columns;
}

kernels::Settings withDefaults(const kernels::KernelEntry &entry, std::string_view target,
                               kernels::Settings given) {
  if (target.starts_with("cpu:"))
    return given;
  auto has = [&](std::string_view setting) {
    return llvm::any_of(entry.params, [&](const auto &param) { return param.name == setting; });
  };
  for (const Default &row : kThreads)
    if (has(row.setting) &&
        (row.kernels.empty() || row.kernels.find("," + entry.name + ",") != std::string_view::npos))
      given.try_emplace(std::string(row.setting),
                        std::to_string(row.value == kWholeRow ? wholeRow(given) : row.value));
  return given;
}

} // namespace sinter::compiler
