// Reads elementwise regions and replays them on tiles.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/map_program.h"
#include "kernels/norm_squares.h"

#include <bit>

using namespace mlir;

namespace sinter::engine {

// The tile language's operation; kConstant where there is none.
static uint32_t kernelOperation(Operation &op) {
  return llvm::TypeSwitch<Operation *, uint32_t>(&op)
      .Case([](arith::AddFOp) { return SINTER_OP_ADD; })
      .Case([](arith::SubFOp) { return SINTER_OP_SUB; })
      .Case([](arith::MulFOp) { return SINTER_OP_MUL; })
      .Case([](arith::DivFOp) { return SINTER_OP_DIV; })
      .Case([](arith::NegFOp) { return SINTER_OP_NEG; })
      .Case([](arith::MaximumFOp) { return SINTER_OP_MAX; })
      .Case([](arith::MinimumFOp) { return SINTER_OP_MIN; })
      .Case([](math::AbsFOp) { return SINTER_OP_ABS; })
      .Case([](math::ExpOp) { return SINTER_OP_EXP; })
      .Case([](math::SqrtOp) { return SINTER_OP_SQRT; })
      .Case([](math::RsqrtOp) { return SINTER_OP_RSQRT; })
      .Case([](math::TanhOp) { return SINTER_OP_TANH; })
      .Case([](math::ErfOp) { return SINTER_OP_ERF; })
      .Case([](math::FmaOp) { return SINTER_OP_FMA; })
      .Default([](Operation *) { return MapProgram::kConstant; });
}

// Exact, unlike decimal text.
static std::string constantText(double value) {
  return std::to_string(std::bit_cast<uint64_t>(value));
}

std::string MapProgram::text() const {
  std::string text;
  for (uint32_t i = 0; i < operandCount; ++i)
    if (repeatsRow(i))
      text += "%" + std::to_string(i) + " repeats;";
  uint32_t value = operandCount;
  for (const Node &node : nodes) {
    text += "%" + std::to_string(value++) + "=";
    if (node.op == kConstant) {
      text += constantText(node.constant) + ";";
      continue;
    }
    text += "op" + std::to_string(node.op);
    for (uint32_t operand : node.operands)
      text += " %" + std::to_string(operand);
    text += ";";
  }
  return text + "%" + std::to_string(result);
}

uint32_t MapProgram::firstOfRows() const {
  uint32_t operand = 0;
  while (repeatsRow(operand))
    ++operand;
  SINTER_CHECK(operand < operandCount);
  return operand;
}

bool MapProgram::readsRows() const {
  std::vector<bool> wide;
  for (uint32_t i = 0; i < operandCount; ++i)
    wide.push_back(!repeatsRow(i));
  for (const Node &node : nodes)
    wide.push_back(llvm::any_of(node.operands, [&](uint32_t operand) { return wide[operand]; }));
  return wide[result];
}

Result<MapProgram> readMap(graph::MapOp map) {
  MapProgram program;
  llvm::DenseMap<Value, uint32_t> numbers;
  mlir::Block &block = map.getBody().front();
  for (auto [argument, operand] : llvm::zip_equal(block.getArguments(), map.getValues())) {
    numbers[argument] = program.operandCount++;
    program.repeats.push_back(cast<RankedTensorType>(operand.getType()).getRank() == 1);
  }
  for (Operation &op : block.without_terminator()) {
    MapProgram::Node node{kernelOperation(op), {}, 0};
    auto constant = dyn_cast<arith::ConstantOp>(op);
    auto number = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
    bool known = constant ? static_cast<bool>(number) : node.op != MapProgram::kConstant;
    if (!known || !op.getResult(0).getType().isF32())
      return fail(Code::Unsupported, "a map has '" + op.getName().getStringRef().str() +
                                         "', which has no form in kernels on f32");
    if (number)
      node.constant = number.getValueAsDouble();
    for (Value operand : op.getOperands())
      node.operands.push_back(numbers.at(operand));
    numbers[op.getResult(0)] = program.operandCount + static_cast<uint32_t>(program.nodes.size());
    program.nodes.push_back(std::move(node));
  }
  program.result = numbers.at(cast<graph::YieldOp>(block.getTerminator()).getValue());
  if (!program.readsRows())
    return fail(Code::Unsupported, "a map's result is one row for all rows, which has no kernel");
  return program;
}

static kernel::Value elementwiseOf(uint32_t op, const std::vector<kernel::Operand> &operands) {
  kernel::Where where = kernel::Where::current();
  if (operands.size() == 1)
    return kernel::elementwise(op, {operands[0]}, where);
  if (operands.size() == 2)
    return kernel::elementwise(op, {operands[0], operands[1]}, where);
  return kernel::elementwise(op, {operands[0], operands[1], operands[2]}, where);
}

static kernel::Tile replay(kernel::KernelBuilder &k, const MapProgram &program,
                           std::vector<kernel::Value> values, const kernels::TilePlace &place) {
  for (const MapProgram::Node &node : program.nodes) {
    if (node.op == MapProgram::kConstant) {
      values.push_back(k.full(kernel::F32, {place.rows, place.columns}, node.constant));
      continue;
    }
    std::vector<kernel::Operand> operands;
    for (uint32_t operand : node.operands)
      operands.emplace_back(values[operand]);
    values.push_back(elementwiseOf(node.op, operands));
  }
  return values[program.result];
}

namespace {

// The operands of a map that are no tiles of the kernel, as views.
class OperandViews {
public:
  OperandViews(const MapProgram &program, std::vector<uint32_t> tileOperands, int64_t columns,
               std::string prefix = "operand")
      : program_(program), tileOperands_(std::move(tileOperands)), columns_(columns),
        prefix_(std::move(prefix)) {}

  void declare(kernel::KernelBuilder &k) {
    whole_.clear();
    for (uint32_t i = 0; i < program_.operandCount; ++i)
      if (!llvm::is_contained(tileOperands_, i))
        whole_.push_back(k.in(prefix_ + std::to_string(i), kernel::F32,
                              {program_.repeatsRow(i) ? 1 : kernel::dyn, columns_}));
    views_ = whole_;
  }

  // Operands that do not repeat have these rows from now on.
  void cut(const kernel::Scalar &row, const kernel::Scalar &rows) {
    auto view = whole_.begin();
    for (uint32_t i = 0; i < program_.operandCount; ++i)
      if (!llvm::is_contained(tileOperands_, i)) {
        if (!program_.repeatsRow(i))
          views_[view - whole_.begin()] = window(*view, {row, 0}, {rows, columns_});
        ++view;
      }
  }

  // The map of `tiles`, one for each tile operand in turn.
  kernel::Tile apply(kernel::KernelBuilder &k, const std::vector<kernel::Tile> &tiles,
                     const kernels::TilePlace &place) const {
    std::vector<kernel::Value> values;
    auto view = views_.begin();
    for (uint32_t i = 0; i < program_.operandCount; ++i) {
      auto tile = llvm::find(tileOperands_, i);
      values.push_back(tile == tileOperands_.end()
                           ? kernel::Value(load(k, *view++, program_.repeatsRow(i), place))
                           : kernel::Value(tiles[tile - tileOperands_.begin()]));
    }
    return replay(k, program_, std::move(values), place);
  }

private:
  // A tile of the operand at `place`, the same row for all rows where it repeats.
  static kernel::Tile load(kernel::KernelBuilder &k, const kernel::View &view, bool repeats,
                           const kernels::TilePlace &place) {
    if (!repeats)
      return kernels::loadF32(view, kernel::F32, place);
    const kernels::TilePlace row{k.constant(kernel::Index, 0), place.column, 1, place.columns};
    return kernels::loadF32(view, kernel::F32, row); // which elementwise work repeats
  }

  MapProgram program_;
  std::vector<uint32_t> tileOperands_;
  int64_t columns_;
  std::string prefix_;                      // of the views' names
  std::vector<kernel::View> whole_, views_; // as declared, and as they are cut
};

} // namespace

kernels::Slot mapSlot(const MapProgram &program, uint32_t tileOperand, int64_t columns,
                      const std::string &prefix) {
  auto views = std::make_shared<OperandViews>(program, std::vector{tileOperand}, columns, prefix);
  kernels::Slot slot;
  slot.declare = [views](kernel::KernelBuilder &k) { views->declare(k); };
  slot.apply = [views](kernel::KernelBuilder &k, const kernel::Tile &tile,
                       const kernels::TilePlace &place) { return views->apply(k, {tile}, place); };
  return slot;
}

kernels::EpilogueStore mapStore(const MapProgram &program,
                                const std::vector<uint32_t> &tileOperands, int64_t columns,
                                kernel::Element out, bool squares) {
  auto views = std::make_shared<OperandViews>(program, tileOperands, columns);
  struct Out {
    kernel::View whole, rows; // as declared, and as it is cut
    kernel::View squares;
  };
  auto result = std::make_shared<Out>();
  int64_t parts = static_cast<int64_t>(tileOperands.size());
  kernels::EpilogueStore epilogueStore;
  epilogueStore.declare = [views, result, columns, out, squares](kernel::KernelBuilder &k) {
    result->whole = result->rows = k.out("out", out, {kernel::dyn, columns});
    if (squares)
      result->squares =
          k.out("squares", kernel::F32, {kernel::dyn, columns / kernels::kSquareColumns});
    views->declare(k);
  };
  epilogueStore.cut = [views, result, columns](kernel::KernelBuilder &, const kernel::Scalar &row,
                                               const kernel::Scalar &rows) {
    result->rows = window(result->whole, {row, 0}, {rows, columns});
    views->cut(row, rows);
  };
  epilogueStore.store = [views, result, parts, out, squares](kernel::KernelBuilder &k,
                                                             const kernel::Tile &tile,
                                                             const kernels::TilePlace &place) {
    int64_t width = place.columns / parts;
    kernels::TilePlace part = {place.row, place.column / parts, place.rows, width};
    std::vector<kernel::Tile> tiles;
    for (int64_t i = 0; i < parts; ++i)
      tiles.push_back(slice(tile, {0, i * width}, {place.rows, width}));
    const kernel::Tile made = views->apply(k, tiles, part);
    kernels::storeF32(result->rows, out, part, made);
    if (squares)
      kernels::storeSquares(result->squares, part, made);
  };
  return epilogueStore;
}

} // namespace sinter::engine
