// Look-ups by name in a plan's tables, and fields of packing.
#include "plan/plan.h"

namespace sinter::plan {
namespace {

template <typename IdType, typename Entry>
std::optional<IdType> find(const std::vector<Entry> &table, std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name)
      return IdType{static_cast<uint32_t>(i)};
  return std::nullopt;
}

} // namespace

std::optional<SymbolId> findSymbol(const Plan &plan, std::string_view name) {
  return find<SymbolId>(plan.symbols, name);
}

std::optional<BufferId> findBuffer(const Plan &plan, std::string_view name) {
  return find<BufferId>(plan.buffers, name);
}

std::optional<ProcedureId> findProcedure(const Plan &plan, std::string_view name) {
  return find<ProcedureId>(plan.procedures, name);
}

std::vector<PackField> consecutive(std::vector<PackField> fields) {
  uint32_t place = 0;
  for (PackField &field : fields) {
    field.place = place;
    field.step = field.unit;
    place += field.bytes;
  }
  return fields;
}

std::string_view targetOf(const Plan &plan) {
  return plan.modules.empty() ? std::string_view() : plan.modules.front().target;
}

const char *kindName(BufferKind kind) {
  switch (kind) {
  case BufferKind::Input:
    return "input";
  case BufferKind::Output:
    return "output";
  case BufferKind::State:
    return "state";
  case BufferKind::Weight:
    return "weight";
  case BufferKind::Constant:
    return "constant";
  case BufferKind::Temp:
    return "temp";
  }
  return "unknown";
}

} // namespace sinter::plan
