// Kernels that go through rows: norms, maps, embeddings, RoPE, appending to the KV cache.
#pragma once

#include "engine/choice/precision.h"
#include "engine/choice/schedule_space.h"
#include "graph/graph.h"
#include "kernels/elementwise.h"
#include "kernels/rows.h"
#include "kernels/tokens.h"

namespace sinter::engine {

// Of rows of so many columns, or of heads of them.
template <class Norm = kernels::RmsNorm>
Norm chooseNorm(int64_t columns, kernel::Element out, const TargetProfile &profile,
                int64_t heads = 1);
// How its programs, one for each row, are scheduled.
Freedom freedomOfNorm(int64_t blockColumns, const TargetProfile &profile);
// A stream of [M, columns] f32 through a map region to f32 or a block format.
kernels::QuantizeRows chooseStream(int64_t columns, kernel::Element out,
                                   const TargetProfile &profile);
// Of a table whose rows are interleaved by so many.
kernels::Embed chooseEmbed(int64_t columns, kernel::Element table, int64_t rowInterleave,
                           const TargetProfile &profile);
kernels::RopeTable chooseRopeTable(int64_t pairs, const TargetProfile &profile);
// Heads of `pairs` that rotate and `rest` elements that do not.
kernels::Rope chooseRope(int64_t heads, int64_t pairs, int64_t rest, bool halves, bool inPlace,
                         const TargetProfile &profile);
kernels::KvAppend chooseKvAppend(graph::KvAppendOp op);
// Logits of each row that a step gives apart (contract::kTopCount), 0: none.
int64_t chooseTopLogits(const TargetProfile &profile);

} // namespace sinter::engine
