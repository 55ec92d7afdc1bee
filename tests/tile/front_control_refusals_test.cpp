// Mistakes in loops and branches, each refused in one sentence at its line.
#include "tile/front_support.h"
#include "tile/mlir_pch.h"

namespace sinter::tile {
namespace {

using namespace kernel;

class FrontControlRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(FrontControlRefuses, InOneSentenceAtItsLine) {
  expectRefusal(GetParam(), "front_control_refusals_test.cpp");
}

const Refusal kRefusals[] = {
    {"ALoopBodyOfAnotherType",
     [](Probe &p) {
       auto body = [&](Scalar, Tile) { return p.ints; };
       p.here(), p.k.forLoop(0, 4, 1, p.floats, body);
     },
     "loop body returns tile<4x8xi32> for carried value 0, expected tile<4x8xf32>"},
    {"ALoopBodyOfTooFewValues",
     [](Probe &p) {
       auto body = [&](Scalar, std::span<Value>) { return std::vector<Value>{p.floats}; };
       p.here(), p.k.forLoop(0, 4, 1, {p.floats, p.ints}, body);
     },
     "loop body returns 1 values, expected 2 as carried"},
    {"ALoopStepOfZero", [](Probe &p) { p.here(), p.k.forLoop(0, 4, 0, [](Scalar) {}); },
     "loop step is 0, expected a positive one"},
    {"ALoopEndOfAFloat", [](Probe &p) { p.here(), p.k.forLoop(0, p.number, 1, [](Scalar) {}); },
     "loop end is f32, expected an integer scalar"},
    {"ALoopStartOfATile", [](Probe &p) { p.here(), p.k.forLoop(p.ints, 4, 1, [](Scalar) {}); },
     "loop start is tile<4x8xi32>, expected an integer scalar"},
    {"CarryingAView",
     [](Probe &p) {
       auto body = [&](Scalar, View view) { return view; };
       p.here(), p.k.forLoop(0, 4, 1, p.x, body);
     },
     "carried value is view<?x?xf32, in>, expected a tile or scalar"},
    {"AValueUsedAfterItsLoop",
     [](Probe &p) {
       Tile kept;
       p.k.forLoop(0, 4, 1, [&](Scalar) { kept = p.floats * 2; });
       p.here(), store(p.out, {0, 0}, kept);
     },
     "value belongs to a loop or branch that has ended, expected one that is returned from it"},
    {"ACounterUsedAfterItsLoop",
     [](Probe &p) {
       Scalar kept;
       p.k.forLoop(0, 4, 1, [&](Scalar i) { kept = i; });
       p.here(), store(p.out, {kept, 0}, p.floats);
     },
     "value belongs to a loop or branch that has ended, expected one that is returned from it"},
    {"AValueOfTheOtherBranch",
     [](Probe &p) {
       Tile kept;
       p.k.ifElse(
           p.id == 0, [&] { kept = p.floats * 2; }, [&] { p.here(), store(p.out, {0, 0}, kept); });
     },
     "value belongs to a loop or branch that has ended, expected one that is returned from it"},
    {"ABranchOnANumber", [](Probe &p) { p.here(), p.k.ifThen(p.id, [] {}); },
     "condition is index, expected an i1 scalar"},
    {"ABranchOnATile", [](Probe &p) { p.here(), p.k.ifThen(Value(p.floats > 0), [] {}); },
     "condition is tile<4x8xi1>, expected an i1 scalar"},
    {"BranchesOfDifferentTypes",
     [](Probe &p) {
       Scalar first = p.id == 0;
       auto left = [&]() -> Tile { return p.floats; };
       auto right = [&]() -> Tile { return p.ints; };
       p.here(), p.k.ifElse(first, left, right);
     },
     "branches return tile<4x8xf32> and tile<4x8xi32> as value 0, expected the same type"},
    {"ABranchThatReturnsLess",
     [](Probe &p) {
       Scalar first = p.id == 0;
       auto left = [&]() -> std::tuple<Tile, Tile> { return {p.floats, p.ints}; };
       auto right = [&]() -> std::tuple<Tile> { return {p.floats}; };
       p.here(), p.k.ifElse(first, left, right);
     },
     "branches return 2 and 1 values, expected as many"},
    {"AWhileConditionThatIsNoTruth",
     [](Probe &p) {
       auto same = [](Scalar i) { return i; };
       auto next = [](Scalar i) { return std::tuple{i + 1}; };
       p.here(), p.k.whileLoop(std::tuple{p.id}, same, next);
     },
     "loop condition is index, expected an i1 scalar"},
    {"AWhileBodyOfAnotherType",
     [](Probe &p) {
       auto more = [](Scalar i) { return i < 4; };
       auto next = [&](Scalar) { return std::tuple{p.number}; };
       p.here(), p.k.whileLoop(std::tuple{p.id}, more, next);
     },
     "loop body returns f32 for carried value 0, expected index"},
    {"AGridInsideALoop",
     [](Probe &p) { p.k.forLoop(0, 4, 1, [&](Scalar) { p.here(), p.k.grid(1); }); },
     "grid is given inside a loop or branch, expected outside"},
};

INSTANTIATE_TEST_SUITE_P(Cases, FrontControlRefuses, testing::ValuesIn(kRefusals), refusalName);

} // namespace
} // namespace sinter::tile
