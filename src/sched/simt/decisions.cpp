// Reads decisions of a kernel's schedule.
#include "tile/mlir_pch.h"

#include "sched/simt/decisions.h"

using namespace mlir;

namespace sinter::sched {

int64_t decisionOf(tile::KernelOp kernel, StringRef name, int64_t otherwise) {
  DictionaryAttr schedule = tile::scheduleOf(kernel);
  auto decided = schedule ? schedule.getAs<IntegerAttr>(name) : IntegerAttr();
  return decided ? decided.getInt() : otherwise;
}

} // namespace sinter::sched
