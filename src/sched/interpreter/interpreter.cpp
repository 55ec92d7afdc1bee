// The sched dialect's operations on top of the tile interpreter's engine.
#include "sched/interpreter/interpreter.h"
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "base/checked.h"
#include "sched/interpreter/pairs.h"
#include "sched/interpreter/panels.h"
#include "sched/interpreter/scratch.h"
#include "sched/interpreter/simt.h"
#include "llvm/Support/FormatVariadic.h"

#include <deque>

using namespace mlir;
using sinter::tile::Step;
using sinter::tile::Task;
using sinter::tile::Tile;

namespace sinter::sched {
namespace {

// One executed sched.make_channel.
class Channel : public tile::Object {
public:
  // `number` is in the order of making, from 0 in each program.
  Channel(ChannelOp op, uint32_t number, tile::MemoryMeter &meter)
      : op_(op), number_(number), meter_(meter) {}
  ~Channel() override { meter_.live -= tiles_.size() * kCost; }

  // Bytes of the meter for each place in the queue, beside the tile's own.
  static constexpr uint64_t kCost = sizeof(Tile);

  bool empty() const { return tiles_.empty(); }
  bool full() { return static_cast<int64_t>(tiles_.size()) >= op_.getType().getDepth(); }
  void put(Tile tile) {
    meter_.live += kCost;
    tiles_.push_back(std::move(tile));
  }
  Tile get() {
    meter_.live -= kCost;
    Tile tile = std::move(tiles_.front());
    tiles_.pop_front();
    return tile;
  }
  std::string describe() {
    return llvm::formatv("channel {0} (made at {1}, holds {2} of {3} tiles)", number_,
                         tile::locationText(op_.getLoc()), tiles_.size(), op_.getType().getDepth());
  }

private:
  ChannelOp op_;
  uint32_t number_;
  tile::MemoryMeter &meter_;
  std::deque<Tile> tiles_;
};

template <typename T> std::shared_ptr<T> objectOf(const Task &task, mlir::Value value) {
  return std::static_pointer_cast<T>(std::get<std::shared_ptr<tile::Object>>(task.lookup(value)));
}

class SchedExtension : public tile::Extension {
public:
  explicit SchedExtension(const InterpreterOptions &options) : options_(options) {}

  Result<void> checkKernel(tile::KernelOp kernel) override {
    return tile::collectDiagnostics(kernel.getContext(), [&] { return verifyStages(kernel); });
  }
  void beginProgram() override {
    channels_.clear();
    placed_.reset();
    allocs_ = made_ = 0;
  }
  Result<void> endProgram() override { return {}; }

  Result<Step> execute(Operation &op, Task &task) override {
    SINTER_TRY(task.engine().charge(op, 0, task));
    if (auto alloc = dyn_cast<AllocOp>(op))
      return allocate(alloc, task);
    if (auto read = dyn_cast<ReadOp>(op))
      return readBlock(read, task);
    if (auto write = dyn_cast<WriteOp>(op))
      return writeBlock(write, task);
    if (isa<PrefetchOp>(op))
      return Step::Done;
    if (auto pair = dyn_cast<PairOp>(op))
      return executePair(pair, task).map([] { return Step::Done; });
    if (auto expand = dyn_cast<ExpandOp>(op))
      return executeExpand(expand, task).map([] { return Step::Done; });
    if (auto scales = dyn_cast<TotalScalesOp>(op))
      return executeTotalScales(scales, task).map([] { return Step::Done; });
    if (auto dot = dyn_cast<PanelDotOp>(op))
      return executePanelDot(dot, task).map([] { return Step::Done; });
    if (auto totals = dyn_cast<ScaleTotalsOp>(op))
      return executeScaleTotals(totals, task).map([] { return Step::Done; });
    if (auto add = dyn_cast<AddScaledOp>(op))
      return executeAddScaled(add, task).map([] { return Step::Done; });
    if (auto channel = dyn_cast<ChannelOp>(op))
      return makeChannel(channel, task);
    if (auto put = dyn_cast<PutOp>(op))
      return putTile(put, task);
    if (auto get = dyn_cast<GetOp>(op))
      return getTile(get, task);
    if (auto roles = dyn_cast<RolesOp>(op))
      return runRoles(roles, task);
    return task.fail(op, Code::Unsupported, "is not an operation that the interpreter knows");
  }

private:
  // ---- scratch ----

  // Bytes of the buffer; fails where extents, strides or the element type make none.
  Result<uint64_t> bytesOf(AllocOp op, tile::Element element, const Task &task) {
    BufferType type = op.getType();
    CheckedSize span(1);
    for (auto [extent, stride] : llvm::zip_equal(type.getShape(), type.getStrides())) {
      if (extent < 1 || stride < 0)
        return task.fail(*op, Code::InvalidArgument,
                         "has extent " + Twine(extent) + " with stride " + Twine(stride) +
                             ", expected a positive extent and a stride of 0 or more");
      span = span + CheckedSize(extent - 1) * CheckedSize(stride);
    }
    return (span * CheckedSize(element.bytes)).value().value_or(UINT64_MAX);
  }

  Result<Step> allocate(AllocOp op, Task &task) {
    std::optional<tile::Element> element = tile::elementOf(op.getType().getElementType());
    if (!element || element->isBlock())
      return task.fail(*op, Code::Unsupported, "holds elements that the interpreter does not");
    SINTER_ASSIGN(uint64_t bytes, bytesOf(op, *element, task));
    uint64_t base = op.getOffset().value_or(0);
    if (static_cast<int64_t>(base) < 0)
      return task.fail(*op, Code::InvalidArgument,
                       "has offset " + Twine(static_cast<int64_t>(base)) + ", expected 0 or more");
    std::optional<uint64_t> end = (CheckedSize(base) + CheckedSize(bytes)).value();
    CheckedSize cost = CheckedSize(end.value_or(UINT64_MAX)) * CheckedSize(Arena::kCost);
    SINTER_TRY(task.engine().reserve(*op, cost.value().value_or(UINT64_MAX), task));
    SINTER_TRY(task.engine().charge(*op, bytes, task));
    std::shared_ptr<Arena> arena = op.getOffset() ? placed_.lock() : nullptr;
    if (!arena)
      arena = std::make_shared<Arena>(task.engine().meter);
    if (op.getOffset())
      placed_ = arena;
    arena->grow(*end);
    task.bind(op.getResult(),
              std::make_shared<Buffer>(op.getType(), *element, std::move(arena), base, ++allocs_));
    return Step::Done;
  }

  static SmallVector<int64_t, 6> offsetsOf(const Task &task, ValueRange values) {
    SmallVector<int64_t, 6> offsets;
    for (mlir::Value value : values)
      offsets.push_back(std::get<Tile>(task.lookup(value)).signedAt(0));
    return offsets;
  }

  Result<Step> readBlock(ReadOp op, Task &task) {
    SINTER_ASSIGN(Tile block, task.engine().allocate(*op, op.getResult().getType(), task));
    auto offsets = offsetsOf(task, op.getOffsets());
    SINTER_TRY(objectOf<Buffer>(task, op.getBuffer())
                   ->read(block, {*op, task, offsets}, options_.unwritten));
    task.bind(op.getResult(), std::move(block));
    return Step::Done;
  }

  Result<Step> writeBlock(WriteOp op, Task &task) {
    const Tile &block = std::get<Tile>(task.lookup(op.getValue()));
    SINTER_TRY(task.engine().charge(*op, block.count(), task));
    auto offsets = offsetsOf(task, op.getOffsets());
    SINTER_TRY(objectOf<Buffer>(task, op.getBuffer())->write(block, {*op, task, offsets}));
    return Step::Done;
  }

  // ---- channels ----

  Result<Step> makeChannel(ChannelOp op, Task &task) {
    llvm::erase_if(channels_, [](auto &channel) { return channel.expired(); });
    auto channel = std::make_shared<Channel>(op, made_++, task.engine().meter);
    channels_.push_back(channel);
    task.bind(op.getResult(), std::shared_ptr<tile::Object>(std::move(channel)));
    return Step::Done;
  }

  // Outside roles nothing else runs that could end a wait.
  Result<Step> wait(Operation &op, Task &task, StringRef what, Channel &channel) {
    if (task.role().empty())
      return task.fail(op, Code::InvalidArgument,
                       "outside of roles waits for ever to " + what + " " + channel.describe());
    return Step::Wait;
  }

  Result<Step> putTile(PutOp op, Task &task) {
    auto channel = objectOf<Channel>(task, op.getChannel());
    if (channel->full())
      return wait(*op, task, "put into", *channel);
    SINTER_TRY(task.engine().reserve(*op, Channel::kCost, task));
    channel->put(std::get<Tile>(task.lookup(op.getValue())));
    return Step::Done;
  }

  Result<Step> getTile(GetOp op, Task &task) {
    auto channel = objectOf<Channel>(task, op.getChannel());
    if (channel->empty())
      return wait(*op, task, "get from", *channel);
    task.bind(op.getResult(), channel->get());
    return Step::Done;
  }

  // ---- roles ----

  struct Role {
    std::unique_ptr<Task> task;
    Task::State state = Task::State::Running;
  };

  Result<Step> runRoles(RolesOp op, Task &task) {
    if (!task.role().empty())
      return task.fail(*op, Code::Unsupported, "lies within a role, expected roles in no role");
    std::vector<Role> roles;
    for (auto role : op.getBody().getOps<RoleOp>()) {
      roles.push_back({std::make_unique<Task>(task.engine(), &task, role.getName().str())});
      roles.back().task->enter(role.getBody().front());
    }
    for (bool alive = true; alive;) {
      alive = false;
      bool progress = false;
      for (Role &role : roles) {
        if (role.state == Task::State::Ended)
          continue;
        uint64_t before = role.task->executed();
        SINTER_ASSIGN(role.state, role.task->run(options_.quantum));
        alive |= role.state != Task::State::Ended;
        progress |= role.state == Task::State::Ended || role.task->executed() != before;
      }
      if (alive && !progress)
        return deadlock(op, task, roles);
    }
    SINTER_TRY(checkDrained(op, task));
    return Step::Done;
  }

  Fail deadlock(RolesOp op, Task &task, ArrayRef<Role> roles) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "deadlocks: ";
    llvm::interleave(
        roles, stream,
        [&](const Role &role) {
          stream << "role '" << role.task->role() << "' ";
          if (role.state == Task::State::Ended)
            stream << "has ended";
          else
            describeWait(stream, role);
        },
        "; ");
    return task.fail(*op, Code::InvalidArgument, text);
  }

  static void describeWait(raw_ostream &stream, const Role &role) {
    Operation &op = *role.task->waitingAt();
    bool put = isa<PutOp>(op);
    mlir::Value channel = put ? cast<PutOp>(op).getChannel() : cast<GetOp>(op).getChannel();
    stream << "waits at " << tile::locationText(op.getLoc()) << " to "
           << (put ? "put into " : "get from ")
           << objectOf<Channel>(*role.task, channel)->describe();
  }

  Result<void> checkDrained(RolesOp op, Task &task) {
    std::string left;
    for (const std::weak_ptr<Channel> &weak : channels_)
      if (auto channel = weak.lock(); channel && !channel->empty())
        left += (left.empty() ? "" : "; ") + channel->describe();
    if (!left.empty())
      return task.fail(*op, Code::InvalidArgument, "ends with tiles left in " + left);
    return {};
  }

  const InterpreterOptions &options_;
  std::vector<std::weak_ptr<Channel>> channels_; // the program's values own them
  std::weak_ptr<Arena> placed_;                  // of buffers with offsets; they own it
  uint32_t allocs_ = 0, made_ = 0;
};

} // namespace

Result<tile::RunStatistics> interpretKernel(tile::KernelOp kernel,
                                            ArrayRef<tile::Argument> arguments,
                                            const InterpreterOptions &options) {
  if (isSimtForm(kernel)) {
    std::unique_ptr<tile::Extension> lanes = makeSimtExtension(options);
    return tile::interpretKernelWith(kernel, arguments, options, lanes.get(),
                                     tile::ReduceOrder::Tree);
  }
  SchedExtension extension(options);
  return tile::interpretKernelWith(kernel, arguments, options, &extension, tile::ReduceOrder::Tree);
}

} // namespace sinter::sched
