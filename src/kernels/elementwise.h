// Kernels that map elements of [M, N] operands: add, silu_mul. Grid x walks columns and y rows;
// arithmetic is f32.
#pragma once

#include "kernels/fields.h"
#include "kernels/slots.h"

namespace sinter::kernels {

struct MapBlocks {
  kernel::Element a = kernel::F32, b = kernel::F32, out = kernel::F32;
  int64_t columns = kernel::dyn;
  int64_t blockRows = 1, blockColumns = 1024;
  Slot epilogue;
};

// out = a + b. Arguments: a [M, N], b [M, N], out [M, N].
struct Add : MapBlocks {};

// out = gate / (1 + exp(-gate)) * up. Arguments: gate [M, N], up [M, N], out [M, N]; `a` is gate's
// type, `b` up's.
struct SiluMul : MapBlocks {};

void add(kernel::KernelBuilder &k, const Add &p);
void siluMul(kernel::KernelBuilder &k, const SiluMul &p);

void visitFields(Add &p, FieldVisitor &visitor);
void visitFields(SiluMul &p, FieldVisitor &visitor);

} // namespace sinter::kernels
