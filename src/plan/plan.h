// A plan: kernels, buffers and procedures that execute one model on its devices. It holds native
// code and no weights: those are named in the model file and packed while it is loaded.
#pragma once

#include "base/status.h"
#include "numeric/arithmetic.h"
#include "plan/expr.h"
#include "plan/ids.h"
#include "plan/schedule_choice.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sinter::plan {

// Limits that validate() enforces; a compiler that needs more must split its procedures.
inline constexpr uint32_t kMaxDevices = 64;
inline constexpr uint32_t kMaxNesting = 16;      // If and Loop inside one another, in a procedure
inline constexpr uint32_t kMaxInlinedDepth = 64; // the same with all calls inlined
inline constexpr uint32_t kMaxInlinedSteps = 1 << 20; // steps and buffer arguments, calls inlined
inline constexpr uint32_t kMaxKernelBuffers = 64;
inline constexpr uint32_t kMaxKernelScalars = 256;
inline constexpr uint64_t kMaxScratchBytes = uint64_t(1) << 30; // per thread
inline constexpr uint32_t kMaxThreads = 1 << 16;                // of one program
inline constexpr uint64_t kMaxSharedBytes = uint64_t(1) << 24;  // of one program
inline constexpr uint32_t kMaxPackFields = 64;
inline constexpr uint32_t kMaxRowsPerAtom = 1 << 16;
inline constexpr uint32_t kMaxBlockBytes = 1 << 20;
inline constexpr uint32_t kMaxRowSegments = 1024;
inline constexpr uint32_t kMaxRowModes = 8;
inline constexpr uint32_t kMaxCovered = 64;
inline constexpr uint32_t kMaxAlternatives = 256;
inline constexpr uint32_t kMaxKernelParameters = 64;
inline constexpr uint32_t kMaxKernelSlots = 8;

// What steps run on and buffers lie on, whichever device that is at run time.
struct Device {
  std::string name; // unique

  friend bool operator==(const Device &, const Device &) = default;
};
inline constexpr DeviceId kFirstDevice{0};

// A 32-bit signed integer in a State buffer of constant size.
struct DeviceScalar {
  BufferId buffer;
  uint64_t byteOffset = 0; // a multiple of 4

  friend bool operator==(const DeviceScalar &, const DeviceScalar &) = default;
};

// A named integer that is fixed when a plan is bound (tokens in the step, pages of cache), that
// counts the iterations of a Loop, or that is computed: read back from the device each time that a
// procedure is run, before its first step. Values outside [min, max] are refused.
struct Symbol {
  std::string name;
  int64_t min = 0;
  int64_t max = INT64_MAX;
  std::optional<DeviceScalar> computed = {};

  friend bool operator==(const Symbol &, const Symbol &) = default;
};

// Native code for one target, such as "cpu:x86_64+avx512vnni": for cpu an ELF shared object, for
// cuda PTX text, for vulkan SPIR-V.
struct Module {
  std::string target;
  std::vector<uint8_t> code;

  friend bool operator==(const Module &, const Module &) = default;
};

enum class ParameterKind : uint8_t {
  Number,
  Dynamic, // an extent that each launch gives
  Flag,    // 0 or 1
  ScalarType,
  BlockFormat,
};
inline constexpr uint8_t kParameterKindCount = 5;
constexpr bool isNumber(ParameterKind kind) {
  return kind == ParameterKind::Number || kind == ParameterKind::Flag;
}
constexpr bool isFormat(ParameterKind kind) {
  return kind == ParameterKind::ScalarType || kind == ParameterKind::BlockFormat;
}

// A parameter of a kernel's source, or a decision of the target about the kernel.
struct KernelParameter {
  std::string name; // "block_m"
  ParameterKind kind = ParameterKind::Number;
  int64_t number = 0; // of a Number or Flag; else 0
  std::string format; // "f32" or "q4_1" of a ScalarType or BlockFormat; else empty

  friend bool operator==(const KernelParameter &, const KernelParameter &) = default;
};

// A slot of a kernel's source, and what of the graph fills it.
struct KernelSlot {
  std::string slot;    // "prologue", "epilogue"
  std::string filling; // "norm", "map"
  std::string detail;  // tells fillings apart, in no fixed form; may be empty

  friend bool operator==(const KernelSlot &, const KernelSlot &) = default;
};

// One entry point of a module. `scratchBytes` is what each thread must have at hand while it runs
// it; `threads` and `sharedBytes` are those of one program, where programs are thread blocks.
struct Kernel {
  std::string source; // what it was made from, for explain: "gemm"
  ModuleId module;
  std::string symbol; // in the module; no other kernel has the same
  uint32_t bufferCount = 0;
  uint32_t scalarCount = 0;
  uint64_t scratchBytes = 0;
  uint32_t threads = 1;
  uint64_t sharedBytes = 0;
  bool overlaps = false; // it waits by itself for the launches before it, and may begin early
  Arithmetic arithmetic = Arithmetic::F32; // of its products, for explain
  // For tuning: a digest of what the kernel is under the rules' schedule, empty where it has no
  // other; the schedule that it has; and the others, likeliest first.
  std::string content;
  ScheduleChoice schedule;
  std::vector<ScheduleChoice> alternatives; // at most kMaxAlternatives
  // For explain: with what the source was made into this kernel.
  std::vector<KernelParameter> parameters; // at most kMaxKernelParameters, names unique
  std::vector<KernelSlot> slots;           // those that are filled; at most kMaxKernelSlots

  friend bool operator==(const Kernel &, const Kernel &) = default;
};

enum class BufferKind : uint8_t {
  Input,  // written by the caller before a run
  Output, // read by the caller after a run
  State, // zero at first, keeps its contents from run to run; may grow from one binding to the next
  Weight,   // packed from the model file at load; only read
  Constant, // inline bytes of the plan; only read
  Temp, // undefined at the start of a run and of every iteration of the innermost loop that holds
        // all its uses; shares memory with other Temps
};
inline constexpr uint8_t kBufferKindCount = 6;

// How a weight's bytes come from the tensors' bytes in the file, which are joined end to end in the
// order named. Direct: as they are (one tensor: the mapped bytes themselves, no copy). Interleave:
// see below.
enum class PackMode : uint8_t { Direct, Interleave };

// One part of a block: bytes [offset, offset + bytes), moved in units of `unit` bytes, of which
// several fields may have theirs in turns. In units of
// four bytes items of fewer than 8 bits (1, 2 or 4) turn, as turnItems in
// numeric/formats/dot_packing.h says.
struct PackField {
  uint32_t offset = 0;
  uint32_t bytes = 0; // a multiple of `unit`
  uint32_t unit = 1;
  uint8_t xorByte = 0;
  uint8_t itemBits = 8;
  uint32_t place = 0; // bytes of a row before its first unit in the packed block
  uint32_t step = 1;  // bytes of a row from one unit to the next, at least `unit`

  friend bool operator==(const PackField &, const PackField &) = default;
};

// Fields as they are but for `place` and `step`: one after the other, unit by unit.
std::vector<PackField> consecutive(std::vector<PackField> fields);

// A digit of a row number: `extent` values, each `stride` source rows after the one before.
struct RowMode {
  uint32_t extent = 1;
  uint32_t stride = 0;

  friend bool operator==(const RowMode &, const RowMode &) = default;
};

// As many rows as the product of the extents (1 without modes). Row i comes from source row
// firstSource + the sum of digit * stride, with the digits of i in mixed radix, the first mode's
// fastest.
struct RowSegment {
  uint32_t firstSource = 0;
  std::vector<RowMode> modes; // at most kMaxRowModes

  friend bool operator==(const RowSegment &, const RowSegment &) = default;
};

// Interleave: the source is rows of `blocksPerRow` blocks of `blockBytes` bytes, put into the order
// of `rowOrder`'s segments one after another, which take each row exactly once (none: rows stay in
// place). The destination holds, for each group of `rowsPerAtom` rows, for each block index, a
// packed block of the group: unit u of a field begins at byte place + u * step of a row, times
// `rowsPerAtom`, and is there for each row of the group after the other, its items turned, each
// byte XOR xorByte. Rows beyond the last are blocks of zero bytes (and so packed as xorByte). The
// fields cover a block's bytes exactly once, their units those of a packed block, so sizes are
// preserved but for those rows. All of it is zero for Direct.
struct PackRecipe {
  PackMode mode = PackMode::Direct;
  uint32_t rowsPerAtom = 0;
  uint32_t blockBytes = 0;
  uint32_t blocksPerRow = 0;
  std::vector<PackField> fields;
  std::vector<RowSegment> rowOrder = {}; // at most kMaxRowSegments

  friend bool operator==(const PackRecipe &, const PackRecipe &) = default;
};

// Memory that steps work on. `bytes` may use symbols that no Loop counts; for Weight and Constant,
// and where a computed symbol is read, it is a constant.
struct Buffer {
  std::string name; // unique
  BufferKind kind = BufferKind::Temp;
  Expr bytes;
  std::vector<std::string> tensors; // Weight: the file's tensors, joined along rows
  PackRecipe pack;                  // Weight
  std::vector<uint8_t> data;        // Constant: exactly `bytes` bytes
  DeviceId device = kFirstDevice;

  friend bool operator==(const Buffer &, const Buffer &) = default;
};

struct BufferArg {
  BufferId buffer;
  Expr byteOffset;

  friend bool operator==(const BufferArg &, const BufferArg &) = default;
};

// Runs a kernel once per point of the grid (x fastest, any order, in parallel). A grid with a zero
// extent does nothing. Launches of a procedure follow one another: each sees what the ones before
// it wrote. Its buffers lie on its device.
struct Launch {
  KernelId kernel;
  std::array<Expr, 3> grid = {Expr(1), Expr(1), Expr(1)};
  std::vector<BufferArg> buffers;
  std::vector<Expr> scalars;
  // For explain: the least that it must move and compute.
  Expr bytesMoved;
  Expr operations;
  std::string label;
  std::vector<std::string> covers; // operations of the graph, in order; at most kMaxCovered
  std::string quantizedTo; // for explain: the format that a quantize of the graph gives its result
  DeviceId device = kFirstDevice;

  friend bool operator==(const Launch &, const Launch &) = default;
};

// Copies bytes between buffers (not into Weight or Constant); the ranges must not overlap.
struct Copy {
  BufferId src;
  Expr srcOffset;
  BufferId dst;
  Expr dstOffset;
  Expr bytes;

  friend bool operator==(const Copy &, const Copy &) = default;
};

// Runs another procedure's steps. Calls form no cycle.
struct Call {
  ProcedureId procedure;

  friend bool operator==(const Call &, const Call &) = default;
};

struct Step;

// Runs `thenSteps` when the condition is not 0, else `elseSteps`. Decided when the plan is bound.
struct If {
  Expr condition;
  std::vector<Step> thenSteps;
  std::vector<Step> elseSteps;

  friend bool operator==(const If &, const If &);
};

// Runs `body` for induction = 0 .. count - 1; a count below 1 runs nothing. The symbol has its
// former value again afterwards; outside every loop that counts it, it is its own minimum.
struct Loop {
  SymbolId induction;
  Expr count;
  std::vector<Step> body;

  friend bool operator==(const Loop &, const Loop &);
};

struct Step {
  std::variant<Launch, Copy, Call, If, Loop> op;

  friend bool operator==(const Step &, const Step &) = default;
};

inline bool operator==(const If &a, const If &b) {
  return a.condition == b.condition && a.thenSteps == b.thenSteps && a.elseSteps == b.elseSteps;
}
inline bool operator==(const Loop &a, const Loop &b) {
  return a.induction == b.induction && a.count == b.count && a.body == b.body;
}

struct Procedure {
  std::string name; // unique
  std::vector<Step> steps;

  friend bool operator==(const Procedure &, const Procedure &) = default;
};

// The whole. `modelDigest` is of the model file's header and tensor table; with `modelBytes`, the
// file's size, it says which file the weights come from (empty and 0 when there are none).
struct Plan {
  std::string modelDigest;
  uint64_t modelBytes = 0;
  std::map<std::string, int64_t> properties;
  std::map<std::string, std::string> texts;
  std::vector<Device> devices = {{"device"}}; // at least one, at most kMaxDevices
  std::vector<Symbol> symbols;
  std::vector<Module> modules;
  std::vector<Kernel> kernels;
  std::vector<Buffer> buffers;
  std::vector<Procedure> procedures;

  friend bool operator==(const Plan &, const Plan &) = default;
};

// The entry of that name, or nothing. Linear in the table's length: look names up once, not per
// step.
std::optional<SymbolId> findSymbol(const Plan &plan, std::string_view name);
std::optional<BufferId> findBuffer(const Plan &plan, std::string_view name);
std::optional<ProcedureId> findProcedure(const Plan &plan, std::string_view name);

// What the plan's code was made for: its first module's target, empty where it has no code.
std::string_view targetOf(const Plan &plan);

// "input", "output", "state", "weight", "constant" or "temp".
const char *kindName(BufferKind kind);

} // namespace sinter::plan
