// Panels, element by element from the format table.
#include "tile/mlir_pch.h"

#include "sched/interpreter/panels.h"

#include "numeric/formats/integer_scales.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;
using sinter::tile::Task;
using sinter::tile::Tile;

namespace sinter::sched {

static constexpr uint32_t kWordBytes = 4;

// Four numbers from element `first` on as the bytes of a word.
static uint32_t wordOf(const BlockFormat &format, const uint8_t *block, uint32_t first) {
  uint32_t word = 0;
  for (uint32_t i = 0; i < kWordBytes; ++i)
    word |= static_cast<uint32_t>(format.number(block, first + i) + kActivationStartZero)
            << (8 * i);
  return word;
}

static const Tile &tileOf(const Task &task, Value value) {
  return std::get<Tile>(task.lookup(value));
}

// The two words of a pair, of which `second` is one; a number on its own fills all of it.
static int32_t withNumber(int32_t before, int32_t number, bool pairs, bool second) {
  if (!pairs)
    return number;
  auto half = static_cast<uint32_t>(static_cast<uint16_t>(number));
  return static_cast<int32_t>(second ? static_cast<uint32_t>(before) | half << 16 : half);
}

static int32_t numberIn(int32_t word, bool pairs, bool second) {
  return pairs ? static_cast<int16_t>(static_cast<uint32_t>(word) >> (second ? 16 : 0)) : word;
}

namespace {

// Where the scale of a group of one column lies.
struct ScaleAt {
  int64_t index;
  bool second; // of a pair
};

} // namespace

static ScaleAt scaleAt(int64_t group, int64_t column, int64_t columns, bool pairs) {
  return {(pairs ? group / 2 : group) * columns + column, pairs && group % 2};
}

static void putScale(const BlockFormat &format, const uint8_t *block, uint32_t element, ScaleAt at,
                     bool pairs, Tile &scales) {
  if (!scales.element().isInt()) {
    scales.as<float>()[at.index] = format.scale.value(block, element);
    return;
  }
  int32_t &word = scales.as<int32_t>()[at.index];
  word = withNumber(word, scaleNumber(format, block, element), pairs, at.second);
}

Result<void> executeExpand(ExpandOp op, Task &task) {
  const Tile &blocks = tileOf(task, op.getBlocks());
  const BlockFormat &format = *blocks.element().format;
  SINTER_ASSIGN(Tile words, task.engine().allocate(*op, op.getWords().getType(), task));
  SINTER_ASSIGN(Tile scales, task.engine().allocate(*op, op.getScales().getType(), task));
  std::optional<Tile> mins;
  if (op.getMins()) {
    SINTER_ASSIGN(mins, task.engine().allocate(*op, op.getMins().getType(), task));
  }
  const bool pairs = op.getPairs();
  int64_t columns = words.shape()[1], groups = scales.shape()[0] * (pairs ? 2 : 1);
  auto first = static_cast<uint32_t>(op.getPart() * kActivationLength);
  for (int64_t column = 0; column < columns; ++column) {
    const uint8_t *block = blocks.as<uint8_t>() + column * format.blockBytes;
    for (int64_t word = 0; word < words.shape()[0]; ++word)
      words.as<uint32_t>()[word * columns + column] =
          wordOf(format, block, first + static_cast<uint32_t>(word) * kWordBytes);
    for (int64_t group = 0; group < groups; ++group) {
      auto element = first + static_cast<uint32_t>(group * kActivationLength / groups);
      putScale(format, block, element, scaleAt(group, column, columns, pairs), pairs, scales);
      if (mins)
        mins->as<float>()[group * columns + column] = format.min.value(block, element);
    }
  }
  task.bind(op.getWords(), std::move(words));
  task.bind(op.getScales(), std::move(scales));
  if (mins)
    task.bind(op.getMins(), std::move(*mins));
  return {};
}

Result<void> executeTotalScales(TotalScalesOp op, Task &task) {
  const Tile &blocks = tileOf(task, op.getBlocks());
  const BlockFormat &format = *blocks.element().format;
  SINTER_ASSIGN(Tile scales, task.engine().allocate(*op, op.getResult().getType(), task));
  for (int64_t columns = scales.shape()[1], column = 0; column < columns; ++column) {
    TotalScale of = totalScale(format, blocks.as<uint8_t>() + column * format.blockBytes);
    scales.as<float>()[column] = of.scale;
    scales.as<float>()[columns + column] = of.centre;
  }
  task.bind(op.getResult(), std::move(scales));
  return {};
}

namespace {

// The operands of one matmul.
struct Panel {
  const Tile &a, &words, &scales;
  const Tile *mins;
  bool pairs;
  IntegerScales integers; // where scales are numbers

  int64_t columns() const { return words.shape()[1]; }
  int64_t groups() const { return scales.shape()[0] * (pairs ? 2 : 1); }
};

// Sums over a group.
struct GroupSums {
  int32_t dot = 0, codes = 0;
};

} // namespace

// Block `block` of a row.
static const uint8_t *blockOf(const Tile &a, int64_t row, int64_t block = 0) {
  int64_t blocks = a.shape()[1] / kActivationLength;
  return a.as<uint8_t>() + (row * blocks + block) * a.element().activation->bytes();
}

static int32_t codeOf(const Tile &a, int64_t row, int64_t element) {
  return activationCode(*a.element().activation, blockOf(a, row, element / kActivationLength),
                        static_cast<uint32_t>(element % kActivationLength));
}

static GroupSums sumsOf(const Panel &p, int64_t row, int64_t column, int64_t group) {
  GroupSums sums;
  int64_t length = kActivationLength / p.groups();
  for (int64_t e = group * length; e < (group + 1) * length; ++e) {
    uint32_t word = p.words.as<uint32_t>()[e / kWordBytes * p.columns() + column];
    auto number = static_cast<int32_t>(word >> (8 * (e % kWordBytes)) & 0xff);
    int32_t code = codeOf(p.a, row, e);
    sums.dot += code * (number - kActivationStartZero);
    sums.codes += code;
  }
  return sums;
}

// Group by group: the exact dot times b's scale, less the sum of the codes times the minimum.
static float addColumn(const Panel &p, int64_t row, int64_t column, float sums) {
  for (int64_t group = 0; group < p.groups(); ++group) {
    GroupSums of = sumsOf(p, row, column, group);
    int64_t at = group * p.columns() + column;
    sums = std::fma(static_cast<float>(of.dot), p.scales.as<float>()[at], sums);
    if (p.mins)
      sums = std::fma(-p.mins->as<float>()[at], static_cast<float>(of.codes), sums);
  }
  return sums;
}

// Group by group: the shortened dot times the scale's number.
static int32_t addColumn(const Panel &p, int64_t row, int64_t column, int32_t total) {
  for (int64_t group = 0; group < p.groups(); ++group) {
    ScaleAt at = scaleAt(group, column, p.columns(), p.pairs);
    int32_t number = numberIn(p.scales.as<int32_t>()[at.index], p.pairs, at.second);
    total += p.integers.shortened(sumsOf(p, row, column, group).dot) * number;
  }
  return total;
}

template <class Sum> static void addColumns(const Panel &p, const Tile &acc, Tile &out) {
  for (int64_t at = 0; at < acc.count(); ++at)
    out.as<Sum>()[at] = addColumn(p, at / p.columns(), at % p.columns(), acc.as<Sum>()[at]);
}

Result<void> executePanelDot(PanelDotOp op, Task &task) {
  const Tile &acc = tileOf(task, op.getAcc());
  Panel panel{tileOf(task, op.getA()),
              tileOf(task, op.getWords()),
              tileOf(task, op.getScales()),
              op.getMins() ? &tileOf(task, op.getMins()) : nullptr,
              op.getPairs(),
              {static_cast<uint32_t>(op.getShift().value_or(0))}};
  SINTER_TRY(task.engine().charge(*op, uint64_t(acc.count()) * kActivationLength, task));
  SINTER_ASSIGN(Tile out, task.engine().allocate(*op, op.getResult().getType(), task));
  op.getShift() ? addColumns<int32_t>(panel, acc, out) : addColumns<float>(panel, acc, out);
  task.bind(op.getResult(), std::move(out));
  return {};
}

// The sums of a row's codes, group by group.
static SmallVector<float> codesOf(const Tile &a, int64_t row, int64_t groups) {
  SmallVector<float> sums;
  const int64_t elements = a.shape()[1];
  for (int64_t group = 0; group < groups; ++group) {
    int32_t sum = 0;
    for (int64_t e = group * elements / groups; e < (group + 1) * elements / groups; ++e)
      sum += codeOf(a, row, e);
    sums.push_back(static_cast<float>(sum));
  }
  return sums;
}

Result<void> executeScaleTotals(ScaleTotalsOp op, Task &task) {
  const Tile &a = tileOf(task, op.getA()), &totals = tileOf(task, op.getTotals()),
             &scales = tileOf(task, op.getScales());
  const Tile *mins = op.getMins() ? &tileOf(task, op.getMins()) : nullptr;
  const int64_t columns = totals.shape()[1], groups = mins ? mins->shape()[0] : 0;
  SINTER_TRY(task.engine().charge(
      *op, uint64_t(totals.count()) * uint64_t(1 + groups) + uint64_t(a.count()), task));
  SINTER_ASSIGN(Tile out, task.engine().allocate(*op, op.getResult().getType(), task));
  for (int64_t row = 0; row < totals.shape()[0]; ++row) {
    const SmallVector<float> codes = codesOf(a, row, groups);
    for (int64_t column = 0; column < columns; ++column) {
      TotalScale scale{scales.as<float>()[column], scales.as<float>()[columns + column]};
      float sum = scale.of(totals.as<int32_t>()[row * columns + column]);
      for (int64_t g = 0; g < groups; ++g)
        sum = std::fma(-mins->as<float>()[g * columns + column], codes[g], sum);
      out.as<float>()[row * columns + column] = sum;
    }
  }
  task.bind(op.getResult(), std::move(out));
  return {};
}

Result<void> executeAddScaled(AddScaledOp op, Task &task) {
  const Tile &a = tileOf(task, op.getA()), &sums = tileOf(task, op.getAccumulators()),
             &acc = tileOf(task, op.getAcc());
  SINTER_TRY(task.engine().charge(*op, uint64_t(acc.count()), task));
  SINTER_ASSIGN(Tile out, task.engine().allocate(*op, op.getResult().getType(), task));
  const int64_t columns = acc.shape()[1];
  for (int64_t at = 0; at < acc.count(); ++at)
    out.as<float>()[at] = std::fma(
        sums.as<float>()[at], activationScale(*a.element().activation, blockOf(a, at / columns)),
        acc.as<float>()[at]);
  task.bind(op.getResult(), std::move(out));
  return {};
}

} // namespace sinter::sched
