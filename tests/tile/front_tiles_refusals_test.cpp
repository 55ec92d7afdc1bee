// Mistakes in arithmetic and tile operations, each refused in one sentence at its line.
#include "tile/front_support.h"
#include "tile/mlir_pch.h"

namespace sinter::tile {
namespace {

using namespace kernel;

class FrontTilesRefuse : public testing::TestWithParam<Refusal> {};

TEST_P(FrontTilesRefuse, InOneSentenceAtItsLine) {
  expectRefusal(GetParam(), "front_tiles_refusals_test.cpp");
}

const Refusal kRefusals[] = {
    {"AdditionOfDifferentExtents",
     [](Probe &p) {
       Tile other = p.k.zeros(F32, {4, 7});
       p.here(), p.floats + other;
     },
     "operands are tile<4x8xf32> and tile<4x7xf32>, expected the same number of dimensions, with "
     "equal extents or 1"},
    {"AdditionOfDifferentRanks",
     [](Probe &p) {
       Tile other = p.k.zeros(F32, {8});
       p.here(), p.floats + other;
     },
     "operands are tile<4x8xf32> and tile<8xf32>, expected the same number of dimensions, with "
     "equal extents or 1"},
    {"AdditionOfDifferentElements", [](Probe &p) { p.here(), p.floats + p.ints; },
     "operands have f32 and i32 elements, expected the same: convert one"},
    {"AScalarOfAnotherElementType", [](Probe &p) { p.here(), p.ints *p.number; },
     "operands have i32 and f32 elements, expected the same: convert one"},
    {"AFloatLiteralBesideIntegers", [](Probe &p) { p.here(), p.ints + 0.5; },
     "literal 0.50 beside i32 elements, expected an integer literal"},
    {"ALiteralThatDoesNotFit",
     [](Probe &p) {
       Tile bytes = p.k.zeros(I8, {4, 8});
       p.here(), bytes + 300;
     },
     "literal 300 does not fit i8"},
    {"ExpOfIntegers", [](Probe &p) { p.here(), exp(p.ints); },
     "exp of tile<4x8xi32>, expected float elements"},
    {"TanhOfAnIntegerScalar", [](Probe &p) { p.here(), tanh(p.id); },
     "tanh of index, expected float elements"},
    {"FmaOfIntegers", [](Probe &p) { p.here(), fma(p.ints, p.ints, p.ints); },
     "fma of tile<4x8xi32>, expected float elements"},
    {"ShiftOfFloats", [](Probe &p) { p.here(), p.floats << 1; },
     "<< of tile<4x8xf32>, expected integer elements"},
    {"BitsOfFloats", [](Probe &p) { p.here(), p.floats & p.floats; },
     "& of tile<4x8xf32>, expected integer elements"},
    {"CeilDivOfFloats", [](Probe &p) { p.here(), ceilDiv(p.number, 2); },
     "ceilDiv of f32, expected integer elements"},
    {"LogicalAndOfFloats", [](Probe &p) { p.here(), logicalAnd(p.floats, p.floats); },
     "logicalAnd of tile<4x8xf32>, expected i1 elements"},
    {"LogicalNotOfIntegers", [](Probe &p) { p.here(), logicalNot(p.ints); },
     "logicalNot of tile<4x8xi32>, expected i1 elements"},
    {"ArithmeticOnABlockFormat", [](Probe &p) { p.here(), p.coded + p.coded; },
     "operand is tile<4x32xblock<q8a>>, expected plain elements: dequantize it first"},
    {"ArithmeticOnAView", [](Probe &p) { p.here(), Tile(p.x) * 2.0; },
     "operand is view<?x?xf32, in>, expected a tile or scalar: load it first"},
    {"SelectByNumbers", [](Probe &p) { p.here(), select(p.ints, p.floats, 0); },
     "condition is tile<4x8xi32>, expected i1 elements"},
    {"SelectOfDifferentTypes", [](Probe &p) { p.here(), select(p.ints > 0, p.floats, p.ints); },
     "operands have f32 and i32 elements, expected the same: convert one"},
    {"SelectOfLiteralsOnly", [](Probe &p) { p.here(), select(p.ints > 0, 1, 0); },
     "operands are literals only, expected at least one tile or scalar"},
    {"AnEmptyValue",
     [](Probe &p) {
       Tile empty;
       p.here(), p.floats + empty;
     },
     "value is empty, expected one made in kernel 'probe'"},
    {"ConversionOfABlockFormat", [](Probe &p) { p.here(), convert(p.coded, F32); },
     "convert of tile<4x32xblock<q8a>>, expected plain elements: dequantize it first"},
    {"ConversionToABlockFormat", [](Probe &p) { p.here(), convert(p.floats, block("q8a")); },
     "convert to block<q8a>, expected plain elements: quantize instead"},
    {"ConversionOfFloatsToTruth", [](Probe &p) { p.here(), convert(p.floats, I1); },
     "convert of tile<4x8xf32> to i1, expected a comparison"},
    {"BitcastToAnotherWidth", [](Probe &p) { p.here(), bitcast(p.floats, I16); },
     "bitcast of tile<4x8xf32> to i16, expected elements of the same width"},
    {"SplatOfATile", [](Probe &p) { p.here(), splat(Value(p.floats), {4}); },
     "splat of tile<4x8xf32>, expected a scalar"},
    {"ATileOfSevenDimensions", [](Probe &p) { p.here(), p.k.zeros(F32, {1, 1, 1, 1, 1, 1, 1}); },
     "tile has 7 dimensions, expected 1 to 6"},
    {"IotaOfFloats", [](Probe &p) { p.here(), p.k.iota({4, 8}, 1, F32); },
     "iota of tile<4x8xf32>, expected integer elements"},
    {"IotaAlongAMissingAxis", [](Probe &p) { p.here(), p.k.iota({4, 8}, 2); },
     "iota along axis 2 of tile<4x8xi32>, expected an axis below 2"},
    {"BroadcastOfAnExtentAboveOne", [](Probe &p) { p.here(), broadcast(p.floats, {8, 8}); },
     "broadcast of tile<4x8xf32> to tile<8x8xf32>, expected extents of 1 or the same"},
    {"ReshapeToOtherElements", [](Probe &p) { p.here(), reshape(p.floats, {5, 7}); },
     "reshape of tile<4x8xf32> to tile<5x7xf32>, expected 32 elements"},
    {"PermuteThatRepeatsAnAxis", [](Probe &p) { p.here(), permute(p.floats, {1, 1}); },
     "permute of tile<4x8xf32>, expected an order that names each of its 2 axes once"},
    {"SliceBeyondTheTile", [](Probe &p) { p.here(), slice(p.floats, {0, 4}, {4, 5}); },
     "slice takes 5 from 4 on axis 1 of tile<4x8xf32>, expected to stay within 8"},
    {"SliceOfAnotherRank", [](Probe &p) { p.here(), slice(p.floats, {0}, {4}); },
     "slice of tile<4x8xf32> with 1 offsets and 1 extents, expected 2 of each"},
    {"ConcatOfDifferentExtents",
     [](Probe &p) {
       Tile other = p.k.zeros(F32, {3, 8});
       p.here(), concat({p.floats, other}, 1);
     },
     "concat of tile<4x8xf32> and tile<3x8xf32> along axis 1, expected the same but for that "
     "axis"},
    {"ConcatAlongAMissingAxis", [](Probe &p) { p.here(), concat({p.floats}, 2); },
     "concat along axis 2 of tile<4x8xf32>, expected an axis below 2"},
    {"ReductionAlongAMissingAxis", [](Probe &p) { p.here(), reduceSum(p.floats, 2); },
     "reduction along axis 2 of tile<4x8xf32>, expected an axis below 2"},
    {"ReductionOfABlockFormat", [](Probe &p) { p.here(), reduceMax(p.coded, 1); },
     "reduction of tile<4x32xblock<q8a>>, expected integer or float elements"},
    {"DotOfThreeDimensions",
     [](Probe &p) {
       Tile a = p.k.zeros(F32, {2, 4, 8}), acc = p.k.zeros(F32, {4, 4});
       p.here(), dot(a, p.floats, acc);
     },
     "dot: a is tile<2x4x8xf32>, expected two dimensions"},
    {"DotOfDifferentContractedExtents",
     [](Probe &p) {
       Tile acc = p.k.zeros(F32, {4, 8});
       p.here(), dot(p.floats, p.floats, acc);
     },
     "dot: a is tile<4x8xf32> and b is tile<4x8xf32>, expected the same extent to contract, found "
     "8 and 4"},
    {"DotIntoAnotherShape",
     [](Probe &p) {
       Tile acc = p.k.zeros(F32, {4, 5});
       p.here(), dot(p.floats, p.floats, acc, true);
     },
     "dot: acc is tile<4x5xf32>, expected 4x4"},
    {"DotOfMixedElements",
     [](Probe &p) {
       Tile half = p.k.zeros(F16, {4, 8}), acc = p.k.zeros(F32, {4, 4});
       p.here(), dot(p.floats, half, acc, true);
     },
     "dot: a has f32 and b has f16 elements, expected the same type or two block formats"},
    {"DotIntoHalfPrecision",
     [](Probe &p) {
       Tile half = p.k.zeros(F16, {4, 8}), acc = p.k.zeros(F16, {4, 4});
       p.here(), dot(half, half, acc, true);
     },
     "dot: acc has f16 elements for operands of f16, expected f32"},
    {"DotOfWideIntegers",
     [](Probe &p) {
       Tile acc = p.k.zeros(I32, {4, 4});
       p.here(), dot(p.ints, p.ints, acc, true);
     },
     "dot: acc has i32 elements for operands of i32, expected i32 for i8 operands"},
    {"DotOfABlockFormatAndFloats",
     [](Probe &p) {
       Tile plain = p.k.zeros(F32, {4, 32}), acc = p.k.zeros(F32, {4, 4});
       p.here(), dot(plain, p.coded, acc, true);
     },
     "dot: a has f32 and b has block<q8a> elements, expected the same type or two block formats"},
    {"DotOfBlocksAcrossTheContraction",
     [](Probe &p) {
       Tile b = quantize(p.k.zeros(F32, {32, 32}), block("q8a")), acc = p.k.zeros(F32, {4, 32});
       p.here(), dot(p.coded, b, acc);
     },
     "dot: b is tile<32x32xblock<q8a>>, expected it transposed: blocks lie along the contracted "
     "axis"},
    {"QuantizingIntegers", [](Probe &p) { p.here(), quantize(p.ints, block("q8a")); },
     "quantize of tile<4x8xi32> to block<q8a>, expected f32 elements and a block format"},
    {"QuantizingToAPlainType", [](Probe &p) { p.here(), quantize(p.floats, I8); },
     "quantize of tile<4x8xf32> to i8, expected f32 elements and a block format"},
    {"QuantizingPartOfABlock", [](Probe &p) { p.here(), quantize(p.floats, block("q8a")); },
     "tile<4x8xblock<q8a>> ends inside a block, expected a last extent of whole blocks of 32"},
    {"DequantizingFloats", [](Probe &p) { p.here(), dequantize(p.floats); },
     "dequantize of tile<4x8xf32>, expected a block format"},
};

INSTANTIATE_TEST_SUITE_P(Cases, FrontTilesRefuse, testing::ValuesIn(kRefusals), refusalName);

} // namespace
} // namespace sinter::tile
