// An estimate by bytes: what programs read again passes the second-level cache beside the weights.
#include "tile/mlir_pch.h"

#include "engine/choice/norm_squares.h"
#include "engine/choice/shared_depth.h"
#include "engine/elements.h"
#include "graph/fuse/launch.h"

#include <array>

namespace sinter::engine {

// How much faster the second-level cache reads than memory, and what it reads while a launch
// begins: 2 us of 5.5 TB/s. Both are what others measured on an H100; plans with these norms were
// not measured yet.
static constexpr double kCacheOverMemory = 1.5, kBytesOfLaunch = 11e6;

static constexpr std::array<std::pair<std::string_view, DecodeNorms>, 3> kNames = {
    {{"apart", DecodeNorms::Apart},
     {"estimated", DecodeNorms::Estimated},
     {"fused", DecodeNorms::Fused}}};

std::optional<DecodeNorms> findDecodeNorms(std::string_view name) {
  for (const auto &[known, norms] : kNames)
    if (known == name)
      return norms;
  return std::nullopt;
}

std::string decodeNormsNames() {
  std::string names;
  for (const auto &[name, norms] : kNames)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

static double weightBytes(const kernels::Gemm &p) {
  const BlockFormat *format = blockFormatOf(p.b);
  const double each = format ? double(format->blockBytes) / double(format->blockLength) : 2;
  return each * double(p.n) * double(p.k);
}

// Bytes that take as long to pass the second-level cache: `read` beside the weights, or the
// weights alone by memory.
static double timeOf(const kernels::Gemm &p, double read) {
  const double weights = weightBytes(p);
  return std::max(weights * kCacheOverMemory, weights + read);
}

// Each program reads rows, sums and the norm's weight in f32, or rows of 16 bits that a launch
// has made.
static bool pays(const kernels::Gemm &p, int64_t rows) {
  constexpr double kFloat = 4, kHalf = 2;
  const auto k = double(p.k), count = double(rows),
             programs = double(llvm::divideCeil(p.n, p.blockN));
  const double sums = k / double(graph::kSquareColumns);
  const double fused = programs * kFloat * (count * (k + sums) + k);
  return timeOf(p, fused) <= kBytesOfLaunch + timeOf(p, programs * kHalf * count * k);
}

int64_t normRows(graph::LaunchOp matmul, const MatmulPrecision &rules, DecodeNorms norms) {
  const std::optional<kernels::Gemm> p = sharedGemm(matmul, rules);
  if (!p || norms == DecodeNorms::Apart)
    return 0;
  int64_t rows = p->blockM;
  while (norms == DecodeNorms::Estimated && rows > 0 && !pays(*p, rows))
    --rows;
  return rows;
}

} // namespace sinter::engine
