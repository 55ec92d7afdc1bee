// Reads regions of arith and math, and replays them in the tile language.
#include "tile/mlir_pch.h"

#include "base/check.h"
#include "engine/region_program.h"

#include <bit>

using namespace mlir;

namespace sinter::engine {

using Kind = RegionProgram::Kind;

kernel::Element scalarElement(Type element) {
  if (element.isF16())
    return kernel::F16;
  if (element.isBF16())
    return kernel::BF16;
  if (element.isInteger(32))
    return kernel::I32;
  if (element.isInteger(1))
    return kernel::I1;
  SINTER_CHECK(element.isF32());
  return kernel::F32;
}

// ---- reading ----

static uint32_t floatOperation(StringRef name) {
  return llvm::StringSwitch<uint32_t>(name)
      .Case("arith.addf", SINTER_OP_ADD)
      .Case("arith.subf", SINTER_OP_SUB)
      .Case("arith.mulf", SINTER_OP_MUL)
      .Case("arith.divf", SINTER_OP_DIV)
      .Case("arith.negf", SINTER_OP_NEG)
      .Case("arith.maximumf", SINTER_OP_MAX)
      .Case("arith.minimumf", SINTER_OP_MIN)
      .Case("math.absf", SINTER_OP_ABS)
      .Case("math.ceil", SINTER_OP_CEIL)
      .Case("math.cos", SINTER_OP_COS)
      .Case("math.erf", SINTER_OP_ERF)
      .Case("math.exp", SINTER_OP_EXP)
      .Case("math.exp2", SINTER_OP_EXP2)
      .Case("math.floor", SINTER_OP_FLOOR)
      .Case("math.fma", SINTER_OP_FMA)
      .Case("math.log", SINTER_OP_LOG)
      .Case("math.log2", SINTER_OP_LOG2)
      .Case("math.powf", SINTER_OP_POW)
      .Case("math.roundeven", SINTER_OP_ROUND_EVEN)
      .Case("math.rsqrt", SINTER_OP_RSQRT)
      .Case("math.sin", SINTER_OP_SIN)
      .Case("math.sqrt", SINTER_OP_SQRT)
      .Case("math.tanh", SINTER_OP_TANH)
      .Default(SINTER_OP_COUNT);
}

static uint32_t wholeOperation(StringRef name) {
  return llvm::StringSwitch<uint32_t>(name)
      .Case("arith.addi", SINTER_OP_ADD)
      .Case("arith.subi", SINTER_OP_SUB)
      .Case("arith.muli", SINTER_OP_MUL)
      .Case("arith.andi", SINTER_OP_AND)
      .Case("arith.ori", SINTER_OP_OR)
      .Case("arith.xori", SINTER_OP_XOR)
      .Case("arith.shli", SINTER_OP_SHL)
      .Case("arith.shrsi", SINTER_OP_SHR)
      .Case("arith.shrui", SINTER_OP_SHR_LOGICAL)
      .Case("arith.maxsi", SINTER_OP_MAX)
      .Case("arith.minsi", SINTER_OP_MIN)
      .Case("arith.select", SINTER_OP_SELECT)
      .Default(SINTER_OP_COUNT);
}

// Predicates are those of graph/ir/scalar_ops.h: "oeq", "une", "olt", "slt", "eq", ...
static uint32_t comparison(StringRef predicate) {
  return llvm::StringSwitch<uint32_t>(predicate.take_back(2))
      .Case("eq", SINTER_OP_EQ)
      .Case("ne", SINTER_OP_NE)
      .Case("lt", SINTER_OP_LT)
      .Case("le", SINTER_OP_LE)
      .Case("gt", SINTER_OP_GT)
      .Default(SINTER_OP_GE);
}

static uint32_t operationOf(Operation &op) {
  const StringRef name = op.getName().getStringRef();
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return comparison(arith::stringifyCmpFPredicate(compare.getPredicate()));
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return comparison(arith::stringifyCmpIPredicate(compare.getPredicate()));
  const uint32_t number = floatOperation(name);
  return number == SINTER_OP_COUNT ? wholeOperation(name) : number;
}

static Kind kindOf(Operation &op) {
  return llvm::TypeSwitch<Operation *, Kind>(&op)
      .Case([](arith::ConstantOp) { return Kind::Constant; })
      .Case([](arith::BitcastOp) { return Kind::Bitcast; })
      .Case<arith::ExtUIOp, arith::UIToFPOp>([](Operation *) { return Kind::ConvertUnsigned; })
      .Case<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::FPToSIOp, arith::ExtSIOp>(
          [](Operation *) { return Kind::Convert; })
      .Case([](arith::TruncIOp) { return Kind::Truth; }) // of i32 to i1
      .Default([](Operation *) { return Kind::Elementwise; });
}

static double numberOf(arith::ConstantOp op) {
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    return number.getValueAsDouble();
  const APInt &whole = cast<IntegerAttr>(op.getValue()).getValue();
  return whole.getBitWidth() == 1 ? static_cast<double>(whole.getZExtValue())
                                  : static_cast<double>(whole.getSExtValue());
}

RegionProgram readRegion(mlir::Block &block) {
  RegionProgram program;
  llvm::DenseMap<Value, uint32_t> numbers;
  for (BlockArgument argument : block.getArguments()) {
    numbers[argument] = static_cast<uint32_t>(program.operands.size());
    program.operands.push_back(scalarElement(argument.getType()));
  }
  for (Operation &op : block.without_terminator()) {
    RegionProgram::Node node{
        kindOf(op), SINTER_OP_COUNT, {}, scalarElement(op.getResult(0).getType()), 0};
    if (node.kind == Kind::Elementwise)
      node.op = operationOf(op);
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      node.constant = numberOf(constant);
    for (Value operand : op.getOperands())
      node.operands.push_back(numbers.at(operand));
    auto add = [&](RegionProgram::Node next) {
      program.nodes.push_back(std::move(next));
      return static_cast<uint32_t>(program.operands.size() + program.nodes.size() - 1);
    };
    const kernel::Element element = node.element;
    uint32_t made = add(std::move(node));
    if (isa<arith::ExtSIOp, arith::SIToFPOp>(op) && op.getOperand(0).getType().isInteger(1))
      made = add({Kind::Elementwise, SINTER_OP_NEG, {made}, element, 0}); // i1 converts to 0 and 1
    numbers[op.getResult(0)] = made;
  }
  for (Value yielded : block.getTerminator()->getOperands())
    program.results.push_back(numbers.at(yielded));
  return program;
}

std::string RegionProgram::text() const {
  std::string text;
  for (const kernel::Element &element : operands)
    text += std::string(element.name()) + " ";
  for (const Node &node : nodes) {
    text += std::to_string(static_cast<int>(node.kind)) + "." + std::to_string(node.op) + "." +
            node.element.name() + "." + std::to_string(std::bit_cast<uint64_t>(node.constant));
    for (uint32_t operand : node.operands)
      text += " %" + std::to_string(operand);
    text += ";";
  }
  for (uint32_t result : results)
    text += "%" + std::to_string(result);
  return text;
}

// ---- replaying ----

static kernel::Value elementwise(uint32_t op, const std::vector<kernel::Operand> &operands) {
  const kernel::Where where = kernel::Where::current();
  if (operands.size() == 1)
    return kernel::elementwise(op, {operands[0]}, where);
  if (operands.size() == 2)
    return kernel::elementwise(op, {operands[0], operands[1]}, where);
  return kernel::elementwise(op, {operands[0], operands[1], operands[2]}, where);
}

static kernel::Tile fill(kernel::KernelBuilder &k, const RegionProgram::Node &node, int64_t rows,
                         int64_t columns) {
  if (node.element.isFloat())
    return k.full(node.element, {rows, columns}, node.constant);
  const auto whole = static_cast<int64_t>(node.constant);
  if (node.element == kernel::I1) // tiles of I1 come of comparisons
    return k.full(kernel::I32, {rows, columns}, whole) != 0;
  return k.full(node.element, {rows, columns}, whole);
}

std::vector<kernel::Tile> RegionProgram::replay(kernel::KernelBuilder &k,
                                                const std::vector<kernel::Tile> &tiles,
                                                int64_t rows, int64_t columns) const {
  std::vector<kernel::Tile> values = tiles;
  for (const Node &node : nodes) {
    std::vector<kernel::Operand> of;
    for (uint32_t operand : node.operands)
      of.emplace_back(values[operand]);
    const kernel::Tile first = node.operands.empty() ? kernel::Tile() : values[node.operands[0]];
    switch (node.kind) {
    case Kind::Elementwise:
      values.push_back(elementwise(node.op, of));
      break;
    case Kind::Convert:
      values.push_back(convert(first, node.element));
      break;
    case Kind::ConvertUnsigned:
      values.push_back(convert(first, node.element, kernel::Sign::Unsigned));
      break;
    case Kind::Truth:
      values.push_back((first & 1) != 0);
      break;
    case Kind::Bitcast:
      values.push_back(bitcast(first, node.element));
      break;
    case Kind::Constant:
      values.push_back(fill(k, node, rows, columns));
      break;
    }
  }
  std::vector<kernel::Tile> made;
  for (uint32_t result : results)
    made.push_back(values[result]);
  return made;
}

} // namespace sinter::engine
