// Typed indices into a plan's tables, so that a kernel's number cannot be mistaken for a buffer's.
#pragma once

#include <compare>
#include <cstdint>

namespace sinter::plan {

// An index into one table of a Plan. A default one is out of range everywhere and fails validation.
template <typename Tag> struct Id {
  uint32_t index = UINT32_MAX;

  friend constexpr auto operator<=>(const Id &, const Id &) = default;
};

using DeviceId = Id<struct DeviceTag>;
using SymbolId = Id<struct SymbolTag>;
using ModuleId = Id<struct ModuleTag>;
using KernelId = Id<struct KernelTag>;
using BufferId = Id<struct BufferTag>;
using ProcedureId = Id<struct ProcedureTag>;

} // namespace sinter::plan
