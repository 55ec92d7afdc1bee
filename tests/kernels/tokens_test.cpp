// Token row kernels in the interpreter: embeddings, rotary positions, cache writes.
#include "kernels/run_support.h"
#include "tile/mlir_pch.h"

#include <numbers>

namespace sinter::kernels {
namespace {

TEST(Embed, RowsFollowTheIdsAndUnknownIdsGiveZeros) {
  const int64_t vocabulary = 7, columns = 33;
  auto table = randomFloats(vocabulary * columns, 1);
  std::vector<int32_t> ids = {6, 0, -1, 3, 7, 3};
  int64_t tokens = static_cast<int64_t>(ids.size());
  std::vector<float> out(tokens * columns, 99);
  runKernel("embed", {{"block_columns", "32"}},
            {viewOf(ids, {tokens}), viewOf(table, {vocabulary, columns}),
             viewOf(out, {tokens, columns})});
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t j = 0; j < columns; ++j) {
      bool known = ids[t] >= 0 && ids[t] < vocabulary;
      ASSERT_EQ(out[t * columns + j], known ? table[ids[t] * columns + j] : 0.0f)
          << "token " << t << " column " << j;
    }
}

struct RopeData {
  static constexpr int64_t kTokens = 3, kHeads = 5, kPairs = 7;
  std::vector<float> x = randomFloats(kTokens * kHeads * kPairs * 2, 1);
  std::vector<int32_t> positions = {0, 17, 1000};
  std::vector<float> frequencies = {1.0f, 0.5f, 0.25f, 0.1f, 0.03f, 0.001f, 0.0f};

  double angle(int64_t token, int64_t pair) const {
    return static_cast<float>(positions[token]) * frequencies[pair];
  }
  // Cosines, then sines of each token.
  std::vector<double> ropeTable() const {
    std::vector<double> out;
    for (int64_t t = 0; t < kTokens; ++t)
      for (double quarter : {std::numbers::pi / 2, 0.0})
        for (int64_t i = 0; i < kPairs; ++i)
          out.push_back(std::sin(angle(t, i) + quarter));
    return out;
  }
  std::vector<float> quantizedRopeTable() const {
    const std::vector<double> exact = ropeTable();
    return {exact.begin(), exact.end()};
  }
  // The reference; element (token, head, pair, half) lies at index(...).
  template <class F> std::vector<double> rotated(F index) const {
    std::vector<double> out(x.size());
    for (int64_t t = 0; t < kTokens; ++t)
      for (int64_t h = 0; h < kHeads; ++h)
        for (int64_t i = 0; i < kPairs; ++i) {
          double a = x[index(t, h, i, 0)], b = x[index(t, h, i, 1)];
          out[index(t, h, i, 0)] = a * std::cos(angle(t, i)) - b * std::sin(angle(t, i));
          out[index(t, h, i, 1)] = a * std::sin(angle(t, i)) + b * std::cos(angle(t, i));
        }
    return out;
  }
};

int64_t neighbours(int64_t t, int64_t h, int64_t i, int64_t half) {
  return ((t * RopeData::kHeads + h) * RopeData::kPairs + i) * 2 + half;
}

int64_t halves(int64_t t, int64_t h, int64_t i, int64_t half) {
  return ((t * RopeData::kHeads + h) * 2 + half) * RopeData::kPairs + i;
}

TEST(RopeTable, AreTheCosinesThenTheSinesOfEachPosition) {
  RopeData d;
  std::vector<float> out(3 * 2 * 7, 99);
  runKernel("rope_table", {{"pairs", "7"}, {"block_rows", "2"}},
            {viewOf(d.positions, {3, 1}), viewOf(d.frequencies, {7}), viewOf(out, {3, 2, 7})});
  expectClose(out, d.ropeTable(), 0, 1e-6);
}

TEST(RopeTable, PairsBeyondTheFrequenciesDoNotRotate) {
  RopeData d;
  std::vector<float> out(3 * 2 * 7, 99);
  runKernel("rope_table", {{"pairs", "7"}},
            {viewOf(d.positions, {3, 1}), viewOf(d.frequencies, {4}), viewOf(out, {3, 2, 7})});
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t i = 4; i < 7; ++i) {
      ASSERT_EQ(out[(t * 2 + 0) * 7 + i], 1.0f);
      ASSERT_EQ(out[(t * 2 + 1) * 7 + i], 0.0f);
    }
}

TEST(RopeTable, DivisorsDivideAnglesAndMagnitudesMultiplyTheResults) {
  RopeData d;
  std::vector<float> divisors = {1, 1, 2, 3, 4, 8, 8}, magnitudes = {1, 1, 0.5f, 2, 1, 1.5f, 1};
  std::vector<float> out(3 * 2 * 7, 99);
  runKernel("rope_table", {{"pairs", "7"}, {"divided", "true"}, {"scaled", "true"}},
            {viewOf(d.positions, {3, 1}), viewOf(d.frequencies, {7}), viewOf(divisors, {7}),
             viewOf(magnitudes, {7}), viewOf(out, {3, 2, 7})});
  std::vector<double> expected;
  for (int64_t t = 0; t < 3; ++t)
    for (double quarter : {std::numbers::pi / 2, 0.0})
      for (int64_t i = 0; i < 7; ++i)
        expected.push_back(magnitudes[i] * std::sin(d.angle(t, i) / divisors[i] + quarter));
  expectClose(out, expected, 0, 1e-4);
}

TEST(Rope, NeighbouringElementsRotateByTheirPosition) {
  RopeData d;
  std::vector<float> ropeTable = d.quantizedRopeTable(), out(d.x.size(), 99);
  runKernel("rope", {{"pairs", "7"}, {"block_heads", "2"}, {"block_rows", "2"}},
            {viewOf(d.x, {3, 5, 7, 2}), viewOf(ropeTable, {3, 2, 7}), viewOf(out, {3, 5, 7, 2})});
  expectClose(out, d.rotated(neighbours), 0, 1e-6);
}

TEST(Rope, HalvesOfAHeadRotateInPlace) {
  RopeData d;
  std::vector<float> ropeTable = d.quantizedRopeTable();
  auto expected = d.rotated(halves);
  runKernel("rope", {{"pairs", "7"}, {"halves", "true"}, {"in_place", "true"}},
            {viewOf(d.x, {3, 5, 2, 7}), viewOf(ropeTable, {3, 2, 7})});
  expectClose(d.x, expected, 0, 1e-6);
}

TEST(KvAppend, TokensLandInTheirSlotsAndNowhereElse) {
  const int64_t pages = 3, rows = 4, heads = 2, dim = 5, tokens = 4;
  auto keys = randomFloats(tokens * heads * dim, 1), values = randomFloats(tokens * heads * dim, 2);
  std::vector<int32_t> slots = {9, -1, 0, 12}; // 12 lies behind the pool
  std::vector<uint16_t> keyCache(pages * heads * dim * rows, 0x1234), valueCache = keyCache;
  std::vector<uint16_t> wantedKeys = keyCache, wantedValues = keyCache;
  for (int64_t t : {0, 2})
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < dim; ++i) {
        int64_t page = slots[t] / rows, row = slots[t] % rows, from = (t * heads + h) * dim + i;
        wantedKeys[((page * heads + h) * dim + i) * rows + row] = f32ToF16(keys[from]);
        wantedValues[((page * rows + row) * heads + h) * dim + i] = f32ToF16(values[from]);
      }
  // Keys lie [pages, heads, dim, rows], and are seen by row.
  tile::HostView keysByRow = {reinterpret_cast<std::byte *>(keyCache.data()),
                              {pages, rows, heads, dim},
                              {heads * dim * rows, 1, dim * rows, rows}};
  kernels::Settings settings = {{"kv_heads", "2"}, {"head_dim", "5"}, {"page_rows", "4"}};
  runKernel("kv_append", settings,
            {viewOf(values, {tokens, heads, dim}), viewOf(slots, {tokens}),
             viewOf(valueCache, {pages, rows, heads, dim})});
  settings["strided"] = "true";
  runKernel("kv_append", settings,
            {viewOf(keys, {tokens, heads, dim}), viewOf(slots, {tokens}), keysByRow});
  EXPECT_EQ(keyCache, wantedKeys);
  EXPECT_EQ(valueCache, wantedValues);
}

} // namespace
} // namespace sinter::kernels
