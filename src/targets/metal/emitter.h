// The state of one kernel's printing, shared by its files.
#pragma once

#include "sched/sched.h"
#include "targets/metal/emit_msl.h"
#include "targets/metal/source.h"
#include "targets/metal/types.h"
#include "tile/mlir_pch.h"

#include "llvm/ADT/StringSet.h"

namespace sinter::targets::metal {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::Twine;
using mlir::Type;
using mlir::Value;

class Emitter {
public:
  Emitter(tile::KernelOp kernel, const MetalFacts &facts, Helpers &helpers)
      : kernel_(kernel), facts_(facts), helpers_(helpers), out_(body_) {}
  /// Appends the kernel to `text`.
  mlir::FailureOr<EmittedKernel> run(std::string &text);

private:
  /// An expression for each piece of a value (types.h): a name, a member of one, a constant.
  using Pieces = SmallVector<std::string, 1>;

  // emit_msl.cpp: structure
  mlir::LogicalResult readAttributes();
  mlir::LogicalResult checkTypes();
  void bindArguments();
  void addWord(const std::string &declaration) { words_ += "  " + declaration + ";\n"; }
  std::string uniqueName(mlir::BlockArgument argument);
  std::string signature() const;
  mlir::LogicalResult emitBlock(mlir::Block &block);
  mlir::LogicalResult emit(mlir::Operation *op);
  mlir::LogicalResult emitFor(mlir::scf::ForOp loop);
  mlir::LogicalResult emitIf(mlir::scf::IfOp branch);
  mlir::LogicalResult emitBranch(mlir::Region &region, mlir::ValueRange results);
  void assign(mlir::ValueRange targets, mlir::ValueRange values, bool apart);
  mlir::LogicalResult emitElementwise(mlir::Operation *op);
  mlir::LogicalResult emitConstant(mlir::arith::ConstantOp op);
  mlir::LogicalResult emitExtract(mlir::vector::ExtractOp op);
  const std::string &tableName(mlir::DenseI32ArrayAttr table);
  mlir::LogicalResult emitMatrix(sched::MatrixOp op);
  mlir::LogicalResult emitViewWord(mlir::Operation *op, Value view, bool stride, int64_t axis);

  // emission/memory.cpp: views, shared memory, bits
  mlir::LogicalResult emitLoad(sched::ViewLoadOp op);
  mlir::LogicalResult emitStore(sched::ViewStoreOp op);
  mlir::LogicalResult emitSharedLoad(sched::SharedLoadOp op);
  mlir::LogicalResult emitSharedStore(sched::SharedStoreOp op);
  mlir::LogicalResult emitBitcast(mlir::vector::BitCastOp op);
  struct Access;
  mlir::FailureOr<Access> accessOf(mlir::Operation *op, Type type, Value view, Value byte,
                                   std::optional<int64_t> align);
  struct Guard;
  Guard guardOf(Value when, Value other = {});
  void load(Value result, const Access &access, const Guard &guard);
  void loadPieces(Value result, const Access &access, const Guard &guard);
  void store(Value value, const Access &access, const Guard &guard);
  std::string chunkOf(Value value, size_t first, int64_t chunk);
  SmallVector<std::string> unitsOf(Value value, unsigned bits);
  std::string unitOf(Value value, int64_t first, unsigned bits);
  Pieces piecesOf(ArrayRef<std::string> units, unsigned bits, Type type);

  // Lines and names.
  void line(const Twine &text) { out_.indent(2 * depth_) << text << "\n"; }
  std::string nextName() { return "v" + std::to_string(next_++); }
  /// Declares variables for the pieces of a value, with these first values.
  void define(Value value, ArrayRef<std::string> pieces);
  /// Declares them without.
  void declare(Value value);
  void bind(Value value, Pieces pieces) { values_[value] = std::move(pieces); }
  const Pieces &pieces(Value value) { return values_.find(value)->second; }
  const std::string &scalar(Value value) { return pieces(value).front(); }
  std::string element(Value value, int64_t index);
  std::string typeOfPiece(Value value, size_t piece);

  tile::KernelOp kernel_;
  const MetalFacts &facts_;
  Helpers &helpers_;
  EmittedKernel result_;
  llvm::DenseMap<Value, Pieces> values_;
  llvm::DenseMap<Value, std::string> views_; // names
  llvm::StringSet<> taken_;
  llvm::DenseMap<mlir::Attribute, std::string> tableNames_;
  std::string words_, tables_, body_;
  llvm::raw_string_ostream out_;
  unsigned depth_ = 1;
  int64_t next_ = 0;
};

} // namespace sinter::targets::metal
