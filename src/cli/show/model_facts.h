// What a model file says of itself, and what a device takes for it.
#pragma once

#include "format/gguf.h"
#include "hal/hal.h"
#include "llm/plan_limits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace sinter::cli {

// Tensors of one type together.
struct TypeFacts {
  std::string type; // "Q4_K"
  uint64_t tensors = 0, elements = 0, bytes = 0;
};

struct FileFacts {
  std::string name, architecture; // empty where the file does not say
  std::vector<std::string> paths; // of all parts
  uint64_t bytes = 0, parameters = 0;
  std::vector<TypeFacts> types;                            // the largest first
  std::vector<std::pair<std::string, std::string>> shapes; // "layers" and "30", in reading order
  std::string tokenizer;                                   // "gpt2, pre smollm, 49152 tokens"
  bool hasTemplate = false;
  // What the store has beside the file: "source", "system", "settings", "Go template", "license".
  std::vector<std::pair<std::string, std::string>> stored = {};
};
FileFacts factsOf(const GgufFile &file);

// Tensors that no buffer of the plan holds.
struct UnusedFacts {
  std::vector<std::string> tensors;
  uint64_t bytes = 0;
};
UnusedFacts unusedOf(const GgufFile &file, const plan::Plan &plan);

struct DeviceFacts {
  hal::DeviceInfo device;
  std::string target, kvType;
  RunnerLimits limits;
  runtime::MemoryNeed memory;
  std::vector<uint64_t> kvGroupBytes; // of limits.kvGroups
  UnusedFacts unused;
  uint64_t stateBytes = 0; // of one sequence's states; 0: the model has none

  // Of the KV cache: what the plan keeps from step to step, without the states.
  uint64_t cacheBytes() const {
    return memory.state - std::min(memory.state, stateBytes * limits.stateSlots);
  }
};

// `reason`: why there are no device's facts.
std::string showText(const FileFacts &file, const std::optional<DeviceFacts> &device,
                     const std::string &reason);
std::string showJson(const FileFacts &file, const std::optional<DeviceFacts> &device,
                     const std::string &reason);

} // namespace sinter::cli
