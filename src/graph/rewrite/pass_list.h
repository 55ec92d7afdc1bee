// The graph's passes by name, for sinter-opt and pipelines that are written as text.
#pragma once

namespace sinter::graph {

/// Registers each pass of the list in pass_list.cpp with MLIR's pass registry. Call once.
void registerPasses();

} // namespace sinter::graph
