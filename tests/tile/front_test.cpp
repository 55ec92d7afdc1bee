// The kernel front as a whole: what it builds, that its text reads back, and how a module reports
// several mistakes.
#include "tile/front/front.h"
#include "tile/interpreter/interpreter.h"
#include "tile/mlir_pch.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter::tile {
namespace {

using namespace kernel;
using testing::ElementsAre;
using testing::HasSubstr;

KernelModule build(const std::function<void(KernelBuilder &)> &body) {
  return KernelModule::build([&](Module &m) { m.kernel("k", body); });
}

std::vector<std::string> messages(const KernelModule &module) {
  std::vector<std::string> texts;
  for (const FrontDiagnostic &diagnostic : module.diagnostics())
    texts.push_back(diagnostic.message);
  return texts;
}

void expectRoundTrip(KernelModule module) {
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  std::string text = module.text();
  auto parsed = KernelModule::parse(text, "kernel.mlir");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().toString() << "\n" << text;
  EXPECT_EQ(parsed->text(), text);
}

void scaleRows(KernelBuilder &k) {
  View x = k.in("x", F32, {dyn, 8}), out = k.out("out", F32, {dyn, 8});
  Scalar factor = k.scalar("factor", F32);
  k.grid(ceilDiv(x.dim(0), 4));
  Scalar row = k.programId(0) * 4;
  store(out, {row, 0}, load(x, {row, 0}, {4, 8}) * factor + 1);
}

TEST(Front, AKernelBecomesTheTileDialectOneToOne) {
  EXPECT_EQ(build(scaleRows).text(), R"(module {
  tile.kernel @k(%arg0: !tile.view<?x8xf32, in> {tile.name = "x"}, )"
                                     R"(%arg1: !tile.view<?x8xf32, out> {tile.name = "out"}, )"
                                     R"(%arg2: f32 {tile.name = "factor"}) {
    %c4 = arith.constant 4 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %cst = arith.constant dense<1.000000e+00> : tensor<4x8xf32>
    %0 = tile.dim %arg0, 0 : <?x8xf32, in>
    %1 = arith.ceildivsi %0, %c4 : index
    tile.grid %1, %c1, %c1
    %2 = tile.program_id 0
    %3 = arith.muli %2, %c4 : index
    %4 = tile.load %arg0[%3, %c0] : <?x8xf32, in> -> tensor<4x8xf32>
    %5 = tile.splat %arg2 : f32 -> tensor<4x8xf32>
    %6 = arith.mulf %4, %5 : tensor<4x8xf32>
    %7 = arith.addf %6, %cst : tensor<4x8xf32>
    tile.store %7, %arg1[%3, %c0] : tensor<4x8xf32>, <?x8xf32, out>
  }
}
)");
}

TEST(Front, EachOperationHasTheLineOfItsCall) {
  uint32_t line = 0;
  auto module = build([&](KernelBuilder &k) {
    k.grid(1);
    Tile tile = k.zeros(F32, {4});
    line = __LINE__ + 1;
    exp(tile);
  });
  mlir::Location found = mlir::UnknownLoc::get(&module.context());
  module.module().walk([&](mlir::math::ExpOp op) { found = op.getLoc(); });
  auto place = mlir::dyn_cast<mlir::FileLineColLoc>(found);
  ASSERT_TRUE(place);
  EXPECT_EQ(place.getLine(), line);
  EXPECT_TRUE(place.getFilename().strref().ends_with("front_test.cpp"));
}

TEST(Front, AnOperatorHasTheLineOfItsLeftOperand) {
  uint32_t line = 0;
  auto module = build([&](KernelBuilder &k) {
    k.grid(1);
    Tile tile = k.zeros(F32, {4});
    line = __LINE__ + 1;
    tile *tile;
  });
  uint32_t found = 0;
  module.module().walk([&](mlir::arith::MulFOp op) {
    found = mlir::cast<mlir::FileLineColLoc>(op.getLoc()).getLine();
  });
  EXPECT_EQ(found, line);
}

// ---- round trips ----

TEST(Front, LoopsAndBranchesRoundTripThroughText) {
  expectRoundTrip(build([](KernelBuilder &k) {
    View x = k.in("x", F32, {dyn, dyn}), out = k.out("out", F32, {dyn, dyn});
    k.grid(1);
    Tile zero = k.zeros(F32, {4, 8});
    Scalar n = k.constant(Index, 0);
    auto [sum, count] =
        k.forLoop(0, x.dim(0), 4, std::tuple{zero, n}, [&](Scalar i, Tile acc, Scalar seen) {
          return std::tuple{acc + load(x, {i, 0}, {4, 8}), seen + 4};
        });
    auto [last] = k.whileLoop(
        std::tuple{count}, [](Scalar i) { return i > 3; },
        [](Scalar i) { return std::tuple{i / 2}; });
    Scalar index = last;
    Tile total = sum;
    Tile chosen = k.ifElse(index == 0, [&] { return total; }, [&] { return total * 2; });
    k.ifThen(index > 1, [&] { store(out, {4, 0}, total); });
    std::vector<Value> both = k.forLoop(0, 2, 1, {chosen, index}, [&](Scalar, std::span<Value> v) {
      return std::vector<Value>{Tile(v[0]) + 1, Scalar(v[1])};
    });
    store(out, {0, 0}, both[0]);
  }));
}

TEST(Front, EveryElementwiseOperationRoundTripsThroughText) {
  auto module = build([](KernelBuilder &k) {
    View out = k.out("out", F32, {dyn});
    k.grid(1, 2, 3);
    Tile f = convert(k.iota({8}, 0), F32), i = k.iota({8}, 0);
    for (Tile t :
         {f + f,  f - f,  f * f,   f / f,   f % f,    max(f, 1), min(f, 1),    pow(f, f),
          -f,     abs(f), exp(f),  exp2(f), log(f),   log2(f),   sqrt(f),      rsqrt(f),
          sin(f), cos(f), tanh(f), erf(f),  floor(f), ceil(f),   roundEven(f), fma(f, f, 1.0)})
      store(out, {0}, t);
    for (Tile t :
         {i + i, i - 1, 1 - i, i * i, i / 2, i % 3, ceilDiv(i, 2), floorDiv(i, 2), i & 3, i | 1,
          i ^ i, i << 1, i >> 1, shiftRightLogical(i, 1), -i, ~i, abs(i), max(i, 2)})
      store(out, {0}, bitcast(t, F32));
    for (Tile t :
         {f == f, f != f, f < 1, f <= 1, f > 1, 1 >= f, i == i, i != 2, i < 2, i <= 2, i > 2,
          i >= 2, logicalAnd(i > 1, i < 4), logicalOr(i > 1, i < 4), logicalNot(i > 1)})
      store(out, {0}, select(t, f, 0));
  });
  expectRoundTrip(std::move(module));
}

TEST(Front, EveryTileOperationRoundTripsThroughText) {
  expectRoundTrip(build([](KernelBuilder &k) {
    View pages = k.in("pages", F16, {dyn, 16, 8}), ids = k.in("ids", I32, {4});
    View strided = k.in("s", F32, {dyn, dyn}, {.strided = true});
    View packed = k.in("w", block("q4_1"), {dyn, 64}, {.interleave = 16});
    View out = k.inout("out", F32, {dyn, dyn}), exact = k.out("exact", I32, {dyn, dyn});
    k.grid(ids.dim(0));
    Tile rows = load(gather(pages, ids), {k.programId(0), 0}, {16, 8}, -1.0);
    Tile cut = load(window(strided, {1, 0}, {loadScalar(ids, {0}), 8}), {0, 0}, {8, 8});
    Tile both = concat({convert(rows, F32), cut}, 0);
    Tile back = reshape(permute(reshape(both, {4, 6, 8}), {1, 0, 2}), {24, 8});
    store(out, {0, 0}, slice(back, {2, 0}, {16, 8}) - reduceMax(slice(back, {2, 0}, {16, 8}), 0));
    Tile weights = load(packed, {0, 0}, {16, 64});
    Tile coded = quantize(k.full(F32, {4, 64}, 0.5), block("q8a"));
    store(out, {0, 0}, dot(coded, weights, k.zeros(F32, {4, 16}), true));
    store(out, {0, 0}, reduceMin(dequantize(weights), 1) + reduceSum(dequantize(weights), 1));
    Tile bytes = k.full(I8, {4, 4}, 3);
    store(exact, {0, 0}, dot(bytes, bytes, k.zeros(I32, {4, 4})));
    store(out, {0, 0}, broadcast(splat(k.constant(F32, 2.5), {1, 8}), {4, 8}));
  }));
}

TEST(Front, EveryConversionRoundTripsThroughText) {
  expectRoundTrip(build([](KernelBuilder &k) {
    k.grid(1);
    Tile x = k.iota({4}, 0);
    for (Element from : {F64, F32, F16, BF16, F8E4M3, F8E5M2, I8, I16, I32, I64, Index})
      for (Element to : {F64, F32, F16, BF16, F8E4M3, F8E5M2, I8, I16, I32, I64, Index}) {
        convert(convert(x, from), to);
        convert(convert(x > 1, from), to, Sign::Unsigned);
      }
  }));
}

// ---- meaning ----

TEST(Front, WindowsKeepOnlyExtentsThatClippingCannotChange) {
  auto module = build([](KernelBuilder &k) {
    View x = k.in("x", F32, {dyn, 8, 8});
    k.grid(1);
    window(x, {0, 0, 1}, {4, 8, 7});
  });
  EXPECT_THAT(module.text(), HasSubstr("-> <?x8x?xf32, in>"));
}

TEST(Front, StaticExtentsAreConstants) {
  auto module = build([](KernelBuilder &k) {
    View x = k.in("x", F32, {dyn, 96});
    k.grid(ceilDiv(x.dim(1), 32));
  });
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  EXPECT_THAT(module.text(), Not(HasSubstr("tile.dim")));
  EXPECT_THAT(module.text(), HasSubstr("arith.constant 96 : index"));
}

TEST(Front, ABranchChoosesInTheInterpreter) {
  auto module = build([](KernelBuilder &k) {
    View out = k.out("out", F32, {dyn});
    k.grid(out.dim(0));
    Scalar id = k.programId(0);
    Scalar value = k.ifElse(
        id % 2 == 0, [&] { return convert(id, F32) * 10; }, [&] { return k.constant(F32, -1); });
    auto [halvings] = k.whileLoop(
        std::tuple{id}, [](Scalar i) { return i > 1; }, [](Scalar i) { return std::tuple{i / 2}; });
    store(out, {id}, splat(value + convert(halvings, F32), {1}));
  });
  ASSERT_TRUE(module.ok()) << module.diagnosticText();
  std::vector<float> out(5, 99.0f);
  auto ran = interpretKernel(*module.module().getOps<KernelOp>().begin(),
                             {HostView::contiguous(out.data(), {5})});
  ASSERT_TRUE(ran.has_value()) << ran.error().message;
  EXPECT_THAT(out, ElementsAre(0, 0, 21, 0, 41));
}

// ---- several mistakes ----

TEST(Front, EveryFirstHandMistakeIsReportedAndWhatFollowsFromItIsSilent) {
  auto module = build([](KernelBuilder &k) {
    View out = k.out("out", F32, {dyn});
    k.grid(1);
    Tile wrong = exp(k.iota({8}, 0));
    Tile after = k.forLoop(0, 4, 1, wrong, [](Scalar, Tile t) { return t * 2 + 1; });
    store(out, {0}, max(after, 0));
    store(out, {0}, k.zeros(F16, {8}));
  });
  EXPECT_THAT(messages(module),
              ElementsAre("exp of tile<8xi32>, expected float elements",
                          "store of tile<8xf16> to view<?xf32, out>, expected f32 elements: "
                          "convert it"));
}

TEST(Front, AMistakeRefusesItsKernelOnly) {
  auto module = KernelModule::build([](Module &m) {
    m.kernel("bad", [](KernelBuilder &k) { exp(k.constant(I32, 1)); });
    m.kernel("good", scaleRows);
  });
  EXPECT_EQ(module.diagnostics().size(), 1u);
  EXPECT_THAT(module.text(), HasSubstr("@good"));
  EXPECT_THAT(module.text(), Not(HasSubstr("@bad")));
}

TEST(Front, ADiagnosticIsFileLineColumnAndMessage) {
  FrontDiagnostic diagnostic{"a/scale.cpp", 7, 3, "exp of i32, expected float elements"};
  EXPECT_EQ(diagnostic.toString(), "a/scale.cpp:7:3: exp of i32, expected float elements");
}

TEST(Front, AValueOfAnotherKernelIsRefused) {
  Tile kept;
  auto module = KernelModule::build([&](Module &m) {
    m.kernel("first", [&](KernelBuilder &k) {
      k.grid(1);
      kept = k.zeros(F32, {8});
    });
    m.kernel("second", [&](KernelBuilder &k) {
      k.grid(1);
      kept + 1;
    });
  });
  EXPECT_THAT(messages(module),
              ElementsAre("value belongs to kernel 'first', expected one of kernel 'second'"));
}

TEST(Front, AValueOfAnotherModuleIsRefused) {
  std::vector<std::string> found;
  build([&](KernelBuilder &outer) {
    outer.grid(1);
    Tile foreign = outer.zeros(F32, {8});
    found = messages(build([&](KernelBuilder &k) {
      k.grid(1);
      k.zeros(F32, {8}) + foreign;
    }));
  });
  EXPECT_THAT(found, ElementsAre("value belongs to another module, expected one of kernel 'k'"));
}

TEST(Front, AValueUsedAfterItsKernelIsRefused) {
  auto module = KernelModule::build([](Module &m) {
    Tile kept;
    m.kernel("k", [&](KernelBuilder &k) {
      k.grid(1);
      kept = k.zeros(F32, {8});
    });
    kept + 1;
  });
  EXPECT_THAT(messages(module),
              ElementsAre("used outside a kernel, expected inside the function that builds one"));
}

TEST(Front, AKernelInsideAKernelIsRefused) {
  auto module = KernelModule::build([](Module &m) {
    m.kernel("outer", [&](KernelBuilder &k) {
      k.grid(1);
      m.kernel("inner", scaleRows);
    });
  });
  EXPECT_THAT(messages(module),
              testing::Contains("kernel 'inner' opens inside kernel 'outer', expected after it"));
  EXPECT_THAT(module.text(), Not(HasSubstr("@outer")));
}

TEST(Front, AKernelWithoutAGridIsRefused) {
  EXPECT_THAT(messages(build([](KernelBuilder &k) { k.zeros(F32, {8}); })),
              ElementsAre("kernel 'k' has no grid, expected one call of grid(x, y, z)"));
}

TEST(Front, AGridOfDifferencesIsRefused) {
  auto module = build([](KernelBuilder &k) {
    View x = k.in("x", F32, {dyn});
    k.grid(x.dim(0) - 1);
  });
  EXPECT_THAT(messages(module),
              ElementsAre("grid depends on 'arith.subi', expected constants, dimensions of "
                          "arguments, scalar arguments and + * ceildiv min max of them"));
}

TEST(Front, TwoKernelsOfOneNameAreRefused) {
  auto module = KernelModule::build([](Module &m) {
    m.kernel("k", scaleRows);
    m.kernel("k", scaleRows);
  });
  EXPECT_THAT(messages(module), ElementsAre("kernel 'k' is defined twice"));
}

TEST(Front, AKernelNameOfOtherCharactersIsRefused) {
  auto module = KernelModule::build([](Module &m) { m.kernel("a b", scaleRows); });
  EXPECT_THAT(messages(module),
              ElementsAre("kernel is named 'a b', expected letters, digits and _"));
}

TEST(Front, CallsOnEmptyHandlesDoNothing) {
  View view;
  Tile tile;
  Scalar scalar;
  store(view, {0}, tile);
  EXPECT_EQ(exp(tile + scalar * 2).session(), nullptr);
  EXPECT_EQ(load(view, {scalar}, {8}).session(), nullptr);
  EXPECT_EQ(view.dim(0).session(), nullptr);
}

// ---- text and shared objects ----

TEST(Front, TextThatDoesNotVerifyIsRefusedAtItsLine) {
  auto parsed =
      KernelModule::parse("\ntile.kernel @k() {\n  %0 = tile.program_id 0\n}\n", "mine.mlir");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().code, Code::InvalidArgument);
  EXPECT_EQ(parsed.error().message,
            "mine.mlir:2:1: 'tile.kernel' op has 0 tile.grid operations, expected one");
}

TEST(Front, AMissingSharedObjectIsNotFound) {
  auto loaded = KernelModule::load("no_such_kernels.so");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code, Code::NotFound);
  EXPECT_THAT(loaded.error().message, HasSubstr("no_such_kernels.so"));
}

TEST(Front, ASharedObjectWithoutKernelsIsRefused) {
  auto loaded = KernelModule::load("libm.so.6");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().message,
            "'libm.so.6' defines no kernels, expected SINTER_KERNELS(module)");
}

} // namespace
} // namespace sinter::tile
