// A target: what turns tile kernels into native code for one kind of processor.
#pragma once

#include "base/status.h"
#include "targets/profile.h"
#include "tile/tile.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::targets {

/// What the runtime must know to launch an emitted kernel.
struct EmittedKernel {
  std::string symbol;
  int64_t bufferCount = 0;
  int64_t scalarCount = 0;
  int64_t scratchBytes = 0; // of one program that runs alone on a core
  int64_t threads = 1;      // of one program, where programs are thread blocks
  int64_t sharedBytes = 0;  // that the threads of one program share
  bool overlaps = false;    // it waits by itself for the launches before it
};

/// Code of kernels, in the order of the kernels of the source module.
struct CompiledModule {
  std::vector<uint8_t> code;
  std::vector<EmittedKernel> kernels;
};

/// Texts of a compilation's stages, in the order of the stages.
struct Stages {
  std::vector<std::pair<std::string, std::string>> texts;

  void add(std::string_view name, std::string text) { texts.emplace_back(name, std::move(text)); }
  /// Null where there is none of that name.
  const std::string *find(std::string_view name) const;
};

/// Something about a kernel's schedule that may be decided otherwise than by a target's rules
/// without changing a bit of any result: the values it may have, as numbers of the kernel's
/// schedule (tile::setSchedule).
struct ScheduleDecision {
  std::string name;
  std::vector<int64_t> values;
};

class Target {
public:
  virtual ~Target() = default;

  /// What plans carry and devices are asked for: "cpu:x86_64+avx2+fma", "cuda:sm_90a".
  virtual std::string name() const = 0;
  /// What the engine chooses kernels by.
  virtual const TargetProfile &profile() const = 0;
  /// What compilePart writes into its stages, in order.
  virtual std::vector<std::string> stageNames() const = 0;
  /// Compiles every tile.kernel of `source`, which is left unchanged, into code that link() takes.
  /// Diagnostics go to the context's handler; the Status names the kernel and the stage that
  /// failed. Threads may do so side by side, each with a context of its own.
  virtual Result<CompiledModule> compilePart(mlir::ModuleOp source, Stages *stages) const = 0;
  /// Parts, whose kernels have distinct symbols, as one module that devices load. One thread at a
  /// time, and none compiles meanwhile.
  virtual Result<std::vector<uint8_t>> link(std::span<const std::vector<uint8_t>> parts) const = 0;
  /// Whether equal kernels are equal parts, byte for byte, in every build of the compiler.
  virtual bool partsAreStable() const { return true; }
  /// What tuning may decide about a kernel; nothing where a target's rules are all there is.
  virtual std::vector<ScheduleDecision> decisions(tile::KernelOp kernel) const { return {}; }
  /// Registers, spills and shared memory of linked code's kernels, a line for each; empty where
  /// only an assembler or a driver knows them.
  virtual Result<std::string> resources(std::span<const uint8_t> code) const { return {}; }
};

/// compilePart, and link of that part alone.
Result<CompiledModule> compileKernels(const Target &target, mlir::ModuleOp source,
                                      Stages *stages = nullptr);

/// An operation's textual form, for stages.
std::string printed(mlir::Operation *op);

} // namespace sinter::targets
