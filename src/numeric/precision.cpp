// Names of what may be rounded.
#include "numeric/precision.h"

#include <array>

namespace sinter {

namespace {
struct Row {
  Activations activations;
  std::string_view name;
};
constexpr std::array kRows = {Row{Activations::Fastest, kDefaultActivations},
                              Row{Activations::F32, "f32"}};
} // namespace

std::optional<Activations> findActivations(std::string_view name) {
  for (const Row &row : kRows)
    if (row.name == name)
      return row.activations;
  return std::nullopt;
}

std::string activationsNames() {
  std::string names;
  for (const Row &row : kRows)
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  return names;
}

} // namespace sinter
