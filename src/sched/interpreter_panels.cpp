// Panels, element by element from the format table.
#include "tile/mlir_pch.h"

#include "sched/interpreter_panels.h"

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

Result<void> executeExpand(ExpandOp op, Task &task) {
  const Tile &blocks = tileOf(task, op.getBlocks());
  const BlockFormat &format = *blocks.element().format;
  SINTER_ASSIGN(Tile words, task.engine().allocate(*op, op.getWords().getType(), task));
  SINTER_ASSIGN(Tile scales, task.engine().allocate(*op, op.getScales().getType(), task));
  std::optional<Tile> mins;
  if (op.getMins()) {
    SINTER_ASSIGN(mins, task.engine().allocate(*op, op.getMins().getType(), task));
  }
  int64_t columns = words.shape()[1], groups = scales.shape()[0];
  auto first = static_cast<uint32_t>(op.getPart() * kActivationLength);
  for (int64_t column = 0; column < columns; ++column) {
    const uint8_t *block = blocks.as<uint8_t>() + column * format.blockBytes;
    for (int64_t word = 0; word < words.shape()[0]; ++word)
      words.as<uint32_t>()[word * columns + column] =
          wordOf(format, block, first + static_cast<uint32_t>(word) * kWordBytes);
    for (int64_t group = 0; group < groups; ++group) {
      auto element = first + static_cast<uint32_t>(group * kActivationLength / groups);
      scales.as<float>()[group * columns + column] = format.scale.value(block, element);
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

namespace {

// The operands of one product.
struct Panel {
  const Tile &a, &words, &scales;
  const Tile *mins;

  int64_t columns() const { return words.shape()[1]; }
  int64_t groups() const { return scales.shape()[0]; }
};

} // namespace

static const uint8_t *blockOf(const Tile &a, int64_t row) {
  return a.as<uint8_t>() + row * a.element().activation->bytes();
}

// Group by group: the exact dot scaled, then the sum of the activations times the minimum.
static float addColumn(const Panel &p, int64_t row, int64_t column, float sums) {
  const ActivationFormat &format = *p.a.element().activation;
  const uint8_t *block = blockOf(p.a, row);
  int64_t length = kActivationLength / p.groups();
  for (int64_t group = 0; group < p.groups(); ++group) {
    int32_t dot = 0, sum = 0;
    for (int64_t e = group * length; e < (group + 1) * length; ++e) {
      uint32_t word = p.words.as<uint32_t>()[e / kWordBytes * p.columns() + column];
      auto number =
          static_cast<int32_t>(word >> (8 * (e % kWordBytes)) & 0xff) - kActivationStartZero;
      int32_t code = activationCode(format, block, static_cast<uint32_t>(e));
      dot += code * number;
      sum += code;
    }
    int64_t at = group * p.columns() + column;
    sums = std::fma(static_cast<float>(dot), p.scales.as<float>()[at], sums);
    if (p.mins)
      sums = std::fma(-p.mins->as<float>()[at], static_cast<float>(sum), sums);
  }
  return sums;
}

Result<void> executePanelDot(PanelDotOp op, Task &task) {
  const Tile &acc = tileOf(task, op.getAcc());
  Panel panel{tileOf(task, op.getA()), tileOf(task, op.getWords()), tileOf(task, op.getScales()),
              op.getMins() ? &tileOf(task, op.getMins()) : nullptr};
  SINTER_TRY(task.engine().charge(*op, uint64_t(acc.count()) * kActivationLength, task));
  SINTER_ASSIGN(Tile out, task.engine().allocate(*op, op.getResult().getType(), task));
  for (int64_t at = 0; at < acc.count(); ++at)
    out.as<float>()[at] =
        addColumn(panel, at / panel.columns(), at % panel.columns(), acc.as<float>()[at]);
  task.bind(op.getResult(), std::move(out));
  return {};
}

Result<void> executeAddScaled(AddScaledOp op, Task &task) {
  const Tile &a = tileOf(task, op.getA()), &sums = tileOf(task, op.getSums()),
             &acc = tileOf(task, op.getAcc());
  SINTER_TRY(task.engine().charge(*op, uint64_t(acc.count()), task));
  SINTER_ASSIGN(Tile out, task.engine().allocate(*op, op.getResult().getType(), task));
  const int64_t columns = acc.shape()[1];
  for (int64_t at = 0; at < acc.count(); ++at)
    out.as<float>()[at] = std::fma(sums.as<float>()[at], activationScale(blockOf(a, at / columns)),
                                   acc.as<float>()[at]);
  task.bind(op.getResult(), std::move(out));
  return {};
}

} // namespace sinter::sched
