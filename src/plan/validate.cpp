// Structural checks of a plan's tables and steps. The calls between procedures are checked in
// call_graph.cpp.
#include "plan/validate.h"

#include "plan/call_graph.h"
#include "plan/row_order.h"
#include "plan/walk.h"

#include <algorithm>
#include <bit>
#include <set>
#include <unordered_set>

namespace sinter::plan {
namespace {

class Validator {
public:
  Validator(const Plan &plan, const PlanOffsets &offsets) : plan_(plan), offsets_(offsets) {}

  Result<void> run() {
    SINTER_TRY(checkDevices());
    SINTER_TRY(checkSymbols());
    SINTER_TRY(checkModules());
    SINTER_TRY(checkKernels());
    findInductions();
    SINTER_TRY(checkBuffers());
    SINTER_TRY(checkComputed());
    SINTER_TRY(checkProcedures());
    return checkCallGraph(plan_, offsets_.procedures);
  }

private:
  Result<void> checkDevices();
  Result<void> checkSymbols();
  Result<void> checkComputed();
  Result<void> checkModules();
  Result<void> checkKernels();
  Result<void> checkTuning(const Kernel &kernel, const std::string &what);
  Result<void> checkForm(const Kernel &kernel, const std::string &what);
  Result<void> checkBuffers();
  Result<void> checkProcedures();
  void findInductions();
  Result<void> checkWeight(const Buffer &buffer);
  Result<void> checkKindOfBuffer(const Buffer &buffer);
  Result<void> checkLaunch(const Launch &launch);
  Result<void> checkCopy(const Copy &copy);
  Result<void> checkStep(const Step &step, uint32_t depth);
  Result<void> checkDevice(DeviceId device, const std::string &what) const;
  Result<void> checkBufferId(BufferId id);
  Result<void> checkExpr(const Expr &expr, const std::string &what);
  Result<void> checkName(const std::string &name, const char *table);

  void at(const std::vector<uint64_t> &table, std::size_t index) {
    where_ = index < table.size() ? std::optional(table[index]) : std::nullopt;
  }
  Fail bad(std::string message) const { return fail(Code::Corrupt, std::move(message), where_); }

  const Plan &plan_;
  const PlanOffsets &offsets_;
  std::optional<uint64_t> where_;
  std::unordered_set<std::string_view> names_; // of the table being checked
  std::vector<bool> inductions_;               // symbols that some Loop counts
};

Result<void> Validator::checkName(const std::string &name, const char *table) {
  if (name.empty())
    return bad(std::string("a ") + table + " has no name");
  if (!names_.insert(name).second)
    return bad(std::string("two entries of the ") + table + " table are named '" + name + "'");
  return {};
}

Result<void> Validator::checkExpr(const Expr &expr, const std::string &what) {
  if (auto ok = expr.check(static_cast<uint32_t>(plan_.symbols.size())); !ok)
    return bad(what + ": " + ok.error().message);
  return {};
}

Result<void> Validator::checkDevices() {
  names_.clear();
  where_.reset();
  if (plan_.devices.empty() || plan_.devices.size() > kMaxDevices)
    return bad("the plan has " + std::to_string(plan_.devices.size()) + " devices, expected 1 to " +
               std::to_string(kMaxDevices));
  for (const Device &device : plan_.devices)
    SINTER_TRY(checkName(device.name, "device"));
  return {};
}

Result<void> Validator::checkDevice(DeviceId device, const std::string &what) const {
  if (device.index < plan_.devices.size())
    return {};
  return bad(what + " is on device " + std::to_string(device.index) + ", the plan has " +
             std::to_string(plan_.devices.size()));
}

Result<void> Validator::checkSymbols() {
  names_.clear();
  for (std::size_t i = 0; i < plan_.symbols.size(); ++i) {
    const Symbol &symbol = plan_.symbols[i];
    at(offsets_.symbols, i);
    SINTER_TRY(checkName(symbol.name, "symbol"));
    if (symbol.min > symbol.max)
      return bad("symbol '" + symbol.name + "' has minimum " + std::to_string(symbol.min) +
                 " above its maximum " + std::to_string(symbol.max));
  }
  return {};
}

Result<void> Validator::checkModules() {
  for (std::size_t i = 0; i < plan_.modules.size(); ++i) {
    at(offsets_.modules, i);
    if (plan_.modules[i].target.empty())
      return bad("module " + std::to_string(i) + " names no target");
  }
  return {};
}

Result<void> Validator::checkKernels() {
  std::set<std::pair<uint32_t, std::string_view>> symbols;
  for (std::size_t i = 0; i < plan_.kernels.size(); ++i) {
    const Kernel &kernel = plan_.kernels[i];
    at(offsets_.kernels, i);
    if (kernel.symbol.empty())
      return bad("kernel " + std::to_string(i) + " names no symbol of its module");
    const std::string what = "kernel '" + kernel.symbol + "'";
    if (kernel.module.index >= plan_.modules.size())
      return bad(what + " is in module " + std::to_string(kernel.module.index) + ", the plan has " +
                 std::to_string(plan_.modules.size()));
    if (!symbols.insert({kernel.module.index, kernel.symbol}).second)
      return bad("two kernels are " + what.substr(7) + " of module " +
                 std::to_string(kernel.module.index));
    if (kernel.bufferCount > kMaxKernelBuffers || kernel.scalarCount > kMaxKernelScalars)
      return bad(what + " takes " + std::to_string(kernel.bufferCount) + " buffers and " +
                 std::to_string(kernel.scalarCount) + " scalars, expected at most " +
                 std::to_string(kMaxKernelBuffers) + " and " + std::to_string(kMaxKernelScalars));
    if (kernel.scratchBytes > kMaxScratchBytes)
      return bad(what + " needs " + std::to_string(kernel.scratchBytes) +
                 " scratch bytes a thread, expected at most " + std::to_string(kMaxScratchBytes));
    if (kernel.threads < 1 || kernel.threads > kMaxThreads)
      return bad(what + " has " + std::to_string(kernel.threads) +
                 " threads a program, expected 1 to " + std::to_string(kMaxThreads));
    if (kernel.sharedBytes > kMaxSharedBytes)
      return bad(what + " shares " + std::to_string(kernel.sharedBytes) +
                 " bytes in a program, expected at most " + std::to_string(kMaxSharedBytes));
    const auto arithmetic = static_cast<uint8_t>(kernel.arithmetic);
    if (arithmetic >= kArithmetics.size())
      return bad(what + " has arithmetic " + std::to_string(arithmetic) + ", expected less than " +
                 std::to_string(kArithmetics.size()));
    SINTER_TRY(checkTuning(kernel, what));
    SINTER_TRY(checkForm(kernel, what));
  }
  return {};
}

// A schedule that could not be read back would make a file that is refused.
Result<void> Validator::checkTuning(const Kernel &kernel, const std::string &what) {
  if (kernel.alternatives.size() > kMaxAlternatives)
    return bad(what + " has " + std::to_string(kernel.alternatives.size()) +
               " other schedules, expected at most " + std::to_string(kMaxAlternatives));
  const auto readable = [](const ScheduleChoice &choice) {
    return ScheduleChoice::parse(choice.text()) == choice;
  };
  if (!readable(kernel.schedule) || !std::ranges::all_of(kernel.alternatives, readable))
    return bad(what + " has a schedule of other decisions than schedule_choice.h allows");
  return {};
}

Result<void> Validator::checkForm(const Kernel &kernel, const std::string &what) {
  if (kernel.source.empty())
    return bad(what + " names no source");
  if (kernel.parameters.size() > kMaxKernelParameters || kernel.slots.size() > kMaxKernelSlots)
    return bad(what + " has " + std::to_string(kernel.parameters.size()) + " parameters and " +
               std::to_string(kernel.slots.size()) + " slots, expected at most " +
               std::to_string(kMaxKernelParameters) + " and " + std::to_string(kMaxKernelSlots));
  std::set<std::string_view> names;
  for (const KernelParameter &parameter : kernel.parameters) {
    const auto kind = static_cast<uint8_t>(parameter.kind);
    if (parameter.name.empty() || !names.insert(parameter.name).second)
      return bad(what + " has a parameter '" + parameter.name +
                 "', expected a name that no other has");
    if (kind >= kParameterKindCount)
      return bad(what + " has a parameter '" + parameter.name + "' of kind " +
                 std::to_string(kind) + ", expected less than " +
                 std::to_string(kParameterKindCount));
    const bool isFlag = parameter.kind == ParameterKind::Flag;
    const int64_t most = isFlag ? 1 : isNumber(parameter.kind) ? INT64_MAX : 0;
    if (parameter.number > most || (parameter.number < 0 && most <= 1) ||
        parameter.format.empty() == isFormat(parameter.kind))
      return bad(what + " has a parameter '" + parameter.name + "' of number " +
                 std::to_string(parameter.number) + " and format '" + parameter.format +
                 "', which are none of its kind");
  }
  for (const KernelSlot &slot : kernel.slots)
    if (slot.slot.empty() || slot.filling.empty())
      return bad(what + " has a slot '" + slot.slot + "' filled with '" + slot.filling +
                 "', expected two names");
  return {};
}

void Validator::findInductions() {
  inductions_.assign(plan_.symbols.size(), false);
  for (const Procedure &procedure : plan_.procedures)
    for (StepWalker walker(procedure.steps); walker.next();)
      if (const auto *loop = std::get_if<Loop>(&walker.step().op))
        if (loop->induction.index < inductions_.size())
          inductions_[loop->induction.index] = true;
}

Result<void> Validator::checkBuffers() {
  names_.clear();
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer &buffer = plan_.buffers[i];
    at(offsets_.buffers, i);
    SINTER_TRY(checkName(buffer.name, "buffer"));
    SINTER_TRY(checkDevice(buffer.device, "buffer '" + buffer.name + "'"));
    SINTER_TRY(checkExpr(buffer.bytes, "size of buffer '" + buffer.name + "'"));
    SINTER_TRY(checkKindOfBuffer(buffer));
    for (const ExprNode &node : buffer.bytes.nodes())
      if (node.op == ExprOp::Symbol && inductions_[static_cast<std::size_t>(node.value)])
        return bad("size of buffer '" + buffer.name + "' uses '" +
                   plan_.symbols[static_cast<std::size_t>(node.value)].name +
                   "', which a loop counts");
  }
  return {};
}

// A computed symbol is read where the former procedure left it, at a place that no symbol moves.
Result<void> Validator::checkComputed() {
  for (std::size_t i = 0; i < plan_.symbols.size(); ++i) {
    const Symbol &symbol = plan_.symbols[i];
    at(offsets_.symbols, i);
    if (!symbol.computed)
      continue;
    const std::string what = "symbol '" + symbol.name + "'";
    const auto [id, offset] = *symbol.computed;
    if (inductions_[i])
      return bad(what + " is computed, but a loop counts it");
    if (id.index >= plan_.buffers.size())
      return bad(what + " is read from buffer " + std::to_string(id.index) + ", the plan has " +
                 std::to_string(plan_.buffers.size()));
    const Buffer &buffer = plan_.buffers[id.index];
    const auto bytes = buffer.bytes.constant();
    if (buffer.kind != BufferKind::State || !bytes)
      return bad(what + " is read from buffer '" + buffer.name + "' of kind " +
                 kindName(buffer.kind) + ", expected a state of constant size");
    if (offset % sizeof(int32_t) != 0 || *bytes < int64_t{sizeof(int32_t)} ||
        offset > static_cast<uint64_t>(*bytes) - sizeof(int32_t))
      return bad(what + " is read at byte " + std::to_string(offset) + " of buffer '" +
                 buffer.name + "', expected a multiple of 4 within its " + std::to_string(*bytes) +
                 " bytes");
  }
  return {};
}

Result<void> Validator::checkKindOfBuffer(const Buffer &buffer) {
  const std::string what = "buffer '" + buffer.name + "'";
  if (static_cast<uint8_t>(buffer.kind) >= kBufferKindCount)
    return bad(what + " has kind " + std::to_string(static_cast<uint8_t>(buffer.kind)) +
               ", expected less than " + std::to_string(kBufferKindCount));
  const bool weight = buffer.kind == BufferKind::Weight;
  const bool constant = buffer.kind == BufferKind::Constant;
  if (!weight && (!buffer.tensors.empty() || buffer.pack != PackRecipe{}))
    return bad(what + " is no weight, but names tensors or a packing");
  if (!constant && !buffer.data.empty())
    return bad(what + " is no constant, but has " + std::to_string(buffer.data.size()) + " bytes");
  if (!weight && !constant)
    return {};
  auto bytes = buffer.bytes.constant();
  if (!bytes || *bytes < 0)
    return bad(what + " is a " + kindName(buffer.kind) +
               ", its size must be a constant of at least 0");
  if (constant && static_cast<uint64_t>(*bytes) != buffer.data.size())
    return bad(what + " has " + std::to_string(buffer.data.size()) + " bytes, expected " +
               std::to_string(*bytes));
  return weight ? checkWeight(buffer) : Result<void>();
}

Result<void> Validator::checkWeight(const Buffer &buffer) {
  const std::string what = "weight '" + buffer.name + "'";
  if (buffer.tensors.empty())
    return bad(what + " names no tensor");
  for (const std::string &tensor : buffer.tensors)
    if (tensor.empty())
      return bad(what + " names a tensor with an empty name");
  if (auto ok = validateRecipe(buffer.pack, what); !ok)
    return bad(ok.error().message);
  if (buffer.pack.rowOrder.empty())
    return {};
  const CheckedSize rows = orderedRows(buffer.pack.rowOrder);
  const CheckedSize bytes = alignUp(rows, buffer.pack.rowsPerAtom) * rowBytes(buffer.pack);
  const auto expected = static_cast<uint64_t>(*buffer.bytes.constant());
  if (bytes.value() != expected)
    return bad(what + " orders " + std::to_string(*rows.value()) + " rows of " +
               std::to_string(rowBytes(buffer.pack)) + " bytes in groups of " +
               std::to_string(buffer.pack.rowsPerAtom) + ", expected " + std::to_string(expected) +
               " bytes in all");
  return {};
}

Result<void> Validator::checkBufferId(BufferId id) {
  if (id.index >= plan_.buffers.size())
    return bad("step uses buffer " + std::to_string(id.index) + ", the plan has " +
               std::to_string(plan_.buffers.size()));
  return {};
}

Result<void> Validator::checkLaunch(const Launch &launch) {
  if (launch.kernel.index >= plan_.kernels.size())
    return bad("launch '" + launch.label + "' runs kernel " + std::to_string(launch.kernel.index) +
               ", the plan has " + std::to_string(plan_.kernels.size()));
  const Kernel &kernel = plan_.kernels[launch.kernel.index];
  if (launch.buffers.size() != kernel.bufferCount || launch.scalars.size() != kernel.scalarCount)
    return bad("launch of '" + kernel.symbol + "' passes " + std::to_string(launch.buffers.size()) +
               " buffers and " + std::to_string(launch.scalars.size()) + " scalars, expected " +
               std::to_string(kernel.bufferCount) + " and " + std::to_string(kernel.scalarCount));
  const std::string what = "launch of '" + kernel.symbol + "'";
  for (const Expr &extent : launch.grid)
    SINTER_TRY(checkExpr(extent, what));
  SINTER_TRY(checkDevice(launch.device, what));
  for (const BufferArg &arg : launch.buffers) {
    SINTER_TRY(checkBufferId(arg.buffer));
    if (const Buffer &buffer = plan_.buffers[arg.buffer.index]; buffer.device != launch.device)
      return bad(what + " is on device " + std::to_string(launch.device.index) +
                 " and uses buffer '" + buffer.name + "' of device " +
                 std::to_string(buffer.device.index));
    SINTER_TRY(checkExpr(arg.byteOffset, what));
  }
  for (const Expr &scalar : launch.scalars)
    SINTER_TRY(checkExpr(scalar, what));
  SINTER_TRY(checkExpr(launch.bytesMoved, what));
  return checkExpr(launch.operations, what);
}

Result<void> Validator::checkCopy(const Copy &copy) {
  SINTER_TRY(checkBufferId(copy.src));
  SINTER_TRY(checkBufferId(copy.dst));
  const Buffer &dst = plan_.buffers[copy.dst.index];
  if (dst.kind == BufferKind::Weight || dst.kind == BufferKind::Constant)
    return bad("copy writes to " + std::string(kindName(dst.kind)) + " '" + dst.name +
               "', which is only read");
  SINTER_TRY(checkExpr(copy.srcOffset, "copy"));
  SINTER_TRY(checkExpr(copy.dstOffset, "copy"));
  return checkExpr(copy.bytes, "copy");
}

Result<void> Validator::checkStep(const Step &step, uint32_t depth) {
  if (const auto *launch = std::get_if<Launch>(&step.op))
    return checkLaunch(*launch);
  if (const auto *copy = std::get_if<Copy>(&step.op))
    return checkCopy(*copy);
  if (const auto *call = std::get_if<Call>(&step.op)) {
    if (call->procedure.index >= plan_.procedures.size())
      return bad("call of procedure " + std::to_string(call->procedure.index) + ", the plan has " +
                 std::to_string(plan_.procedures.size()));
    return {};
  }
  if (depth >= kMaxNesting)
    return bad("steps are nested more than " + std::to_string(kMaxNesting) + " deep");
  if (const auto *branch = std::get_if<If>(&step.op))
    return checkExpr(branch->condition, "condition");
  const auto &loop = std::get<Loop>(step.op);
  if (loop.induction.index >= plan_.symbols.size())
    return bad("loop counts symbol " + std::to_string(loop.induction.index) + ", the plan has " +
               std::to_string(plan_.symbols.size()));
  return checkExpr(loop.count, "loop count");
}

Result<void> Validator::checkProcedures() {
  names_.clear();
  std::size_t stepIndex = 0;
  for (std::size_t i = 0; i < plan_.procedures.size(); ++i) {
    const Procedure &procedure = plan_.procedures[i];
    at(offsets_.procedures, i);
    SINTER_TRY(checkName(procedure.name, "procedure"));
    for (StepWalker walker(procedure.steps); walker.next();) {
      if (walker.event() != WalkEvent::Step)
        continue;
      at(offsets_.steps, stepIndex++);
      if (auto ok = checkStep(walker.step(), walker.depth()); !ok)
        return bad("procedure '" + procedure.name + "': " + ok.error().message);
    }
  }
  return {};
}

// Whether the fields, in any order, cover [0, blockBytes) without a gap or an overlap.
bool fieldsTileBlock(std::vector<PackField> fields, uint32_t blockBytes) {
  std::sort(fields.begin(), fields.end(),
            [](const PackField &a, const PackField &b) { return a.offset < b.offset; });
  uint64_t end = 0;
  for (const PackField &field : fields) {
    if (field.offset != end)
      return false;
    end += field.bytes;
  }
  return end == blockBytes;
}

// Whether the packed block is fields one after the other, or as many as a step has units in turns.
bool unitsTileBlock(std::vector<PackField> fields, uint32_t blockBytes) {
  std::ranges::sort(fields, {}, &PackField::place);
  uint64_t end = 0;
  for (std::size_t first = 0; first < fields.size();) {
    const PackField &field = fields[first];
    const std::size_t turns = field.step / field.unit;
    if (turns == 0 || field.step % field.unit != 0 || turns > fields.size() - first)
      return false;
    for (std::size_t i = 0; i < turns; ++i) {
      const PackField &other = fields[first + i];
      if (other.place != end + i * field.unit || other.bytes != field.bytes ||
          other.unit != field.unit || other.step != field.step)
        return false;
    }
    end += uint64_t(field.bytes) * turns;
    first += turns;
  }
  return end == blockBytes;
}

} // namespace

Result<void> validateRecipe(const PackRecipe &recipe, const std::string &what) {
  auto bad = [&](std::string message) { return fail(Code::Corrupt, what + " " + message); };
  if (recipe.mode == PackMode::Direct) {
    if (recipe != PackRecipe{})
      return bad("is used as it is, but describes an interleaving");
    return {};
  }
  if (recipe.mode != PackMode::Interleave)
    return bad("has packing " + std::to_string(static_cast<uint8_t>(recipe.mode)) +
               ", expected 0 or 1");
  if (recipe.rowsPerAtom == 0 || recipe.rowsPerAtom > kMaxRowsPerAtom)
    return bad("packs " + std::to_string(recipe.rowsPerAtom) + " rows together, expected 1 to " +
               std::to_string(kMaxRowsPerAtom));
  if (recipe.blockBytes == 0 || recipe.blockBytes > kMaxBlockBytes || recipe.blocksPerRow == 0)
    return bad("has rows of " + std::to_string(recipe.blocksPerRow) + " blocks of " +
               std::to_string(recipe.blockBytes) + " bytes, expected at least 1 of 1 to " +
               std::to_string(kMaxBlockBytes));
  if (recipe.fields.empty() || recipe.fields.size() > kMaxPackFields)
    return bad("has " + std::to_string(recipe.fields.size()) + " packing fields, expected 1 to " +
               std::to_string(kMaxPackFields));
  for (const PackField &field : recipe.fields)
    if (field.bytes == 0 || field.unit == 0 || field.bytes % field.unit != 0)
      return bad("has a packing field of " + std::to_string(field.bytes) + " bytes in units of " +
                 std::to_string(field.unit) + ", expected a multiple");
  for (const PackField &field : recipe.fields)
    if (!std::has_single_bit(field.itemBits) || field.itemBits > 8 ||
        (field.itemBits != 8 && field.unit != 4))
      return bad("has items of " + std::to_string(field.itemBits) + " bits in units of " +
                 std::to_string(field.unit) + " bytes, expected 8, or 1, 2 or 4 in units of 4");
  if (!fieldsTileBlock(recipe.fields, recipe.blockBytes))
    return bad("has packing fields that do not cover each of a block's " +
               std::to_string(recipe.blockBytes) + " bytes once");
  if (!unitsTileBlock(recipe.fields, recipe.blockBytes))
    return bad("has packing fields whose units do not lie beside each other in a packed block of " +
               std::to_string(recipe.blockBytes) + " bytes");
  return validateRowOrder(recipe.rowOrder, what);
}

Result<void> validate(const Plan &plan, const PlanOffsets &offsets) {
  return Validator(plan, offsets).run();
}

} // namespace sinter::plan
