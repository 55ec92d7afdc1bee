// Values that must lie alike form classes; each class gets one layout, large tiles first.
#include "sched/simt/assign_layouts.h"
#include "numeric/formats/word_packing.h"
#include "sched/simt/dot_layouts.h"
#include "sched/simt/layout.h"
#include "sched/simt/split_dots.h"
#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;

namespace sinter::sched {
namespace {

bool isSimtTile(Value value) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  return tile && !isa<tile::BlockType>(tile.getElementType());
}

RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool isFree(Operation *op) {
  return isa<tile::SplatOp, tile::IotaOp>(op) ||
         (isa<arith::ConstantOp>(op) && isSimtTile(op->getResult(0)));
}

// Constants and the like cost nothing to repeat, so each use has its own, in its own layout.
void repeatFreeValues(tile::KernelOp kernel) {
  SmallVector<Operation *> work;
  kernel.walk([&](Operation *op) {
    if (isFree(op))
      work.push_back(op);
  });
  for (Operation *op : work) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getUses())
      uses.push_back(&use);
    for (OpOperand *use : llvm::drop_begin(uses, uses.empty() ? 0 : 1)) {
      OpBuilder b(op);
      use->set(b.clone(*op)->getResult(0));
    }
  }
}

struct Class {
  SmallVector<Value> values;
  SmallVector<int64_t> shape;
  Operation *dot = nullptr; // whose accumulators are in the class
  std::optional<SimtLayout> layout;
  int64_t elements() const { return llvm::product_of(shape); }
};

class Assigner {
public:
  Assigner(tile::KernelOp kernel, const SimtFacts &facts) : kernel_(kernel), facts_(facts) {}

  void run() {
    repeatFreeValues(kernel_);
    collect();
    chooseLayouts();
    for (Class &c : classes_)
      for (Value value : c.values)
        setType(value, *c.layout);
    kernel_.walk([&](Operation *op) { mend(op); });
  }

private:
  void collect();
  void join(Operation *op, llvm::function_ref<void(Value, Value)> same);
  void chooseLayouts();
  SimtLayout choose(const Class &c);
  static bool touchesMemory(const Class &c);
  static bool areReadInParts(const Class &c);
  static bool areConverted(const Class &c, bool orScaled = false);
  std::optional<SimtLayout> derived(const Class &c);
  std::optional<SimtLayout> derivedFrom(Operation *user, Value value, const Class &c,
                                        llvm::function_ref<const SimtLayout *(Value)> chosen);
  SimtLayout blockedFor(const Class &c);
  static int64_t rowsBeside(const Class &c);
  SimtLayout besideOneAnother(const Class &c, int64_t rows) const;
  SimtLayout alongBlocks(const Class &c, tile::ViewType view) const;
  SimtLayout alongWords(const Class &c) const;
  void setType(Value value, const SimtLayout &layout) {
    auto type = layout.encode(tileType(value));
    value.setType(type);
    if (auto constant = value.getDefiningOp<arith::ConstantOp>()) {
      auto elements = cast<DenseElementsAttr>(constant.getValue());
      constant.setValueAttr(elements.reshape(type));
    }
  }
  void mend(Operation *op);
  void wantOperand(OpOperand &operand, const SimtLayout &layout);
  void makeResult(OpResult result, const SimtLayout &layout);

  tile::KernelOp kernel_;
  const SimtFacts &facts_;
  std::vector<Class> classes_;
  DenseMap<Value, unsigned> classOf_;
  int64_t threads_ = kernel_->getAttrOfType<IntegerAttr>(kThreadsName).getInt();
};

// Calls same(a, b) for values of this operation that lie alike.
void Assigner::join(Operation *op, llvm::function_ref<void(Value, Value)> same) {
  auto both = [&](Value a, Value b) {
    if (isSimtTile(a))
      same(a, b);
  };
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    for (auto [init, arg, result, yielded] :
         llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults(),
                         yield.getOperands())) {
      both(init, arg);
      both(arg, result);
      both(result, yielded);
    }
    return;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region &region : branch->getRegions())
      if (!region.empty())
        for (auto [result, yielded] :
             llvm::zip_equal(branch.getResults(), region.front().getTerminator()->getOperands()))
          both(result, yielded);
    return;
  }
  if (auto dot = dyn_cast<tile::DotOp>(op))
    return both(dot.getAcc(), dot.getResult());
  if (auto dot = dyn_cast<StageDotOp>(op))
    return both(dot.getAcc(), dot.getResult());
  if (auto dot = dyn_cast<TileDotOp>(op))
    return both(dot.getAcc(), dot.getResult());
  if (auto dot = dyn_cast<SplitDotOp>(op))
    return both(dot.getAcc(), dot.getResult());
  if (auto dot = dyn_cast<GroupDotOp>(op))
    return both(dot.getAcc(), dot.getResult());
  if (auto settle = dyn_cast<SettleOp>(op))
    return both(settle.getAcc(), settle.getResult());
  if (!isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) || op->getNumResults() != 1 ||
      !isSimtTile(op->getResult(0)))
    return;
  for (Value operand : op->getOperands())
    if (isSimtTile(operand))
      same(operand, op->getResult(0));
}

void Assigner::collect() {
  SmallVector<Value> values;
  DenseMap<Value, unsigned> number;
  auto note = [&](Value value) {
    if (isSimtTile(value) && number.try_emplace(value, values.size()).second)
      values.push_back(value);
  };
  kernel_.walk<WalkOrder::PreOrder>([&](Operation *op) {
    llvm::for_each(op->getResults(), note);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), note);
  });
  llvm::IntEqClasses joined(values.size());
  kernel_.walk([&](Operation *op) {
    join(op, [&](Value a, Value b) { joined.join(number.lookup(a), number.lookup(b)); });
  });
  joined.compress();
  classes_.resize(joined.getNumClasses());
  for (auto [at, value] : llvm::enumerate(values)) {
    Class &c = classes_[joined[at]];
    c.values.push_back(value);
    c.shape.assign(tileType(value).getShape().begin(), tileType(value).getShape().end());
    if (isa_and_nonnull<tile::DotOp, StageDotOp, TileDotOp, SplitDotOp, GroupDotOp, AccReadOp>(
            value.getDefiningOp()))
      c.dot = value.getDefiningOp();
    classOf_[value] = joined[at];
  }
}

// Matmuls first, then what follows from a class that has its layout, then the largest of the rest,
// those that memory is read to or written from before others.
void Assigner::chooseLayouts() {
  SmallVector<Class *> left;
  for (Class &c : classes_)
    left.push_back(&c);
  auto rank = [&](const Class *c) {
    return std::tuple(c->dot != nullptr, c->elements(), touchesMemory(*c), classes_.data() - c);
  };
  llvm::sort(left, [&](const Class *a, const Class *b) { return rank(a) > rank(b); });
  while (!left.empty()) {
    Class **next = left.begin();
    std::optional<SimtLayout> layout;
    if (!(*next)->dot)
      for (Class *&c : left)
        if ((layout = derived(*c))) {
          next = &c;
          break;
        }
    (*next)->layout = layout ? *layout : choose(**next);
    left.erase(next);
  }
}

bool Assigner::touchesMemory(const Class &c) {
  return llvm::any_of(c.values, [](Value value) {
    return isa_and_nonnull<tile::LoadOp>(value.getDefiningOp()) ||
           llvm::any_of(value.getUsers(), llvm::IsaPred<tile::StoreOp>);
  });
}

// The layout of `from` for a tile that has extent 1 where its own extents do.
SimtLayout reducedTo(SimtLayout from, ArrayRef<int64_t> shape) {
  for (int axis = 0; axis < from.rank(); ++axis)
    if (shape[axis] == 1 && from.shape()[axis] != 1)
      from = from.reduced(axis);
  return from;
}

Operation *makerOf(Value value) {
  auto shaped = value.getDefiningOp<tile::ReshapeOp>();
  return shaped ? shaped.getValue().getDefiningOp() : value.getDefiningOp();
}

bool isReadInParts(Value value) {
  return isa_and_nonnull<BlockLoadOp, StageReadOp>(makerOf(value));
}

// Whether nothing is done with a tile of memory, or with several side by side.
bool isRead(Value value) {
  Operation *maker = makerOf(value);
  if (auto concat = dyn_cast_or_null<tile::ConcatOp>(maker))
    return llvm::all_of(concat.getValues(),
                        [](Value part) { return isa_and_nonnull<tile::LoadOp>(makerOf(part)); });
  return isReadInParts(value) || isa_and_nonnull<tile::LoadOp>(maker);
}

// The same of values that meet, some of which a loop hands on.
bool Assigner::areReadInParts(const Class &c) {
  auto handedOn = [](Value value) {
    return isa<BlockArgument>(value) || isa<scf::ForOp>(value.getDefiningOp());
  };
  return llvm::any_of(c.values, isReadInParts) && llvm::all_of(c.values, [&](Value value) {
           return isReadInParts(value) || handedOn(value);
         });
}

// Whether all of them are read from memory, and at most converted to another type, or also scaled
// by what is one for a row or a column.
bool Assigner::areConverted(const Class &c, bool orScaled) {
  return llvm::all_of(c.values, [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return isReadInParts(value) ||
           (orScaled && isa_and_nonnull<arith::MulFOp, tile::BroadcastOp>(maker)) ||
           isa_and_nonnull<tile::LoadOp, tile::ConcatOp, arith::TruncFOp, arith::ExtFOp>(maker);
  });
}

// The layout that follows from one already chosen: of a tile that this class is reduced from,
// broadcast to, reshaped or permuted; of the matmul that multiplies it as it is read.
std::optional<SimtLayout> Assigner::derived(const Class &c) {
  auto chosen = [&](Value value) -> const SimtLayout * {
    auto found = classOf_.find(value);
    return found == classOf_.end() || !classes_[found->second].layout
               ? nullptr
               : &*classes_[found->second].layout;
  };
  for (Value value : c.values) {
    if (auto reduce = value.getDefiningOp<tile::ReduceOp>())
      if (const SimtLayout *layout = chosen(reduce.getValue()))
        return layout->reduced(reduce.getAxis());
    if (auto permute = value.getDefiningOp<tile::PermuteOp>())
      if (const SimtLayout *layout = chosen(permute.getValue()))
        return layout->permuted(permute.getOrder());
    if (auto reshape = value.getDefiningOp<tile::ReshapeOp>())
      if (const SimtLayout *layout = chosen(reshape.getValue()))
        if (auto same = layout->reshaped(c.shape))
          return same;
    for (Operation *user : value.getUsers())
      if (auto layout = derivedFrom(user, value, c, chosen))
        return layout;
  }
  return std::nullopt;
}

static SimtLayout operandOf(const GroupSimt &layouts, GroupDotOp dot, Value operand) {
  return operand == dot.getA()   ? layouts.split.a
         : operand == dot.getB() ? layouts.pairs
                                 : layouts.scale;
}

std::optional<SimtLayout>
Assigner::derivedFrom(Operation *user, Value value, const Class &c,
                      llvm::function_ref<const SimtLayout *(Value)> chosen) {
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(user))
    if (const SimtLayout *layout = chosen(broadcast.getResult()))
      return reducedTo(*layout, c.shape);
  if (auto reshape = dyn_cast<tile::ReshapeOp>(user))
    if (const SimtLayout *layout = chosen(reshape.getResult()))
      return layout->reshaped(c.shape);
  if (auto concat = dyn_cast<tile::ConcatOp>(user))
    if (const SimtLayout *layout = chosen(concat.getResult()))
      if (auto part = layout->ofPart(c.shape, static_cast<int>(concat.getAxis())))
        return part;
  if (auto dot = dyn_cast<SplitDotOp>(user); dot && areConverted(c, value == dot.getA()))
    return value == dot.getA() ? splitSimt(dot).a : splitSimt(dot).b;
  if (auto dot = dyn_cast<GroupDotOp>(user); dot && areConverted(c, value == dot.getA()))
    return operandOf(groupSimt(dot), dot, value);
  auto dot = dyn_cast<tile::DotOp>(user);
  // What is multiplied as it is read lies as the instruction wants it, where nothing is gained by
  // sharing it among subgroups.
  if (!dot || !(areReadInParts(c) || (hasSmallM(dot) && isRead(value))))
    return std::nullopt;
  DotLayouts layouts = chooseDotLayouts(dot, threads_, facts_);
  if (!layouts.instruction)
    return std::nullopt;
  return value == dot.getA() ? layouts.a : layouts.b;
}

SimtLayout Assigner::choose(const Class &c) {
  if (auto dot = dyn_cast_or_null<StageDotOp>(c.dot))
    return sharedAccumulators(*findMatrixInstruction(dot.getInstruction()), c.shape, threads_);
  if (auto read = dyn_cast_or_null<AccReadOp>(c.dot))
    return sharedAccumulators(*findMatrixInstruction(read.getInstruction()), c.shape, threads_);
  if (auto dot = dyn_cast_or_null<TileDotOp>(c.dot))
    return sharedAccumulators(*findMatrixInstruction(dot.getInstruction()), c.shape, threads_);
  if (auto dot = dyn_cast_or_null<SplitDotOp>(c.dot))
    return splitSimt(dot).accumulators;
  if (auto dot = dyn_cast_or_null<GroupDotOp>(c.dot))
    return groupSimt(dot).split.accumulators;
  return c.dot ? chooseDotLayouts(cast<tile::DotOp>(c.dot), threads_, facts_).accumulators
               : blockedFor(c);
}

// Whether nothing is computed of a row that matmuls read, but for its type.
static bool isRowAsRead(Value row) {
  while (isa_and_nonnull<arith::ExtFOp, tile::ReshapeOp>(row.getDefiningOp()))
    row = row.getDefiningOp()->getOperand(0);
  return isRead(row);
}

// True if programs with `rows` rows of this view are so many that memory bandwidth bounds them.
// Fewer programs have a multiprocessor each and take as long as one program (SmolLM2's shape in
// Q8_0 on an H100: a GEMV with interleaved rows takes about 1 us longer).
static bool fillsDevice(tile::ViewType view, int64_t rows) {
  constexpr int64_t kEnoughPrograms = 256;
  const int64_t all = view.getShape().front();
  return ShapedType::isDynamic(all) || all >= kEnoughPrograms * rows;
}

// Whether sums over the last axis of values of this class are asked for.
static bool isReducedAlongRows(const Class &c) {
  return llvm::any_of(c.values, [](Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) {
      auto reduce = dyn_cast<tile::ReduceOp>(user);
      return reduce && reduce.getAxis() == 1;
    });
  });
}

// The interleaved rows of packed blocks that one row multiplies and many programs reduce along K;
// else 0. What is computed of that one row, such as its norm, would be computed again for each of
// the interleaved rows.
int64_t Assigner::rowsBeside(const Class &c) {
  int64_t rows = 0;
  for (Value value : c.values) {
    if (auto load = value.getDefiningOp<BlockLoadOp>())
      if (auto view = cast<tile::ViewType>(load.getView().getType());
          view.getRank() == 2 && view.getInterleave() == kInterleavedRows &&
          fillsDevice(view, c.shape.front()))
        rows = std::max<int64_t>(rows, view.getInterleave());
    if (auto row = value.getDefiningOp<tile::BroadcastOp>(); row && !isRowAsRead(row.getValue()))
      return 0;
  }
  return isReducedAlongRows(c) && c.shape.size() == 2 ? rows : 0;
}

// Words of four codes of interleaved rows follow one another in memory, so neighbouring threads
// read rows first, then words of a block. Both halves of a byte go to one thread, which reads them
// once (tokens of an 8B shape in Q8_0 on an H100: 1.17 times as many; along K first each word lies
// in a sector of its own).
SimtLayout Assigner::besideOneAnother(const Class &c, int64_t rows) const {
  constexpr int kWordBits = 2, kHalfBit = 4, kBlockBits = 5;
  SmallVector<LayoutBit> registers, lanes;
  for (int bit : {0, 1, kHalfBit})
    registers.push_back({1, bit});
  auto spread = [&](int axis, int from, int to) {
    for (int bit = from; bit < to && (int64_t(1) << bit) < c.shape[axis]; ++bit)
      if ((int64_t(1) << lanes.size()) < threads_)
        lanes.push_back({axis, bit});
  };
  const int group = llvm::Log2_64(rows);
  spread(0, 0, group);
  spread(1, kWordBits, kHalfBit);
  spread(0, group, 63);
  spread(1, kBlockBits, 63);
  lanes.append(llvm::Log2_64(threads_) - lanes.size(), LayoutBit());
  return SimtLayout(c.shape, std::move(registers), std::move(lanes));
}

// The view of blocks that lie in the file's order, whole or word by word, and that values of the
// class are dequantized from; else null.
static tile::ViewType viewInFileOrder(const Class &c) {
  for (Value value : c.values) {
    auto load = value.getDefiningOp<BlockLoadOp>();
    auto view = load ? cast<tile::ViewType>(load.getView().getType()) : tile::ViewType();
    if (view && !tile::activationFormatOf(view.getElementType()))
      if (const BlockFormat *format = tile::blockFormatOf(view.getElementType());
          format && (view.getInterleave() == kWordRows ||
                     (!view.getInterleave() && !plainDotPacking(*format))))
        return view;
  }
  return {};
}

// Whether a value of the class is stored to a stage of a pipeline.
static bool isStaged(const Class &c) {
  return llvm::any_of(c.values, [](Value value) {
    return llvm::any_of(value.getUsers(), llvm::IsaPred<StageStoreOp>);
  });
}

// Elements that share bytes go to one thread where it has several. Neighbouring threads read
// neighbouring bytes: of interleaved rows, then of a row.
SimtLayout Assigner::alongBlocks(const Class &c, tile::ViewType view) const {
  const BlockFormat &format = *tile::blockFormatOf(view.getElementType());
  constexpr size_t kWordBits = 2;
  const int axis = static_cast<int>(c.shape.size()) - 1;
  const size_t perThread = llvm::Log2_64(std::max<int64_t>(1, c.elements() / threads_));
  SmallVector<LayoutBit> registers, lanes;
  for (int64_t bit : registerBitsAlongK(&format, DepthTile()))
    if ((int64_t(1) << bit) < c.shape[axis] && registers.size() < std::max(kWordBits, perThread))
      registers.push_back({axis, static_cast<int>(bit)});
  size_t left = llvm::Log2_64(threads_);
  auto spread = [&](int along, size_t most) {
    for (int bit = 0; left && most && (int64_t(1) << bit) < c.shape[along]; ++bit)
      if (LayoutBit next{along, bit};
          !llvm::is_contained(registers, next) && !llvm::is_contained(lanes, next)) {
        lanes.push_back(next);
        --left, --most;
      }
  };
  // What goes to a stage is stored row by row, and scales are read once for as much of a row.
  if (isStaged(c))
    for (int bit = 0; registers.size() < perThread && (int64_t(1) << bit) < c.shape[axis]; ++bit)
      if (LayoutBit next{axis, bit}; !llvm::is_contained(registers, next))
        registers.push_back(next);
  if (view.getInterleave() && axis == 1)
    spread(0, llvm::Log2_64(view.getInterleave()));
  spread(axis, llvm::Log2_64(facts_.subgroup));
  for (int other = axis; other-- > 0;)
    spread(other, left);
  spread(axis, left);
  lanes.append(left, LayoutBit());
  return SimtLayout(c.shape, std::move(registers), std::move(lanes));
}

// Four neighbours along K and whole groups beyond the bits that four threads have, as a matrix
// instruction's lanes would: so a thread knows where scales lie in the words that it reads, and a
// word has nothing for another thread. Eight threads read the words of a group of rows.
SimtLayout Assigner::alongWords(const Class &c) const {
  constexpr int kFirst = 2, kLast = 4; // of the bits that threads have
  const size_t perThread = llvm::Log2_64(std::max<int64_t>(1, c.elements() / threads_));
  size_t left = llvm::Log2_64(threads_);
  SmallVector<LayoutBit> registers{{1, 0}, {1, 1}}, lanes;
  auto spread = [&](int axis, int from, int to) {
    for (int bit = from; left && bit < to && (int64_t(1) << bit) < c.shape[axis]; ++bit, --left)
      lanes.push_back({axis, bit});
  };
  int bit = kLast;
  for (; registers.size() < perThread && (int64_t(1) << bit) < c.shape[1]; ++bit)
    registers.push_back({1, bit});
  spread(0, 0, llvm::Log2_32(kWordRows));
  spread(1, kFirst, kLast);
  spread(1, bit, 63);
  spread(0, llvm::Log2_32(kWordRows), 63);
  lanes.append(left, LayoutBit());
  return SimtLayout(c.shape, std::move(registers), std::move(lanes));
}

SimtLayout Assigner::blockedFor(const Class &c) {
  if (int64_t rows = rowsBeside(c); rows)
    return besideOneAnother(c, rows);
  if (tile::ViewType view = viewInFileOrder(c))
    return facts_.fusesSums && view.getInterleave() == kWordRows && c.shape.size() == 2 &&
                   isReducedAlongRows(c)
               ? alongWords(c)
               : alongBlocks(c, view);
  int axis = static_cast<int>(c.shape.size()) - 1;
  int64_t bits = 0;
  auto access = [&](tile::ViewType view) {
    if (isa<tile::BlockType>(view.getElementType()))
      return;
    int64_t width = std::max<int64_t>(8, view.getElementType().getIntOrFloatBitWidth());
    bits = bits ? std::min(bits, width) : width;
    if (int64_t along = view.getContiguousAxis(); along >= 0 && c.shape[along] > 1)
      axis = static_cast<int>(along);
  };
  for (Value value : c.values) {
    if (auto load = value.getDefiningOp<tile::LoadOp>())
      access(load.getView().getType());
    for (Operation *user : value.getUsers())
      if (auto store = dyn_cast<tile::StoreOp>(user))
        access(store.getView().getType());
  }
  int64_t perThread = std::max<int64_t>(1, c.elements() / threads_);
  int64_t most = bits ? facts_.vectorBytes * 8 / bits : 4;
  int64_t vector = std::min({most, static_cast<int64_t>(llvm::bit_floor<uint64_t>(perThread)),
                             static_cast<int64_t>(llvm::bit_floor<uint64_t>(c.shape[axis]))});
  return SimtLayout::blocked(c.shape, threads_, facts_.subgroup, axis, llvm::Log2_64(vector));
}

// ---- where operations themselves fix how operands and results lie to one another ----

void Assigner::wantOperand(OpOperand &operand, const SimtLayout &layout) {
  if (SimtLayout::of(operand.get().getType()) == layout)
    return;
  OpBuilder b(operand.getOwner());
  RankedTensorType type = layout.encode(tileType(operand.get()));
  Operation *source = operand.get().getDefiningOp();
  if (source && isa<TileDotOp>(operand.getOwner())) {
    // What several matmuls read, or one in every round of a loop, is converted once.
    auto known = dyn_cast<ConvertOp>(source->getNextNode());
    if (known && known.getValue() == operand.get() && known.getType() == type)
      return operand.set(known);
    b.setInsertionPointAfter(source);
  }
  operand.set(ConvertOp::create(b, operand.getOwner()->getLoc(), type, operand.get()));
}

void Assigner::makeResult(OpResult result, const SimtLayout &layout) {
  auto wanted = tileType(result);
  if (SimtLayout::of(wanted) == layout)
    return;
  OpBuilder b(result.getOwner());
  b.setInsertionPointAfter(result.getOwner());
  result.setType(layout.encode(wanted));
  auto convert = ConvertOp::create(b, result.getOwner()->getLoc(), wanted, result);
  result.replaceAllUsesExcept(convert.getResult(), convert);
}

void Assigner::mend(Operation *op) {
  if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    makeResult(reduce->getResult(0),
               SimtLayout::of(reduce.getValue().getType()).reduced(reduce.getAxis()));
  } else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    SimtLayout wide = SimtLayout::of(broadcast.getResult().getType());
    wantOperand(broadcast.getValueMutable(),
                reducedTo(wide, tileType(broadcast.getValue()).getShape()));
  } else if (auto permute = dyn_cast<tile::PermuteOp>(op)) {
    makeResult(permute->getResult(0),
               SimtLayout::of(permute.getValue().getType()).permuted(permute.getOrder()));
  } else if (auto reshape = dyn_cast<tile::ReshapeOp>(op)) {
    if (auto same = SimtLayout::of(reshape.getValue().getType())
                        .reshaped(tileType(reshape.getResult()).getShape()))
      makeResult(reshape->getResult(0), *same);
  } else if (auto dot = dyn_cast<TileDotOp>(op)) {
    auto accumulators = tileType(dot.getResult()), left = tileType(dot.getA());
    wantOperand(dot.getAMutable(), tileOperand(*findMatrixInstruction(dot.getInstruction()),
                                               left.getShape(), accumulators.getShape(), threads_));
  } else if (auto dot = dyn_cast<SplitDotOp>(op)) {
    SplitSimt layouts = splitSimt(dot);
    wantOperand(dot.getAMutable(), layouts.a);
    wantOperand(dot.getBMutable(), layouts.b);
  } else if (auto dot = dyn_cast<GroupDotOp>(op)) {
    GroupSimt layouts = groupSimt(dot);
    for (OpOperand &operand : dot->getOpOperands())
      if (operand.get() != dot.getAcc())
        wantOperand(operand, operandOf(layouts, dot, operand.get()));
  } else if (auto dot = dyn_cast<tile::DotOp>(op)) {
    DotLayouts layouts = chooseDotLayouts(dot, threads_, facts_);
    if (!layouts.instruction || SimtLayout::of(dot.getResult().getType()) != layouts.accumulators)
      return;
    dot->setAttr(kInstruction, StringAttr::get(op->getContext(), layouts.instruction->name));
    wantOperand(dot.getAMutable(), layouts.a);
    wantOperand(dot.getBMutable(), layouts.b);
  }
}

} // namespace

void assignLayouts(tile::KernelOp kernel, const SimtFacts &facts) {
  Assigner(kernel, facts).run();
}

} // namespace sinter::sched
