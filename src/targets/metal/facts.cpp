// The table of families, by Apple's "Metal Feature Set Tables". The oldest keeps to what systems
// before MSL 3.1 take, which have no bfloat.
#include "targets/metal/facts.h"

#include "llvm/ADT/STLExtras.h"

namespace sinter::targets::metal {

static constexpr MetalFacts kFamilies[] = {
    {.family = "apple7", .bfloat = false},
    {.family = "apple9", .bfloat = true},
};

llvm::ArrayRef<MetalFacts> metalFamilies() {
  return kFamilies;
}

const MetalFacts *findFacts(std::string_view family) {
  const auto *found =
      llvm::find_if(kFamilies, [&](const MetalFacts &row) { return family == row.family; });
  return found == std::end(kFamilies) ? nullptr : found;
}

} // namespace sinter::targets::metal
