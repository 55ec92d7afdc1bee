// Instantiation of procedures on an explicit stack of step lists.
#include "runtime/commands.h"

#include <algorithm>

namespace sinter::runtime {
namespace {

using plan::BufferId;
using plan::Expr;

class Instantiation {
public:
  Instantiation(const plan::Plan &plan, const CommandContext &context)
      : plan_(plan), context_(context), symbols_(context.symbols.begin(), context.symbols.end()) {}

  Result<CommandList> run(plan::ProcedureId procedure) {
    open_.push_back({&plan_.procedures[procedure.index].steps, 0, nullptr, 0, 0});
    while (!open_.empty()) {
      Frame &frame = open_.back();
      if (frame.next == frame.steps->size()) {
        SINTER_TRY(endOfSteps());
        continue;
      }
      SINTER_TRY(spend());
      SINTER_TRY(step((*frame.steps)[frame.next++]));
    }
    return std::move(list_);
  }

private:
  struct Frame {
    const std::vector<plan::Step> *steps;
    std::size_t next;
    const plan::Loop *loop; // null: not a loop's body
    int64_t count;
    int64_t outerValue; // of the loop's symbol, before the loop
  };

  Result<void> spend(uint64_t steps = 1) {
    spent_ += steps;
    if (spent_ > context_.maxSteps)
      return fail(Code::Exhausted, "the procedure goes through more than " +
                                       std::to_string(context_.maxSteps) + " steps and arguments");
    return {};
  }

  Result<void> endOfSteps();
  Result<void> step(const plan::Step &step);
  Result<void> openLoop(const plan::Loop &loop);
  Result<void> launch(const plan::Launch &launch);
  Result<void> copy(const plan::Copy &copy);
  Result<hal::BufferBinding> bind(BufferId id, const Expr &byteOffset, int64_t bytes);
  Result<int64_t> value(const Expr &expr) { return plan::evaluate(expr, symbols_); }

  const plan::Plan &plan_;
  const CommandContext &context_;
  std::vector<int64_t> symbols_; // with the values of open loops
  std::vector<Frame> open_;
  uint64_t spent_ = 0;
  CommandList list_;
};

Result<void> Instantiation::endOfSteps() {
  Frame &frame = open_.back();
  if (frame.loop) {
    int64_t &induction = symbols_[frame.loop->induction.index];
    if (++induction < frame.count) {
      frame.next = 0;
      return spend();
    }
    induction = frame.outerValue;
  }
  open_.pop_back();
  return {};
}

Result<void> Instantiation::step(const plan::Step &step) {
  if (const auto *op = std::get_if<plan::Launch>(&step.op)) {
    if (auto ok = launch(*op); !ok)
      return fail(ok.error().code, "launch '" + op->label + "' of kernel '" +
                                       plan_.kernels[op->kernel.index].symbol +
                                       "': " + ok.error().message);
    return {};
  }
  if (const auto *op = std::get_if<plan::Copy>(&step.op)) {
    if (auto ok = copy(*op); !ok)
      return fail(ok.error().code, "copy from '" + plan_.buffers[op->src.index].name + "' to '" +
                                       plan_.buffers[op->dst.index].name +
                                       "': " + ok.error().message);
    return {};
  }
  if (const auto *op = std::get_if<plan::Call>(&step.op)) {
    open_.push_back({&plan_.procedures[op->procedure.index].steps, 0, nullptr, 0, 0});
    return {};
  }
  if (const auto *op = std::get_if<plan::If>(&step.op)) {
    SINTER_ASSIGN(const int64_t condition, value(op->condition));
    open_.push_back({condition != 0 ? &op->thenSteps : &op->elseSteps, 0, nullptr, 0, 0});
    return {};
  }
  return openLoop(std::get<plan::Loop>(step.op));
}

Result<void> Instantiation::openLoop(const plan::Loop &loop) {
  SINTER_ASSIGN(const int64_t count, value(loop.count));
  if (count <= 0)
    return {};
  const plan::Symbol &symbol = plan_.symbols[loop.induction.index];
  if (symbol.min > 0 || count - 1 > symbol.max)
    return fail(Code::InvalidArgument, "a loop counts '" + symbol.name + "' from 0 to " +
                                           std::to_string(count - 1) + ", allowed is " +
                                           std::to_string(symbol.min) + " to " +
                                           std::to_string(symbol.max));
  int64_t &induction = symbols_[loop.induction.index];
  open_.push_back({&loop.body, 0, &loop, count, induction});
  induction = 0;
  return {};
}

// The place `byteOffset` bytes into a buffer of which `bytes` more are used.
Result<hal::BufferBinding> Instantiation::bind(BufferId id, const Expr &byteOffset, int64_t bytes) {
  SINTER_ASSIGN(const int64_t offset, value(byteOffset));
  const uint64_t size = context_.bufferBytes[id.index];
  if (offset < 0 || bytes < 0 || static_cast<uint64_t>(offset) > size ||
      static_cast<uint64_t>(bytes) > size - static_cast<uint64_t>(offset))
    return fail(Code::InvalidArgument, std::to_string(bytes) + " bytes at byte " +
                                           std::to_string(offset) + " of buffer '" +
                                           plan_.buffers[id.index].name + "', which has " +
                                           std::to_string(size));
  hal::BufferBinding binding = context_.placements[id.index];
  binding.offset += static_cast<uint64_t>(offset);
  return binding;
}

Result<void> Instantiation::launch(const plan::Launch &launch) {
  Command command;
  command.launch = &launch;
  command.kernel = launch.kernel;
  for (int i = 0; i < 3; ++i) {
    SINTER_ASSIGN(command.grid[i], value(launch.grid[i]));
    if (command.grid[i] < 0)
      return fail(Code::InvalidArgument,
                  "grid extent " + std::to_string(command.grid[i]) + ", expected at least 0");
  }
  if (std::count(command.grid.begin(), command.grid.end(), 0) != 0)
    return {};
  SINTER_TRY(spend(launch.buffers.size() + launch.scalars.size()));
  command.firstBuffer = static_cast<uint32_t>(list_.buffers.size());
  command.bufferCount = static_cast<uint32_t>(launch.buffers.size());
  for (const plan::BufferArg &arg : launch.buffers) {
    SINTER_ASSIGN(const hal::BufferBinding binding, bind(arg.buffer, arg.byteOffset, 0));
    list_.buffers.push_back(binding);
    const uint64_t bytes = context_.bufferBytes[arg.buffer.index] -
                           (binding.offset - context_.placements[arg.buffer.index].offset);
    if (plan_.buffers[arg.buffer.index].kind == plan::BufferKind::Weight &&
        bytes > command.weight.bytes)
      command.weight = {binding, bytes};
  }
  command.firstScalar = static_cast<uint32_t>(list_.scalars.size());
  command.scalarCount = static_cast<uint32_t>(launch.scalars.size());
  for (const Expr &scalar : launch.scalars) {
    SINTER_ASSIGN(const int64_t argument, value(scalar));
    list_.scalars.push_back(argument);
  }
  SINTER_ASSIGN(command.bytesMoved, value(launch.bytesMoved));
  SINTER_ASSIGN(command.operations, value(launch.operations));
  if (command.bytesMoved < 0 || command.weight.bytes > static_cast<uint64_t>(command.bytesMoved))
    command.weight = {}; // it reads some rows of it
  list_.commands.push_back(command);
  return {};
}

Result<void> Instantiation::copy(const plan::Copy &copy) {
  SINTER_ASSIGN(const int64_t bytes, value(copy.bytes));
  SINTER_ASSIGN(const hal::BufferBinding src, bind(copy.src, copy.srcOffset, bytes));
  SINTER_ASSIGN(const hal::BufferBinding dst, bind(copy.dst, copy.dstOffset, bytes));
  if (bytes == 0)
    return {};
  const auto size = static_cast<uint64_t>(bytes);
  if (copy.src == copy.dst && src.offset < dst.offset + size && dst.offset < src.offset + size)
    return fail(Code::InvalidArgument, std::to_string(bytes) + " bytes overlap themselves");
  Command command;
  command.firstBuffer = static_cast<uint32_t>(list_.buffers.size());
  command.bufferCount = 2;
  command.copyBytes = size;
  command.bytesMoved = bytes;
  list_.buffers.push_back(src);
  list_.buffers.push_back(dst);
  list_.commands.push_back(command);
  return {};
}

// What is smaller is read before anybody has waited.
constexpr uint64_t kLeastExpected = uint64_t(1) << 16;

void findExpected(std::vector<Command> &commands) {
  WeightRead next;
  for (size_t i = commands.size(); i-- > 0;) {
    commands[i].expected = next;
    if (commands[i].weight.bytes >= kLeastExpected)
      next = commands[i].weight;
  }
}

} // namespace

Result<CommandList> instantiate(const plan::Plan &plan, plan::ProcedureId procedure,
                                const CommandContext &context) {
  SINTER_ASSIGN(CommandList list, Instantiation(plan, context).run(procedure));
  findExpected(list.commands);
  return list;
}

} // namespace sinter::runtime
