// What operations on panels take: shapes that follow from the formats' rows of the table.
#include "tile/mlir_pch.h"

#include "numeric/formats/dot_packing.h"
#include "numeric/formats/integer_scales.h"
#include "sched/sched.h"

using namespace mlir;

namespace sinter::sched {

static constexpr int64_t kWords = kActivationLength / 4;
static constexpr int64_t kWordBits = 16;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static bool isMatrix(RankedTensorType type, Type element) {
  return type.getRank() == 2 && type.getElementType() == element;
}

// The groups of 32 elements that rows of scales are for; 0: they are for no whole groups.
static int64_t groupsOf(RankedTensorType scales, bool pairs) {
  const int64_t groups = scales.getDimSize(0) * (pairs ? 2 : 1);
  return groups == 1 || groups == 2 ? groups : 0;
}

// Words, scales and minima of one part of N columns.
static LogicalResult verifyPanel(Operation *op, Value words, Value scales, Value mins, bool pairs) {
  Builder b(op->getContext());
  RankedTensorType type = typeOf(words), scaleType = typeOf(scales);
  bool numbers = isMatrix(scaleType, b.getI32Type());
  if (!isMatrix(type, b.getI32Type()) || type.getDimSize(0) != kWords ||
      !(numbers || (isMatrix(scaleType, b.getF32Type()) && !pairs)) ||
      scaleType.getDimSize(1) != type.getDimSize(1) || !groupsOf(scaleType, pairs))
    return op->emitOpError() << "has words " << type << " and scales " << scaleType << ", expected "
                             << kWords << "xNxi32 and one or two groups x N x"
                             << " f32, or i32 as numbers or pairs";
  auto minType =
      RankedTensorType::get({groupsOf(scaleType, pairs), type.getDimSize(1)}, b.getF32Type());
  if (mins && mins.getType() != minType)
    return op->emitOpError() << "has minima " << mins.getType() << ", expected " << minType;
  return success();
}

bool isReadAsPanel(Value value) {
  return !value.use_empty() && llvm::all_of(value.getUses(), [](OpOperand &use) {
    if (auto dot = dyn_cast<PanelDotOp>(use.getOwner()))
      return use.get() != dot.getAcc() && use.get() != dot.getA();
    auto totals = dyn_cast<ScaleTotalsOp>(use.getOwner());
    return totals && use.get() != totals.getTotals() && use.get() != totals.getA();
  });
}

// The format of one block of each of the rows that are columns of `columns`; null where it is none.
static const BlockFormat *formatOfBlocks(Value blocks, Value columns) {
  RankedTensorType type = typeOf(blocks), to = typeOf(columns);
  const BlockFormat *format = tile::blockFormatOf(type.getElementType());
  bool right = format && type.getRank() == 2 && to.getRank() == 2 &&
               type.getDimSize(1) == format->blockLength && type.getDimSize(0) == to.getDimSize(1);
  return right ? format : nullptr;
}

LogicalResult ExpandOp::verify() {
  const BlockFormat *format = formatOfBlocks(getBlocks(), getWords());
  RankedTensorType type = typeOf(getBlocks()), scales = typeOf(getScales());
  if (!format)
    return emitOpError() << "expands " << type << " to " << getWords().getType()
                         << ", expected one block of each row and a column for each";
  if (getPart() >= format->blockLength / kActivationLength)
    return emitOpError() << "takes part " << getPart() << " of blocks of " << format->blockLength;
  if (format->min.present() != static_cast<bool>(getMins()))
    return emitOpError() << "has " << (getMins() ? "" : "no ") << "minima of " << type;
  if (scales.getElementType().isInteger(32) && !integerScales(*format))
    return emitOpError() << "takes scales of " << type << " as numbers, which they are not";
  if (failed(verifyPanel(*this, getWords(), getScales(), getMins(), getPairs())))
    return failure();
  int64_t groups = kActivationLength / dotGroupLength(*format);
  if (groupsOf(scales, getPairs()) == groups)
    return success();
  return emitOpError() << "has scales " << scales << " of " << type << ", expected those of "
                       << groups << " groups";
}

LogicalResult TotalScalesOp::verify() {
  const BlockFormat *format = formatOfBlocks(getBlocks(), getResult());
  RankedTensorType type = typeOf(getResult());
  if (format && integerScales(*format) && type.getDimSize(0) == 2 && type.getElementType().isF32())
    return success();
  return emitOpError() << "takes the scales of totals of " << getBlocks().getType() << " as "
                       << type << ", expected 2xNxf32 of blocks with integer scales";
}

// Whether `a` has activations of so many elements for each row of the accumulators.
static bool areRowsOf(Value a, int64_t elements, RankedTensorType accumulators) {
  RankedTensorType type = typeOf(a);
  return tile::activationFormatOf(type.getElementType()) && type.getRank() == 2 &&
         type.getDimSize(1) == elements && accumulators.getRank() == 2 &&
         accumulators.getDimSize(0) == type.getDimSize(0);
}

LogicalResult AddScaledOp::verify() {
  RankedTensorType acc = typeOf(getAcc());
  if (!areRowsOf(getA(), kActivationLength, acc) || !acc.getElementType().isF32() ||
      getAccumulators().getType() != acc || getResult().getType() != acc)
    return emitOpError() << "adds " << getAccumulators().getType() << " to " << acc
                         << " by the scales of " << getA().getType()
                         << ", expected one block of activations a row";
  return success();
}

LogicalResult PanelDotOp::verify() {
  if (failed(verifyPanel(*this, getWords(), getScales(), getMins(), getPairs())))
    return failure();
  RankedTensorType acc = typeOf(getAcc()), words = typeOf(getWords()), scales = typeOf(getScales());
  if (!areRowsOf(getA(), kActivationLength, acc) || acc.getDimSize(1) != words.getDimSize(1) ||
      getResult().getType() != acc || acc.getElementType() != scales.getElementType())
    return emitOpError()
           << "adds " << getA().getType() << " . " << words << " to " << acc
           << ", expected one block of activations a row and accumulators like the scales";
  const bool integers = scales.getElementType().isInteger(32);
  if (getShift().has_value() != integers || (integers && *getShift() >= kWordBits))
    return emitOpError() << "has " << (getShift() ? "" : "no ") << "shift beside scales " << scales
                         << ", expected 0 to " << kWordBits - 1 << " beside integers alone";
  const auto least = static_cast<int64_t>(getLeast()), most = static_cast<int64_t>(getMost());
  if (least < INT8_MIN || least > most || most > INT8_MAX)
    return emitOpError() << "has numbers from " << least << " to " << most
                         << ", expected those of a signed byte";
  if (getMins() && (integers || least < 0))
    return emitOpError() << "has minima beside scales " << scales
                         << ", expected them in f32 and beside positive numbers alone";
  return success();
}

LogicalResult ScaleTotalsOp::verify() {
  RankedTensorType a = typeOf(getA()), totals = typeOf(getTotals()), scales = typeOf(getScales());
  const ActivationFormat *activation = tile::activationFormatOf(a.getElementType());
  auto floats = Float32Type::get(getContext());
  bool right = activation && areRowsOf(getA(), activation->scaleLength, totals) &&
               totals.getElementType().isInteger(32) &&
               getResult().getType() == totals.clone(floats) && isMatrix(scales, floats) &&
               scales.getDimSize(0) == 2 && scales.getDimSize(1) == totals.getDimSize(1);
  if (!right)
    return emitOpError() << "scales " << totals << " of " << a << " by " << scales
                         << ", expected totals in i32 of all activations of a scale, and scales of"
                         << " 2xNxf32";
  if (!getMins())
    return success();
  auto minType = RankedTensorType::get(
      {a.getDimSize(1) / activation->partLength, totals.getDimSize(1)}, floats);
  if (getMins().getType() == minType)
    return success();
  return emitOpError() << "has minima " << getMins().getType() << ", expected " << minType;
}

} // namespace sinter::sched
