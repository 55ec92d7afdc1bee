// Distribution, matmuls of few rows: each subgroup multiplies its share of K, and accumulators
// meet in shared memory.
#include "sched/simt/distribute/distributor.h"
#include "sched/simt/split_dots.h"

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
  InTurn made;
  SplitOperand left{a, lanes.a, instruction.layoutA(), 1},
      right{b, lanes.b, instruction.layoutB(), 0};
  const int64_t count = int64_t(1) << lanes.accumulators.registerBits().size();
  const int64_t more = int64_t(1) << lanes.moreBits.size();
  auto shape = lanes.accumulators.shape();
  for (int64_t step = 0; step < lanes.a.repeats(1) * more; ++step) {
    const int64_t depth = step / more * lanes.a.atom(1) + spreadOver(lanes.moreBits, step % more);
    for (int64_t m = 0; m < shape[1]; m += instruction.m) {
      Value rows = vectorFrom(inTurn ? tokensAt(made, op.getA(), left.numbersAt(lanes, m, depth))
                                     : left.at(lanes, m, depth));
      for (int64_t n = 0; n < shape[2]; n += instruction.n) {
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

// Group by group the products of all its steps, then scaled. Each group's steps follow one another,
// since the lowest bits are those within it.
LogicalResult Distributor::emitGroupDot(GroupDotOp op) {
  const GroupSimt simt = groupSimt(op);
  const SplitSimt &lanes = simt.split;
  const MatrixInstruction &instruction = *lanes.instruction;
  const bool inTurn = !registers_.contains(op.getA());
  std::optional<TileLoad> loaded;
  std::optional<SharedRead> shared;
  if (auto load = op.getA().getDefiningOp<tile::LoadOp>(); load && inTurn)
    loaded.emplace(loadOf(load));
  if (auto read = op.getA().getDefiningOp<StageReadOp>(); read && inTurn) {
    const SharedTile tile = stageOf(read);
    shared.emplace(
        SharedRead{tile, lanes.a, planOf(tile, lanes.a, {0, 0}, {0, 1}), stageStart(read)});
  }
  Registers a = inTurn ? Registers() : clearedBeyond(op.getA(), 1), acc = registersOf(op.getAcc());
  const auto numbers = registersInTurn(op.getB()), scales = registersInTurn(op.getScale());
  const auto mins = op.getMin() ? registersInTurn(op.getMin()) : nullptr;
  const int weights = simt.weights, tokensSide = 1 - weights;
  SplitOperand tokenRows{a, lanes.a, weights ? instruction.layoutA() : instruction.layoutB(),
                         1 - tokensSide};
  InTurn made;
  auto tokensOf = [&](ArrayRef<int64_t> numbers) -> SmallVector<Value> {
    if (inTurn)
      return loaded   ? tokensAt(*loaded, numbers)
             : shared ? tokensAt(*shared, numbers)
                      : tokensAt(made, op.getA(), numbers);
    return llvm::map_to_vector(numbers, [&](int64_t number) { return a[number]; });
  };
  GroupSums sums{b_, loc_, op, instruction, weights};
  const SimtLayout fragment = instruction.layoutC();
  const int64_t more = int64_t(1) << lanes.moreBits.size();
  const int64_t steps = int64_t(1) << llvm::count_if(lanes.moreBits, [&](int64_t bit) {
                          return int64_t(1) << bit < simt.group;
                        });
  auto shape = lanes.accumulators.shape();
  for (int64_t first = 0; first < lanes.a.repeats(1) * more; first += steps) {
    auto depthOf = [&](int64_t step) {
      return step / more * lanes.a.atom(1) + spreadOver(lanes.moreBits, step % more);
    };
    for (int64_t m = 0; m < shape[1]; m += fragment.atom(tokensSide)) {
      SmallVector<Value> tokens;
      for (int64_t step = first; step < first + steps; ++step)
        tokens.push_back(vectorFrom(tokensOf(tokenRows.numbersAt(lanes, m, depthOf(step)))));
      SmallVector<Value> totals;
      if (mins)
        totals = scalarsOf(sums.totals(tokens), fragment.registers());
      for (int64_t n = 0; n < shape[2]; n += lanes.accumulators.atom(2)) {
        Value sum;
        for (int64_t step = first; step < first + steps; ++step) {
          Value rows = sums.fragment(pairsAt(numbers, simt, n, depthOf(step)));
          sum = sums.multiply(rows, tokens[step - first], sum);
        }
        const SmallVector<Value> parts = scalarsOf(sum, fragment.registers());
        for (int64_t number = 0; number < fragment.registers(); ++number) {
          SmallVector<int64_t> coords = fragment.registerCoords(number);
          const int64_t column = n + coords[weights], row = m + coords[tokensSide];
          const int64_t factor = simt.scale.registerAt({column, depthOf(first) / simt.group});
          Value &one = acc[lanes.accumulators.registerAt({0, row, column})];
          one = math::FmaOp::create(b_, loc_, parts[number], scales(factor), one);
          if (mins)
            one = math::FmaOp::create(b_, loc_, totals[number],
                                      arith::NegFOp::create(b_, loc_, mins(factor)), one);
        }
      }
    }
  }
  registers_[op.getResult()] = std::move(acc);
  return success();
}

LogicalResult Distributor::emitJoinShares(JoinSharesOp op) {
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
