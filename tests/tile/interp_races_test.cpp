// Races between programs of a grid, which the interpreter finds where it is asked to.
#include "tile/interp_support.h"

namespace sinter::tile {
namespace {

// Four programs: %p is the number of one, %half half of that, %next the one after it.
std::string kernel(const std::string &access, const std::string &body) {
  return "tile.kernel @k(%x: !tile.view<?xf32, in>, %y: !tile.view<?xf32, " + access +
         "> {tile.name = \"y\"}) {\n"
         "%c1 = arith.constant 1 : index\n%c2 = arith.constant 2 : index\n"
         "%c4 = arith.constant 4 : index\ntile.grid %c4, %c1, %c1\n"
         "%p = tile.program_id 0\n%half = arith.divsi %p, %c2 : index\n"
         "%next = arith.addi %p, %c1 : index\n" +
         body + "\n}";
}

std::string load(const std::string &view, const std::string &access, const std::string &at) {
  return "%t = tile.load %" + view + "[%" + at + "] : <?xf32, " + access + "> -> tensor<1xf32>\n";
}

std::string store(const std::string &access, const std::string &at) {
  return "tile.store %t, %y[%" + at + "] : tensor<1xf32>, <?xf32, " + access + ">\n";
}

// What a run says on x and a y of zeros, of eight elements each.
std::string findingOf(const std::string &text, std::vector<float> x, bool findRaces = true) {
  std::vector<float> y(8);
  return failureOf(text, {viewOf(x, {8}), viewOf(y, {8})}, {.findRaces = findRaces});
}

const std::vector<float> kDifferent = {1, 2, 3, 4, 5, 6, 7, 8}, kAlike(8, 3.0f);

TEST(Races, OfDifferentStoresNameTheElementAndBothPrograms) {
  EXPECT_EQ(findingOf(kernel("out", load("x", "in", "p") + store("out", "half")), kDifferent),
            "kernel.mlir:10:1: 'tile.store' stores element 0 of 'y', which program 0, 0, 0 stored: "
            "the outcome depends on the order in which programs run (in program 1, 0, 0)");
}

TEST(Races, AreLookedForWhereAsked) {
  EXPECT_EQ(
      findingOf(kernel("out", load("x", "in", "p") + store("out", "half")), kDifferent, false),
      "succeeded");
}

TEST(Races, AreNoneWhereProgramsStoreTheSame) {
  EXPECT_EQ(findingOf(kernel("out", load("x", "in", "p") + store("out", "half")), kAlike),
            "succeeded");
}

TEST(Races, AreNoneWhereEachProgramHasItsElement) {
  EXPECT_EQ(findingOf(kernel("out", load("x", "in", "p") + store("out", "p")), kDifferent),
            "succeeded");
  EXPECT_EQ(findingOf(kernel("inout", load("y", "inout", "p") + store("inout", "p")), kDifferent),
            "succeeded");
}

TEST(Races, OfAProgramThatReadsWhatAnotherWrote) {
  const std::string text = kernel("inout", load("x", "in", "p") + store("inout", "next") +
                                               "%u = tile.load %y[%p] : <?xf32, inout> -> "
                                               "tensor<1xf32>\n");
  EXPECT_NE(
      findingOf(text, kDifferent).find("loads element 1 of 'y', which program 0, 0, 0 stored"),
      std::string::npos)
      << findingOf(text, kDifferent);
}

TEST(Races, OfAProgramThatWritesWhatAnotherRead) {
  const std::string text =
      kernel("inout", "%u = tile.load %y[%next] : <?xf32, inout> -> tensor<1xf32>\n" +
                          load("x", "in", "p") + store("inout", "p"));
  EXPECT_NE(
      findingOf(text, kDifferent).find("stores element 1 of 'y', which program 0, 0, 0 loaded"),
      std::string::npos)
      << findingOf(text, kDifferent);
}

} // namespace
} // namespace sinter::tile
