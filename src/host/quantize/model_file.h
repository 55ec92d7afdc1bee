// A model's file with its matrices as other types.
#pragma once

#include "base/output_file.h"
#include "format/gguf_header.h"
#include "host/quantize/scheme.h"

#include <atomic>
#include <functional>

namespace sinter::host {

// What is written before any tensor: one choice for each tensor of the model, and the header.
struct QuantizedFile {
  std::vector<TensorChoice> choices;
  GgufHeader header;
};

// It is one file, whatever the model was in. Errors of makeGgufHeader.
Result<QuantizedFile> quantizedFileOf(const GgufFile &model, const QuantizeTypes &types);

struct QuantizeRun {
  uint32_t threads = 1;
  const std::atomic<bool> &interrupted;
  // Elements done and in all; called from the caller's thread.
  std::function<void(uint64_t done, uint64_t total)> onProgress;
};

// Writes header and tensors; the caller commits the file. Errors of TensorQuantizer and of the
// disk. Corrupt: the model's file changed meanwhile.
Result<void> writeQuantized(const GgufFile &model, const QuantizedFile &quantized,
                            const QuantizeRun &run, OutputFile &file);

} // namespace sinter::host
