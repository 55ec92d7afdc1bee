// Norms from sums of squares, in the interpreter: a row's sums and what is made of them have the
// same bits in tiles of any size, and beside any other rows.
#include "tile/mlir_pch.h"

#include "kernels/norm_squares.h"
#include "kernels/tokens.h"
#include "sched/simt/schedule.h"
#include "targets/conformance_cases.h"

#include <gmock/gmock.h>

using namespace mlir;

namespace sinter::targets::cpu {
namespace {

using kernels::kSquareColumns;

sched::SimtFacts sharingFacts() {
  sched::SimtFacts facts;
  facts.maxShared = 232448;
  facts.sharesDepth = facts.overlapsLaunches = true;
  facts.instructions = {"nvidia.mma.m16n8k16.f32.f16", "nvidia.mma.m16n8k16.f32.bf16"};
  return facts;
}

// A kernel, and its form for threads.
class Kernel {
public:
  explicit Kernel(const std::function<void(kernel::KernelBuilder &)> &build)
      : source_(tile::KernelModule::build([&](kernel::Module &m) { m.kernel("kernel", build); })) {
    EXPECT_TRUE(source_.ok()) << source_.diagnosticText();
    auto made = sched::scheduleSimt(source_.module(), sharingFacts());
    EXPECT_TRUE(made) << made.error().toString();
    if (made)
      simt_ = std::move(*made);
  }
  tile::KernelOp plain() { return *source_.module().getOps<tile::KernelOp>().begin(); }
  tile::KernelOp simt() { return *simt_->getOps<tile::KernelOp>().begin(); }
  LaunchArguments run(LaunchArguments arguments) {
    return interpreted(std::move(arguments), simt(), true);
  }
  template <class Op> bool has() {
    return simt_->walk([](Op) { return WalkResult::interrupt(); }).wasInterrupted();
  }

private:
  tile::KernelModule source_;
  OwningOpRef<ModuleOp> simt_;
};

std::vector<uint8_t> bytesOf(LaunchArguments arguments, const std::string &name) {
  return argumentNamed(arguments, name).bytes;
}

std::vector<float> floatsOf(LaunchArguments arguments, const std::string &name) {
  const std::vector<uint8_t> bytes = bytesOf(std::move(arguments), name);
  std::vector<float> floats(bytes.size() / sizeof(float));
  std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

// Of rows without gaps.
std::vector<uint8_t> firstRows(std::vector<uint8_t> bytes, int64_t rows, int64_t rowBytes) {
  bytes.resize(rows * rowBytes);
  return bytes;
}

// ---- who stores sums ----

// A GEMM in BF16 whose epilogue stores the rows `rows` and the sums of their squares.
Kernel storing(int64_t rows, int64_t columns) {
  return Kernel([=](kernel::KernelBuilder &k) {
    struct Views {
      kernel::View out, squares, rows;
    };
    auto views = std::make_shared<Views>();
    kernels::Gemm p = gemmParams(kernel::BF16, kernel::BF16, rows, columns, 64, 0);
    p.epilogueStore.declare = [views](kernel::KernelBuilder &b) {
      views->out = b.out("out", kernel::F32, {kernel::dyn, kernel::dyn});
      views->squares = b.out("squares", kernel::F32, {kernel::dyn, kernel::dyn});
      views->rows = b.in("rows", kernel::F32, {kernel::dyn, kernel::dyn});
    };
    p.epilogueStore.store = [views](kernel::KernelBuilder &, const kernel::Tile &tile,
                                    const kernels::TilePlace &place) {
      const kernel::Tile made = tile * 0.0 + kernels::loadF32(views->rows, kernel::F32, place);
      kernels::storeF32(views->out, kernel::F32, place, made);
      kernels::storeSquares(views->squares, place, made);
    };
    kernels::gemm(k, p);
  });
}

TEST(NormSquares, OfARowAreTheSameInTilesOfAnySize) {
  constexpr int64_t kRows = 17, kColumns = 160, kSums = kColumns / kSquareColumns;
  const ViewShapes views = {{"a", {"M", "K"}},
                            {"b", {"N", "K"}},
                            {"out", {"M", "N"}},
                            {"rows", {"M", "N"}},
                            {"squares", {"M", "G"}}};
  Kernel first = storing(16, 16);
  EXPECT_TRUE(first.has<sched::MatrixOp>());
  Random random(3);
  const LaunchArguments arguments = makeArguments(
      first.plain(), views, {{"M", kRows}, {"N", kColumns}, {"K", 64}, {"G", kSums}}, 0, random);
  const LaunchArguments expected = first.run(arguments);
  for (auto [rows, columns] : {std::pair(16, 32), {1, 32}, {32, 128}, {64, 64}})
    EXPECT_EQ(bytesOf(storing(rows, columns).run(arguments), "squares"),
              bytesOf(expected, "squares"))
        << rows << " " << columns;
  const std::vector<float> rows = floatsOf(arguments, "rows"), sums = floatsOf(expected, "squares");
  for (size_t group = 0; group < sums.size(); ++group) {
    double sum = 0;
    for (size_t i = group * kSquareColumns; i < (group + 1) * kSquareColumns; ++i)
      sum += static_cast<double>(rows[i]) * rows[i];
    EXPECT_NEAR(sums[group], sum, 1e-6 * sum) << group;
  }
}

// ---- who reads them ----

// Blocks in words, or F16.
kernels::NormGemm normGemm(const std::string &format, int64_t rows, int64_t columns, int64_t k) {
  const bool blocks = format != "f16";
  const kernel::Element weights = blocks ? kernel::block(format) : kernel::F16;
  kernels::NormGemm p{gemmParams(kernel::F32, weights, rows, columns, 256, blocks ? 8 : 0)};
  p.gemm.activation = blocks ? kernel::BF16 : kernel::F16;
  p.gemm.k = k;
  return p;
}

const ViewShapes kViews = {
    {"a", {"M", "K"}},           {"b", {"N", "K"}},   {"norm_squares", {"M", "G"}},
    {"norm_weight", {"1", "K"}}, {"out", {"M", "N"}}, {"x", {"M", "K"}}};

// Random arguments, with the sums of squares of the rows.
LaunchArguments argumentsOf(Kernel &kernel, int64_t rows, int64_t columns, int64_t k) {
  Random random(5);
  LaunchArguments arguments =
      makeArguments(kernel.plain(), kViews,
                    {{"M", rows}, {"N", columns}, {"K", k}, {"G", k / kSquareColumns}}, 0, random);
  const LaunchArgument a = argumentNamed(arguments, "a");
  LaunchArgument &squares = argumentNamed(arguments, "norm_squares");
  const auto *from = reinterpret_cast<const float *>(a.bytes.data());
  for (int64_t group = 0; group < rows * k / kSquareColumns; ++group) {
    float sum = 0;
    for (int64_t i = group * kSquareColumns; i < (group + 1) * kSquareColumns; ++i)
      sum += from[i] * from[i];
    setElement(squares.view().getElementType(), squares.bytes, group, sum);
  }
  return arguments;
}

class NormFromSquares : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Weights, NormFromSquares, testing::Values("f16", "q8_0", "q4_k"),
                         [](const auto &info) { return info.param; });

Kernel built(const kernels::NormGemm &p) {
  return Kernel([p](kernel::KernelBuilder &k) { kernels::normGemm(k, p); });
}

constexpr int64_t kRows = 17, kColumns = 32, kLength = 768; // 48 sums: 64 with padding

TEST_P(NormFromSquares, GivesARowTheSameBitsInAnyTileAndBesideAnyRows) {
  const bool blocks = GetParam() != "f16";
  Kernel kernel = built(normGemm(GetParam(), 16, 16, kLength));
  const LaunchArguments arguments = argumentsOf(kernel, kRows, kColumns, kLength);
  EXPECT_TRUE(kernel.has<sched::MatrixOp>());
  const std::vector<uint8_t> all = bytesOf(kernel.run(arguments), "out");
  if (blocks)
    EXPECT_EQ(bytesOf(built(normGemm(GetParam(), 8, 16, kLength)).run(arguments), "out"), all);
  for (int64_t rows : {1, 5}) {
    LaunchArguments fewer = arguments;
    for (const char *name : {"a", "norm_squares", "out"})
      argumentNamed(fewer, name).shape[0] = rows;
    const int64_t rowBytes = kColumns * static_cast<int64_t>(sizeof(float));
    EXPECT_EQ(firstRows(bytesOf(kernel.run(fewer), "out"), rows, rowBytes),
              firstRows(all, rows, rowBytes))
        << rows;
  }
}

// The launch that stores normalized rows for matmuls of many.
Kernel normOfItsOwn(kernel::Element out) {
  return Kernel([out](kernel::KernelBuilder &k) {
    kernels::QuantizeRows rows;
    rows.out = out;
    rows.columns = rows.blockColumns = kLength;
    rows.prologue = kernels::squaresNormSlot(kernel::F32, kLength);
    kernels::quantizeRows(k, rows);
  });
}

// Its arguments for the rows of a matmul.
LaunchArguments normArguments(Kernel &norm, LaunchArguments matmul) {
  ViewShapes views = kViews;
  views["out"] = views["x"];
  Random random(1);
  LaunchArguments arguments =
      makeArguments(norm.plain(), views,
                    {{"M", kRows}, {"K", kLength}, {"G", kLength / kSquareColumns}}, 0, random);
  argumentNamed(arguments, "x").bytes = argumentNamed(matmul, "a").bytes;
  for (const char *name : {"norm_squares", "norm_weight"})
    argumentNamed(arguments, name).bytes = argumentNamed(matmul, name).bytes;
  return arguments;
}

TEST(NormSquares, GiveTheNormOfTheTileInterpreter) {
  Kernel matmul = built(normGemm("f16", 16, 16, kLength)), norm = normOfItsOwn(kernel::F32);
  const LaunchArguments arguments =
      normArguments(norm, argumentsOf(matmul, kRows, kColumns, kLength));
  EXPECT_EQ(
      firstBeyond(norm.run(arguments), interpreted(arguments, norm.plain(), false), {1e-6, 1e-6}),
      "");
}

// What matmuls of few rows make of them as they read.
TEST_P(NormFromSquares, IsTheSameInALaunchOfItsOwn) {
  const kernels::NormGemm p = normGemm(GetParam(), 16, 16, kLength);
  Kernel fused = built(p), norm = normOfItsOwn(p.gemm.activation);
  Kernel matmul([&](kernel::KernelBuilder &k) {
    kernels::Gemm plain = p.gemm;
    plain.a = p.gemm.activation;
    kernels::gemm(k, plain);
  });
  LaunchArguments arguments = argumentsOf(fused, kRows, kColumns, kLength);
  Random random(1);
  LaunchArguments plain = makeArguments(matmul.plain(), kViews,
                                        {{"M", kRows}, {"N", kColumns}, {"K", kLength}}, 0, random);
  argumentNamed(plain, "a").bytes = bytesOf(norm.run(normArguments(norm, arguments)), "out");
  argumentNamed(plain, "b").bytes = argumentNamed(arguments, "b").bytes;
  EXPECT_EQ(bytesOf(matmul.run(plain), "out"), bytesOf(fused.run(arguments), "out"));
}

} // namespace
} // namespace sinter::targets::cpu
