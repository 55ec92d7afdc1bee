// What makes a kernel one in SIMT IR: the check before it runs.
#include "tile/mlir_pch.h"

#include "sched/interpreter/simt.h"
#include "sched/simt/layout.h"
#include "sched/simt/matrix_instructions.h"

using namespace mlir;

namespace sinter::sched {

bool isSimtForm(tile::KernelOp kernel) {
  return kernel->hasAttr(kThreadsName);
}

static bool isSimtScalar(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.isSignless() && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth());
  return type.isIndex() || type.isF16() || type.isBF16() || type.isF32();
}

std::optional<SimtWord> simtWordOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (vector && (vector.getRank() != 1 || vector.isScalable()))
    return std::nullopt;
  Type scalar = vector ? vector.getElementType() : type;
  if (!isSimtScalar(scalar))
    return std::nullopt;
  return SimtWord{*tile::elementOf(scalar), vector ? vector.getDimSize(0) : 1, vector != nullptr};
}

namespace {

class SimtVerifier {
public:
  SimtVerifier(tile::KernelOp kernel, const SimtFacts &facts) : kernel_(kernel), facts_(facts) {}

  LogicalResult verify() {
    if (failed(readAttributes()))
      return failure();
    WalkResult result = kernel_.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      return failed(verifyOperation(*op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

private:
  LogicalResult readAttribute(StringRef name, int64_t &value) {
    Attribute attribute = kernel_->getAttr(name);
    if (!attribute)
      return success();
    auto integer = dyn_cast<IntegerAttr>(attribute);
    if (!integer || !integer.getType().isSignlessInteger(64))
      return kernel_.emitOpError() << "has " << name << " = " << attribute << ", expected an i64";
    value = integer.getInt();
    return success();
  }

  LogicalResult readAttributes() {
    int64_t shared = 0, blocks = 1;
    if (failed(readAttribute(kThreadsName, threads_)) ||
        failed(readAttribute(kSharedName, shared)) || failed(readAttribute(kBlocksName, blocks)))
      return failure();
    int64_t most = std::min<int64_t>(facts_.maxThreads, 1024);
    if (threads_ < 1 || !llvm::isPowerOf2_64(threads_) || threads_ > most)
      return kernel_.emitOpError() << "has blocks of " << threads_
                                   << " threads, expected a power of two of at most " << most;
    if (blocks < 1 || blocks > std::max<int64_t>(1, 1024 / threads_))
      return kernel_.emitOpError() << "has programs of " << blocks << " blocks of " << threads_
                                   << " threads, expected 1024 threads at most";
    if (shared < 0 || shared > facts_.maxShared)
      return kernel_.emitOpError()
             << "needs " << shared << " bytes of shared memory, expected 0 to " << facts_.maxShared;
    return success();
  }

  LogicalResult verifyOperation(Operation &op) {
    if (failed(verifyTypes(op)))
      return failure();
    if (isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op.getDialect()) ||
        isa<scf::ForOp, scf::IfOp, scf::YieldOp, vector::FromElementsOp, tile::GridOp,
            tile::ProgramIdOp, ThreadOp, BlockOp, TableLoadOp, PermuteBytesOp, BarrierOp,
            ProgramBarrierOp, CopyCommitOp, MatrixFenceOp>(op))
      return success();
    if (isa<AwaitLaunchesOp>(op))
      return success();
    return TypeSwitch<Operation *, LogicalResult>(&op)
        .Case<tile::DimOp, StrideOp>([&](auto view) { return verifyAxis(view); })
        .Case([&](vector::ExtractOp extract) { return verifyExtract(extract); })
        .Case([&](vector::BroadcastOp repeat) { return verifyRepeat(repeat); })
        .Case([&](vector::BitCastOp cast) {
          return failure(failed(verifyWord(cast, cast.getSource().getType())) ||
                         failed(verifyWord(cast, cast.getType())));
        })
        .Case([&](ViewLoadOp load) {
          return verifyAccess(load, load.getView(), load.getType(), load.getAlign(), false);
        })
        .Case([&](ViewStoreOp store) {
          return verifyAccess(store, store.getView(), store.getValue().getType(), store.getAlign(),
                              true);
        })
        .Case([&](SharedLoadOp load) { return verifyWord(load, load.getType()); })
        .Case([&](RemoteLoadOp load) { return verifyWord(load, load.getType()); })
        .Case([&](SharedStoreOp store) { return verifyWord(store, store.getValue().getType()); })
        .Case([&](SharedMatricesOp load) { return verifyMatrices(load); })
        .Case([&](ShuffleOp shuffle) { return verifyShuffle(shuffle); })
        .Case([&](MatrixOp matrix) { return verifyMatrix(matrix); })
        .Case([&](CopyAsyncOp copy) { return verifyCopy(copy); })
        .Case([&](CopyWaitOp wait) { return verifyPending(wait, wait.getPending()); })
        .Case([&](MatrixAsyncOp matrix) { return verifyMatrixAsync(matrix); })
        .Case([&](MatrixTileAsyncOp matrix) { return verifyMatrixTile(matrix); })
        .Case([&](PinOp pin) { return verifyWord(pin, pin.getType()); })
        .Case([&](MatrixWaitOp wait) { return verifyPending(wait, wait.getPending()); })
        .Case<AccClearOp, AccAddOp, AccTakeOp>(
            [&](auto accumulators) { return verifyAccumulators(accumulators); })
        .Default([&](Operation *other) {
          return other->emitOpError() << "is no operation of a kernel in SIMT IR";
        });
  }

  LogicalResult verifyTypes(Operation &op) {
    SmallVector<Type> types(op.getResultTypes());
    llvm::copy_if(op.getOperandTypes(), std::back_inserter(types),
                  [](Type type) { return !isa<tile::ViewType>(type); });
    for (Region &region : op.getRegions())
      for (Block &block : region)
        llvm::append_range(types, block.getArgumentTypes());
    for (Type type : types)
      if (!simtWordOf(type))
        return op.emitOpError() << "has " << type
                                << ", expected index, i1, i8, i16, i32, i64, f16, bf16, f32 or a "
                                   "vector of them of one dimension";
    return success();
  }

  LogicalResult verifyView(Operation *op, Value view) {
    auto argument = dyn_cast<BlockArgument>(view);
    if (argument && argument.getOwner() == &kernel_.getBody().front())
      return success();
    return op->emitOpError() << "has a view that is no argument of the kernel";
  }

  template <typename Op> LogicalResult verifyAxis(Op op) {
    auto type = cast<tile::ViewType>(op.getView().getType());
    if (static_cast<int64_t>(op.getAxis()) >= type.getRank())
      return op.emitOpError() << "asks for axis " << op.getAxis() << " of a view with "
                              << type.getRank() << " dimensions";
    return verifyView(op, op.getView());
  }

  // What canonicalization makes of equal elements.
  LogicalResult verifyRepeat(vector::BroadcastOp op) {
    if (isa<VectorType>(op.getSourceType()))
      return op.emitOpError() << "repeats " << op.getSourceType() << ", expected a scalar";
    return verifyWord(op, op.getType());
  }

  LogicalResult verifyExtract(vector::ExtractOp op) {
    if (op.getStaticPosition().size() != 1 || op.hasDynamicPosition())
      return op.emitOpError() << "has no static position of one dimension";
    return success();
  }

  LogicalResult verifyWord(Operation *op, Type type) {
    std::optional<SimtWord> word = simtWordOf(type);
    if (!word || getElementTypeOrSelf(type).isIndex() || word->element.bits % 8 != 0)
      return op->emitOpError() << "moves " << type << ", expected elements of whole bytes";
    return success();
  }

  LogicalResult verifyAccess(Operation *op, Value view, Type word, std::optional<int64_t> align,
                             bool isStore) {
    auto type = cast<tile::ViewType>(view.getType());
    if (isStore ? !type.isWritable() : !type.isReadable())
      return op->emitOpError() << (isStore ? "writes an in view" : "reads an out view");
    if (align && (*align < 1 || !llvm::isPowerOf2_64(*align)))
      return op->emitOpError() << "is aligned to " << *align << " bytes, expected a power of two";
    return failure(failed(verifyView(op, view)) || failed(verifyWord(op, word)));
  }

  LogicalResult verifyShuffle(ShuffleOp op) {
    int64_t width = std::min(threads_, facts_.subgroup);
    if (op.getMask() >= width)
      return op.emitOpError() << "reaches " << op.getMask()
                              << " threads away, expected a mask below " << width
                              << ", the threads of a subgroup";
    return success();
  }

  // Nobody may write what a copy reads at a time that nobody knows.
  LogicalResult verifyCopy(CopyAsyncOp op) {
    auto type = cast<tile::ViewType>(op.getView().getType());
    if (type.isWritable())
      return op.emitOpError() << "copies from a view that programs write, expected an in view";
    if (!llvm::is_contained({4, 8, 16}, op.getSize()))
      return op.emitOpError() << "copies " << op.getSize() << " bytes, expected 4, 8 or 16";
    return verifyView(op, op.getView());
  }

  LogicalResult verifyPending(Operation *op, uint32_t pending) {
    if (pending <= INT32_MAX)
      return success();
    return op->emitOpError() << "leaves " << static_cast<int32_t>(pending)
                             << " groups pending, expected 0 or more";
  }

  // The instruction of an operation, if it takes its operands from there.
  enum class Operands : uint8_t { Registers, Shared, SharedB };
  FailureOr<const MatrixInstruction *> instructionOf(Operation *op, StringRef name,
                                                     Operands shared) {
    const MatrixInstruction *instruction = findMatrixInstruction(name);
    if (!instruction)
      return op->emitOpError() << "names '" << name
                               << "', which is not in the table of matrix instructions";
    if (instruction->opaqueAccumulators)
      return op->emitOpError() << "names '" << name << "', expected 'sched.acc_add' for it";
    auto has = [](const MatrixInstruction &row) {
      return row.sharedOperands ? Operands::Shared
             : row.sharedB      ? Operands::SharedB
                                : Operands::Registers;
    };
    static constexpr const char *kPlaces[] = {
        "operands lie in registers", "operands lie in shared memory", "b lies in shared memory"};
    static constexpr const char *kOperations[] = {"'sched.matrix'", "'sched.matrix_async'",
                                                  "'sched.matrix_tile_async'"};
    if (has(*instruction) != shared)
      return op->emitOpError() << "names '" << name << "', whose "
                               << kPlaces[static_cast<int>(has(*instruction))] << ", expected "
                               << kOperations[static_cast<int>(has(*instruction))] << " for it";
    bool fits = shared != Operands::Registers ? instruction->lanes % facts_.subgroup == 0
                                              : instruction->lanes == facts_.subgroup;
    if (!fits || threads_ % instruction->lanes != 0)
      return op->emitOpError() << "names '" << instruction->name << "' of " << instruction->lanes
                               << " lanes in blocks of " << threads_ << " threads and subgroups of "
                               << facts_.subgroup;
    return instruction;
  }

  LogicalResult verifyMatrices(SharedMatricesOp op) {
    constexpr int64_t kLanes = 32, kElements = 8;
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || type.getNumElements() != kElements || type.getElementTypeBitWidth() != 16)
      return op.emitOpError() << "gives " << op.getType() << ", expected " << kElements
                              << " elements of 16 bits";
    if (facts_.subgroup == kLanes && threads_ % kLanes == 0)
      return success();
    return op.emitOpError() << "is for subgroups of " << kLanes << " threads, found blocks of "
                            << threads_ << " threads and subgroups of " << facts_.subgroup;
  }

  LogicalResult verifyMatrixAsync(MatrixAsyncOp op) {
    auto instruction = instructionOf(op, op.getInstruction(), Operands::Shared);
    if (failed(instruction))
      return failure();
    Type accumulators = (*instruction)->typeC(op.getContext());
    if (op.getAcc().getType() == accumulators)
      return success();
    return op.emitOpError() << "adds to " << op.getAcc().getType() << ", expected " << accumulators
                            << " of '" << (*instruction)->name << "'";
  }

  template <typename Op> LogicalResult verifyAccumulators(Op op) {
    const MatrixInstruction *instruction = findMatrixInstruction(op.getInstruction());
    if (!instruction || !instruction->opaqueAccumulators || instruction->lanes != facts_.subgroup ||
        threads_ % instruction->lanes != 0)
      return op.emitOpError() << "names '" << op.getInstruction() << "' in blocks of " << threads_
                              << " threads and subgroups of " << facts_.subgroup
                              << ", expected an instruction of a subgroup with opaque accumulators";
    if constexpr (std::is_same_v<Op, AccTakeOp>) {
      Type accumulators = instruction->typeC(op.getContext());
      if (op.getType() != accumulators)
        return op.emitOpError() << "gives " << op.getType() << ", expected " << accumulators
                                << " of '" << instruction->name << "'";
    }
    if constexpr (std::is_same_v<Op, AccAddOp>)
      return verifyPlaces(op);
    return success();
  }

  LogicalResult verifyPlaces(AccAddOp op) {
    constexpr int64_t kPiece = 16, kMostFragments = 64;
    auto fits = [](ArrayRef<int64_t> list, int64_t multiple, int64_t most) {
      return list.size() == 2 && llvm::all_of(list, [&](int64_t each) {
               return each > 0 && each % multiple == 0 && each <= most;
             });
    };
    if (fits(op.getRows(), kPiece, facts_.maxShared) &&
        fits(op.getSteps(), kPiece, facts_.maxShared) && fits(op.getCounts(), 1, kMostFragments))
      return success();
    return op.emitOpError() << "has rows " << op.getRows() << ", steps " << op.getSteps()
                            << " and counts " << op.getCounts()
                            << ", expected two of each: multiples of " << kPiece
                            << " bytes within shared memory, and 1 to " << kMostFragments
                            << " fragments";
  }

  LogicalResult verifyMatrixTile(MatrixTileAsyncOp op) {
    auto instruction = instructionOf(op, op.getInstruction(), Operands::SharedB);
    if (failed(instruction))
      return failure();
    Type a = (*instruction)->typeA(op.getContext()),
         accumulators = (*instruction)->typeC(op.getContext());
    if (static_cast<int64_t>(op.getOffset()) < 0 ||
        static_cast<int64_t>(op.getOffset()) > facts_.maxShared)
      return op.emitOpError() << "has b " << static_cast<int64_t>(op.getOffset())
                              << " bytes behind its place, expected 0 to " << facts_.maxShared;
    if (op.getA().getType() == a && op.getAcc().getType() == accumulators)
      return success();
    return op.emitOpError() << "multiplies " << op.getA().getType() << " into "
                            << op.getAcc().getType() << ", expected " << a << " and "
                            << accumulators << " of '" << (*instruction)->name << "'";
  }

  LogicalResult verifyMatrix(MatrixOp op) {
    auto found = instructionOf(op, op.getInstruction(), Operands::Registers);
    if (failed(found))
      return failure();
    const MatrixInstruction *instruction = *found;
    MLIRContext *context = op.getContext();
    Type a = instruction->typeA(context), b = instruction->typeB(context),
         c = instruction->typeC(context);
    if (op.getA().getType() != a || op.getB().getType() != b || op.getAcc().getType() != c)
      return op.emitOpError() << "multiplies " << op.getA().getType() << " with "
                              << op.getB().getType() << " into " << op.getAcc().getType()
                              << ", expected " << a << ", " << b << " and " << c << " of '"
                              << instruction->name << "'";
    return success();
  }

  tile::KernelOp kernel_;
  const SimtFacts &facts_;
  int64_t threads_ = 0;
};

} // namespace

LogicalResult verifySimt(tile::KernelOp kernel, const SimtFacts &facts) {
  return SimtVerifier(kernel, facts).verify();
}

} // namespace sinter::sched
