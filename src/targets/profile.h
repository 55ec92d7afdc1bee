// What a target tells the engine about itself: one value, from which kernels, tile sizes, packing
// and precision are chosen (src/engine/choice).
#pragma once

#include "sched/simt/depth_tile.h"
#include "sched/simt/matrix_element.h"

#include <cstdint>
#include <vector>

namespace sinter::targets {

/// What one program of a launch is: a task that a core goes through, or a thread block.
enum class TargetKind : uint8_t { Cpu, Simt };

/// A matrix instruction: f32 or i32 [m, n] += [m, k] x [k, n].
struct MatrixShape {
  sched::MatrixElement element; // of the left operand
  int64_t m, n, k;
  int64_t threads;             // that issue it together; 1 on a CPU
  bool sharedOperands = false; // both lie in shared memory, and it runs on its own
  bool opaque = false;         // where accumulators lie only the processor knows
};

/// What activations become before a matmul of prefill tokens.
enum class ActivationPrecision : uint8_t {
  F32,        // the weights are dequantized
  BF16,       // so are the weights
  WeightType, // that of the weights
  Quantized,  // blocks of bytes, which meet the weights' codes in integer dots
};

struct TargetProfile {
  TargetKind kind = TargetKind::Cpu;
  int64_t lanes = 0;       // f32 elements of a core's vector register; threads of a subgroup
  int64_t registers = 0;   // a core's vector registers; 32-bit registers of a thread at most
  int64_t sharedBytes = 0; // that a thread block may share at most; 0 on a CPU
  int64_t threads = 1;     // of a thread block at most
  std::vector<MatrixShape> matrixInstructions;
  // The fastest beside weights of block formats, and beside F16, BF16 and F32 weights.
  ActivationPrecision besideQuantized = ActivationPrecision::Quantized;
  ActivationPrecision besideUnquantized = ActivationPrecision::F32;
  // Thread blocks multiply few rows by matrix instructions while subgroups share K
  // (sched/simt/split_dots), so that weights are read once for all of them.
  bool sharesDepth = false;
  // What an instruction multiplies then beside unquantized weights, and beside quantized ones in
  // words.
  sched::DepthTile unquantizedTile, wordsTile;
  int64_t programBlocks = 1; // thread blocks of one program that can share K, at most
  // Tiles of more tokens multiply by instructions that read tokens in shared memory
  // (sched::kReadingGroups).
  bool readsTokens = false;
};

} // namespace sinter::targets
