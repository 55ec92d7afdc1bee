// Control flow, the grid, arguments, limits and messages of the interpreter.
#include "tile/interp_support.h"

#include <limits>

namespace sinter::tile {
namespace {

// The i64 that `body` binds to %r, with %n : i64 as its argument.
int64_t scalar(const std::string &body, int64_t n) {
  std::vector<int64_t> out = {INT64_MIN};
  auto result = runKernel("tile.kernel @k(%y: !tile.view<1xi64, out>, %n: i64) {\n"
                          "%i0 = arith.constant 0 : index\n%i1 = arith.constant 1 : index\n"
                          "tile.grid %i1, %i1, %i1\n"
                          "%c0 = arith.constant 0 : i64\n%c1 = arith.constant 1 : i64\n" +
                              body +
                              "\n%t = tile.splat %r : i64 -> tensor<1xi64>\n"
                              "tile.store %t, %y[%i0] : tensor<1xi64>, !tile.view<1xi64, out>\n}",
                          {viewOf(out, {1}), llvm::APInt(64, uint64_t(n))});
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return out[0];
}

TEST(For, CarriesValuesAndStopsBelowItsBound) {
  std::string sum = "%c3 = arith.constant 3 : i64\n"
                    "%r = scf.for %i = %c1 to %n step %c3 iter_args(%s = %c0) -> i64 : i64 {\n"
                    "%u = arith.addi %s, %i : i64\nscf.yield %u : i64\n}";
  EXPECT_EQ(scalar(sum, 11), 1 + 4 + 7 + 10);
  EXPECT_EQ(scalar(sum, 10), 1 + 4 + 7);
  EXPECT_EQ(scalar(sum, 1), 0);
  EXPECT_EQ(scalar(sum, -5), 0);
}

TEST(For, SwapsCarriedValues) {
  EXPECT_EQ(scalar("%r, %o = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0, %b = %c1) -> "
                   "(i64, i64) : i64 {\nscf.yield %b, %a : i64, i64\n}",
                   3),
            1);
}

TEST(For, EndsAtTheLargestNumber) {
  EXPECT_EQ(scalar("%m = arith.constant 9223372036854775806 : i64\n"
                   "%l = arith.constant 9223372036854775807 : i64\n"
                   "%r = scf.for %i = %m to %l step %n iter_args(%s = %c0) -> i64 : i64 {\n"
                   "%u = arith.addi %s, %c1 : i64\nscf.yield %u : i64\n}",
                   100),
            1);
}

TEST(For, NestsAndUsesOuterValues) {
  EXPECT_EQ(scalar("%r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> i64 : i64 {\n"
                   "%t2 = scf.for %j = %c0 to %i step %c1 iter_args(%u = %s) -> i64 : i64 {\n"
                   "%v = arith.addi %u, %i : i64\nscf.yield %v : i64\n}\nscf.yield %t2 : i64\n}",
                   4),
            1 + 2 * 2 + 3 * 3);
}

TEST(If, TakesOneSide) {
  std::string branch = "%c = arith.cmpi sgt, %n, %c0 : i64\n"
                       "%r = scf.if %c -> i64 {\nscf.yield %c1 : i64\n} else {\n"
                       "scf.yield %n : i64\n}";
  EXPECT_EQ(scalar(branch, 5), 1);
  EXPECT_EQ(scalar(branch, -5), -5);
}

TEST(If, WithoutAnElseMayDoNothing) {
  EXPECT_EQ(scalar("%c = arith.cmpi sgt, %n, %c0 : i64\n%five = arith.constant dense<5> : "
                   "tensor<1xi64>\nscf.if %c {\ntile.store %five, %y[%i1] : tensor<1xi64>, "
                   "!tile.view<1xi64, out>\n}\n%r = arith.addi %n, %c1 : i64",
                   -5),
            -4);
}

TEST(While, RunsUntilItsConditionFails) {
  // Steps of the Collatz sequence from n to 1.
  std::string collatz = R"(
    %c2 = arith.constant 2 : i64
    %c3 = arith.constant 3 : i64
    %x, %r = scf.while (%v = %n, %s = %c0) : (i64, i64) -> (i64, i64) {
      %more = arith.cmpi ne, %v, %c1 : i64
      scf.condition(%more) %v, %s : i64, i64
    } do {
    ^bb0(%v: i64, %s: i64):
      %odd = arith.remsi %v, %c2 : i64
      %isOdd = arith.cmpi ne, %odd, %c0 : i64
      %next = scf.if %isOdd -> i64 {
        %a = arith.muli %v, %c3 : i64
        %b = arith.addi %a, %c1 : i64
        scf.yield %b : i64
      } else {
        %h = arith.divsi %v, %c2 : i64
        scf.yield %h : i64
      }
      %t2 = arith.addi %s, %c1 : i64
      scf.yield %next, %t2 : i64, i64
    })";
  EXPECT_EQ(scalar(collatz, 27), 111);
  EXPECT_EQ(scalar(collatz, 1), 0);
}

TEST(Grid, RunsEveryProgramXFastest) {
  // Each program appends its id: a counter in an inout view shows the order.
  std::vector<int64_t> order(24, -1), count(1, 0);
  auto result = runKernel(R"(
tile.kernel @k(%order: !tile.view<24xi64, out>, %count: !tile.view<1xi64, inout>, %x: index) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c10 = arith.constant 10 : index
  tile.grid %x, %c3, %c4
  %px = tile.program_id 0
  %py = tile.program_id 1
  %pz = tile.program_id 2
  %a = arith.muli %pz, %c10 : index
  %b = arith.addi %a, %py : index
  %d = arith.muli %b, %c10 : index
  %e = arith.addi %d, %px : index
  %id = arith.index_cast %e : index to i64
  %at = tile.load_scalar %count[%c0] : !tile.view<1xi64, inout> -> i64
  %ati = arith.index_cast %at : i64 to index
  %t = tile.splat %id : i64 -> tensor<1xi64>
  tile.store %t, %order[%ati] : tensor<1xi64>, !tile.view<24xi64, out>
  %one = arith.constant 1 : i64
  %next = arith.addi %at, %one : i64
  %n = tile.splat %next : i64 -> tensor<1xi64>
  tile.store %n, %count[%c0] : tensor<1xi64>, !tile.view<1xi64, inout>
})",
                          {viewOf(order, {24}), viewOf(count, {1}), indexArgument(2)});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->programs, 24u);
  std::vector<int64_t> expected;
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 2; ++x)
        expected.push_back(z * 100 + y * 10 + x);
  EXPECT_EQ(order, expected);
}

// ---- messages and limits ----

std::string around(const std::string &body) {
  return "tile.kernel @k(%x: !tile.view<4xf32, in>, %n: index, %s: f32) {\n"
         "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
         "tile.grid %c1, %c1, %c1\n" +
         body + "\n}";
}
std::string failure(const std::string &body, int64_t n = 0,
                    const InterpreterOptions &options = {}) {
  std::vector<float> x(4);
  return failureOf(around(body), {viewOf(x, {4}), indexArgument(n), f32Argument(1)}, options);
}

TEST(Messages, NameDivisionByZero) {
  EXPECT_EQ(failure("%q = arith.divsi %c1, %n : index"),
            "kernel.mlir:5:6: 'arith.divsi' divides by zero at element 0 (in program 0, 0, 0)");
  EXPECT_EQ(failure("%d = arith.constant dense<[4, 0]> : tensor<2xi8>\n"
                    "%q = arith.remui %d, %d : tensor<2xi8>"),
            "kernel.mlir:6:6: 'arith.remui' divides by zero at element 1 (in program 0, 0, 0)");
}

TEST(Messages, NameAStepThatIsNotPositive) {
  EXPECT_EQ(failure("scf.for %i = %c0 to %c1 step %n {\n}"),
            "kernel.mlir:5:1: 'scf.for' has step 0, expected a positive one (in program 0, 0, 0)");
}

TEST(Messages, NameAnUnknownOperation) {
  EXPECT_EQ(failure("%r = scf.execute_region -> index {\nscf.yield %c0 : index\n}"),
            "kernel.mlir:5:6: 'scf.execute_region' is not an operation that the interpreter knows "
            "(in program 0, 0, 0)");
}

TEST(Messages, NameATypeThatIsNotHeld) {
  EXPECT_EQ(failure("%v = arith.constant dense<0.0> : vector<4xf32>"),
            "kernel.mlir:5:6: 'arith.constant' gives vector<4xf32>, expected a tile or scalar of a "
            "float type or of integers of at most 64 bits (in program 0, 0, 0)");
}

TEST(Limits, EndAnEndlessLoop) {
  InterpreterOptions options;
  options.stepLimit = 5000;
  std::string endless = "%t = arith.constant true\nscf.while : () -> () {\nscf.condition(%t)\n} do "
                        "{\nscf.yield\n}";
  std::string message = failure(endless, 0, options);
  EXPECT_NE(message.find("the kernel has not ended after 5000 steps"), std::string::npos)
      << message;
}

TEST(Limits, CountWorkAndNotOnlyOperations) {
  InterpreterOptions options;
  options.stepLimit = 1000;
  EXPECT_EQ(failure("%t = arith.constant dense<0.0> : tensor<1000x1000xf32>", 0, options),
            "kernel.mlir:5:6: 'arith.constant' the kernel has not ended after 1000 steps (in "
            "program 0, 0, 0)");
}

TEST(Limits, RefuseATileBeyondMemory) {
  EXPECT_EQ(failure("%t = tile.splat %s : f32 -> tensor<100000x100000xf32>"),
            "kernel.mlir:5:6: 'tile.splat' needs 40000000000 bytes beside 0 live ones, expected at "
            "most 2147483648 together (in program 0, 0, 0)");
}

TEST(Limits, RefuseATileWhoseSizeOverflows) {
  std::string message = failure("%t = tile.splat %s : f32 -> tensor<4294967296x4294967296x2xf32>");
  EXPECT_NE(message.find("needs 18446744073709551615 bytes"), std::string::npos) << message;
}

TEST(Limits, CountLiveTilesOnly) {
  // Each iteration makes 400 kB anew; a thousand of them never live together.
  InterpreterOptions options;
  options.memoryLimit = 3 << 20;
  EXPECT_EQ(failure("%c1000 = arith.constant 1000 : index\nscf.for %i = %c0 to %c1000 step %c1 {\n"
                    "%t = tile.splat %s : f32 -> tensor<100x1000xf32>\n}",
                    0, options),
            "succeeded");
}

TEST(Limits, HoldForAHugeGrid) {
  InterpreterOptions options;
  options.stepLimit = 1000;
  std::vector<float> x(4);
  std::string message = failureOf("tile.kernel @k(%n: index) {\ntile.grid %n, %n, %n\n}",
                                  {indexArgument(INT64_MAX)}, options);
  EXPECT_NE(message.find("the kernel has not ended after 1000 steps"), std::string::npos);
}

TEST(Grid, WithNoProgramAlongOneAxisEndsAtOnce) {
  auto result = runKernel("tile.kernel @k(%n: index, %m: index) {\ntile.grid %m, %n, %n\n}",
                          {indexArgument(INT64_MAX), indexArgument(0)});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->programs, 0u);
}

TEST(Grid, OfANegativeExtentIsReported) {
  EXPECT_EQ(failureOf("tile.kernel @k(%n: index) {\ntile.grid %n, %n, %n\n}", {indexArgument(-2)}),
            "kernel.mlir:2:1: 'tile.grid' has -2 programs along axis 0, expected 0 or more");
}

// ---- arguments ----

const std::string kTakesView =
    "tile.kernel @k(%x: !tile.view<?x4xf32, in>, %n: i32) {\n%c1 = arith.constant 1 : index\n"
    "tile.grid %c1, %c1, %c1\n}";
std::string withView(HostView view) {
  return failureOf(kTakesView, {std::move(view), llvm::APInt(32, 0)});
}

TEST(Arguments, ThatFitAreTaken) {
  std::vector<float> x(8);
  EXPECT_EQ(withView(viewOf(x, {2, 4})), "succeeded");
}

TEST(Arguments, AreCounted) {
  EXPECT_EQ(failureOf(kTakesView, {}), "kernel.mlir:1:1: 'tile.kernel' takes 2 arguments, found 0");
}

TEST(Arguments, MatchStaticExtents) {
  std::vector<float> x(10);
  EXPECT_EQ(withView(viewOf(x, {2, 5})),
            "kernel.mlir:1:1: 'tile.kernel' argument 0 has extent 5 on axis 1, expected 4");
}

TEST(Arguments, MatchTheRank) {
  std::vector<float> x(4);
  EXPECT_EQ(withView(viewOf(x, {4})),
            "kernel.mlir:1:1: 'tile.kernel' argument 0 has 1 extents and 1 strides, expected 2 of "
            "each");
}

TEST(Arguments, HaveNoNegativeExtentsOrStrides) {
  std::vector<float> x(4);
  auto *data = reinterpret_cast<std::byte *>(x.data());
  EXPECT_EQ(
      withView({data, {-1, 4}, {4, 1}}),
      "kernel.mlir:1:1: 'tile.kernel' argument 0 has extent -1 on axis 0, expected 0 or more");
  EXPECT_EQ(
      withView({data, {1, 4}, {-4, 1}}),
      "kernel.mlir:1:1: 'tile.kernel' argument 0 has stride -4 on axis 0, expected 0 or more");
}

TEST(Arguments, AreDenseOnTheLastAxis) {
  std::vector<float> x(8);
  EXPECT_EQ(withView({reinterpret_cast<std::byte *>(x.data()), {1, 4}, {8, 2}}),
            "kernel.mlir:1:1: 'tile.kernel' argument 0 has stride 2 on its last axis, expected 1 "
            "for a view that is not strided");
}

TEST(Arguments, HaveMemoryUnlessEmpty) {
  EXPECT_EQ(withView({nullptr, {1, 4}, {4, 1}}),
            "kernel.mlir:1:1: 'tile.kernel' argument 0 has no memory, expected some for a view "
            "that is not empty");
  EXPECT_EQ(withView({nullptr, {0, 4}, {4, 1}}), "succeeded");
}

TEST(Arguments, EndWithinTheAddressSpace) {
  std::vector<float> x(4);
  auto *data = reinterpret_cast<std::byte *>(x.data());
  EXPECT_EQ(withView({data, {INT64_MAX, 4}, {INT64_MAX, 1}}),
            "kernel.mlir:1:1: 'tile.kernel' argument 0 ends beyond the address space, expected "
            "smaller strides");
}

TEST(Arguments, AreOfTheirKind) {
  std::vector<float> x(8);
  EXPECT_EQ(failureOf(kTakesView, {f32Argument(1), llvm::APInt(32, 0)}),
            "kernel.mlir:1:1: 'tile.kernel' argument 0 is a scalar, expected memory for "
            "!tile.view<?x4xf32, in>");
  EXPECT_EQ(failureOf(kTakesView, {viewOf(x, {2, 4}), viewOf(x, {2, 4})}),
            "kernel.mlir:1:1: 'tile.kernel' argument 1 is memory, expected i32");
  EXPECT_EQ(failureOf(kTakesView, {viewOf(x, {2, 4}), indexArgument(1)}),
            "kernel.mlir:1:1: 'tile.kernel' argument 1 is an integer of 64 bits, expected i32");
  EXPECT_EQ(failureOf(kTakesView, {viewOf(x, {2, 4}), f32Argument(1)}),
            "kernel.mlir:1:1: 'tile.kernel' argument 1 is a float of another type, expected i32");
}

TEST(Arguments, OfFloatTypesKeepTheirBits) {
  std::vector<uint16_t> y(1);
  auto result = runKernel("tile.kernel @k(%y: !tile.view<1xf16, out>, %s: f16) {\n"
                          "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
                          "tile.grid %c1, %c1, %c1\n%t = tile.splat %s : f16 -> tensor<1xf16>\n"
                          "tile.store %t, %y[%c0] : tensor<1xf16>, !tile.view<1xf16, out>\n}",
                          {viewOf(y, {1}), llvm::APFloat(llvm::APFloat::IEEEhalf(), "1.5")});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(y[0], 0x3e00);
}

TEST(Interpreter, VerifiesTheKernelFirst) {
  KernelText parsed(kTakesView);
  ASSERT_TRUE(parsed.kernel());
  parsed.kernel().getGrid().erase();
  auto result = interpretKernel(parsed.kernel(), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "kernel.mlir:1:1: 'tile.kernel' op has 0 tile.grid operations, expected one");
}

} // namespace
} // namespace sinter::tile
