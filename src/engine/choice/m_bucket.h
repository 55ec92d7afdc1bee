// M buckets: how many rows a program of a launch holds.
#pragma once

#include <cstdint>

namespace sinter::engine {

// On SIMT targets One is for decode tokens, however many. Small differs from Prefill only for
// matmuls of CPU targets with unquantized weights.
enum class MBucket { Prefill, Small, One };
// The most rows of Small: as many as read packed weights in place (targets/cpu: CpuSchedule).
inline constexpr int64_t kSmallBucketRows = 8;

} // namespace sinter::engine
