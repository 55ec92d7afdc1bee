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

// Elements along K at which the steps begin, step by step.
static int64_t depthOf(const SplitSimt &lanes, int64_t step) {
  const int64_t more = int64_t(1) << lanes.moreBits.size();
  return step / more * lanes.a.atom(1) + spreadOver(lanes.moreBits, step % more);
}

static int64_t stepsOf(const SplitSimt &lanes) {
  return lanes.a.repeats(1) << lanes.moreBits.size();
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
  if (op.getReading())
    return emitReadingDot(op);
  SplitSimt lanes = splitSimt(op);
  const MatrixInstruction &instruction = *lanes.instruction;
  const bool inTurn = !registers_.contains(op.getA());
  Registers a = inTurn ? Registers() : clearedBeyond(op.getA(), 1), b = clearedBeyond(op.getB(), 1),
            acc = registersOf(op.getAcc());
  TokensInTurn tokens = inTurn ? tokensOf(op.getA(), lanes.a) : TokensInTurn();
  SplitOperand left{a, lanes.a, instruction.layoutA(), 1},
      right{b, lanes.b, instruction.layoutB(), 0};
  const int64_t count = int64_t(1) << lanes.accumulators.registerBits().size();
  auto shape = lanes.accumulators.shape();
  for (int64_t step = 0; step < stepsOf(lanes); ++step) {
    const int64_t depth = depthOf(lanes, step);
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

// Where elements along K that lie side by side in a stage's order begin, which a step multiplies.
static int64_t stepByte(const PipelineBuffer &pipeline, int64_t element, int64_t bytes) {
  const int64_t byte = element * bytes;
  return byte / pipeline.rowBytes * pipeline.panelBytes + byte % pipeline.rowBytes;
}

// Of tokens in a stage. All steps of all weights are started before the first one is waited for.
LogicalResult Distributor::emitReadingDot(SplitDotOp op) {
  const SplitSimt lanes = splitSimt(op);
  const MatrixInstruction &instruction = *lanes.instruction;
  auto read = op.getA().getDefiningOp<StageReadOp>();
  const PipelineBuffer &pipeline = pipelines_.find(read.getPipeline().getDefiningOp())->second;
  const Registers b = clearedBeyond(op.getB(), 1);
  const SplitOperand left{b, lanes.b, instruction.layoutA(), 1};
  Registers acc = registersOf(op.getAcc());
  const int64_t count = int64_t(1) << lanes.accumulators.registerBits().size(),
                bytes = elementBytes(cast<RankedTensorType>(op.getA().getType()).getElementType());
  Value tokens = stageByte(pipeline, read.getStage());
  SmallVector<std::pair<int64_t, SmallVector<Value>>>
      products; // accumulators, weights step by step
  for (int64_t n = 0; n < lanes.accumulators.shape()[2]; n += lanes.accumulators.atom(2)) {
    auto &[first, weights] = products.emplace_back(lanes.accumulators.registerAt({0, 0, n}), 0);
    for (int64_t step = 0; step < stepsOf(lanes); ++step)
      weights.push_back(pinned(left.at(lanes, n, depthOf(lanes, step))));
    llvm::copy(scalarsOf(pinned(ArrayRef<Value>(acc).slice(first, count)), count),
               acc.begin() + first);
  }
  MatrixFenceOp::create(b_, loc_);
  for (auto &[first, weights] : products) {
    Value sum = vectorFrom(ArrayRef<Value>(acc).slice(first, count));
    for (auto [step, each] : llvm::enumerate(weights))
      sum = MatrixTileAsyncOp::create(
          b_, loc_, instruction.name, each, tokens, /*panel=*/0, sum, /*transpose_b=*/true,
          stepByte(pipeline, static_cast<int64_t>(step) * instruction.k, bytes));
    llvm::copy(scalarsOf(sum, count), acc.begin() + first);
  }
  waitForAccumulators(lanes.accumulators, acc, /*pending=*/0, /*commit=*/true);
  registers_[op.getResult()] = std::move(acc);
  return success();
}

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
    if (!read.registers[number] && read.pipeline)
      takeNeighbours(read, number);
    else if (!read.registers[number])
      takePiece(read.tile, read.plan, read.layout, read.registers, read.tile.element,
                number / read.plan.vector * read.plan.vector);
    return read.registers[number];
  });
  step_ = {};
  return values;
}

// Steps of one group, which follow one another, since the lowest bits are those within it.
static int64_t stepsOfGroup(const GroupSimt &simt) {
  return int64_t(1) << llvm::count_if(simt.split.moreBits,
                                      [&](int64_t bit) { return int64_t(1) << bit < simt.group; });
}

/// The accumulators of a matmul by groups, and what is multiplied and added to them.
struct GroupAccumulators {
  GroupSums &sums;
  const GroupSimt &simt;
  std::function<Value(int64_t)> numbers, scales, mins; // mins: null where there are none
  Distributor::Registers &registers;

  // The fragment of weights of rows from `column` on that a step multiplies.
  Value weightsAt(int64_t step, int64_t column) {
    return sums.fragment(pairsAt(numbers, simt, column, depthOf(simt.split, step)));
  }

  // Adds the group whose steps begin with `first`, of the tokens from `m` on: their fragments step
  // by step, and their sums.
  void add(int64_t first, int64_t m, ArrayRef<Value> tokens, ArrayRef<Value> totals) {
    const SimtLayout &accumulators = simt.split.accumulators;
    for (int64_t n = 0; n < accumulators.shape()[2]; n += accumulators.atom(2)) {
      Value sum;
      for (auto [step, each] : llvm::enumerate(tokens))
        sum = sums.multiply(weightsAt(first + static_cast<int64_t>(step), n), each, sum);
      addScaled(first, m, n, sum, totals);
    }
  }

  // Adds what was multiplied of a group, of the fragment of tokens and weights from `m` and `n` on.
  void addScaled(int64_t first, int64_t m, int64_t n, Value parts, ArrayRef<Value> totals) {
    const SimtLayout fragment = simt.split.instruction->layoutC();
    for (int64_t number = 0; number < fragment.registers(); ++number) {
      SmallVector<int64_t> coords = fragment.registerCoords(number);
      const int64_t column = n + coords[simt.weights], row = m + coords[1 - simt.weights];
      const int64_t factor =
          simt.scale.registerAt({column, depthOf(simt.split, first) / simt.group});
      Value part = vector::ExtractOp::create(sums.b, sums.loc, parts, number);
      Value &one = registers[simt.split.accumulators.registerAt({0, row, column})];
      one = math::FmaOp::create(sums.b, sums.loc, part, scales(factor), one);
      if (mins)
        one = math::FmaOp::create(sums.b, sums.loc, totals[number],
                                  arith::NegFOp::create(sums.b, sums.loc, mins(factor)), one);
    }
  }
};

// Registers of the fragment of tokens from `row` on.
static SplitOperand tokenRows(const GroupSimt &simt, const Distributor::Registers &registers,
                              const SimtLayout &layout) {
  return {registers, layout, simt.weights ? simt.sums->layoutA() : simt.sums->layoutB(),
          simt.weights};
}

// Each subgroup adds up some of the tokens, and hands the sums to those that multiply the same
// tokens. Threads have waited for one another since they read the sums before.
FailureOr<SharedRead> Distributor::shareSums(GroupDotOp op, const GroupSimt &simt,
                                             const GroupSumsSimt &layouts, SharedRead own) {
  const SplitSimt &lanes = simt.split;
  GroupSums sums{b_, loc_, op, *simt.sums, simt.weights};
  const SimtLayout fragment = simt.sums->layoutC();
  const int side = 1 - simt.weights;
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

// The sums of one group of tokens, one for each accumulator of a fragment.
SmallVector<Value> Distributor::sumsOfGroup(SharedRead &sums, const GroupSimt &simt, int64_t row,
                                            int64_t group) {
  const SimtLayout fragment = simt.split.instruction->layoutC();
  return llvm::map_to_vector(llvm::seq(fragment.registers()), [&](int64_t number) {
    const int64_t at = row + fragment.registerCoords(number)[1 - simt.weights];
    return tokensAt(sums, sums.layout.registerAt({group, at})).front();
  });
}

// Starts to multiply a group whose steps begin with `first` by the fragment of weights from
// `column` on, of tokens that lie from byte `tokens` on.
Value Distributor::startGroup(GroupAccumulators &accumulators, int64_t first, int64_t column,
                              const PipelineBuffer &pipeline, Value tokens) {
  const GroupSimt &simt = accumulators.simt;
  const MatrixInstruction &instruction = *simt.split.instruction;
  SmallVector<Value> weights;
  for (int64_t step = first; step < first + stepsOfGroup(simt); ++step)
    weights.push_back(accumulators.weightsAt(step, column));
  for (Value &each : weights)
    each = PinOp::create(b_, loc_, each);
  auto type = cast<VectorType>(instruction.typeC(b_.getContext()));
  Value sum = arith::ConstantOp::create(b_, loc_, b_.getZeroAttr(type));
  MatrixFenceOp::create(b_, loc_);
  for (auto [step, each] : llvm::enumerate(weights)) {
    const int64_t byte = stepByte(pipeline, depthOf(simt.split, first + static_cast<int64_t>(step)),
                                  elementBytes(getElementTypeOrSelf(each.getType())));
    sum = MatrixTileAsyncOp::create(b_, loc_, instruction.name, each, tokens, /*panel=*/0, sum,
                                    /*transpose_b=*/true, byte);
  }
  return MatrixWaitOp::create(b_, loc_, INT32_MAX, /*commit=*/true, sum);
}

GroupAccumulators Distributor::accumulatorsOf(GroupDotOp op, GroupSums &sums, const GroupSimt &simt,
                                              Registers &registers) {
  return {sums,
          simt,
          registersInTurn(op.getB()),
          registersInTurn(op.getScale()),
          op.getMin() ? registersInTurn(op.getMin()) : nullptr,
          registers};
}

// Group by group, by an instruction that reads tokens in a stage: each group is multiplied while
// the one before it is scaled.
LogicalResult Distributor::emitReadingDot(GroupDotOp op, const GroupSimt &simt) {
  auto read = op.getA().getDefiningOp<StageReadOp>();
  const PipelineBuffer &pipeline = pipelines_.find(read.getPipeline().getDefiningOp())->second;
  const SimtLayout &layout = simt.split.accumulators;
  Value tokens = stageByte(pipeline, read.getStage());
  GroupSums sums{b_, loc_, op, *simt.sums, simt.weights};
  Registers acc = registersOf(op.getAcc());
  GroupAccumulators accumulators = accumulatorsOf(op, sums, simt, acc);
  SmallVector<std::pair<int64_t, int64_t>> rounds;
  const int64_t all = simt.split.a.repeats(1) << simt.split.moreBits.size();
  for (int64_t first = 0; first < all; first += stepsOfGroup(simt))
    for (int64_t n = 0; n < layout.shape()[2]; n += layout.atom(2))
      rounds.emplace_back(first, n);
  auto start = [&](size_t round) {
    return startGroup(accumulators, rounds[round].first, rounds[round].second, pipeline, tokens);
  };
  Value next = start(0);
  std::optional<SharedRead> tokenSums;
  if (op.getMin()) {
    const GroupSumsSimt layouts = groupSumsSimt(op, simt);
    SharedRead own{stageOf(read), layouts.ownTokens, {}, tokens, {}, &pipeline};
    FailureOr<SharedRead> made = shareSums(op, simt, layouts, std::move(own));
    if (failed(made))
      return failure();
    tokenSums = std::move(*made);
  }
  for (auto [round, place] : llvm::enumerate(rounds)) {
    auto [first, n] = place;
    Value parts = next;
    const bool last = round + 1 == rounds.size();
    if (!last)
      next = start(round + 1);
    parts = MatrixWaitOp::create(b_, loc_, /*pending=*/last ? 0 : 1, /*commit=*/false, parts,
                                 /*settled=*/!last);
    SmallVector<Value> totals;
    if (tokenSums)
      totals = sumsOfGroup(*tokenSums, simt, 0, depthOf(simt.split, first) / simt.group);
    accumulators.addScaled(first, 0, n, parts, totals);
  }
  registers_[op.getResult()] = std::move(acc);
  return success();
}

// Group by group the products of all its steps, then scaled.
LogicalResult Distributor::emitGroupDot(GroupDotOp op) {
  const GroupSimt simt = groupSimt(op);
  if (op.getReading())
    return emitReadingDot(op, simt);
  const SplitSimt &lanes = simt.split;
  const MatrixInstruction &instruction = *lanes.instruction;
  const bool inTurn = !registers_.contains(op.getA());
  TokensInTurn inTurnTokens = inTurn ? tokensOf(op.getA(), lanes.a) : TokensInTurn();
  std::optional<SharedRead> tokenSums;
  if (const auto &shared = inTurnTokens.shared; shared && op.getMin() && op.getBeside() > 1) {
    const GroupSumsSimt layouts = groupSumsSimt(op, simt);
    SharedRead own{shared->tile, layouts.ownTokens,
                   planOf(shared->tile, layouts.ownTokens, {0, 0}, {0, 1}), shared->step};
    FailureOr<SharedRead> all = shareSums(op, simt, layouts, std::move(own));
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
  auto sumsOf = [&](int64_t m, int64_t group, ArrayRef<Value> tokens) -> SmallVector<Value> {
    if (!op.getMin())
      return {};
    return tokenSums ? sumsOfGroup(*tokenSums, simt, m, group)
                     : scalarsOf(sums.totals(tokens), fragment.registers());
  };
  Registers acc = registersOf(op.getAcc());
  GroupAccumulators accumulators = accumulatorsOf(op, sums, simt, acc);
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
