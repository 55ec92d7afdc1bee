// A graph becomes a plan: values become buffers, operations launches of kernels.
#pragma once

#include "engine/choice/m_bucket.h"
#include "engine/choice/norm_squares.h"
#include "engine/choice/precision.h"
#include "engine/kernel_set.h"
#include "engine/launch.h"
#include "graph/fuse/launch.h"
#include "graph/fuse/matmul_heads.h"
#include "kernels/attention.h"
#include "kernels/gemm.h"
#include "kernels/slots.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "plan/contract.h"

#include <optional>
#include <set>

namespace sinter::engine {

struct LoweringOptions {
  TargetProfile profile;
  Activations activations = Activations::Fastest;
  DecodeNorms decodeNorms = DecodeNorms::Apart;
  bool quantizes = false;       // some activations are quantized, so that attention may round too
  int64_t queryTile = 16;       // most query rows of an attention block
  bool namesPlaces = false;     // in errors, where the operation stands in its source
  bool listsPartitions = false; // the runtime lists split-KV partitions (contract::Input)

  MatmulPrecision matmulPrecision() const { return choosePrecision(profile, activations); }
};

// Where a tensor lies. Extents and strides count elements.
struct Stored {
  plan::BufferId buffer;
  plan::Expr byteOffset;
  std::vector<plan::Expr> extents, strides;

  BoundView view() const { return {buffer, byteOffset, extents, strides}; }
};

// The name that the operation's location carries.
std::string labelOf(mlir::Operation *op);
// What the operation does, for explain: "norm", "dot_general (3 joined)", "map (negf, exp)",
// "quantize to q8a".
std::string describe(mlir::Operation *op);
kernel::Element elementOf(mlir::Value value);
// The weight that a launch's body, or an operation outside of one, reads; null where it is none.
graph::WeightOp weightOf(mlir::Value value);
// Whether a kernel makes the norm whole: of rows, or of heads [T, heads, D], along the last axis.
bool hasRowKernel(graph::NormOp op);
// A tensor of one dimension as one row, or as one column.
BoundView asRow(const Stored &stored);
BoundView asColumn(const Stored &stored);
// A pool of keys or values as [pages, rows, heads, headDim].
BoundView poolByRow(graph::KvAppendOp op, const Stored &cache);
// What one position takes of a pool whose heads have so many elements.
mlir::RankedTensorType rowOfKvCache(mlir::RankedTensorType pool, int64_t headDim);

// What a matmul's launch does with its result.
struct Epilogue {
  kernels::EpilogueStore epilogueStore;
  std::vector<plan::KernelSlot> slots;  // what the sink does
  int64_t headColumns = 0;              // of a head, where a program holds one; else 0
  int64_t columns = 1;                  // of whose multiples a program has
  std::vector<BoundArgument> arguments; // after a and b
};

// The rows of a launch's weight in the order in which they are packed.
std::vector<plan::RowSegment> rowSegments(llvm::ArrayRef<graph::RowPart> parts);
// Columns of one program of a matmul with this epilogue.
int64_t programColumns(const kernels::Gemm &p, const Epilogue &epilogue, MBucket rows,
                       const TargetProfile &profile);
// Whether the launch names this M bucket.
bool hasBucket(graph::LaunchOp launch, llvm::StringRef bucket);

// Lowers launches: each becomes one step, or an `if` over the M buckets that it names. Use:
// construct, run() once.
class Lowering {
public:
  Lowering(KernelSet &kernels, const LoweringOptions &options);

  // The module's symbols, buffers and procedure `step` of a fused module (graph/fuse), whose
  // functions are one, or prefill and decode; kernels are in the set. Unsupported: an operation,
  // format or shape without a kernel, or a symbol that the module does not declare; the message
  // names what it is.
  Result<plan::Plan> run(mlir::ModuleOp module);

private:
  using Steps = std::vector<plan::Step>;

  Result<void> declareSymbols(mlir::ModuleOp module);
  // The symbol that the module gives this role, else `otherwise`.
  plan::Expr symbolOf(graph::SymbolRole role, const plan::Expr &otherwise = 0) const;
  // A symbol of the runtime's alone, which the plan has from the first use on.
  plan::Expr symbolOf(contract::Symbol symbol);
  Result<void> nameOutputs(mlir::func::FuncOp function);
  Result<void> checkOutputs(mlir::func::FuncOp function);
  Result<Steps> lowerFunction(mlir::func::FuncOp function);
  void lowerEdge(mlir::Operation &op);
  Result<void> lower(mlir::Operation &op);
  Result<void> lowerLaunch(graph::LaunchOp launch);
  Result<void> lowerGather(graph::LaunchOp launch);
  Result<void> lowerNorm(graph::LaunchOp launch);
  Result<void> lowerMap(graph::LaunchOp launch);
  Result<void> lowerQuantize(graph::LaunchOp launch);
  Result<void> lowerRopeTable(graph::LaunchOp launch);
  Result<void> lowerRope(graph::LaunchOp launch);
  Result<void> lowerKvAppend(graph::LaunchOp launch);
  static plan::Step byRows(const plan::Expr &rows, const Steps &many, const Steps &few,
                           const Steps &one);
  Freedom freedom() const { return freedomOf(options_.profile); }
  Result<void> lowerReshape(graph::ReshapeOp op);
  Result<void> lowerSlice(graph::SliceOp op);

  // lowering_generic.cpp
  class GenericMemory;
  Result<void> lowerGeneric(graph::LaunchOp launch);

  // lowering_attention.cpp
  struct Attend;
  Result<void> lowerAttention(graph::LaunchOp launch);
  Result<void> addScoreArguments(Attend &a);
  kernels::Attention attentionOf(const Attend &a, MBucket rows);
  void noteLookBack(const Attend &a, const kernels::Attention &p);
  Result<Steps> attendWhole(const Attend &a, const kernels::Attention &p);
  Result<Steps> attendSingle(const Attend &a);
  Result<Steps> attendListed(const Attend &a, const kernels::Attention &whole,
                             const kernels::Attention &p, const BoundView &list);
  Result<Steps> attendPartitions(const Attend &a, kernels::Attention p,
                                 const std::vector<BoundArgument> &sums,
                                 const std::vector<BoundArgument> &list);
  bool listsSuch(const kernels::Attention &p, bool firstGroup);
  std::optional<BoundView> partitionList(const Attend &a, const kernels::Attention &p);
  std::vector<BoundArgument>
  allocatePartitions(const Attend &a, const std::pair<plan::Expr, std::vector<plan::Expr>> &places,
                     const plan::Expr &used);
  void setPartitionCosts(const Attend &a, const kernels::Attention &p, Steps &steps);
  plan::Expr singleRows(const Attend &a);

  // lowering_matmul.cpp
  Result<void> lowerMatmul(graph::LaunchOp launch);
  struct Matmul;
  Result<Steps> matmulOf(const Matmul &matmul, MBucket rows);
  Result<Steps> normThenMatmul(const Matmul &matmul, MBucket rows);
  Result<Steps> tilesOf(const Matmul &matmul, MBucket rows);
  Result<std::vector<BoundArgument>> normArguments(graph::NormOp norm);
  void setNormCosts(graph::LaunchOp matmul, plan::Launch &launch);
  Result<Epilogue> epilogueOf(graph::LaunchOp launch);
  Result<Epilogue> mapEpilogue(graph::LaunchOp launch, graph::MapOp map);
  Result<Epilogue> qkvEpilogue(graph::LaunchOp launch);
  Result<std::vector<BoundArgument>> qkvArguments(graph::LaunchOp launch,
                                                  const graph::MatmulHeads &heads);
  Result<kernels::Slot> columnSlot(graph::LaunchOp launch, graph::MapOp map,
                                   std::vector<plan::KernelSlot> &slots,
                                   std::vector<BoundArgument> &arguments);
  Result<void> lowerHeadRows(graph::LaunchOp launch);

  // lowering_routing.cpp
  struct GroupedMatmul;
  Result<void> lowerRoute(graph::LaunchOp launch);
  Result<void> lowerGroupRows(graph::LaunchOp launch);
  Result<void> lowerSpreadRows(graph::LaunchOp launch);
  Result<void> lowerGroupedMatmul(graph::LaunchOp launch);
  Result<Steps> groupedMatmulOf(graph::LaunchOp launch, MBucket rows, const GroupedMatmul &matmul);
  Result<void> lowerCombineRows(graph::LaunchOp launch);

  // lowering_selection.cpp
  struct Selected;
  Result<void> lowerTopK(graph::LaunchOp launch);
  BoundView addKeys(const plan::Expr &rows, int64_t columns);
  void addSelection(plan::KernelId kernel, const std::vector<BoundArgument> &arguments,
                    std::string covered, graph::LaunchOp launch);
  Result<Selected> topsOf(const Selected &elements, graph::LaunchOp launch);
  Result<BoundView> ranksOf(const Selected &elements, graph::LaunchOp launch);
  Result<Selected> elementsOf(const Selected &elements, const Selected &groups, int64_t choices,
                              graph::LaunchOp launch);

  // lowering_recurrence.cpp
  Result<void> lowerCausalConv(graph::LaunchOp launch);
  Result<void> lowerDeltaRule(graph::LaunchOp launch);
  Result<Steps> deltaRuleOf(graph::LaunchOp launch, bool chunks);

  // memory.cpp
  plan::Expr extentOf(mlir::RankedTensorType type, int64_t axis);
  std::vector<plan::Expr> extentsOf(mlir::RankedTensorType type);
  plan::Expr bytesOf(mlir::RankedTensorType type);
  Stored makeStored(plan::BufferId buffer, mlir::RankedTensorType type);
  plan::BufferId addBuffer(std::string name, plan::BufferKind kind, plan::Expr bytes);
  std::optional<Stored> allocateRows(mlir::Value value, const std::string &name,
                                     plan::BufferKind kind);
  Stored allocate(mlir::Value value);
  Result<Stored> stored(mlir::Value value) const; // a copy: the table moves as it grows
  Result<Stored> directWeight(graph::WeightOp op);
  Result<Stored> packedWeight(graph::WeightOp op, std::vector<plan::RowSegment> rowOrder);
  MatmulPrecision precisionFor(mlir::RankedTensorType weight) const;
  int64_t interleavedRowsOf(mlir::RankedTensorType weight) const;
  // A vector whose elements lie in the order of a matrix's rows.
  Result<Stored> packedVector(graph::WeightOp op, std::vector<plan::RowSegment> rowOrder);
  plan::BufferId constantBuffer(const std::string &name, std::vector<uint8_t> bytes);
  Result<std::vector<BoundArgument>> mapOperands(graph::MapOp map, mlir::ValueRange tiles);
  // A tensor that kernels read as it is: of a weight, in the file's own order.
  Result<Stored> operand(mlir::Value value);
  Result<BoundView> operandView(mlir::Value value);
  BoundView floatTable(const std::string &name, const std::vector<float> &values);

  void addLaunch(Steps &steps, plan::KernelId kernel, const std::vector<BoundArgument> &arguments,
                 graph::LaunchOp launch);
  void describeActivations();
  void describeLookBacks();
  plan::Expr movedBytes(graph::LaunchOp launch);
  plan::Expr keysHeld(graph::PagedAttentionOp op);
  void countTouched(graph::GroupedDotOp op, llvm::DenseMap<mlir::Value, plan::Expr> &bytes);
  plan::Expr stateBytes(mlir::Operation *op);
  plan::Expr keysSeen(graph::PagedAttentionOp op);
  plan::Expr operations(mlir::Operation *op);

  KernelSet &kernels_;
  LoweringOptions options_;
  plan::Plan plan_;
  Steps steps_;
  std::map<std::string, plan::SymbolId, std::less<>> symbols_;
  std::map<graph::SymbolRole, plan::SymbolId> roles_;        // of those that have one
  std::map<std::string, plan::BufferId, std::less<>> named_; // weights and constants
  llvm::DenseMap<mlir::Value, Stored> stored_;
  llvm::DenseMap<mlir::Value, std::string> outputs_; // values that an output names
  bool hasPhase_ = false;                            // the function is prefill or decode
  bool isPrefill_ = false;                           // it is that
  plan::Expr phase_ = plan::Expr(1);                 // 1 in steps of the function's phase, else 0
  std::map<MBucket, std::set<std::string>> activations_; // formats that meet weights
  // How far attention over each page table looks back at most.
  std::map<std::string, int64_t, std::less<>> lookBacks_;
  // Most partitions of a sequence in lists of the first KV cache group, 0: any number.
  std::optional<int64_t> mostPartitions_;
};

} // namespace sinter::engine
