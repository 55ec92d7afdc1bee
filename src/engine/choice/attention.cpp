// Steps, tiles and partitions of attention by what programs share and multiply with.
#include "tile/mlir_pch.h"

#include "engine/choice/attention.h"

namespace sinter::engine {

// Keys of a step of attention, and what a program shares where it may be long. Decode tokens hold
// so many numbers of a step's keys in registers, and of its values.
static constexpr int64_t kUsualStep = 64, kLongStep = 256, kBytesForLongSteps = 96 * 1024;
static constexpr int64_t kStepNumbers = 16384;

// Keys of half a step are whole groups of so many.
static constexpr int64_t kColumnGroup = 32;

// Elements along K that a task multiplies as bf16, whole vectors of them; 0: f32 is as fast.
static int64_t bfloatDepth(const TargetProfile &profile) {
  const bool has = llvm::any_of(profile.matrixInstructions, [](const targets::MatrixShape &shape) {
    return shape.element == sched::MatrixElement::BF16;
  });
  return profile.kind == TargetKind::Cpu && has ? 2 * profile.lanes : 0;
}

bool attendsInBfloat(int64_t headDim, int64_t stepKeys, const TargetProfile &profile) {
  const int64_t depth = bfloatDepth(profile);
  return depth && headDim % depth == 0 && stepKeys % depth == 0;
}

// Keys and values in bf16 may lie beyond f16, and those in other types do not. Without an
// instruction for bf16, threads multiply in f32.
static kernel::Element simtCompute(const kernel::Element &cache, const TargetProfile &profile) {
  if (cache != kernel::BF16)
    return kernel::F16; // for matrix instructions
  const bool has = llvm::any_of(profile.matrixInstructions, [](const targets::MatrixShape &shape) {
    return shape.element == sched::MatrixElement::BF16;
  });
  return has ? kernel::BF16 : kernel::F32;
}

kernels::Attention chooseAttention(const AttentionShape &shape, kernel::Element out,
                                   int64_t queryTile, MBucket rows, const TargetProfile &profile,
                                   bool mayRound) {
  kernels::Attention p;
  p.cache = shape.cache;
  p.out = out;
  p.kvHeads = shape.kvHeads;
  p.groupHeads = shape.groupHeads;
  p.headDim = shape.headDim;
  p.valueDim = shape.valueDim;
  p.pageRows = shape.pageRows;
  p.queryTile = rows == MBucket::One ? 1 : queryTile;
  if (profile.kind == TargetKind::Cpu) {
    const bool bfloat = mayRound && attendsInBfloat(p.headDim, kernels::stepKeys(p), profile) &&
                        p.valueDim % bfloatDepth(profile) == 0;
    if (bfloat)
      p.compute = kernel::BF16;
    // Half of a step that is a power of two sums up in the same order, in whole registers.
    const int64_t step = kernels::stepKeys(p), half = step / 2;
    if (p.queryTile > 1 && llvm::isPowerOf2_64(step) &&
        half % (bfloat ? bfloatDepth(profile) : kColumnGroup) == 0)
      p.shortStep = half;
    return partitioned(p);
  }
  p.compute = simtCompute(shape.cache, profile);
  int64_t keys = std::min(kLongStep, kStepNumbers / std::max(shape.headDim, shape.valueDim));
  if (rows == MBucket::One && profile.sharedBytes >= kBytesForLongSteps)
    p.stepPages = std::max<int64_t>(1, keys / shape.pageRows);
  return p;
}

kernels::Attention partitioned(kernels::Attention p) {
  p.partitionSteps = llvm::divideCeil(kPartitionKeys, kernels::stepKeys(p));
  return p;
}

// Rows of one group of threads that multiplies from shared memory what lies in the KV cache; 0:
// none does with such heads. A head has whole steps of the instruction, and accumulators that leave
// a thread registers to work with. Elements of other types are converted first.
static int64_t pipelineRows(int64_t headDim, kernel::Element cache, const TargetProfile &profile) {
  constexpr int64_t kMostColumns = 128;
  if (headDim > kMostColumns || !(cache == kernel::F16 || cache == kernel::BF16))
    return 0;
  const auto element =
      cache == kernel::F16 ? sched::MatrixElement::F16 : sched::MatrixElement::BF16;
  for (const targets::MatrixShape &shape : profile.matrixInstructions)
    if (shape.sharedOperands && shape.element == element && headDim % shape.k == 0)
      return shape.m;
  return 0;
}

kernels::Attention pipelined(kernels::Attention p, const TargetProfile &profile) {
  const int64_t rows = pipelineRows(std::max(p.headDim, p.valueDim), p.cache, profile);
  if (p.groupHeads > rows)
    return p;
  p.queryTile = rows / p.groupHeads;
  p.stepPages = 1;
  return p;
}

// Two programs of pipelines for each multiprocessor of a Hopper card, less the last few: more than
// that take turns, and each of them begins with waits for its rows, its pages and its first keys.
static constexpr int64_t kFillingPrograms = 256;

kernels::Attention lengthened(kernels::Attention p, const TargetProfile &profile) {
  const int64_t rows = pipelineRows(std::max(p.headDim, p.valueDim), p.cache, profile);
  if (p.groupHeads <= rows && !p.window && !p.chunk)
    p.mostPartitions = std::max<int64_t>(1, kFillingPrograms / p.kvHeads);
  return p;
}

kernels::Attention combining(kernels::Attention p, const TargetProfile &profile) {
  // What a subgroup's registers hold. Long contexts have few programs of whole values, each of
  // which waits for memory once for the partitions that it reads together.
  constexpr int64_t kNumbers = 2048, kMostTogether = 16, kColumns = 64;
  p.slopes = false;
  p.scores = {};
  if (profile.kind == TargetKind::Cpu)
    return p;
  p.kvHeads *= std::exchange(p.groupHeads, 1);
  const int64_t value = p.valueDim ? p.valueDim : p.headDim;
  p.combineColumns = value > kColumns && value % kColumns == 0 && !p.joinHeads ? kColumns : 0;
  const int64_t columns = p.queryTile * (p.combineColumns ? p.combineColumns : value);
  p.combinePartitions = std::clamp<int64_t>(kNumbers / columns, 1, kMostTogether);
  return p;
}

// Partitions of their own cost a launch more, and a layer of tasks has seven without.
int64_t partitionsOfOneProgram(const TargetProfile &profile) {
  return profile.kind == TargetKind::Cpu ? 4 : 1;
}

bool listsPartitions(const TargetProfile &profile) {
  return profile.kind == TargetKind::Simt;
}

bool joinsHeads(const TargetProfile &profile) {
  return profile.kind == TargetKind::Cpu;
}

// Of a KV cache whose elements may meet an instruction as they lie; F32 where they may not.
static kernel::Element elementIn(const BlockFormat &cache) {
  switch (cache.type) {
  case TensorType::F16:
    return kernel::F16;
  case TensorType::BF16:
    return kernel::BF16;
  default:
    return kernel::F32;
  }
}

// Two groups of threads that multiply from shared memory: one thread block then has a
// multiprocessor's registers, and what it copies serves twice the rows that one group has.
int64_t backToBackRows(int64_t headDim, const BlockFormat &cache, const TargetProfile &profile) {
  constexpr int64_t kGroups = 2;
  return kGroups * pipelineRows(headDim, elementIn(cache), profile);
}

// Each step of attention is one wait for memory, so it is long where a program has room for it. A
// ring's steps wait for nothing; a thread's registers hold 64 scores of each of its rows.
int64_t choosePageRows(int64_t backToBackRows, const TargetProfile &profile) {
  return !backToBackRows && profile.sharedBytes >= kBytesForLongSteps ? kLongStep : kUsualStep;
}

int64_t chooseQueryTile(int64_t groupHeads, int64_t backToBackRows) {
  constexpr int64_t kUsual = 16, kMostRows = 128; // of a program, which holds all of them
  const int64_t rows = backToBackRows ? backToBackRows : std::min(kMostRows, kUsual * groupHeads);
  return std::max<int64_t>(1, rows / groupHeads);
}

} // namespace sinter::engine
