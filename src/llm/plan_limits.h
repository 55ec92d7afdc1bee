// What a plan allows and what it takes of a device's memory, known before any of it is loaded.
#pragma once

#include "base/checked.h"
#include "hal/hal.h"
#include "llm/step_runner.h"
#include "plan/plan.h"
#include "runtime/memory_need.h"
#include "runtime/weight_cache.h"

namespace sinter {

struct PlanRunnerOptions {
  uint32_t contextTokens = 0; // 0: what the plan says, but at most kDefaultContextTokens
  uint32_t sequences = 1;     // KV cache for the whole context of so many; at least 1
  // KV cache for so many tokens in all, of any number of sequences; 0: as `sequences` says.
  uint32_t poolTokens = 0;
  uint32_t maxStepTokens = 512; // prompts are cut into steps of so many
  // Steps begin before the tokens of the step before are chosen; none: where the plan and the model
  // allow it.
  std::optional<bool> overlap = std::nullopt;
  const runtime::WeightCache *weightCache = nullptr; // while the runner is made; null: none
};
inline constexpr uint32_t kDefaultContextTokens = 8192;

// The context that a runner gets where a model was made for `most` tokens and `asked` are asked for
// (0: the default). InvalidArgument, with the numbers: more is asked for.
Result<uint32_t> contextTokensOf(uint64_t most, uint32_t asked);

// Of a plan that keeps the contract. InvalidArgument: the options ask for a longer context than the
// model's, or for a KV cache beyond any device.
Result<RunnerLimits> limitsOf(const plan::Plan &plan, const PlanRunnerOptions &options);

// What a KV cache group takes.
CheckedSize kvBytes(const plan::Plan &plan, const RunnerLimits &limits, size_t group);

// Weights, the KV cache of the whole pool, and what the longest step takes beside them: a prompt of
// `limits.stepTokens` at the end of a full context.
Result<runtime::MemoryNeed> memoryNeedOf(const plan::Plan &plan, const RunnerLimits &limits);

// Exhausted, with the numbers: weights, the KV cache of the whole pool and the longest step take
// more than the device has, or than is free where it tells that.
Result<void> checkFits(const plan::Plan &plan, const RunnerLimits &limits, hal::Device &device);

} // namespace sinter
