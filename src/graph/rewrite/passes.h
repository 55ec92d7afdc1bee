// Rewrites of a graph, one a file. Each takes a verified module and leaves a verified one.
#pragma once

#include "graph/graph.h"
#include "mlir/IR/BuiltinOps.h"
#include "numeric/formats/activation_format.h"

namespace sinter::graph {

/// Matmuls of one value with weights of one format become one matmul with the joined weights, and
/// slices of its result: fewer launches, and a's rows are read once.
void joinMatmuls(mlir::ModuleOp module);

/// Grouped matmuls of the same rows, as gate and up of experts, become one in the same way.
void joinExperts(mlir::ModuleOp module);

/// Equal maps of all slices of a matmul's result, with vectors of their own such as biases, become
/// one map of the whole result with the joined vectors.
void joinMaps(mlir::ModuleOp module);

/// The format to which activations are rounded that multiply blocks of this type; null where these
/// are decoded.
using ActivationFor = llvm::function_ref<const ActivationFormat *(mlir::Type weights)>;

/// Where a f32 value is multiplied with block formats it is rounded first, once for all of them: to
/// the format with the finest sums that one of them asks for.
/// With `roundScalars`, where it is multiplied with f16 or bf16 it is rounded to that; and to
/// `besideBlocks`, where that is a type, if it is multiplied with blocks that have no such format.
void quantizeActivations(mlir::ModuleOp module, ActivationFor activationFor,
                         bool roundScalars = false, mlir::Type besideBlocks = {});

/// The norms that `takes` takes as reductions and broadcasting maps.
void decomposeNorms(mlir::ModuleOp module, llvm::function_ref<bool(NormOp)> takes);

/// The KV cache, where it has 16 bits, in this type.
void keepPools(mlir::ModuleOp module, mlir::Type element);

} // namespace sinter::graph
