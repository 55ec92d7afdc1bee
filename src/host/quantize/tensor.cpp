// Pieces are whole blocks of both formats, wherever rows end: blocks do not depend on each other.
#include "host/quantize/tensor.h"

#include "numeric/quantize/block_fit.h"

#include <algorithm>
#include <cmath>

namespace sinter::host {
namespace {

constexpr uint64_t kPieceElements = 16384; // every block length divides it
constexpr uint64_t kBatchPieces = 64;
constexpr uint64_t kCopyBytes = 4 << 20;

std::string at(const GgufTensor &tensor, uint64_t element, const char *column) {
  return "tensor '" + std::string(tensor.name) + "', row " +
         std::to_string(element / tensor.dims[0]) + ", " + column +
         std::to_string(element % tensor.dims[0]);
}

} // namespace

// Pieces [firstPiece, firstPiece + pieces) of a tensor.
struct TensorQuantizer::Batch {
  const GgufTensor &tensor;
  const BlockFormat &format;
  uint64_t firstElement;
  uint64_t elements;

  uint64_t pieces() const { return (elements + kPieceElements - 1) / kPieceElements; }
  static uint64_t bytesOf(const BlockFormat &format, uint64_t elements) {
    return elements / format.blockLength * format.blockBytes;
  }

  // Piece `piece`, dequantized into `values` and written to its place in `out`.
  Result<void> quantize(uint64_t piece, std::span<float> values, std::span<uint8_t> out) const {
    const uint64_t begin = piece * kPieceElements;
    const uint64_t first = firstElement + begin;
    const uint64_t count = std::min(kPieceElements, elements - begin);
    const auto from =
        tensor.bytes.subspan(bytesOf(*tensor.format, first), bytesOf(*tensor.format, count));
    values = values.first(count);
    dequantizeRow(*tensor.format, from, values);
    for (uint64_t e = 0; e < count; ++e)
      if (!std::isfinite(values[e]))
        return fail(Code::InvalidArgument, at(tensor, first + e, "column ") + ": found " +
                                               std::to_string(values[e]) +
                                               ", expected a finite number");
    out = out.subspan(bytesOf(format, begin), bytesOf(format, count));
    return fitRow(format, values, out) ? Result<void>() : explain(first, values, out);
  }

  // The error again, of the row that it is in.
  Result<void> explain(uint64_t first, std::span<const float> values,
                       std::span<uint8_t> out) const {
    for (uint64_t done = 0; done < values.size();) {
      const uint64_t left = tensor.dims[0] - (first + done) % tensor.dims[0];
      const uint64_t count = std::min<uint64_t>(left, values.size() - done);
      const auto fitted = fitRow(format, values.subspan(done, count),
                                 out.subspan(bytesOf(format, done), bytesOf(format, count)));
      if (!fitted)
        return fail(fitted.error().code,
                    at(tensor, first + done, "from column ") + " on: " + fitted.error().message);
      done += count;
    }
    return {};
  }
};

TensorQuantizer::TensorQuantizer(std::unique_ptr<hal::ThreadPool> pool,
                                 const std::atomic<bool> &interrupted,
                                 std::function<void(uint64_t)> onProgress)
    : pool_(std::move(pool)), interrupted_(interrupted), onProgress_(std::move(onProgress)),
      values_(pool_->threads(), std::vector<float>(kPieceElements)) {}

Result<TensorQuantizer> TensorQuantizer::create(uint32_t threads,
                                                const std::atomic<bool> &interrupted,
                                                std::function<void(uint64_t)> onProgress) {
  SINTER_ASSIGN(auto pool, hal::ThreadPool::create(threads));
  return TensorQuantizer(std::move(pool), interrupted, std::move(onProgress));
}

Result<void> TensorQuantizer::copy(const GgufTensor &tensor, OutputFile &file, uint64_t offset) {
  for (uint64_t done = 0; done < tensor.bytes.size(); done += kCopyBytes) {
    const uint64_t count = std::min<uint64_t>(kCopyBytes, tensor.bytes.size() - done);
    SINTER_TRY(file.writeAt(tensor.bytes.subspan(done, count), offset + done));
    if (interrupted_)
      return fail(Code::Cancelled, "interrupted");
  }
  onProgress_(tensor.elements());
  return {};
}

// The error of the first piece that has one, on any number of threads.
Result<void> TensorQuantizer::quantizeBatch(const Batch &batch) {
  bytes_.resize(Batch::bytesOf(batch.format, batch.elements));
  std::vector<Result<void>> results(batch.pieces());
  struct Context {
    TensorQuantizer &self;
    const Batch &batch;
    std::vector<Result<void>> &results;
  } context{*this, batch, results};
  pool_->run(
      static_cast<int64_t>(batch.pieces()),
      [](void *argument, uint32_t thread, int64_t first, int64_t last) {
        auto &[self, work, done] = *static_cast<Context *>(argument);
        for (int64_t piece = first; piece < last && !self.interrupted_; ++piece)
          done[static_cast<size_t>(piece)] =
              work.quantize(static_cast<uint64_t>(piece), self.values_[thread], self.bytes_);
      },
      &context);
  if (interrupted_)
    return fail(Code::Cancelled, "interrupted");
  for (Result<void> &result : results)
    SINTER_TRY(std::move(result));
  return {};
}

Result<void> TensorQuantizer::write(const GgufTensor &tensor, const BlockFormat &format,
                                    OutputFile &file, uint64_t offset) {
  if (&format == tensor.format)
    return copy(tensor, file, offset);
  constexpr uint64_t kBatch = kPieceElements * kBatchPieces;
  for (uint64_t done = 0; done < tensor.elements(); done += kBatch) {
    const Batch batch{tensor, format, done, std::min(kBatch, tensor.elements() - done)};
    SINTER_TRY(quantizeBatch(batch));
    SINTER_TRY(file.writeAt(bytes_, offset));
    offset += bytes_.size();
    onProgress_(batch.elements);
  }
  return {};
}

} // namespace sinter::host
