// A graph becomes a plan: values become buffers, operations launches of kernels.
#pragma once

#include "engine/kernel_choice.h"
#include "engine/kernel_set.h"
#include "engine/launch.h"
#include "graph/graph.h"
#include "kernels/slots.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

namespace sinter::engine {

struct LoweringOptions {
  Programs programs = Programs::Tasks;
  Activations activations = Activations::Fastest;
  int64_t scaleLength = ProductRules().scaleLength;
  bool bfloatRows = false;                 // ProductRules
  int64_t sharedBytes = kLeastSharedBytes; // of a program of threads
  int64_t bfloatDepth = 0; // attention multiplies bf16 where its K has whole multiples; 0: never
  int64_t queryBlock = 16; // most query rows of an attention block
  int64_t mostTokens = 1 << 16;                    // of one step
  int64_t mostPagesPerSequence = int64_t(1) << 24; // entries of a row of the page table

  ProductRules products() const { return {programs, activations, scaleLength, bfloatRows}; }
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
int64_t columnsOf(mlir::Value value);
// A tensor of one dimension as one row, or as one column.
BoundView asRow(const Stored &stored);
BoundView asColumn(const Stored &stored);

// Whether there are kernels that write to such a pool.
bool canBePool(mlir::RankedTensorType values);
// What one position takes of a pool of values, and of one of keys.
mlir::RankedTensorType rowOfPool(mlir::RankedTensorType values);

struct HeadsOfContract; // epilogues.cpp

// What a contraction's launch does with its result, and how its weight's rows lie for that.
struct Epilogue {
  kernels::Sink sink;
  std::string text; // what the sink does, for kernel keys
  std::vector<plan::RowSegment> rowOrder;
  int64_t blockColumns = 0;             // of one program; 0: the kernel's choice, in
  int64_t columnMultiple = 1;           // multiples of this
  int64_t blockColumnsOfOne = 0;        // of a program of one row; 0: as of others
  std::vector<BoundArgument> arguments; // after a and b
  plan::Expr bytes;                     // that they move
  std::vector<std::string> covers;      // graph operations, in order
};

// Lowers one function. Use: construct, run() once.
class Lowering {
public:
  Lowering(KernelSet &kernels, const LoweringOptions &options);

  // Symbols, buffers and the procedure named as the function; kernels are in the set. Unsupported:
  // an operation, format or shape without a kernel; the message names what it is.
  Result<plan::Plan> run(mlir::func::FuncOp function);

private:
  using Steps = std::vector<plan::Step>;
  // A norm whose only reader is a contraction.
  struct Norm {
    graph::NormOp op;
    Steps steps; // that make the whole of it
    BoundArgument source;
    std::vector<BoundArgument> parameters;
  };

  void lowerEdge(mlir::Operation &op);
  Result<void> checkFormat(mlir::Type element, const std::string &tensor) const;
  Result<void> lower(mlir::Operation &op);
  Result<void> lowerGather(graph::GatherOp op);
  Result<void> lowerNorm(graph::NormOp op);
  bool isMadeByItsReader(mlir::Value norm);
  Result<BoundArgument> unroundedNorm(const Norm &norm, Steps &steps);
  Result<void> lowerContract(graph::DotGeneralOp op);
  Result<void> lowerMap(graph::MapOp op);
  Result<void> lowerQuantize(graph::QuantizeOp op);
  Result<void> lowerRotations(graph::RopeTableOp op);
  Result<void> lowerRope(graph::RopeOp op);
  Result<void> lowerScatter(graph::KvAppendOp op);
  plan::Expr inPrompts() const;
  static plan::Step byRows(const plan::Expr &rows, const Steps &many, const Steps &few,
                           const Steps &one);
  // Block sizes of tasks on cores may be chosen; threads of a block share sums by theirs.
  Freedom freedom() const { return {options_.programs == Programs::Tasks}; }
  void lowerReshape(graph::ReshapeOp op);
  void lowerSlice(graph::SliceOp op);

  // The value that a kernel for `value` stores: its rounded form where nothing else reads it.
  mlir::Value storedForm(mlir::Value value);

  // lowering_attention.cpp
  struct Attend;
  Result<void> lowerAttend(graph::PagedAttentionOp op);
  mlir::Value attendedForm(mlir::Value value);
  kernels::Attention attentionOf(const Attend &a, RowBucket rows) const;
  Result<Steps> attendWhole(const Attend &a, const kernels::Attention &p);
  Result<Steps> attendSingle(const Attend &a);
  Result<Steps> attendSpans(const Attend &a, kernels::Attention p,
                            const std::vector<BoundArgument> &sums);
  std::vector<BoundArgument> allocateSpans(const Attend &a, const plan::Expr &spans,
                                           const plan::Expr &used);
  void setSpanCosts(const Attend &a, const kernels::Attention &p, Steps &steps);
  plan::Expr singleRows(const Attend &a);

  // epilogues.cpp: what follows a contraction and is done on its tiles
  Result<Epilogue> epilogueOf(graph::DotGeneralOp op);
  Result<std::optional<Epilogue>> mapEpilogue(graph::DotGeneralOp op);
  Result<std::optional<Epilogue>> headEpilogue(graph::DotGeneralOp op);
  std::optional<HeadsOfContract> headsOf(graph::DotGeneralOp op) const;
  bool takeAll(graph::KvAppendOp scatter) const;
  void bindHeads(HeadsOfContract &match, Epilogue &epilogue);
  Epilogue plainEpilogue(graph::DotGeneralOp op);
  bool ownsMemory(mlir::Value value);

  // memory.cpp
  plan::Expr extentOf(mlir::RankedTensorType type, int64_t axis);
  std::vector<plan::Expr> extentsOf(mlir::RankedTensorType type);
  plan::Expr bytesOf(mlir::RankedTensorType type);
  Stored makeStored(plan::BufferId buffer, mlir::RankedTensorType type);
  plan::BufferId addBuffer(std::string name, plan::BufferKind kind, plan::Expr bytes);
  std::optional<Stored> allocateRows(mlir::Value value, const std::string &name,
                                     plan::BufferKind kind);
  Stored allocate(mlir::Value value);
  Stored stored(mlir::Value value) const; // a copy: the table moves as it grows
  // Pools of keys and of values as [pages, rows, heads, headDim].
  std::array<BoundView, 2> poolsByRow(mlir::Value keys, mlir::Value values) const;
  Result<Stored> directWeight(graph::WeightOp op);
  Result<Stored> packedWeight(graph::WeightOp op, std::vector<plan::RowSegment> rowOrder);
  plan::BufferId constantBuffer(const std::string &name, std::vector<uint8_t> bytes);
  std::vector<BoundArgument> mapOperands(graph::MapOp map, mlir::ValueRange tiles);
  BoundView floatTable(const std::string &name, const std::vector<float> &values);

  // A launch that does `op`; where it stores the rounded form of the result, `rounded` is that.
  void addLaunch(Steps &steps, plan::KernelId kernel, const std::vector<BoundArgument> &arguments,
                 mlir::Operation *op, mlir::Value rounded = {});
  void describeActivations();
  plan::Expr movedBytes(mlir::Operation *op, mlir::Value rounded);
  plan::Expr keysSeen(graph::PagedAttentionOp op);
  plan::Expr operations(mlir::Operation *op);

  KernelSet &kernels_;
  LoweringOptions options_;
  plan::Plan plan_;
  Steps steps_;
  std::map<std::string, plan::SymbolId, std::less<>> symbols_;
  std::map<std::string, plan::BufferId, std::less<>> named_; // weights and constants
  llvm::DenseMap<mlir::Value, Stored> stored_;
  llvm::DenseMap<mlir::Value, std::string> outputs_; // values that an output names
  llvm::DenseMap<mlir::Value, Norm> norms_; // that contractions of one row make for themselves
  llvm::DenseSet<mlir::Operation *> done_;  // lowered with an operation before them
  std::map<RowBucket, std::set<std::string>> activations_; // formats that meet weights
};

} // namespace sinter::engine
