// Mistakes with arguments, grids, views, loads and stores, each refused in one sentence at its
// line.
#include "tile/front_support.h"
#include "tile/mlir_pch.h"

namespace sinter::tile {
namespace {

using namespace kernel;

class FrontMemoryRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(FrontMemoryRefuses, InOneSentenceAtItsLine) {
  expectRefusal(GetParam(), "front_memory_refusals_test.cpp");
}

const Refusal kRefusals[] = {
    {"StoreToAnInView", [](Probe &p) { p.here(), store(p.x, {0, 0}, p.floats); },
     "store to view<?x?xf32, in>, expected an out or inout view"},
    {"LoadFromAnOutView", [](Probe &p) { p.here(), load(p.out, {0, 0}, {4, 8}); },
     "load from view<?x?xf32, out>, expected an in or inout view"},
    {"ScalarLoadFromAnOutView", [](Probe &p) { p.here(), loadScalar(p.out, {0, 0}); },
     "load from view<?x?xf32, out>, expected an in or inout view"},
    {"ScalarLoadOfABlockFormat", [](Probe &p) { p.here(), loadScalar(p.blocks, {0, 0}); },
     "scalar load from view<?x64xblock<q4_1>, in>, expected scalar elements: load a tile and "
     "dequantize it"},
    {"StoreOfAnotherElementType", [](Probe &p) { p.here(), store(p.out, {0, 0}, p.ints); },
     "store of tile<4x8xi32> to view<?x?xf32, out>, expected f32 elements: convert it"},
    {"StoreOfAnotherRank",
     [](Probe &p) {
       Tile row = p.k.zeros(F32, {8});
       p.here(), store(p.out, {0, 0}, row);
     },
     "store of tile<8xf32> to view<?x?xf32, out>, expected 2 dimensions"},
    {"StoreOfAScalar", [](Probe &p) { p.here(), store(p.out, {0, 0}, Value(p.number)); },
     "stored value is f32, expected a tile"},
    {"StoreOfAView", [](Probe &p) { p.here(), store(p.out, {0, 0}, Value(p.x)); },
     "stored value is view<?x?xf32, in>, expected a tile: load it first"},
    {"StoreToATile", [](Probe &p) { p.here(), store(Value(p.floats), {0, 0}, p.floats); },
     "target is tile<4x8xf32>, expected a view"},
    {"LoadWithTooFewOffsets", [](Probe &p) { p.here(), load(p.x, {0}, {4, 8}); },
     "1 offsets for a view with 2 dimensions, expected one per dimension"},
    {"LoadOfAnotherRank", [](Probe &p) { p.here(), load(p.x, {0, 0}, {8}); },
     "load of a tile with 1 dimensions from view<?x?xf32, in>, expected 2"},
    {"LoadOfAnEmptyTile", [](Probe &p) { p.here(), load(p.x, {0, 0}, {0, 8}); },
     "tile has extent 0 on axis 0, expected a positive one"},
    {"LoadOfADynamicTile", [](Probe &p) { p.here(), load(p.x, {0, 0}, {4, dyn}); },
     "tile has extent dyn on axis 1, expected a positive one"},
    {"LoadOfATileBeyondAllMemory",
     [](Probe &p) { p.here(), load(p.x, {0, 0}, {int64_t(1) << 40, int64_t(1) << 40}); },
     "tile<1099511627776x1099511627776xf32> is too large, expected at most 268435456 elements"},
    {"LoadOfAPartOfABlock", [](Probe &p) { p.here(), load(p.blocks, {0, 0}, {4, 33}); },
     "tile<4x33xblock<q4_1>> ends inside a block, expected a last extent of whole blocks of 32"},
    {"OffsetOfAFloat", [](Probe &p) { p.here(), load(p.x, {p.number, 0}, {4, 8}); },
     "offset is f32, expected an integer scalar"},
    {"OffsetOfAFloatLiteral", [](Probe &p) { p.here(), load(p.x, {0, 1.5}, {4, 8}); },
     "offset is literal 1.50, expected an integer"},
    {"OffsetOfATile", [](Probe &p) { p.here(), load(p.x, {p.ints, 0}, {4, 8}); },
     "offset is tile<4x8xi32>, expected an integer scalar"},
    {"PaddingWithAValue", [](Probe &p) { p.here(), load(p.x, {0, 0}, {4, 8}, p.number); },
     "padding is a value, expected a literal"},
    {"PaddingIntegersWithAFloat", [](Probe &p) { p.here(), load(p.ids, {0}, {8}, 0.5); },
     "literal 0.50 beside i32 elements, expected an integer literal"},
    {"PaddingABlockFormat", [](Probe &p) { p.here(), load(p.blocks, {0, 0}, {4, 64}, 1); },
     "literal beside elements of block<q4_1>, expected integers or floats"},
    {"ExtentOfAMissingAxis", [](Probe &p) { p.here(), p.x.dim(2); },
     "extent of axis 2 of view<?x?xf32, in>, expected an axis below 2"},
    {"WindowWithTooFewExtents", [](Probe &p) { p.here(), window(p.x, {0, 0}, {4}); },
     "1 extents for a view with 2 dimensions, expected one per dimension"},
    {"WindowOfANegativeExtent", [](Probe &p) { p.here(), window(p.x, {0, 0}, {4, -1}); },
     "window has extent -1, expected 0 or more"},
    {"GatherFromPagesOfUnknownRows", [](Probe &p) { p.here(), gather(p.x, p.ids); },
     "pages are view<?x?xf32, in>, expected [pages, rows, ...] with a static number of rows"},
    {"GatherByAFloatIndex",
     [](Probe &p) {
       View pages = p.k.in("pages", F32, {dyn, 16, 8}), index = p.k.in("index", F32, {dyn});
       p.here(), gather(pages, index);
     },
     "index is view<?xf32, in>, expected one dimension of i32"},
    {"GatherByAnIndexOfTwoDimensions",
     [](Probe &p) {
       View pages = p.k.in("pages", F32, {dyn, 16, 8}), index = p.k.in("index", I32, {dyn, 2});
       p.here(), gather(pages, index);
     },
     "index is view<?x2xi32, in>, expected one dimension of i32"},
    {"AViewOfAnUnknownElementType", [](Probe &p) { p.here(), p.k.in("y", Element("f31"), {dyn}); },
     "element type 'f31' is not known, expected f64, f32, f16, bf16, f8e4m3, f8e5m2, i1, i8, i16, "
     "i32, i64, index or block<format>"},
    {"AViewOfAnUnknownBlockFormat", [](Probe &p) { p.here(), p.k.in("y", block("q4_9"), {dyn}); },
     "block format 'q4_9' is not known, expected one such as q4_1 or q8a"},
    {"AViewWithoutDimensions", [](Probe &p) { p.here(), p.k.in("y", F32, {}); },
     "view has 0 dimensions, expected 1 to 6"},
    {"AViewOfAnEmptyAxis", [](Probe &p) { p.here(), p.k.in("y", F32, {dyn, 0}); },
     "view has extent 0, expected a positive one or ?"},
    {"InterleavedOutputs",
     [](Probe &p) { p.here(), p.k.out("y", F32, {dyn, 64}, {.interleave = 16}); },
     "interleave = 16 is for two-dimensional in-views and positive row counts"},
    {"ConstantOutputs", [](Probe &p) { p.here(), p.k.out("y", F32, {dyn}, {.constant = true}); },
     "view 'y' is constant and written, expected access in"},
    {"AnArgumentDeclaredTwice", [](Probe &p) { p.here(), p.k.in("x", F32, {dyn}); },
     "argument 'x' is declared twice"},
    {"AnArgumentWithoutAName", [](Probe &p) { p.here(), p.k.scalar("", F32); },
     "argument is named '', expected letters, digits and _"},
    {"AScalarOfABlockFormat", [](Probe &p) { p.here(), p.k.scalar("s", block("q4_1")); },
     "scalar 's' is block<q4_1>, expected an integer, float or index"},
    {"ASecondGrid", [](Probe &p) { p.here(), p.k.grid(2); },
     "grid is given twice, expected once per kernel"},
    {"AProgramIdOfAFourthAxis", [](Probe &p) { p.here(), p.k.programId(3); },
     "program id of axis 3, expected 0, 1 or 2"},
};

INSTANTIATE_TEST_SUITE_P(Cases, FrontMemoryRefuses, testing::ValuesIn(kRefusals), refusalName);

} // namespace
} // namespace sinter::tile
