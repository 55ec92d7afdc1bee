// Kernels of thread blocks that are right: arithmetic, control, memory, shuffles, programs.
#include "sched/simt_support.h"

#include <cmath>
#include <random>

namespace sinter::sched {
namespace {

std::vector<float> repeated(const std::vector<float> &values, int64_t count) {
  std::vector<float> out;
  for (int64_t i = 0; i < count; ++i)
    out.insert(out.end(), values.begin(), values.end());
  return out;
}

TEST(SimtBlocks, EachThreadComputesItsElement) {
  auto outcome = runBody(load("%a", "%x", "%b4") + "%r = math.fma %a, %a, %f1 : f32\n" +
                             store("%r", "%y", "%b4"),
                         {.threads = 16});
  ASSERT_EQ(outcome.message, "succeeded");
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(outcome.y[i], float(i * i + 1));
}

TEST(SimtBlocks, AThreadReadsAWordOfATable) {
  auto outcome = runBody("%w = sched.table_load %t of [7, -1, 40, 9]\n"
                         "%r = arith.sitofp %w : i32 to f32\n" +
                         store("%r", "%y", "%b4"));
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(std::vector<float>(outcome.y.begin(), outcome.y.begin() + 4),
            (std::vector<float>{7, -1, 40, 9}));
}

TEST(SimtBlocks, VectorsMoveWhole) {
  auto outcome = runBody("%c16 = arith.constant 16 : index\n%at = arith.muli %ti, %c16 : index\n"
                         "%a = sched.view_load %x[%at] when %yes else %v0 : "
                         "!tile.view<16xf32, in> -> vector<4xf32>\n"
                         "%r = arith.addf %a, %a : vector<4xf32>\n"
                         "sched.view_store %r, %y[%at] when %yes : vector<4xf32>, "
                         "!tile.view<16xf32, out>\n");
  ASSERT_EQ(outcome.message, "succeeded");
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(outcome.y[i], float(2 * i));
}

TEST(SimtBlocks, VectorsComeApartAndTogether) {
  auto outcome = runBody("%a = arith.sitofp %t : i32 to f32\n"
                         "%v = vector.from_elements %a, %f1, %a, %f0 : vector<4xf32>\n"
                         "%bits = vector.bitcast %v : vector<4xf32> to vector<8xi16>\n"
                         "%back = vector.bitcast %bits : vector<8xi16> to vector<4xf32>\n"
                         "%e1 = vector.extract %back[1] : f32 from vector<4xf32>\n"
                         "%e2 = vector.extract %back[2] : f32 from vector<4xf32>\n"
                         "%r = arith.addf %e1, %e2 : f32\n" +
                         store("%r", "%y", "%b4"));
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(std::vector<float>(outcome.y.begin(), outcome.y.begin() + 4),
            (std::vector<float>{1, 2, 3, 4}));
}

TEST(SimtBlocks, AScalarConditionChoosesWholeVectors) {
  auto outcome = runBody("%one = vector.from_elements %f1, %f1 : vector<2xf32>\n"
                         "%a = arith.sitofp %t : i32 to f32\n"
                         "%other = vector.from_elements %f0, %a : vector<2xf32>\n"
                         "%v = arith.select %first, %one, %other : vector<2xf32>\n"
                         "%r = vector.extract %v[1] : f32 from vector<2xf32>\n" +
                         store("%r", "%y", "%b4"));
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(std::vector<float>(outcome.y.begin(), outcome.y.begin() + 4),
            (std::vector<float>{1, 1, 2, 3}));
}

TEST(SimtBlocks, WhereNotWhenNothingIsTouched) {
  auto outcome = runBody("%far = arith.constant 4096 : index\n" + load("%a", "%x", "%far", "%no") +
                         store("%f1", "%y", "%far", "%no") + store("%a", "%y", "%b4", "%first"));
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.y[0], 0.0f);
  EXPECT_EQ(outcome.y[1], -1.0f);
}

TEST(SimtBlocks, LessAlignmentIsAllowedWhereTheOperationSaysSo) {
  auto outcome = runBody("%a = sched.view_load %x[%b4] when %yes else %v0 {align = 4 : i64} : "
                         "!tile.view<16xf32, in> -> vector<4xf32>\n"
                         "%r = vector.extract %a[3] : f32 from vector<4xf32>\n" +
                         store("%r", "%y", "%b4"));
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.y[1], 4.0f);
}

TEST(SimtBlocks, LoopsCarryEachThreadsValues) {
  auto outcome = runBody("%a = arith.sitofp %t : i32 to f32\n"
                         "%r = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %f1) -> (f32) {\n"
                         "  %next = arith.addf %sum, %a : f32\n"
                         "  scf.yield %next : f32\n}\n" +
                         store("%r", "%y", "%b4"));
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(std::vector<float>(outcome.y.begin(), outcome.y.begin() + 4),
            (std::vector<float>{1, 5, 9, 13}));
}

TEST(SimtBlocks, ABoundMayComeFromMemoryWhereItIsTheSameForAll) {
  auto outcome = runBody(load("%bound", "%x", "%c4") +
                         "%n = arith.fptosi %bound : f32 to i32\n"
                         "%more = arith.cmpi sgt, %n, %i0 : i32\n"
                         "scf.if %more {\n" +
                         store("%f1", "%y", "%b4") + "}\n");
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.y[3], 1.0f);
}

TEST(SimtBlocks, ProgramsFollowOneAnother) {
  auto outcome = runBody("%c16 = arith.constant 16 : index\n%at = arith.muli %p, %c16 : index\n"
                         "%sum = arith.addi %at, %b4 : index\n" +
                             load("%a", "%x", "%sum") + store("%a", "%y", "%sum"),
                         {.programs = 4});
  ASSERT_EQ(outcome.message, "succeeded");
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(outcome.y[i], float(i));
}

// Accumulators of %a over the block by shuffles with masks threads/2, ..., 1.
std::string shuffleSum(int threads) {
  std::string body, value = "%a";
  for (int mask = threads / 2; mask; mask /= 2) {
    std::string number = std::to_string(mask);
    body += "%m" + number + " = sched.shuffle " + value + " xor " + number + " : f32\n%q" + number +
            " = arith.addf " + value + ", %m" + number + " : f32\n";
    value = "%q" + number;
  }
  return body + store(value, "%y", "%b4");
}

TEST(SimtBlocks, AShuffledTreeGivesEveryThreadTheSum) {
  auto outcome = runBody(load("%a", "%x", "%b4") + shuffleSum(16), {.threads = 16});
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.y, repeated({120}, 16));
}

TEST(SimtBlocks, ASharedTreeWithBarriersGivesTheSum) {
  std::string body = load("%a", "%x", "%b4") + share("%a", "%s4") + kBarrier;
  for (int half = 8; half; half /= 2) {
    std::string n = std::to_string(half);
    body += "%h" + n + " = arith.constant " + n + " : i32\n%in" + n + " = arith.cmpi ult, %t, %h" +
            n + " : i32\n%by" + n + " = arith.muli %h" + n + ", %i4 : i32\n%far" + n +
            " = arith.addi %s4, %by" + n + " : i32\n%at" + n + " = arith.select %in" + n +
            ", %far" + n + ", %s4 : i32\n" + fetch("%l" + n, "%s4") + fetch("%r" + n, "%at" + n) +
            "%q" + n + " = arith.addf %l" + n + ", %r" + n + " : f32\n" + kBarrier +
            share("%q" + n, "%s4", "%in" + n) + kBarrier;
  }
  auto outcome = runBody(body + fetch("%sum", "%i0") + store("%sum", "%y", "%b4"), {.threads = 16});
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.y, repeated({120}, 16));
}

TEST(SimtBlocks, OneThreadMayReadWhatItWroteWithoutABarrier) {
  auto outcome =
      runBody(share("%f1", "%s4") + fetch("%r", "%s4") + share("%f0", "%s4") + fetch("%q", "%s4") +
              "%d = arith.subf %r, %q : f32\n" + store("%d", "%y", "%b4"));
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.y[3], 1.0f);
}

TEST(SimtBlocks, TwoThreadsMayWriteTheSameValueToAView) {
  auto outcome = runBody(store("%f1", "%y", "%c0"));
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.y[0], 1.0f);
}

TEST(SimtBlocks, ABarrierOrdersAccessesOfAView) {
  auto outcome = runBody(store("%f1", "%z", "%b4") + kBarrier + load("%r", "%z", "%c4") + kBarrier +
                         store("%f0", "%z", "%c4", "%first") + store("%r", "%y", "%b4"));
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.y[3], 1.0f);
  EXPECT_EQ(outcome.z[1], 0.0f);
}

TEST(SimtBlocks, UnwrittenSharedMemoryMayReadAsPoison) {
  InterpreterOptions options;
  options.unwritten = UnwrittenReads::Poison;
  auto outcome = runBody(fetch("%r", "%s4") + store("%r", "%y", "%b4"), {}, options);
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_TRUE(std::isnan(outcome.y[2]));
}

TEST(SimtBlocks, OneThreadIsABlockToo) {
  auto outcome = runBody("%v = vector.from_elements %f1, %f0 : vector<2xf32>\n"
                         "%w = arith.select %first, %v, %v : vector<2xf32>\n"
                         "%r = vector.extract %w[0] : f32 from vector<2xf32>\n" +
                             store("%r", "%y", "%b4"),
                         {.threads = 1});
  ASSERT_EQ(outcome.message, "succeeded");
  EXPECT_EQ(outcome.y[0], 1.0f);
}

// ---- views whose bytes are not simply their elements ----

constexpr const char *kHead = "attributes {sched.threads = 4 : i64} {\n"
                              "%c1 = arith.constant 1 : index\n%c4 = arith.constant 4 : index\n"
                              "%yes = arith.constant true\ntile.grid %c1, %c1, %c1\n"
                              "%t = sched.thread\n%ti = arith.index_castui %t : i32 to index\n";

TEST(SimtBlocks, StridesAreTheArgumentsInElements) {
  std::vector<float> x(32), y(4);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i);
  std::string text = "tile.kernel @k(%x: !tile.view<?x3xf32, in>, %y: !tile.view<4xf32, out>) " +
                     std::string(kHead) +
                     "%f0 = arith.constant 0.0 : f32\n"
                     "%s = sched.stride %x, 0 : !tile.view<?x3xf32, in>\n"
                     "%row = arith.muli %ti, %s : index\n%at = arith.muli %row, %c4 : index\n"
                     "%a = sched.view_load %x[%at] when %yes else %f0 : "
                     "!tile.view<?x3xf32, in> -> f32\n"
                     "%o = arith.muli %ti, %c4 : index\n"
                     "sched.view_store %a, %y[%o] when %yes : f32, !tile.view<4xf32, out>\n}\n";
  tile::HostView view{reinterpret_cast<std::byte *>(x.data()), {4, 3}, {8, 1}};
  auto result = runSimt(text, {view, tile::HostView::contiguous(y.data(), {4})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(y, (std::vector<float>{0, 8, 16, 24}));
}

TEST(SimtBlocks, BlocksAreReadAsTheirBytes) {
  // Four blocks of q8_0: a scale in f16, then 32 codes.
  std::vector<uint8_t> x(4 * 34);
  for (int block = 0; block < 4; ++block)
    x[34 * block + 33] = static_cast<uint8_t>(10 + block);
  std::vector<int8_t> y(4);
  std::string view = "!tile.view<128x!tile.block<\"q8_0\">, in>";
  std::string text = "tile.kernel @k(%x: " + view + ", %y: !tile.view<4xi8, out>) " +
                     std::string(kHead) +
                     "%zero = arith.constant 0 : i8\n%size = arith.constant 34 : index\n"
                     "%last = arith.constant 33 : index\n"
                     "%block = arith.muli %ti, %size : index\n"
                     "%at = arith.addi %block, %last : index\n"
                     "%a = sched.view_load %x[%at] when %yes else %zero : " +
                     view +
                     " -> i8\n"
                     "sched.view_store %a, %y[%ti] when %yes : i8, !tile.view<4xi8, out>\n}\n";
  auto result = runSimt(text, {tile::HostView::contiguous(x.data(), {128}),
                               tile::HostView::contiguous(y.data(), {4})});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(y, (std::vector<int8_t>{10, 11, 12, 13}));
}

// The bytes of a view, found by a load at each byte up to the first that is refused.
int64_t bytesOf(const std::string &view, const tile::HostView &memory) {
  for (int64_t byte = 0;; ++byte) {
    std::string text = "tile.kernel @k(%x: " + view + ") attributes {sched.threads = 1 : i64} {\n" +
                       "%c1 = arith.constant 1 : index\ntile.grid %c1, %c1, %c1\n"
                       "%yes = arith.constant true\n%zero = arith.constant 0 : i8\n"
                       "%at = arith.constant " +
                       std::to_string(byte) +
                       " : index\n%a = sched.view_load %x[%at] when %yes else %zero : " + view +
                       " -> i8\n}\n";
    auto result = runSimt(text, {memory});
    if (!result) {
      EXPECT_NE(result.error().message.find("touches 1 bytes from byte"), std::string::npos)
          << result.error().message;
      return byte;
    }
  }
}

TEST(SimtBlocks, AViewEndsWithItsLastElement) {
  std::vector<std::byte> data(4096);
  tile::HostView strided{data.data(), {2, 1}, {1, 1}};
  EXPECT_EQ(bytesOf("!tile.view<2x1xi16, in>", strided), 4);
  EXPECT_EQ(bytesOf("!tile.view<3x?xf32, in>", tile::HostView::contiguous(data.data(), {3, 0})), 0);
  EXPECT_EQ(bytesOf("!tile.view<2x32x!tile.block<\"q8_0\">, in>",
                    tile::HostView::contiguous(data.data(), {2, 32})),
            2 * 34);
}

TEST(SimtBlocks, AnInterleavedViewEndsWithItsLastGroupOfRows) {
  std::vector<std::byte> data(4096);
  EXPECT_EQ(bytesOf("!tile.view<5x3xi16, in, interleave = 4>",
                    tile::HostView::contiguous(data.data(), {5, 3})),
            2 * 4 * 3 * 2);
}

TEST(SimtBlocks, RowsThatLieOnOneAnotherAreOneRow) {
  std::vector<std::byte> data(64);
  tile::HostView repeated{data.data(), {int64_t(1) << 40, 4}, {0, 1}};
  EXPECT_EQ(bytesOf("!tile.view<?x4xf32, in>", repeated), 16);
}

// ---- a product ----

// Thread n owns column n of c, whose 128 rows are one vector; a's columns pass through shared
// memory. a is [k, m] in memory, b [k, n] and c [n, m].
std::string matmulText(const std::string &steps) {
  std::string times;
  for (int row = 0; row < 128; ++row)
    times += row ? ", %bk" : "%bk";
  return "tile.kernel @k(%a: !tile.view<?xf32, in>, %b: !tile.view<?xf32, in>, "
         "%c: !tile.view<?xf32, out>) attributes {sched.threads = 128 : i64, "
         "sched.shared = 512 : i64} {\n"
         "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
         "%c4 = arith.constant 4 : index\n%row = arith.constant 512 : index\n"
         "%i4 = arith.constant 4 : i32\n%i0 = arith.constant 0 : i32\n"
         "%f0 = arith.constant 0.0 : f32\n%yes = arith.constant true\n"
         "%v0 = arith.constant dense<0.0> : vector<128xf32>\n"
         "%k = arith.constant " +
         steps +
         " : index\ntile.grid %c1, %c1, %c1\n%t = sched.thread\n"
         "%ti = arith.index_castui %t : i32 to index\n%b4 = arith.muli %ti, %c4 : index\n"
         "%t4 = arith.muli %t, %i4 : i32\n"
         "%r = scf.for %i = %c0 to %k step %c1 iter_args(%sum = %v0) -> (vector<128xf32>) {\n"
         "%line = arith.muli %i, %row : index\n%at = arith.addi %line, %b4 : index\n"
         "%ak = sched.view_load %a[%at] when %yes else %f0 : !tile.view<?xf32, in> -> f32\n"
         "%bk = sched.view_load %b[%at] when %yes else %f0 : !tile.view<?xf32, in> -> f32\n"
         "sched.shared_store %ak, [%t4] when %yes : f32\nsched.barrier\n"
         "%av = sched.shared_load [%i0] : vector<128xf32>\n"
         "%bv = vector.from_elements " +
         times +
         " : vector<128xf32>\n%next = math.fma %av, %bv, %sum : vector<128xf32>\n"
         "sched.barrier\nscf.yield %next : vector<128xf32>\n}\n"
         "%to = arith.muli %ti, %row : index\n"
         "sched.view_store %r, %c[%to] when %yes : vector<128xf32>, !tile.view<?xf32, out>\n}\n";
}

TEST(SimtBlocks, AProductThroughSharedMemoryIsThePlainOne) {
  constexpr int kM = 128, kN = 128, kK = 64;
  std::mt19937 engine(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> a(kK * kM), b(kK * kN), c(kN * kM);
  for (auto *values : {&a, &b})
    for (float &value : *values)
      value = uniform(engine);
  auto result =
      runSimt(matmulText(std::to_string(kK)), {tile::HostView::contiguous(a.data(), {kK * kM}),
                                               tile::HostView::contiguous(b.data(), {kK * kN}),
                                               tile::HostView::contiguous(c.data(), {kN * kM})});
  ASSERT_TRUE(result) << result.error().message;
  for (int row = 0; row < kM; ++row)
    for (int column = 0; column < kN; ++column) {
      float sum = 0;
      for (int k = 0; k < kK; ++k)
        sum = std::fma(a[k * kM + row], b[k * kN + column], sum);
      ASSERT_EQ(c[column * kM + row], sum) << row << ", " << column;
    }
}

} // namespace
} // namespace sinter::sched
