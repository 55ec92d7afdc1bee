// The executor's running side: bindings, host access, and the submission of prepared command lists.
#include "runtime/executor.h"

#include "base/check.h"
#include "plan/validate.h"
#include "plan/walk.h"
#include "runtime/arena.h"

#include <algorithm>
#include <utility>

namespace sinter::runtime {
namespace {

bool isPersistent(plan::BufferKind kind) {
  return kind == plan::BufferKind::Input || kind == plan::BufferKind::Output ||
         kind == plan::BufferKind::State;
}

std::vector<bool> loopSymbols(const plan::Plan &plan) {
  std::vector<bool> counted(plan.symbols.size());
  for (const plan::Procedure &procedure : plan.procedures)
    for (plan::StepWalker walker(procedure.steps); walker.next();)
      if (const auto *loop = std::get_if<plan::Loop>(&walker.step().op))
        counted[loop->induction.index] = true;
  return counted;
}

// Room for a request that grows from step to step without moving at each of them.
uint64_t grown(uint64_t bytes, uint64_t former) {
  return former == 0 ? bytes : std::max(bytes, former + former / 4);
}

} // namespace

Executor::Executor(hal::Device &device, std::shared_ptr<const plan::Plan> plan,
                   const ExecutorOptions &options)
    : device_(device), plan_(std::move(plan)), options_(options), buffers_(plan_->buffers.size()),
      offsets_(plan_->buffers.size()), attached_(plan_->buffers.size()),
      inductions_(loopSymbols(*plan_)), lifetimes_(plan_->procedures.size()) {
  options_.bindingsKept = std::max(options_.bindingsKept, 1u);
  for (uint32_t i = 0; i < plan_->symbols.size(); ++i)
    if (plan_->symbols[i].computed)
      computed_[i] = plan_->symbols[i].min;
}

Executor::~Executor() {
  // After an error, commands may still use what is destroyed next; a lost device has none.
  if (stream_)
    (void)stream_->synchronize();
}

Result<std::unique_ptr<Executor>> Executor::create(hal::Device &device,
                                                   std::shared_ptr<const plan::Plan> plan,
                                                   WeightSource *weights,
                                                   const ExecutorOptions &options) {
  SINTER_CHECK(plan != nullptr);
  SINTER_TRY(plan::validate(*plan));
  std::unique_ptr<Executor> executor(new Executor(device, std::move(plan), options));
  SINTER_TRY(executor->checkDevices());
  SINTER_ASSIGN(executor->stream_, device.createStream());
  SINTER_TRY(executor->loadCode());
  SINTER_TRY(executor->loadBuffers(weights));
  return executor;
}

Result<void> Executor::checkDevices() const {
  if (plan_->devices.size() == 1)
    return {};
  std::string names;
  for (const plan::Device &device : plan_->devices)
    names += (names.empty() ? "'" : ", '") + device.name + "'";
  return fail(Code::Unsupported, "the plan is for " + std::to_string(plan_->devices.size()) +
                                     " devices (" + names + "), expected one");
}

Result<std::vector<int64_t>> Executor::checkSymbols(std::span<const int64_t> values) const {
  if (values.size() != plan_->symbols.size())
    return fail(Code::InvalidArgument, std::to_string(values.size()) +
                                           " symbol values given, expected " +
                                           std::to_string(plan_->symbols.size()));
  std::vector<int64_t> symbols(values.begin(), values.end());
  for (const auto &[symbol, value] : computed_)
    symbols[symbol] = value;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const plan::Symbol &symbol = plan_->symbols[i];
    if (inductions_[i])
      symbols[i] = symbol.min;
    if (symbols[i] < symbol.min || symbols[i] > symbol.max)
      return fail(Code::InvalidArgument, (symbol.computed ? "computed symbol '" : "symbol '") +
                                             symbol.name + "' is " + std::to_string(symbols[i]) +
                                             ", allowed is " + std::to_string(symbol.min) + " to " +
                                             std::to_string(symbol.max));
  }
  return symbols;
}

Result<Executor::Binding> Executor::makeBinding(std::vector<int64_t> symbols) const {
  Binding binding{std::move(symbols), {}, {}};
  for (const plan::Buffer &buffer : plan_->buffers) {
    auto bytes = plan::evaluate(buffer.bytes, binding.symbols);
    if (!bytes)
      return fail(bytes.error().code,
                  "size of buffer '" + buffer.name + "': " + bytes.error().message);
    if (*bytes < 0)
      return fail(Code::InvalidArgument, "buffer '" + buffer.name + "' has " +
                                             std::to_string(*bytes) +
                                             " bytes, expected at least 0");
    binding.bufferBytes.push_back(static_cast<uint64_t>(*bytes));
  }
  binding.procedures.resize(plan_->procedures.size());
  return binding;
}

Result<void> Executor::bind(std::span<const int64_t> symbolValues) {
  SINTER_ASSIGN(auto symbols, checkSymbols(symbolValues));
  auto known = std::find_if(bindings_.begin(), bindings_.end(),
                            [&](const Binding &binding) { return binding.symbols == symbols; });
  if (known != bindings_.end()) {
    // An attached buffer may have become too small for a binding that was made before.
    SINTER_TRY(reserveBuffers(*known));
    bindings_.splice(bindings_.begin(), bindings_, known);
    return {};
  }
  SINTER_ASSIGN(Binding binding, makeBinding(std::move(symbols)));
  SINTER_TRY(reserveBuffers(binding));
  if (bindings_.size() >= options_.bindingsKept)
    SINTER_TRY(dropOldestBinding());
  bindings_.push_front(std::move(binding));
  return {};
}

// Its graphs may be under way.
Result<void> Executor::dropOldestBinding() {
  constexpr uint64_t kMostUnderWay = 2;
  const uint64_t begun = bindings_.back().begun;
  if (begun != 0 && begun + kMostUnderWay > begun_)
    SINTER_TRY(wait());
  bindings_.pop_back();
  return {};
}

Result<void> Executor::reserveBuffers(const Binding &binding) {
  for (uint32_t i = 0; i < buffers_.size(); ++i)
    if (isPersistent(plan_->buffers[i].kind))
      SINTER_TRY(reserve({i}, binding.bufferBytes[i]));
  return {};
}

Result<void> Executor::reserve(plan::BufferId id, uint64_t bytes) {
  std::shared_ptr<hal::Buffer> &memory = buffers_[id.index];
  if (memory && memory->bytes() >= bytes)
    return {};
  const std::string &name = plan_->buffers[id.index].name;
  if (attached_[id.index])
    return fail(Code::Exhausted, "buffer '" + name + "' needs " + std::to_string(bytes) +
                                     " bytes, the memory attached to it has " +
                                     std::to_string(memory->bytes()));
  auto larger = device_.allocate(grown(bytes, memory ? memory->bytes() : 0));
  if (!larger)
    return fail(larger.error().code, "buffer '" + name + "': " + larger.error().message);
  if (memory) {
    SINTER_TRY(stream_->copy(**larger, 0, *memory, 0, memory->bytes()));
    SINTER_TRY(stream_->synchronize());
    forgetCommands();
  }
  memory = std::move(*larger);
  countMemory();
  return {};
}

Result<void> Executor::reserveArena(uint64_t bytes) {
  if (arena_ && arena_->bytes() >= bytes)
    return {};
  auto larger = device_.allocate(grown(bytes, arena_ ? arena_->bytes() : 0));
  if (!larger)
    return fail(larger.error().code, "temporary buffers: " + larger.error().message);
  SINTER_TRY(wait());
  forgetCommands();
  arena_ = std::move(*larger);
  countMemory();
  return {};
}

// Command lists hold addresses; they are made again when a buffer has moved.
void Executor::forgetCommands() {
  for (Binding &binding : bindings_)
    for (auto &prepared : binding.procedures)
      prepared.reset();
}

void Executor::countMemory() {
  memory_.inputsAndOutputs = memory_.state = 0;
  memory_.arena = arena_ ? arena_->bytes() : 0;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!buffers_[i] || !isPersistent(plan_->buffers[i].kind))
      continue;
    const bool state = plan_->buffers[i].kind == plan::BufferKind::State;
    (state ? memory_.state : memory_.inputsAndOutputs) += buffers_[i]->bytes();
  }
}

Result<plan::BufferId> Executor::accessible(std::string_view name) const {
  const auto id = plan::findBuffer(*plan_, name);
  if (!id)
    return fail(Code::NotFound, "the plan has no buffer '" + std::string(name) + "'");
  const plan::BufferKind kind = plan_->buffers[id->index].kind;
  if (!isPersistent(kind))
    return fail(Code::InvalidArgument, "buffer '" + std::string(name) + "' is a " +
                                           plan::kindName(kind) +
                                           ", expected an input, an output or a state");
  return *id;
}

Result<std::span<uint8_t>> Executor::buffer(plan::BufferId id) {
  SINTER_CHECK(id.index < buffers_.size());
  if (bindings_.empty() || !isPersistent(plan_->buffers[id.index].kind))
    return fail(Code::InvalidArgument, "buffer '" + plan_->buffers[id.index].name +
                                           "' is not bound, or neither input, output nor state");
  const uint64_t bytes = bindings_.front().bufferBytes[id.index];
  const std::span<uint8_t> host = buffers_[id.index]->host();
  if (host.size() < bytes)
    return hal::unsupported(device_.info(), hal::Feature::HostVisible);
  return host.first(bytes);
}

Result<std::span<uint8_t>> Executor::buffer(std::string_view name) {
  SINTER_ASSIGN(const plan::BufferId id, accessible(name));
  return buffer(id);
}

Result<void> Executor::setBuffer(std::string_view name, std::span<const uint8_t> bytes) {
  SINTER_ASSIGN(const plan::BufferId id, accessible(name));
  if (bindings_.empty() || bytes.size() > bindings_.front().bufferBytes[id.index])
    return fail(
        Code::InvalidArgument,
        std::to_string(bytes.size()) + " bytes given for buffer '" + std::string(name) +
            "', which has " +
            std::to_string(bindings_.empty() ? 0 : bindings_.front().bufferBytes[id.index]));
  return stream_->write(*buffers_[id.index], 0, bytes);
}

Result<void> Executor::readBuffer(std::string_view name, std::span<uint8_t> bytes,
                                  uint64_t offset) {
  SINTER_ASSIGN(const plan::BufferId id, accessible(name));
  const uint64_t size = bindings_.empty() ? 0 : bindings_.front().bufferBytes[id.index];
  if (bindings_.empty() || offset > size || bytes.size() > size - offset)
    return fail(Code::InvalidArgument, std::to_string(bytes.size()) + " bytes asked of buffer '" +
                                           std::string(name) + "'" +
                                           (offset ? " from byte " + std::to_string(offset) : "") +
                                           ", which has " + std::to_string(size));
  SINTER_TRY(stream_->read(*buffers_[id.index], offset, bytes));
  return stream_->synchronize();
}

Result<void> Executor::attachBuffer(std::string_view name, std::shared_ptr<hal::Buffer> memory) {
  SINTER_CHECK(memory != nullptr);
  SINTER_ASSIGN(const plan::BufferId id, accessible(name));
  if (memory->readOnly() && plan_->buffers[id.index].kind != plan::BufferKind::Input)
    return fail(Code::InvalidArgument,
                "buffer '" + std::string(name) + "' is written to, the memory given is read-only");
  if (!bindings_.empty() && memory->bytes() < bindings_.front().bufferBytes[id.index])
    return fail(Code::InvalidArgument, "memory of " + std::to_string(memory->bytes()) +
                                           " bytes given for buffer '" + std::string(name) +
                                           "', which has " +
                                           std::to_string(bindings_.front().bufferBytes[id.index]));
  SINTER_TRY(wait());
  forgetCommands();
  buffers_[id.index] = std::move(memory);
  attached_[id.index] = true;
  countMemory();
  return {};
}

Result<void> Executor::clearState() {
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (buffers_[i] && plan_->buffers[i].kind == plan::BufferKind::State)
      SINTER_TRY(stream_->fill(*buffers_[i], 0, buffers_[i]->bytes(), 0));
  return stream_->synchronize();
}

Result<Executor::Prepared *> Executor::prepare(plan::ProcedureId procedure) {
  SINTER_CHECK(procedure.index < plan_->procedures.size());
  if (bindings_.empty())
    return fail(Code::InvalidArgument, "procedure '" + plan_->procedures[procedure.index].name +
                                           "' was run before its symbols were bound");
  Binding &binding = bindings_.front();
  if (binding.procedures[procedure.index])
    return binding.procedures[procedure.index].get();
  auto &lives = lifetimes_[procedure.index];
  if (!lives)
    lives = plan::computeLifetimes(*plan_, procedure);
  std::vector<ArenaItem> items;
  for (const plan::Lifetime &life : *lives)
    items.push_back({binding.bufferBytes[life.buffer.index], life.first, life.last});
  SINTER_ASSIGN(const ArenaLayout layout, placeInArena(items));
  SINTER_TRY(reserveArena(layout.bytes));
  std::vector<hal::BufferBinding> placements(plan_->buffers.size());
  for (std::size_t i = 0; i < placements.size(); ++i)
    placements[i] = {buffers_[i].get(), offsets_[i]};
  for (std::size_t i = 0; i < items.size(); ++i)
    placements[(*lives)[i].buffer.index] = {arena_.get(), layout.offsets[i]};
  auto list = instantiate(*plan_, procedure,
                          {binding.symbols, binding.bufferBytes, placements, options_.maxSteps});
  if (!list)
    return fail(list.error().code, "procedure '" + plan_->procedures[procedure.index].name +
                                       "': " + list.error().message);
  auto prepared = std::make_unique<Prepared>(Prepared{std::move(*list), nullptr});
  return (binding.procedures[procedure.index] = std::move(prepared)).get();
}

Result<void> Executor::capture(Prepared &prepared) {
  SINTER_TRY(stream_->beginCapture());
  auto submitted = submit(prepared.list);
  auto graph = stream_->endCapture(); // after a failure too: the stream has to run again
  SINTER_TRY(std::move(submitted));
  SINTER_ASSIGN(prepared.graph, std::move(graph));
  return {};
}

Result<const CommandList *> Executor::commands(plan::ProcedureId procedure) {
  SINTER_ASSIGN(Prepared * prepared, prepare(procedure));
  return &prepared->list;
}

Result<void> Executor::run(std::string_view procedure) {
  const auto id = plan::findProcedure(*plan_, procedure);
  if (!id)
    return fail(Code::NotFound, "the plan has no procedure '" + std::string(procedure) + "'");
  return run(*id);
}

Result<void> Executor::readComputed() {
  if (computed_.empty() || bindings_.empty())
    return {};
  std::vector<int32_t> values(computed_.size());
  size_t next = 0;
  for (const auto &[symbol, former] : computed_) {
    const auto [buffer, offset] = *plan_->symbols[symbol].computed;
    const std::span bytes(reinterpret_cast<uint8_t *>(&values[next++]), sizeof(int32_t));
    SINTER_TRY(stream_->read(*buffers_[buffer.index], offset, bytes));
  }
  SINTER_TRY(stream_->synchronize());
  const std::map<uint32_t, int64_t> before = computed_;
  next = 0;
  for (auto &[symbol, value] : computed_)
    value = values[next++];
  if (computed_ == before)
    return {};
  auto bound = bind(std::vector<int64_t>(bindings_.front().symbols));
  if (!bound)
    computed_ = before;
  return bound;
}

Result<void> Executor::begin(plan::ProcedureId procedure) {
  SINTER_TRY(readComputed());
  SINTER_ASSIGN(Prepared * prepared, prepare(procedure));
  ranAsGraph_ = false;
  // What runs once, such as the steps of a prompt, is not worth a graph.
  if (!start_ && prepared->ran && !prepared->graph && options_.captureGraphs &&
      device_.supports(hal::Feature::CapturedGraph))
    SINTER_TRY(capture(*prepared));
  bindings_.front().begun = ++begun_;
  isUnderWay_ = true;
  auto submitted = submit(*prepared);
  // What came before a command that failed still uses the buffers.
  if (!submitted)
    (void)wait().has_value();
  return submitted;
}

Result<void> Executor::submit(Prepared &prepared) {
  if (start_)
    return submitTimed(prepared.list);
  prepared.ran = true;
  ranAsGraph_ = prepared.graph != nullptr;
  const hal::StepScope step(*stream_);
  return prepared.graph ? stream_->submit(*prepared.graph) : submit(prepared.list);
}

Result<void> Executor::run(plan::ProcedureId procedure) {
  SINTER_TRY(begin(procedure));
  return wait();
}

Result<void> Executor::wait() {
  return std::exchange(isUnderWay_, false) ? stream_->synchronize() : Result<void>();
}

Result<void> Executor::beginRead(plan::BufferId id, uint64_t offset, uint64_t bytes,
                                 hal::Readback &into, uint64_t at) {
  SINTER_CHECK(id.index < buffers_.size());
  if (bindings_.empty() || !isPersistent(plan_->buffers[id.index].kind))
    return fail(Code::InvalidArgument, "buffer '" + plan_->buffers[id.index].name +
                                           "' is not bound, or neither input, output nor state");
  return stream_->beginRead(*buffers_[id.index], offset, bytes, into, at);
}

Result<void> Executor::execute(const CommandList &list, const Command &command) {
  const auto buffers = std::span(list.buffers).subspan(command.firstBuffer, command.bufferCount);
  if (!command.launch)
    return stream_->copy(*buffers[1].buffer, buffers[1].offset, *buffers[0].buffer,
                         buffers[0].offset, command.copyBytes);
  const auto scalars = std::span(list.scalars).subspan(command.firstScalar, command.scalarCount);
  if (command.expected.bytes)
    stream_->expect(command.expected.from, command.expected.bytes);
  return stream_->launch(*kernels_[command.kernel.index], command.grid, buffers, scalars);
}

Result<void> Executor::submit(const CommandList &list) {
  for (const Command &command : list.commands)
    SINTER_TRY(execute(list, command));
  return {};
}

Result<void> Executor::submitTimed(const CommandList &list) {
  samples_.clear();
  hal::StepScope step(*stream_);
  for (const Command &command : list.commands) {
    SINTER_TRY(stream_->record(*start_));
    SINTER_TRY(execute(list, command));
    SINTER_TRY(stream_->record(*end_));
    SINTER_TRY(stream_->synchronize());
    SINTER_ASSIGN(const uint64_t nanoseconds, end_->nanosecondsSince(*start_));
    if (command.launch)
      samples_.push_back(
          {command.launch, command.grid, command.bytesMoved, command.operations, nanoseconds});
  }
  return {};
}

Result<void> Executor::setProfiling(bool on) {
  start_.reset();
  end_.reset();
  if (!on)
    return {};
  if (!device_.supports(hal::Feature::Timing))
    return hal::unsupported(device_.info(), hal::Feature::Timing);
  SINTER_ASSIGN(end_, device_.createEvent());
  SINTER_ASSIGN(start_, device_.createEvent());
  return {};
}

} // namespace sinter::runtime
