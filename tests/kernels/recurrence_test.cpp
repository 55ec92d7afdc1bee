// The gated delta rule in chunks: as exact as row by row, and the same bits wherever spans end.
#include "kernels/run_support.h"

#include <algorithm>
#include <limits>

namespace sinter::kernels {
namespace {

constexpr int64_t kHeads = 2, kKeyDim = 32, kValueDim = 32, kChunk = 8, kSlots = 3;
constexpr int64_t kMatrix = kKeyDim * kValueDim;

struct Span {
  int32_t from, to, first, rows;
};

// What a step reads, and what it makes of it.
struct Rows {
  int64_t count;
  std::vector<float> query, key, value, decay, beta, state, out;

  explicit Rows(int64_t rows, uint64_t seed = 1)
      : count(rows), query(randomFloats(rows * kHeads * kKeyDim, seed)),
        key(randomFloats(query.size(), seed + 1)),
        value(randomFloats(rows * kHeads * kValueDim, seed + 2)),
        decay(randomFloats(rows * kHeads, seed + 3)), beta(randomFloats(decay.size(), seed + 4)),
        state(randomFloats(kSlots * kHeads * kMatrix, seed + 5)), out(value.size(), 99.0f) {
    for (float &number : key)
      number *= std::sqrt(3.0f / kKeyDim); // rows of length 1
    for (float &number : decay)
      number = -1 - number;
    for (float &number : beta)
      number = 0.5f + 0.5f * number;
  }

  void run(bool chunks, const std::vector<Span> &spans) {
    Settings settings = {{"key_heads", "2"},
                         {"heads", "2"},
                         {"key_dim", std::to_string(kKeyDim)},
                         {"value_dim", std::to_string(kValueDim)},
                         {"block_columns", "32"}};
    std::vector<int64_t> keys = {count, kHeads, kKeyDim};
    if (chunks)
      settings["chunk_rows"] = std::to_string(kChunk);
    else
      keys.push_back(1);
    std::vector<int32_t> table;
    for (const Span &span : spans)
      table.insert(table.end(), {span.from, span.to, span.first, span.rows});
    runKernel(chunks ? "delta_rule_chunks" : "delta_rule", settings,
              {viewOf(query, keys), viewOf(key, keys), viewOf(value, {count, kHeads, kValueDim}),
               viewOf(decay, {count, kHeads}), viewOf(beta, {count, kHeads}),
               viewOf(table, {std::ssize(spans), 4}),
               viewOf(state, {kSlots, kHeads, kKeyDim, kValueDim}),
               viewOf(out, {count, kHeads, kValueDim}), tile::f32Argument(0.5f)});
  }

  // Row by row in f64, from slot 0 to slot 1.
  void expected(std::vector<double> &results, std::vector<double> &matrices) const {
    matrices.assign(state.begin(), state.begin() + kHeads * kMatrix);
    results.clear();
    for (int64_t at = 0; at < count * kHeads; ++at) {
      double *matrix = matrices.data() + at % kHeads * kMatrix;
      for (int64_t e = 0; e < kValueDim; ++e)
        results.push_back(0.5 * step(at, e, matrix));
    }
  }

private:
  double step(int64_t at, int64_t e, double *matrix) const {
    double seen = 0, result = 0;
    for (int64_t d = 0; d < kKeyDim; ++d) {
      matrix[d * kValueDim + e] *= std::exp(double(decay[at]));
      seen += matrix[d * kValueDim + e] * key[at * kKeyDim + d];
    }
    const double change = (value[at * kValueDim + e] - seen) * beta[at];
    for (int64_t d = 0; d < kKeyDim; ++d) {
      matrix[d * kValueDim + e] += key[at * kKeyDim + d] * change;
      result += matrix[d * kValueDim + e] * query[at * kKeyDim + d];
    }
    return result;
  }
};

// The largest error of results and of the matrices after them.
double errorOf(Rows rows, bool chunks) {
  std::vector<double> results, matrices;
  rows.expected(results, matrices);
  rows.run(chunks, {{0, 1, 0, static_cast<int32_t>(rows.count)}});
  double most = 0;
  const auto compare = [&](const float *found, const std::vector<double> &expected) {
    for (size_t i = 0; i < expected.size(); ++i) {
      const double error = std::abs(found[i] - expected[i]);
      most = std::isfinite(error) ? std::max(most, error) : INFINITY;
    }
  };
  compare(rows.out.data(), results);
  compare(rows.state.data() + kHeads * kMatrix, matrices);
  return most;
}

void expectAsExactAsRows(const Rows &rows) {
  const double ofRows = errorOf(rows, false), ofChunks = errorOf(rows, true);
  EXPECT_LE(ofChunks, 2 * ofRows + 1e-7);
}

TEST(DeltaRuleChunks, AreAsExactAsRowsOneByOne) {
  for (const int64_t count : {1, 7, 8, 9, 29})
    expectAsExactAsRows(Rows(count));
}

TEST(DeltaRuleChunks, StrongDecaysNeitherOverflowNorHideWeakOnes) {
  Rows rows(24);
  for (size_t i = 0; i < rows.decay.size(); ++i)
    rows.decay[i] = i % 7 == 3 ? -3e4f : i % 5 == 1 ? -60.0f : -0.001f;
  expectAsExactAsRows(rows);
  std::ranges::fill(rows.decay, -std::numeric_limits<float>::max());
  expectAsExactAsRows(rows);
}

// Each row takes back what the one before it wrote: powers of this triangle have large elements.
TEST(DeltaRuleChunks, EqualKeysTakeTurns) {
  Rows rows(24);
  for (size_t i = 0; i < rows.key.size(); ++i)
    rows.key[i] = i % kKeyDim == 0;
  std::ranges::fill(rows.decay, 0.0f);
  std::ranges::fill(rows.beta, 1.0f);
  expectAsExactAsRows(rows);
  std::ranges::fill(rows.beta, 0.7f);
  expectAsExactAsRows(rows);
}

TEST(DeltaRuleChunks, CutsBetweenChunksChangeNoBit) {
  Rows whole(29), cut(29);
  whole.run(true, {{-1, 1, 0, 29}});
  for (const Span &span : {Span{-1, 2, 0, 8}, {2, 0, 8, 16}, {0, 1, 24, 5}})
    cut.run(true, {span});
  EXPECT_EQ(cut.out, whole.out);
  EXPECT_TRUE(std::equal(cut.state.begin() + kHeads * kMatrix,
                         cut.state.begin() + 2 * kHeads * kMatrix,
                         whole.state.begin() + kHeads * kMatrix));
}

TEST(DeltaRuleChunks, SequencesInAStepChangeNoBitOfOneAnother) {
  Rows alone(29), together(29);
  alone.run(true, {{0, 0, 0, 3}});
  alone.run(true, {{-1, 1, 3, 17}});
  alone.run(true, {{2, 2, 20, 9}});
  together.run(true, {{0, 0, 0, 3}, {-1, 1, 3, 17}, {2, 2, 20, 9}});
  EXPECT_EQ(together.out, alone.out);
  EXPECT_EQ(together.state, alone.state);
}

} // namespace
} // namespace sinter::kernels
