// Runs one kernel three ways on the same arguments: the tile interpreter, the scheduled
// interpreter, compiled code between guard pages.
#pragma once

#include "numeric/formats/block_format.h"
#include "numeric/formats/dot_packing.h"
#include "numeric/half.h"
#include "sched/interpreter/interpreter.h"
#include "targets/cpu/codegen.h"
#include "targets/emulated.h"
#include "targets/guarded_launch.h"
#include "tile/front/front.h"
#include "tile/mlir_pch.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include <gtest/gtest.h>
#include <random>

namespace sinter::targets::cpu {

// One argument of a launch; a view's bytes as they lie in memory, gaps between rows included.
struct LaunchArgument {
  std::string name;
  mlir::Type type;
  std::vector<int64_t> shape, strides = {}; // of views; strides in elements
  std::vector<uint8_t> bytes = {};          // of views
  int64_t scalar = 0;                       // its bits

  tile::ViewType view() const { return llvm::dyn_cast<tile::ViewType>(type); }
  bool written() const { return view() && view().isWritable(); }
};
using LaunchArguments = std::vector<LaunchArgument>;

// Bytes of `elements` neighbours of a type, whole blocks for a block format.
inline int64_t bytesOf(mlir::Type element, int64_t elements) {
  if (auto block = llvm::dyn_cast<tile::BlockType>(element)) {
    if (const ActivationFormat *activation = tile::activationFormatOf(element))
      return elements / kActivationLength * activation->bytes();
    const BlockFormat *format = findBlockFormat(block.getFormat().upper());
    return elements / format->blockLength * format->blockBytes;
  }
  if (element.isIndex())
    return elements * 8;
  return elements * llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

// Elements from a view's first to its last, both included; 0 where it has none. Packed rows are
// whole groups.
inline int64_t spanOf(const LaunchArgument &a) {
  if (int64_t rows = a.view().getInterleave();
      rows && llvm::all_of(a.shape, [](int64_t e) { return e > 0; }))
    return llvm::alignTo(a.shape[0], rows) * a.strides[0];
  int64_t last = 0;
  for (auto [extent, stride] : llvm::zip_equal(a.shape, a.strides)) {
    if (extent == 0)
      return 0;
    last += (extent - 1) * stride;
  }
  return last + 1;
}

// ---- the three ways ----

inline LaunchArguments interpreted(LaunchArguments arguments, tile::KernelOp kernel, bool scheduled,
                                   sched::InterpreterOptions options = {}) {
  std::vector<tile::Argument> list;
  for (LaunchArgument &a : arguments) {
    if (a.view()) {
      tile::HostView view;
      view.data = reinterpret_cast<std::byte *>(a.bytes.data());
      view.shape.assign(a.shape.begin(), a.shape.end());
      view.strides.assign(a.strides.begin(), a.strides.end());
      list.push_back(view);
    } else if (auto floating = llvm::dyn_cast<mlir::FloatType>(a.type)) {
      llvm::APInt bits(floating.getWidth(), static_cast<uint64_t>(a.scalar), false, true);
      list.push_back(llvm::APFloat(floating.getFloatSemantics(), bits));
    } else {
      unsigned width = a.type.isIndex() ? 64 : a.type.getIntOrFloatBitWidth();
      list.push_back(llvm::APInt(width, static_cast<uint64_t>(a.scalar), true, true));
    }
  }
  options.unwritten = sched::UnwrittenReads::Poison;
  Result<tile::RunStatistics> result = scheduled ? sched::interpretKernel(kernel, list, options)
                                                 : tile::interpretKernel(kernel, list);
  EXPECT_TRUE(result.has_value()) << (scheduled ? "scheduled: " : "tile: ")
                                  << result.error().toString();
  return arguments;
}

// The grid for these arguments, by folding the kernel's own arithmetic; {-1, -1, -1} where it does
// not fold.
inline std::array<int64_t, 3> gridOf(tile::KernelOp kernel, const LaunchArguments &arguments) {
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(kernel.getLoc()));
  mlir::OpBuilder b(module->getBody(), module->getBody()->begin());
  auto copy = llvm::cast<tile::KernelOp>(b.clone(*kernel));
  mlir::Block &body = copy.getBody().front();
  b.setInsertionPointToStart(&body);
  auto constant = [&](int64_t v) {
    return mlir::arith::ConstantIndexOp::create(b, kernel.getLoc(), v).getResult();
  };
  copy.walk([&](tile::DimOp dim) {
    if (auto arg = llvm::dyn_cast<mlir::BlockArgument>(dim.getView());
        arg && arg.getOwner() == &body)
      dim.getResult().replaceAllUsesWith(
          constant(arguments[arg.getArgNumber()].shape[dim.getAxis()]));
  });
  for (auto [arg, given] : llvm::zip_equal(body.getArguments(), arguments))
    if (arg.getType().isIndex())
      arg.replaceAllUsesWith(constant(given.scalar));
  mlir::PassManager passes(module->getContext());
  passes.addPass(mlir::createCanonicalizerPass());
  std::array<int64_t, 3> grid = {-1, -1, -1};
  if (mlir::failed(passes.run(*module)))
    return grid;
  tile::GridOp op = copy.getGrid();
  mlir::Value axes[] = {op.getX(), op.getY(), op.getZ()};
  for (int i = 0; i < 3; ++i)
    if (llvm::APInt value; mlir::matchPattern(axes[i], mlir::m_ConstantInt(&value)))
      grid[i] = value.getSExtValue();
  return grid;
}

// The kernel's own form of the arguments.
inline GuardedLaunch guardedLaunch(const LaunchArguments &arguments, const EmittedKernel &facts,
                                   std::array<int64_t, 3> grid) {
  GuardedLaunch launch{{}, {}, static_cast<uint64_t>(facts.scratchBytes), grid};
  for (const LaunchArgument &a : arguments) {
    if (!a.view()) {
      launch.scalars.push_back(a.scalar);
      continue;
    }
    llvm::append_range(launch.scalars, a.shape);
    for (size_t axis = 0; axis + (a.view().getStrided() ? 0 : 1) < a.strides.size(); ++axis)
      launch.scalars.push_back(a.strides[axis]);
    mlir::Type element = a.view().getElementType();
    auto alignment =
        static_cast<size_t>(llvm::isa<tile::BlockType>(element) ? 2 : bytesOf(element, 1));
    launch.views.push_back({a.name, a.bytes, alignment, a.written()});
  }
  EXPECT_EQ(static_cast<int64_t>(launch.views.size()), facts.bufferCount);
  EXPECT_EQ(static_cast<int64_t>(launch.scalars.size()), facts.scalarCount);
  return launch;
}

// The same for the emulated runner.
inline hal::KernelCase emulatedCase(const GuardedLaunch &launch, const EmittedKernel &facts,
                                    const CompiledModule &code, const std::string &target) {
  hal::KernelCase kernel;
  kernel.target = target;
  kernel.code = code.sharedObject;
  kernel.spec = {facts.symbol, static_cast<uint32_t>(launch.views.size()),
                 static_cast<uint32_t>(launch.scalars.size()), launch.scratchBytes};
  kernel.grid = launch.grid;
  kernel.scalars = launch.scalars;
  for (const GuardedView &view : launch.views)
    kernel.views.push_back({view.name,
                            hal::ElementKind::Byte,
                            view.bytes.size(),
                            true,
                            view.written,
                            {},
                            view.bytes,
                            {}});
  return kernel;
}

// ---- comparing ----

inline double elementAt(mlir::Type element, const std::vector<uint8_t> &bytes, int64_t index) {
  auto read = [&]<class T>(T value) {
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
  };
  if (element.isF32())
    return read(float());
  if (element.isF64())
    return read(double());
  if (element.isF16())
    return f16ToF32(read(uint16_t()));
  if (element.isBF16())
    return bf16ToF32(read(uint16_t()));
  if (llvm::isa<mlir::Float8E4M3FNType>(element))
    return e4m3ToF32(read(uint8_t()));
  if (element.isInteger(32))
    return read(int32_t());
  if (element.isInteger(16))
    return read(int16_t());
  if (element.isInteger(64) || element.isIndex())
    return static_cast<double>(read(int64_t()));
  return read(int8_t());
}

// Whether an integer stands there in a block of activations.
inline bool isStart(const ActivationFormat &format, size_t offset) {
  bool found = offset == format.startOffset(kActivationLength, 0);
  for (uint32_t part = 0; part < format.partSums(); ++part)
    found |= offset == format.startOffset(format.partLength, part);
  return found;
}

// A written view as numbers, one for each element of plain types. A block of the activation format
// is its floats, its starts and its codes; other blocks are their bytes.
inline std::vector<double> numbersOf(const LaunchArgument &a) {
  mlir::Type element = a.view().getElementType();
  std::vector<double> numbers;
  auto block = llvm::dyn_cast<tile::BlockType>(element);
  if (!block) {
    for (int64_t i = 0; i < static_cast<int64_t>(a.bytes.size()) / bytesOf(element, 1); ++i)
      numbers.push_back(elementAt(element, a.bytes, i));
    return numbers;
  }
  const ActivationFormat *activation = tile::activationFormatOf(element);
  for (size_t at = 0; at < a.bytes.size(); ++at) {
    size_t inBlock = activation ? at % activation->bytes() : 0;
    if (!activation || inBlock >= activation->codeOffset()) {
      numbers.push_back(activation ? static_cast<int8_t>(a.bytes[at]) : a.bytes[at]);
    } else if (inBlock % 4 == 0) {
      int32_t word;
      std::memcpy(&word, a.bytes.data() + at, sizeof word);
      numbers.push_back(isStart(*activation, inBlock) ? word : std::bit_cast<float>(word));
    }
  }
  return numbers;
}

// Where and how two views differ.
inline std::string differenceText(const LaunchArgument &a, const char *what, size_t index,
                                  double found, double expected) {
  char text[200];
  std::snprintf(text, sizeof text, "'%s' %s at %zu: found %.9g, expected %.9g", a.name.c_str(),
                what, index, found, expected);
  return text;
}

// The first number of a written view in which two runs differ by more than NaN's payload, as text;
// empty where none. Zeros differ by their sign.
inline std::string firstDifference(const LaunchArguments &found, const LaunchArguments &expected) {
  for (auto [a, b] : llvm::zip_equal(found, expected)) {
    if (!a.written() || a.bytes == b.bytes)
      continue;
    std::vector<double> x = numbersOf(a), y = numbersOf(b);
    for (size_t i = 0; i < x.size(); ++i) {
      bool same = x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i]);
      if (!same && !(std::isnan(x[i]) && std::isnan(y[i])))
        return differenceText(a, "differs", i, x[i], y[i]);
    }
  }
  return {};
}

// How far an element may be from its reference: relative to its magnitude, plus an absolute part.
struct Bound {
  double relative = 0, absolute = 0;
};

// A half unit in the last place of the element type, as a relative error.
inline double roundingOf(mlir::Type element) {
  auto floating = llvm::dyn_cast<mlir::FloatType>(element);
  return floating ? std::ldexp(1.0, -static_cast<int>(floating.getFPMantissaWidth())) : 0;
}

// The values of a view of blocks, and the scale that each has.
struct Activations {
  std::vector<double> values, scales;
};

inline Activations valuesOf(const LaunchArgument &a, const BlockFormat &format) {
  Activations result;
  std::vector<float> values(a.bytes.size() / format.blockBytes * format.blockLength);
  dequantizeRow(format, a.bytes, values);
  result.values.assign(values.begin(), values.end());
  for (size_t at = 0; at < a.bytes.size(); at += format.blockBytes)
    for (uint32_t e = 0; e < format.blockLength; ++e)
      result.scales.push_back(format.scale.value(a.bytes.data() + at, e));
  return result;
}

inline Activations activationsOf(const LaunchArgument &a) {
  if (const BlockFormat *table = tile::blockFormatOf(a.view().getElementType()))
    return valuesOf(a, *table);
  Activations result;
  const ActivationFormat &format = *tile::activationFormatOf(a.view().getElementType());
  for (size_t at = 0; at < a.bytes.size(); at += format.bytes()) {
    float scale;
    std::memcpy(&scale, a.bytes.data() + at, sizeof scale);
    for (size_t i = 0; i < kActivationLength; ++i) {
      auto code = static_cast<int8_t>(a.bytes[at + format.codeOffset() + i]);
      result.values.push_back(static_cast<double>(scale) * code);
      result.scales.push_back(scale);
    }
  }
  return result;
}

// Codes of values that lie `bound` apart differ by one at most.
inline std::string firstActivationBeyond(const LaunchArgument &a, const LaunchArgument &b,
                                         Bound bound) {
  Activations x = activationsOf(a), y = activationsOf(b);
  for (size_t i = 0; i < x.values.size(); ++i) {
    double step = std::abs(y.scales[i]) * (1 + 127 * bound.relative) + bound.absolute;
    bool near = std::abs(x.values[i] - y.values[i]) <= step;
    if (!near && !(std::isnan(x.values[i]) && std::isnan(y.values[i])))
      return differenceText(a, "is beyond its bound", i, x.values[i], y.values[i]);
  }
  return {};
}

// Like firstDifference for values that may be apart by `bound` and one rounding of the element
// type.
inline std::string firstBeyond(const LaunchArguments &found, const LaunchArguments &expected,
                               Bound bound) {
  if (std::isinf(bound.relative))
    return {};
  for (auto [a, b] : llvm::zip_equal(found, expected)) {
    if (!a.written())
      continue;
    mlir::Type element = a.view().getElementType();
    if (llvm::isa<tile::BlockType>(element)) {
      if (std::string text = firstActivationBeyond(a, b, bound); !text.empty())
        return text;
      continue;
    }
    double relative = bound.relative + 2 * roundingOf(element);
    double absolute = bound.absolute + (element.isF16() ? std::ldexp(1.0, -24) : 0);
    std::vector<double> x = numbersOf(a), y = numbersOf(b);
    for (size_t i = 0; i < x.size(); ++i) {
      bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
      if (!same && !(std::abs(x[i] - y[i]) <= relative * std::abs(y[i]) + absolute))
        return differenceText(a, "is beyond its bound", i, x[i], y[i]);
    }
  }
  return {};
}

// ---- compiling ----

// A level for every width of vectors: the others differ from these in products of blocks and bf16.
inline std::vector<std::string> vectorLevelNames() {
  return {"avx512", "avx2", "neon"};
}

// A level for every way to multiply blocks.
inline std::vector<std::string> blockLevelNames() {
  std::vector<std::string> levels = levelNames();
  std::erase(levels, "avx512bf16"); // as avx512vnni does
  return levels;
}

// Facts of a level, and where its code runs; or the reason why it cannot.
struct HostLevel {
  CpuFacts facts;
  std::string emulated; // a processor with these features and few others; empty: this machine's
  std::string missing;
};

inline HostLevel hostLevel(const std::string &name) {
  static const std::map<std::string, std::string> kProcessors = {
      {"neon", "cortex-a53"}, {"dotprod", "cortex-a76"}, {"i8mm", "max"}};
  HostLevel level{*factsFor(name), {}, {}};
  auto processor = kProcessors.find(name);
  if (processor != kProcessors.end() && level.facts.arch != hostFacts()->arch) {
    level.emulated = processor->second;
    level.missing = emulatorMissing();
    return level;
  }
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  if (level.facts.arch != hostFacts()->arch)
    level.missing = "this processor is not " + level.facts.arch;
  for (llvm::StringRef feature : level.facts.features)
    if (feature.consume_front("+") && !host.lookup(feature))
      level.missing = "this processor has no " + feature.str() + ", which " + name + " code needs";
  return level;
}

// The kernels of one module compiled for one level.
class CompiledKernels {
public:
  static Result<CompiledKernels> compile(mlir::ModuleOp module, const HostLevel &level) {
    CompiledKernels result;
    result.source_ = module;
    result.target_ = level.facts.targetName();
    SINTER_ASSIGN(result.scheduled_, scheduleKernels(module, level.facts));
    SINTER_ASSIGN(result.code_, compileKernels(module, level.facts));
    if (level.emulated.empty()) {
      SINTER_ASSIGN(result.object_, hal::SharedObject::load(result.code_.sharedObject));
    } else {
      result.runner_ = std::make_unique<EmulatedRunner>(level.emulated, nullptr);
    }
    return result;
  }

  tile::KernelOp kernel() { return *source_.getOps<tile::KernelOp>().begin(); }
  tile::KernelOp scheduledKernel() { return *scheduled_->getOps<tile::KernelOp>().begin(); }

  // Runs the compiled code of the module's only kernel.
  LaunchArguments run(const LaunchArguments &arguments) {
    return launched(arguments, gridOf(kernel(), arguments), GuardedEnd::Back);
  }

  // Runs the module's only kernel the three ways; `bound` is between compiled code and the tile
  // interpreter. Returns what compiled code wrote.
  LaunchArguments check(const LaunchArguments &arguments, Bound bound) {
    std::array<int64_t, 3> grid = gridOf(kernel(), arguments);
    EXPECT_GE(grid[0], 0) << "the grid does not fold";
    LaunchArguments reference = interpreted(arguments, kernel(), false);
    LaunchArguments scheduled = interpreted(arguments, scheduledKernel(), true);
    if (testing::Test::HasFailure())
      return arguments;
    LaunchArguments back = launched(arguments, grid, GuardedEnd::Back);
    LaunchArguments front = launched(arguments, grid, GuardedEnd::Front);
    EXPECT_EQ(firstDifference(back, scheduled), "") << "compiled against scheduled";
    EXPECT_EQ(firstDifference(front, back), "") << "compiled twice";
    EXPECT_EQ(firstBeyond(back, reference, bound), "") << "compiled against the tile interpreter";
    return back;
  }

  // Runs compiled code over the grid, with `end` of every view and of scratch against an unmapped
  // page.
  LaunchArguments launched(LaunchArguments arguments, std::array<int64_t, 3> grid, GuardedEnd end) {
    const EmittedKernel &facts = code_.kernels.front();
    GuardedLaunch launch = guardedLaunch(arguments, facts, grid);
    if (runner_) {
      auto views = runner_->run(emulatedCase(launch, facts, code_, target_), end);
      EXPECT_TRUE(views.has_value()) << views.error().message;
      for (size_t i = 0; views && i < views->size(); ++i)
        launch.views[i].bytes = std::move((*views)[i]);
    } else {
      auto function = reinterpret_cast<hal::CpuKernelFunction>(object_->find(facts.symbol));
      EXPECT_NE(function, nullptr);
      EXPECT_EQ(launchGuarded(launch, function, end), "");
    }
    size_t next = 0;
    for (LaunchArgument &a : arguments)
      if (a.view())
        a.bytes = std::move(launch.views[next++].bytes);
    return arguments;
  }

private:
  mlir::ModuleOp source_;
  std::string target_;
  mlir::OwningOpRef<mlir::ModuleOp> scheduled_;
  CompiledModule code_;
  std::shared_ptr<hal::SharedObject> object_; // null where the code is another architecture's
  std::unique_ptr<EmulatedRunner> runner_;    // then it runs there
};

} // namespace sinter::targets::cpu
