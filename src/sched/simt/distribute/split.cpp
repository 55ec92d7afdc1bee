// Distribution, matmuls of few rows: each subgroup multiplies its share of K, and accumulators
// meet in shared memory.
#include "sched/simt/distribute/distributor.h"
#include "sched/simt/split_dots.h"

#include <functional>

using namespace mlir;

namespace sinter::sched {

// The coordinate along K of one value of the bits in registers that are no instruction's own.
static int64_t spreadOver(ArrayRef<int64_t> bits, int64_t number) {
  int64_t at = 0;
  for (auto [index, bit] : llvm::enumerate(bits))
    at += (number >> index & 1) << bit;
  return at;
}

namespace {
/// One operand's registers, and which of them make a fragment.
struct SplitOperand {
  const Distributor::Registers &registers;
  const SimtLayout &layout;
  SimtLayout fragment;
  int depthAxis; // of the fragment

  SmallVector<int64_t> numbersAt(const SplitSimt &lanes, int64_t row, int64_t depth) const {
    SmallVector<int64_t> numbers;
    for (int64_t number = 0; number < fragment.registers(); ++number) {
      SmallVector<int64_t> coords = fragment.registerCoords(number);
      int64_t k = depth + spreadOver(lanes.depthBits, coords[depthAxis]);
      numbers.push_back(layout.registerAt({row + coords[1 - depthAxis], k}));
    }
    return numbers;
  }
  SmallVector<Value> at(const SplitSimt &lanes, int64_t row, int64_t depth) const {
    return llvm::map_to_vector(numbersAt(lanes, row, depth),
                               [&](int64_t number) { return registers[number]; });
  }
};
} // namespace

LogicalResult Distributor::emitSplitDot(SplitDotOp op) {
  SplitSimt lanes = splitSimt(op);
  const MatrixInstruction &instruction = *lanes.instruction;
  const bool inTurn = !registers_.contains(op.getA());
  Registers a = inTurn ? Registers() : clearedBeyond(op.getA(), 1), b = clearedBeyond(op.getB(), 1),
            acc = registersOf(op.getAcc());
  TokensInTurn tokens = inTurn ? tokensOf(op.getA(), lanes.a) : TokensInTurn();
  SplitOperand left{a, lanes.a, instruction.layoutA(), 1},
      right{b, lanes.b, instruction.layoutB(), 0};
  const int64_t count = int64_t(1) << lanes.accumulators.registerBits().size();
  const int64_t more = int64_t(1) << lanes.moreBits.size();
  auto shape = lanes.accumulators.shape();
  for (int64_t step = 0; step < lanes.a.repeats(1) * more; ++step) {
    const int64_t depth = step / more * lanes.a.atom(1) + spreadOver(lanes.moreBits, step % more);
    for (int64_t m = 0; m < shape[1]; m += instruction.m) {
      Value rows = vectorFrom(inTurn ? tokensAt(tokens, left.numbersAt(lanes, m, depth))
                                     : left.at(lanes, m, depth));
      for (int64_t n = 0; n < shape[2]; n += lanes.accumulators.atom(2)) {
        const int64_t first = lanes.accumulators.registerAt({0, m, n});
        Value sum = MatrixOp::create(b_, loc_, op.getInstruction(), rows,
                                     vectorFrom(right.at(lanes, n, depth)),
                                     vectorFrom(ArrayRef<Value>(acc).slice(first, count)));
        llvm::copy(scalarsOf(sum, count), acc.begin() + first);
      }
    }
  }
  registers_[op.getResult()] = std::move(acc);
  return success();
}

namespace {
/// What matmuls of one group by group share.
struct GroupSums {
  OpBuilder &b;
  Location loc;
  GroupDotOp op;
  const MatrixInstruction &instruction;

  int weights; // the operand that they are

  VectorType fragmentType() {
    MLIRContext *context = op.getContext();
    return cast<VectorType>(weights ? instruction.typeB(context) : instruction.typeA(context));
  }
  // Pairs as the weights' fragment.
  Value fragment(ArrayRef<Value> pairs) {
    auto words = VectorType::get({static_cast<int64_t>(pairs.size())}, b.getI32Type());
    Value all = vector::FromElementsOp::create(b, loc, words, pairs);
    return vector::BitCastOp::create(b, loc, fragmentType(), all);
  }
  // `acc` + weights . tokens; a null `acc` is zero.
  Value multiply(Value numbers, Value tokens, Value acc) {
    auto type = cast<VectorType>(instruction.typeC(op.getContext()));
    if (!acc)
      acc = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    if (weights)
      std::swap(numbers, tokens);
    return MatrixOp::create(b, loc, op.getInstruction(), numbers, tokens, acc);
  }
  // Each token's numbers added up.
  Value totals(ArrayRef<Value> tokens) {
    Value total;
    for (Value each : tokens)
      total = multiply(ones(), each, total);
    return total;
  }

private:
  Value ones() {
    VectorType type = fragmentType();
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, b.getFloatAttr(type.getElementType(), 1)));
  }
};
} // namespace

// Registers of pairs that make the fragment of rows from `row` on.
static SmallVector<Value> pairsAt(const std::function<Value(int64_t)> &registers,
                                  const GroupSimt &simt, int64_t row, int64_t depth) {
  const MatrixInstruction &instruction = *simt.split.instruction;
  const SimtLayout fragment = simt.weights ? instruction.layoutB() : instruction.layoutA();
  SmallVector<Value> words;
  for (int64_t number = 0; number < fragment.registers(); number += 2) {
    SmallVector<int64_t> coords = fragment.registerCoords(number);
    const int64_t k = depth + spreadOver(simt.split.depthBits, coords[1 - simt.weights]);
    words.push_back(registers(simt.pairs.registerAt({row + coords[simt.weights], k / 2})));
  }
  return words;
}

// The tokens' registers of these numbers, zero beyond K.
SmallVector<Value> Distributor::tokensAt(TileLoad &load, ArrayRef<int64_t> numbers) {
  const int64_t vector = load.access.vector;
  return llvm::map_to_vector(numbers, [&](int64_t number) -> Value {
    if (!load.registers[number])
      loadPiece(load, number / vector * vector);
    Value value = load.registers[number];
    Value inside = inAxis(load.access.layout, number, 1);
    return inside ? arith::SelectOp::create(b_, loc_, inside, value, load.other).getResult()
                  : value;
  });
}

SmallVector<Value> Distributor::tokensAt(InTurn &made, Value tile, ArrayRef<int64_t> numbers) {
  const SimtLayout layout = SimtLayout::of(tile.getType());
  return llvm::map_to_vector(numbers, [&](int64_t number) -> Value {
    Value value = computedAt(made, tile, number), inside = inAxis(layout, number, 1);
    if (!inside)
      return value;
    auto zero =
        arith::ConstantOp::create(b_, loc_, cast<TypedAttr>(b_.getZeroAttr(value.getType())));
    return arith::SelectOp::create(b_, loc_, inside, value, zero);
  });
}

SmallVector<Value> Distributor::tokensAt(SharedRead &read, ArrayRef<int64_t> numbers) {
  read.registers.resize(read.layout.registers());
  step_ = read.step;
  SmallVector<Value> values = llvm::map_to_vector(numbers, [&](int64_t number) -> Value {
    if (!read.registers[number])
      takePiece(read.tile, read.plan, read.layout, read.registers, read.tile.element,
                number / read.plan.vector * read.plan.vector);
    return read.registers[number];
  });
  step_ = {};
  return values;
}

// Elements along K at which the steps of a group begin, step by step.
static int64_t depthOf(const SplitSimt &lanes, int64_t step) {
  const int64_t more = int64_t(1) << lanes.moreBits.size();
  return step / more * lanes.a.atom(1) + spreadOver(lanes.moreBits, step % more);
}

// Steps of one group, which follow one another, since the lowest bits are those within it.
static int64_t stepsOfGroup(const GroupSimt &simt) {
  return int64_t(1) << llvm::count_if(simt.split.moreBits,
                                      [&](int64_t bit) { return int64_t(1) << bit < simt.group; });
}

namespace {
/// The accumulators of a matmul by groups, and what is multiplied and added to them.
struct GroupAccumulators {
  GroupSums &sums;
  const GroupSimt &simt;
  std::function<Value(int64_t)> numbers, scales, mins; // mins: null where there are none
  Distributor::Registers &registers;

  // Adds the group whose steps begin with `first`, of the tokens from `m` on: their fragments step
  // by step, and their sums.
  void add(int64_t first, int64_t m, ArrayRef<Value> tokens, ArrayRef<Value> totals) {
    const SimtLayout &accumulators = simt.split.accumulators;
    const SimtLayout fragment = simt.split.instruction->layoutC();
    for (int64_t n = 0; n < accumulators.shape()[2]; n += accumulators.atom(2)) {
      Value sum;
      for (auto [step, each] : llvm::enumerate(tokens)) {
        const int64_t depth = depthOf(simt.split, first + static_cast<int64_t>(step));
        sum = sums.multiply(sums.fragment(pairsAt(numbers, simt, n, depth)), each, sum);
      }
      Value parts = sum;
      for (int64_t number = 0; number < fragment.registers(); ++number) {
        SmallVector<int64_t> coords = fragment.registerCoords(number);
        const int64_t column = n + coords[simt.weights], row = m + coords[1 - simt.weights];
        const int64_t factor =
            simt.scale.registerAt({column, depthOf(simt.split, first) / simt.group});
        Value part = vector::ExtractOp::create(sums.b, sums.loc, parts, number);
        Value &one = registers[accumulators.registerAt({0, row, column})];
        one = math::FmaOp::create(sums.b, sums.loc, part, scales(factor), one);
        if (mins)
          one = math::FmaOp::create(sums.b, sums.loc, totals[number],
                                    arith::NegFOp::create(sums.b, sums.loc, mins(factor)), one);
      }
    }
  }
};
} // namespace

// Registers of the fragment of tokens from `row` on.
static SplitOperand tokenRows(const GroupSimt &simt, const Distributor::Registers &registers,
                              const SimtLayout &layout) {
  const MatrixInstruction &instruction = *simt.split.instruction;
  return {registers, layout, simt.weights ? instruction.layoutA() : instruction.layoutB(),
          simt.weights};
}

// Each subgroup adds up some of the tokens, and hands the sums to those that multiply the same
// tokens. Threads have waited for one another since they read the sums before.
FailureOr<SharedRead> Distributor::shareSums(GroupDotOp op, const GroupSimt &simt,
                                             const GroupSumsSimt &layouts, const SharedTile &tokens,
                                             Value stage) {
  const SplitSimt &lanes = simt.split;
  GroupSums sums{b_, loc_, op, *lanes.instruction, simt.weights};
  const SimtLayout fragment = lanes.instruction->layoutC();
  const int side = 1 - simt.weights;
  SharedRead own{tokens, layouts.ownTokens, planOf(tokens, layouts.ownTokens, {0, 0}, {0, 1}),
                 stage};
  const SplitOperand rows = tokenRows(simt, own.registers, layouts.ownTokens);
  Registers made(layouts.ownSums.registers());
  const int64_t steps = stepsOfGroup(simt);
  for (int64_t group = 0; group < layouts.ownSums.shape()[0]; ++group)
    for (int64_t m = 0; m < layouts.ownTokens.shape()[0]; m += layouts.ownTokens.atom(0)) {
      SmallVector<Value> parts;
      for (int64_t step = group * steps; step < (group + 1) * steps; ++step)
        parts.push_back(vectorFrom(tokensAt(own, rows.numbersAt(lanes, m, depthOf(lanes, step)))));
      const SmallVector<Value> total = scalarsOf(sums.totals(parts), fragment.registers());
      for (int64_t number = 0; number < fragment.registers(); ++number) {
        SmallVector<int64_t> coords = fragment.registerCoords(number);
        const int64_t at = depthOf(lanes, group * steps) / simt.group;
        if (coords[simt.weights] == 0)
          made[layouts.ownSums.registerAt({at, m + coords[side]})] = total[number];
      }
    }
  const SharedTile memory = placed(layouts.ownSums.shape(), b_.getF32Type(), 0);
  if (failed(windowsOf(op, memory)))
    return failure();
  put(memory, layouts.ownSums, made, {0, 0}, {0, 1});
  barrier();
  sharedUsed_ = true;
  return SharedRead{memory, layouts.sums, planOf(memory, layouts.sums, {0, 0}, {0, 1}), Value()};
}

Distributor::TokensInTurn Distributor::tokensOf(Value tile, const SimtLayout &layout) {
  TokensInTurn tokens;
  tokens.tile = tile;
  if (auto load = tile.getDefiningOp<tile::LoadOp>())
    tokens.loaded.emplace(loadOf(load));
  if (auto read = tile.getDefiningOp<StageReadOp>()) {
    const SharedTile stage = stageOf(read);
    tokens.shared.emplace(
        SharedRead{stage, layout, planOf(stage, layout, {0, 0}, {0, 1}), stageStart(read)});
  }
  return tokens;
}

SmallVector<Value> Distributor::tokensAt(TokensInTurn &tokens, ArrayRef<int64_t> numbers) {
  return tokens.loaded   ? tokensAt(*tokens.loaded, numbers)
         : tokens.shared ? tokensAt(*tokens.shared, numbers)
                         : tokensAt(tokens.made, tokens.tile, numbers);
}

// Group by group the products of all its steps, then scaled.
LogicalResult Distributor::emitGroupDot(GroupDotOp op) {
  const GroupSimt simt = groupSimt(op);
  const SplitSimt &lanes = simt.split;
  const MatrixInstruction &instruction = *lanes.instruction;
  const bool inTurn = !registers_.contains(op.getA());
  TokensInTurn inTurnTokens = inTurn ? tokensOf(op.getA(), lanes.a) : TokensInTurn();
  std::optional<SharedRead> tokenSums;
  if (const auto &shared = inTurnTokens.shared; shared && op.getMin() && op.getBeside() > 1) {
    FailureOr<SharedRead> all =
        shareSums(op, simt, groupSumsSimt(op, simt), shared->tile, shared->step);
    if (failed(all))
      return failure();
    tokenSums = std::move(*all);
  }
  Registers a = inTurn ? Registers() : clearedBeyond(op.getA(), 1);
  auto fragmentOf = [&](ArrayRef<int64_t> numbers) -> SmallVector<Value> {
    if (inTurn)
      return tokensAt(inTurnTokens, numbers);
    return llvm::map_to_vector(numbers, [&](int64_t number) { return a[number]; });
  };
  GroupSums sums{b_, loc_, op, instruction, simt.weights};
  const SplitOperand rows = tokenRows(simt, a, lanes.a);
  const SimtLayout fragment = instruction.layoutC();
  // The sums of one group of tokens, one for each accumulator of a fragment.
  auto sumsOf = [&](int64_t m, int64_t group, ArrayRef<Value> tokens) -> SmallVector<Value> {
    if (!op.getMin())
      return {};
    if (!tokenSums)
      return scalarsOf(sums.totals(tokens), fragment.registers());
    return llvm::map_to_vector(llvm::seq(fragment.registers()), [&](int64_t number) {
      const int64_t row = m + fragment.registerCoords(number)[1 - simt.weights];
      return tokensAt(*tokenSums, tokenSums->layout.registerAt({group, row})).front();
    });
  };
  Registers acc = registersOf(op.getAcc());
  GroupAccumulators accumulators{sums,
                                 simt,
                                 registersInTurn(op.getB()),
                                 registersInTurn(op.getScale()),
                                 op.getMin() ? registersInTurn(op.getMin()) : nullptr,
                                 acc};
  const int64_t steps = stepsOfGroup(simt), all = lanes.a.repeats(1) << lanes.moreBits.size();
  for (int64_t first = 0; first < all; first += steps)
    for (int64_t m = 0; m < lanes.accumulators.shape()[1]; m += fragment.atom(1 - simt.weights)) {
      SmallVector<Value> tokens;
      for (int64_t step = first; step < first + steps; ++step)
        tokens.push_back(vectorFrom(fragmentOf(rows.numbersAt(lanes, m, depthOf(lanes, step)))));
      accumulators.add(first, m, tokens, sumsOf(m, depthOf(lanes, first) / simt.group, tokens));
    }
  registers_[op.getResult()] = std::move(acc);
  return success();
}

// Each block adds up some rows of all blocks' accumulators; then the first one has them all.
LogicalResult Distributor::joinBlocks(JoinSharesOp op) {
  SimtLayout from = SimtLayout::of(op.getAccumulators().getType()),
             to = SimtLayout::of(op.getResult().getType());
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  const auto blocks = static_cast<int64_t>(op.getBlocks());
  const int64_t rows = to.shape()[0] / blocks;
  const SmallVector<int64_t> shape{rows, to.shape()[1]};
  const SharedTile memory = placed(from.shape(), element, 0),
                   sums = placed(shape, element, memory.bytes);
  if (to.shape()[0] % blocks || !llvm::isPowerOf2_64(rows))
    return op.emitOpError() << "has " << to.shape()[0] << " rows, expected a power of two for each "
                            << "of " << blocks << " blocks";
  if (sums.base + sums.bytes > facts_.maxShared)
    return tooLarge(op, sums.base + sums.bytes);
  shared_ = std::max(shared_, sums.base + sums.bytes);
  const int64_t threads = kernel_->getAttrOfType<IntegerAttr>(kThreadsName).getInt();
  const SimtLayout part = SimtLayout::blocked(shape, threads, facts_.subgroup, 1, /*vectorBits=*/2);
  Value block = BlockOp::create(b_, loc_);
  claimShared();
  put(memory, from, registersOf(op.getAccumulators()), {0, 0, 0}, {0, 1, 2});
  ProgramBarrierOp::create(b_, loc_);
  const SharedPlan plan = planOf(memory, part, {0, 0, 0}, {1, 2});
  Value own = mul(block, int32(rows * memory.strides[1] * elementBytes(element)));
  Registers total;
  for (int64_t other = 0; other < blocks; ++other) {
    Registers each = takeRemote(memory, plan, part, int32(other), own);
    if (other == 0)
      total = std::move(each);
    else
      for (auto [sum, next] : llvm::zip_equal(total, each))
        sum = arith::AddFOp::create(b_, loc_, sum, next);
  }
  put(sums, part, total, {0, 0}, {0, 1});
  ProgramBarrierOp::create(b_, loc_);
  stores_ = b_.createOrFold<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, block, int32(0));
  registers_[op.getResult()] = takeSums(sums, to, block);
  ProgramBarrierOp::create(b_, loc_);
  sharedUsed_ = false;
  return success();
}

// A tile's registers from the shared memory of a block, `more` bytes behind the plan's.
Distributor::Registers Distributor::takeRemote(const SharedTile &shared, const SharedPlan &plan,
                                               const SimtLayout &layout, Value block, Value more) {
  Registers registers;
  Type word =
      plan.vector == 1 ? shared.element : Type(VectorType::get({plan.vector}, shared.element));
  Value thread = add(plan.thread, more);
  for (int64_t number = 0; number < layout.registers(); number += plan.vector) {
    SmallVector<int64_t> coords = layout.registerCoords(number);
    Value byte =
        add(thread, int32(plan.base + coords[0] * plan.strides[0] + coords[1] * plan.strides[1]));
    llvm::append_range(registers,
                       scalarsOf(RemoteLoadOp::create(b_, loc_, word, block, byte), plan.vector));
  }
  return registers;
}

// The rows that each block has added up, in the first block; in others what they have themselves.
Distributor::Registers Distributor::takeSums(const SharedTile &sums, const SimtLayout &to,
                                             Value block) {
  const int64_t bytes = elementBytes(sums.element), stride = sums.strides[0] * bytes,
                rows = sums.bytes / stride, vector = to.vector(1) >= 4 ? 4 : to.vector(1);
  Registers registers;
  Type word = vector == 1 ? sums.element : Type(VectorType::get({vector}, sums.element));
  for (int64_t number = 0; number < to.registers(); number += vector) {
    SmallVector<int64_t> coords = to.registerCoords(number);
    Value row = add(threadPart(to)[0], int32(coords[0])),
          column = add(threadPart(to)[1], int32(coords[1]));
    Value owner = b_.createOrFold<arith::ShRUIOp>(loc_, row, int32(llvm::Log2_64(rows)));
    owner = b_.createOrFold<arith::SelectOp>(loc_, stores_, owner, block);
    Value within = b_.createOrFold<arith::AndIOp>(loc_, row, int32(rows - 1));
    Value byte = add(add(mul(within, int32(stride)), mul(column, int32(bytes))), int32(sums.base));
    llvm::append_range(registers,
                       scalarsOf(RemoteLoadOp::create(b_, loc_, word, owner, byte), vector));
  }
  return registers;
}

LogicalResult Distributor::emitJoinShares(JoinSharesOp op) {
  if (op.getBlocks() > 1)
    return joinBlocks(op);
  SimtLayout from = SimtLayout::of(op.getAccumulators().getType()),
             to = SimtLayout::of(op.getResult().getType());
  Type element = cast<RankedTensorType>(op.getResult().getType()).getElementType();
  const int64_t shares = from.shape()[0];
  SmallVector<Registers> parts(shares);
  auto write = [&](const SharedTile &memory) {
    put(memory, from, registersOf(op.getAccumulators()), {0, 0, 0}, {0, 1, 2});
  };
  auto read = [&](const SharedTile &memory) {
    for (auto [share, part] : llvm::enumerate(parts))
      take(memory, to, part, element, {static_cast<int64_t>(share), 0, 0}, {1, 2});
  };
  if (failed(exchange(op, placed(from.shape(), element, 0), write, read)))
    return failure();
  Registers accumulators = parts.front();
  for (const Registers &part : llvm::drop_begin(parts))
    for (auto [sum, each] : llvm::zip_equal(accumulators, part))
      sum = arith::AddFOp::create(b_, loc_, sum, each);
  registers_[op.getResult()] = std::move(accumulators);
  return success();
}

} // namespace sinter::sched
