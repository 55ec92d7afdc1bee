// One tensor's data from its type to another, piece by piece on several threads.
#pragma once

#include "base/output_file.h"
#include "format/gguf.h"
#include "hal/cpu/thread_pool.h"

#include <atomic>
#include <functional>

namespace sinter::host {

// Holds memory for a few pieces, whatever the sizes of tensors and rows.
class TensorQuantizer {
public:
  // Exhausted: the system gives no more threads. Calls `onProgress` with the elements done since
  // the call before.
  static Result<TensorQuantizer> create(uint32_t threads, const std::atomic<bool> &interrupted,
                                        std::function<void(uint64_t)> onProgress);

  // Writes the tensor as `format` at `offset` of the file; its bytes as they stand where it has
  // that format. InvalidArgument: a value is NaN or infinite; Unsupported: one is beyond the
  // format; both name tensor and row. Cancelled: `interrupted` was set.
  Result<void> write(const GgufTensor &tensor, const BlockFormat &format, OutputFile &file,
                     uint64_t offset);

private:
  struct Batch;
  TensorQuantizer(std::unique_ptr<hal::ThreadPool> pool, const std::atomic<bool> &interrupted,
                  std::function<void(uint64_t)> onProgress);
  Result<void> copy(const GgufTensor &tensor, OutputFile &file, uint64_t offset);
  Result<void> quantizeBatch(const Batch &batch);

  std::unique_ptr<hal::ThreadPool> pool_;
  const std::atomic<bool> &interrupted_;
  std::function<void(uint64_t)> onProgress_;
  std::vector<std::vector<float>> values_; // of each thread's piece
  std::vector<uint8_t> bytes_;             // of a batch, as they are written
};

} // namespace sinter::host
