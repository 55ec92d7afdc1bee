// One list: a pass joins it with one line.
#include "tile/mlir_pch.h"

#include "graph/fuse/passes.h"
#include "graph/ir/symbols.h"
#include "graph/rewrite/pass_list.h"
#include "graph/rewrite/passes.h"
#include "numeric/formats/dot_packing.h"
#include "tile/tile.h"

using namespace mlir;

namespace sinter::graph {

namespace {

/// A rewrite of a module as a pass of that name.
class Rewrite : public PassWrapper<Rewrite, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Rewrite)

  using Function = LogicalResult (*)(ModuleOp);
  Rewrite(StringRef name, StringRef summary, Function rewrite)
      : name_(name), summary_(summary), rewrite_(rewrite) {}
  Rewrite(const Rewrite &) = default;

  StringRef getArgument() const override { return name_; }
  StringRef getDescription() const override { return summary_; }
  void runOnOperation() override {
    if (failed(rewrite_(getOperation())))
      signalPassFailure();
  }

private:
  StringRef name_, summary_;
  Function rewrite_;
};

struct KeepPools : PassWrapper<KeepPools, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KeepPools)

  KeepPools() = default;
  KeepPools(const KeepPools &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "keep-pools"; }
  StringRef getDescription() const override { return "keeps a KV cache of 16 bits in a type"; }
  void runOnOperation() override {
    if (element == "bf16")
      return keepPools(getOperation(), BFloat16Type::get(&getContext()));
    if (element == "f16")
      return keepPools(getOperation(), Float16Type::get(&getContext()));
    getOperation().emitError() << "keep-pools has element '" << element
                               << "', expected f16 or bf16";
    signalPassFailure();
  }

  Option<std::string> element{*this, "element", llvm::cl::desc("f16 or bf16"),
                              llvm::cl::init("bf16")};
};

// Scales as the weights' blocks ask for them.
const ActivationFormat *activationOfBlocks(Type weights) {
  const BlockFormat *format = tile::blockFormatOf(weights);
  return format ? &activationFormatFor(dotGroupLength(*format), format->blockLength) : nullptr;
}

struct QuantizeActivations : PassWrapper<QuantizeActivations, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(QuantizeActivations)

  QuantizeActivations() = default;
  QuantizeActivations(const QuantizeActivations &other) : PassWrapper(other) {}
  StringRef getArgument() const override { return "quantize-activations"; }
  StringRef getDescription() const override {
    return "quantizes activations once for all matmuls with block formats that read them";
  }
  void runOnOperation() override {
    quantizeActivations(getOperation(), activationOfBlocks, roundScalars);
  }

  Option<bool> roundScalars{*this, "round-scalars",
                            llvm::cl::desc("also round to f16 and bf16 beside such weights"),
                            llvm::cl::init(false)};
};

/// A pass of fusion, for the options of CPU or SIMT targets.
class Fusion : public PassWrapper<Fusion, OperationPass<ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Fusion)

  using Function = void (*)(ModuleOp, const FuseOptions &);
  Fusion(StringRef name, StringRef summary, Function rewrite)
      : name_(name), summary_(summary), rewrite_(rewrite) {}
  Fusion(const Fusion &other)
      : PassWrapper(other), name_(other.name_), summary_(other.summary_), rewrite_(other.rewrite_) {
  }

  StringRef getArgument() const override { return name_; }
  StringRef getDescription() const override { return summary_; }
  void runOnOperation() override {
    if (target != "cpu" && target != "simt") {
      getOperation().emitError() << name_ << " has target '" << target << "', expected cpu or simt";
      return signalPassFailure();
    }
    FuseOptions options = target == "cpu" ? cpuFuseOptions() : simtFuseOptions();
    if (shares) {
      options.sharesDepth = [](LaunchOp) { return true; };
      options.normRows = [](LaunchOp) { return 1; };
    }
    const bool splits = name_ == "split-phases" || (name_ == "fuse" && options.twoPhases);
    if (splits && failed(verifyOneFunction(getOperation())))
      return signalPassFailure();
    rewrite_(getOperation(), options);
  }

  Option<std::string> target{*this, "target", llvm::cl::desc("cpu or simt"), llvm::cl::init("cpu")};
  Option<bool> shares{*this, "shares",
                      llvm::cl::desc("matmuls of decode share K, and norms move into them"),
                      llvm::cl::init(false)};

private:
  StringRef name_, summary_;
  Function rewrite_;
};

} // namespace

// A decoder's norms have a kernel of their own.
static LogicalResult decomposeOtherNorms(ModuleOp module) {
  decomposeNorms(module, [](NormOp norm) { return !norm.isRmsOfRows(); });
  return success();
}

template <void rewrite(ModuleOp)> static LogicalResult always(ModuleOp module) {
  rewrite(module);
  return success();
}

static LogicalResult verifyAllSymbols(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(verifySymbols(function)))
      return failure();
  return success();
}

template <void rewrite(ModuleOp)> static void withoutOptions(ModuleOp module, const FuseOptions &) {
  rewrite(module);
}

template <class Pass> static std::unique_ptr<mlir::Pass> make() {
  return std::make_unique<Pass>();
}

static void registerFusion() {
  struct Named {
    StringRef name, summary;
    Fusion::Function rewrite;
  };
  static constexpr Named kPasses[] = {
      {"split-phases", "makes prefill and decode functions", withoutOptions<splitPhases>},
      {"wrap-operations", "makes each operation a launch", wrapOperations},
      {"fuse-quantize-store", "quantizes rows of maps and attention as they are stored",
       fuseQuantizeStore},
      {"fuse-column-epilogue", "adds biases and the like where a matmul makes columns",
       fuseColumnEpilogue},
      {"fuse-head-rows", "makes norms of heads, RoPE and appends one launch", fuseHeadRows},
      {"fuse-qkv-epilogue", "rotates and appends heads where a matmul makes them", fuseQkvEpilogue},
      {"fuse-other-head-rows", "the same without norms, where no epilogue makes them",
       fuseOtherHeadRows},
      {"fuse-map-epilogue", "maps columns where a matmul makes them", fuseMapEpilogue},
      {"rope-in-place", "lets RoPE write over what nothing else reads", placeRopeInPlace},
      {"keep-norms-unquantized", "lets matmuls of decode read norms as floats",
       keepNormsUnquantized},
      {"fuse-norm-quantize-store", "quantizes norms as they are stored", fuseNormQuantizeStore},
      {"fuse-norm-squares", "lets matmuls scale rows by sums of squares that others store",
       fuseNormSquares},
      {"fuse-norm-prologue", "lets programs of a matmul make the norm they read", fuseNormPrologue},
      {"share-packed-tables", "lets a gather read a matmul's packed weight", sharePackedTables},
      {"fuse", "all passes of fusion in order", fuse},
  };
  for (const Named &pass : kPasses)
    registerPass(
        [&pass] { return std::make_unique<Fusion>(pass.name, pass.summary, pass.rewrite); });
}

void registerPasses() {
  const std::function<std::unique_ptr<Pass>()> passes[] = {
      [] {
        return std::make_unique<Rewrite>("verify-symbols", "checks that inputs bind all symbols",
                                         verifyAllSymbols);
      },
      [] {
        return std::make_unique<Rewrite>("join-matmuls", "joins matmuls of one value",
                                         always<joinMatmuls>);
      },
      [] {
        return std::make_unique<Rewrite>("join-experts", "joins grouped matmuls of the same rows",
                                         always<joinExperts>);
      },
      [] {
        return std::make_unique<Rewrite>("join-maps", "joins equal maps of a matmul's slices",
                                         always<joinMaps>);
      },
      [] {
        return std::make_unique<Rewrite>(
            "decompose-norms",
            "makes norms of reductions and maps, but for root mean squares of rows",
            decomposeOtherNorms);
      },
      make<QuantizeActivations>,
      make<KeepPools>,
  };
  for (const auto &pass : passes)
    registerPass(pass);
  registerFusion();
}

} // namespace sinter::graph
