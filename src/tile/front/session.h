// The state behind one run of kernel sources: the module being built, the values handed out, the
// diagnostics.
#pragma once

#include "sinter/kernel_abi.h"
#include "tile/front/front.h"
#include "tile/mlir_pch.h"
#include "tile/tile.h"

namespace sinter::tile {

using At = const SinterLocation &;

// What the entry points of kernel_abi.h do. A call that finds a mistake records it once and answers
// poison; a poisoned operand makes the answer poison silently. Every mlir::Value that is null
// stands for poison. Not safe to share between threads.
class FrontSession {
public:
  explicit FrontSession(mlir::MLIRContext &context);

  mlir::OwningOpRef<mlir::ModuleOp> takeModule() { return std::move(module_); }
  std::vector<FrontDiagnostic> takeDiagnostics() { return std::move(diagnostics_); }

  // front/session.cpp: kernels and their arguments
  void beginKernel(llvm::StringRef name, At at);
  void endKernel(At at);
  SinterValue view(llvm::StringRef name, llvm::StringRef element, uint32_t access,
                   llvm::ArrayRef<int64_t> shape, int64_t interleave, uint32_t flags, At at);
  SinterValue scalarArgument(llvm::StringRef name, llvm::StringRef element, At at);
  void grid(llvm::ArrayRef<SinterOperand> extents, At at);
  SinterValue programId(uint32_t axis, At at);

  // front/memory.cpp
  SinterValue dim(SinterValue view, uint32_t axis, At at);
  SinterValue window(SinterValue view, llvm::ArrayRef<SinterOperand> origins,
                     llvm::ArrayRef<SinterOperand> extents, At at);
  SinterValue gather(SinterValue pages, SinterValue index, bool byRow, At at);
  SinterValue load(SinterValue view, llvm::ArrayRef<SinterOperand> offsets,
                   llvm::ArrayRef<int64_t> shape, const SinterOperand &pad, At at);
  SinterValue loadScalar(SinterValue view, llvm::ArrayRef<SinterOperand> offsets, At at);
  void store(SinterValue view, llvm::ArrayRef<SinterOperand> offsets, SinterValue tile, At at);

  // front/elementwise.cpp
  SinterValue elementwise(uint32_t op, llvm::ArrayRef<SinterOperand> operands, At at);
  SinterValue convert(SinterValue value, llvm::StringRef element, bool isUnsigned, At at);
  SinterValue bitcast(SinterValue value, llvm::StringRef element, At at);

  // front/tiles.cpp
  SinterValue full(const char *element, const SinterOperand &value, llvm::ArrayRef<int64_t> shape,
                   At at);
  SinterValue iota(llvm::StringRef element, llvm::ArrayRef<int64_t> shape, uint32_t axis, At at);
  SinterValue broadcast(SinterValue tile, llvm::ArrayRef<int64_t> shape, At at);
  SinterValue reshape(SinterValue tile, llvm::ArrayRef<int64_t> shape, At at);
  SinterValue permute(SinterValue tile, llvm::ArrayRef<int64_t> order, At at);
  SinterValue slice(SinterValue tile, llvm::ArrayRef<int64_t> offsets,
                    llvm::ArrayRef<int64_t> shape, At at);
  SinterValue concat(llvm::ArrayRef<SinterValue> tiles, uint32_t axis, At at);
  SinterValue reduce(uint32_t kind, SinterValue tile, uint32_t axis, At at);
  SinterValue dot(SinterValue a, SinterValue b, SinterValue acc, bool transposeB, At at);
  SinterValue quantize(SinterValue tile, llvm::StringRef element, At at);
  SinterValue dequantize(SinterValue tile, At at);

  // front/control.cpp: the spans of answers have room for as many values as are carried
  SinterValue beginFor(llvm::ArrayRef<SinterOperand> bounds, llvm::ArrayRef<SinterValue> inits,
                       llvm::MutableArrayRef<SinterValue> carried, At at);
  void endFor(llvm::ArrayRef<SinterValue> yields, llvm::MutableArrayRef<SinterValue> results,
              At at);
  void beginWhile(llvm::ArrayRef<SinterValue> inits, llvm::MutableArrayRef<SinterValue> carried,
                  At at);
  void whileBody(SinterValue condition, llvm::MutableArrayRef<SinterValue> carried, At at);
  void endWhile(llvm::ArrayRef<SinterValue> yields, llvm::MutableArrayRef<SinterValue> results,
                At at);
  void beginIf(SinterValue condition, At at);
  void ifElse(llvm::ArrayRef<SinterValue> yields, At at);
  void endIf(llvm::ArrayRef<SinterValue> yields, llvm::MutableArrayRef<SinterValue> results, At at);

private:
  // A value handed out, and the number of the kernel that it belongs to.
  struct Entry {
    mlir::Value value;
    size_t kernel;
  };
  enum class FrameKind { For, WhileCondition, WhileBody, Then, Else };
  // An open loop or branch.
  struct Frame {
    FrameKind kind;
    mlir::Operation *op;
    llvm::SmallVector<mlir::Value> inits;  // null for a poisoned one
    llvm::SmallVector<mlir::Value> yields; // of the then side, once it has ended
    mlir::OpBuilder::InsertPoint outside;
  };
  // What a group of elementwise operands has in common.
  struct Common {
    mlir::Type element;
    llvm::SmallVector<int64_t> shape; // empty: scalars only
  };

  // ---- front/session.cpp: diagnostics, values ----
  SinterValue error(At at, const llvm::Twine &message);
  mlir::Location loc(At at) const;
  SinterValue add(mlir::Value value);
  // The value behind a handle where it may be used here, else null (and a diagnostic).
  mlir::Value use(SinterValue id, At at);
  // True inside a kernel; says so if not.
  bool inKernel(At at);
  // Runs the operation's own verifier; true when it holds, else its words become diagnostics and it
  // is erased.
  bool holds(mlir::Operation *op, At at);
  // Calls `f`; what MLIR says meanwhile becomes diagnostics, at its own source line where it has
  // one.
  void capturing(At at, llvm::function_ref<void()> f);
  template <class Op, class... Args> SinterValue make(At at, Args &&...args) {
    Op op = Op::create(builder_, loc(at), std::forward<Args>(args)...);
    return holds(op, at) ? add(op->getResult(0)) : SINTER_VALUE_POISON;
  }
  mlir::Value constant(mlir::TypedAttr value, At at);
  mlir::Value indexConstant(int64_t value, At at);
  bool argumentsAllowed(llvm::StringRef name, At at);
  SinterValue addArgument(mlir::Type type, llvm::StringRef name, At at, bool constant = false);
  void finishKernel(At at);

  // ---- front/types.cpp ----
  // Null with a diagnostic for an unknown name.
  mlir::Type elementType(llvm::StringRef name, At at);
  // Null with a diagnostic for a bad shape.
  mlir::RankedTensorType tileType(llvm::ArrayRef<int64_t> shape, mlir::Type element, At at);
  // The literal as an attribute of `type`; null with a diagnostic where it does not fit.
  mlir::TypedAttr literal(const SinterOperand &operand, mlir::Type type, At at);
  // A tile operand, else null (with a diagnostic where it is not poison).
  mlir::Value useTile(SinterValue id, llvm::StringRef what, At at);
  mlir::Value useView(SinterValue id, llvm::StringRef what, At at);
  // An index: an index or integer scalar, or an integer literal.
  mlir::Value useIndex(const SinterOperand &operand, llvm::StringRef what, At at);
  // All or nothing.
  std::optional<llvm::SmallVector<mlir::Value>>
  useIndices(llvm::ArrayRef<SinterOperand> operands, llvm::StringRef what, size_t rank, At at);

  // ---- front/elementwise.cpp ----
  std::optional<Common> commonOf(llvm::ArrayRef<mlir::Value> values, size_t conditions, At at);
  bool addShape(Common &common, mlir::Value value, llvm::ArrayRef<mlir::Value> all, At at);
  mlir::Value expand(mlir::Value value, llvm::ArrayRef<int64_t> shape, At at);
  std::optional<llvm::SmallVector<mlir::Value>>
  unify(uint32_t op, llvm::ArrayRef<SinterOperand> operands, At at);
  mlir::Value convertValue(mlir::Value value, mlir::Type to, bool isUnsigned, At at);

  // ---- front/control.cpp ----
  Frame *frame(llvm::ArrayRef<FrameKind> kinds, llvm::StringRef what, At at);
  void push(FrameKind kind, mlir::Operation *op, llvm::ArrayRef<mlir::Value> inits);
  llvm::SmallVector<mlir::Value> useCarried(llvm::ArrayRef<SinterValue> ids, At at);
  void answer(llvm::MutableArrayRef<SinterValue> out, llvm::ArrayRef<mlir::Value> inits,
              mlir::ValueRange values);
  llvm::SmallVector<mlir::Value> checkYields(const Frame &frame, llvm::ArrayRef<SinterValue> yields,
                                             mlir::ValueRange otherwise, llvm::StringRef what,
                                             At at);
  mlir::scf::IfOp closeIf(const Frame &frame, llvm::ArrayRef<SinterValue> ids,
                          llvm::SmallVectorImpl<bool> &good, At at);

  mlir::OpBuilder builder_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<FrontDiagnostic> diagnostics_;
  std::vector<Entry> values_;
  std::vector<std::string> kernelNames_;
  std::vector<Frame> frames_;

  // The open kernel.
  KernelOp kernel_;
  llvm::SmallVector<mlir::Attribute> argumentNames_;
  std::map<const void *, mlir::Value> constants_; // by attribute
  mlir::Operation *lastConstant_ = nullptr;
  size_t errorsBefore_ = 0;
  bool hasGrid_ = false;
};

// A type in the words of a kernel's author: tile<4x8xf32>, view<?x64xf16, in>, f32, block<q4_1>.
std::string describe(mlir::Type type);

} // namespace sinter::tile

struct SinterKernelSession : sinter::tile::FrontSession {
  using FrontSession::FrontSession;
};
