// The table of families: Apple's "Metal Feature Set Tables" and MSL 3.2, section 2.1.
#include "target/metal/facts.h"

#include "llvm/ADT/STLExtras.h"

namespace sinter::target::metal {

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

} // namespace sinter::target::metal
