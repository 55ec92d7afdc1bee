// Every decoder and encoder family against llama.cpp: the graph of each golden, in the reference
// evaluator, alone and with three sequences a step.
#include "engine/golden_graph.h"

#include <gtest/gtest.h>

namespace sinter::engine {
namespace {

// Rows at the golden's positions, of one sequence as one step.
Result<graph::Tensor> rowsOf(const GoldenModel &golden, bool embeddings = false) {
  SINTER_ASSIGN(const auto graph, GoldenGraph::create(golden, {.embeddings = embeddings}));
  std::vector<int64_t> wanted;
  for (const auto &[position, row] : golden.logits)
    wanted.push_back(static_cast<int64_t>(position));
  return graph->step({{0, 0, golden.tokens, wanted}});
}

std::string testName(const testing::TestParamInfo<std::filesystem::path> &info) {
  std::string name = info.param.stem().string();
  std::ranges::replace_if(name, [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

class Architectures : public testing::TestWithParam<std::filesystem::path> {};
INSTANTIATE_TEST_SUITE_P(Goldens, Architectures,
                         testing::ValuesIn(goldenModels(SINTER_TEST_DIR "/data")), testName);

TEST_P(Architectures, GraphsGiveTheLogitsOfTheReferenceImplementation) {
  const GoldenModel golden = GoldenModel::read(GetParam());
  const Result<graph::Tensor> logits = rowsOf(golden);
  ASSERT_TRUE(logits) << logits.error().message;
  const double *row = logits->values.data();
  for (const auto &[position, expected] : golden.logits) {
    EXPECT_LT(GoldenModel::divergence(expected, [&](int32_t token) { return row[token]; }), 1e-4)
        << "at position " << position;
    if (const auto second = golden.transformers.find(position); second != golden.transformers.end())
      EXPECT_LT(GoldenModel::divergence(second->second, [&](int32_t token) { return row[token]; }),
                1e-4)
          << "from transformers at position " << position;
    row += logits->shape[1];
  }
}

// Gives the rows of the logits at some positions of each sequence: first a step with all but the
// last `decode` tokens of each, then steps with one token of each.
using Rows = std::vector<std::map<size_t, GoldenModel::Row>>;
Result<Rows> runTogether(GoldenGraph &graph, const std::vector<GoldenModel::Sequence> &sequences,
                         size_t decode) {
  Rows found(sequences.size());
  for (size_t step = 0; step <= decode; ++step) {
    std::vector<GoldenPart> parts;
    std::vector<GoldenModel::Row *> rows;
    for (size_t i = 0; i < sequences.size(); ++i) {
      const auto &[tokens, logits] = sequences[i];
      const size_t prefill = tokens.size() - decode, first = step == 0 ? 0 : prefill + step - 1;
      GoldenPart &part =
          parts.emplace_back(GoldenPart{static_cast<int64_t>(i),
                                        static_cast<int64_t>(first),
                                        std::span(tokens).subspan(first, step == 0 ? prefill : 1),
                                        {}});
      for (size_t at = 0; at < part.tokens.size(); ++at)
        if (logits.contains(first + at)) {
          part.wanted.push_back(static_cast<int64_t>(at));
          rows.push_back(&found[i][first + at]);
        }
    }
    SINTER_ASSIGN(const graph::Tensor logits, graph.step(parts));
    for (size_t i = 0; i < logits.values.size(); ++i)
      (*rows[i / static_cast<size_t>(logits.shape[1])])[static_cast<int32_t>(i) %
                                                        static_cast<int32_t>(logits.shape[1])] =
          logits.values[i];
  }
  return found;
}

TEST_P(Architectures, ThreeUnequalSequencesTogetherGiveTheLogitsOfTheReferenceImplementation) {
  const GoldenModel golden = GoldenModel::read(GetParam());
  ASSERT_EQ(golden.beside.size(), 2u) << "tests/archs/make_ragged.py adds them";
  std::vector<GoldenModel::Sequence> sequences = golden.beside;
  sequences.push_back({golden.tokens, golden.logits});
  const auto graph = GoldenGraph::create(golden, {.sequences = 3});
  ASSERT_TRUE(graph) << graph.error().message;
  const Result<Rows> found = runTogether(**graph, sequences, GoldenModel::kDecoded);
  ASSERT_TRUE(found) << found.error().message;
  for (size_t i = 0; i < sequences.size(); ++i)
    for (const auto &[position, row] : sequences[i].logits) {
      const GoldenModel::Row &own = (*found)[i].at(position);
      EXPECT_LT(GoldenModel::divergence(row, [&](int32_t token) { return own.at(token); }), 1e-4)
          << "at position " << position << " of sequence " << i;
    }
}

class Encoders : public testing::TestWithParam<std::filesystem::path> {};
INSTANTIATE_TEST_SUITE_P(Goldens, Encoders,
                         testing::ValuesIn(goldenModels(SINTER_TEST_DIR "/data", "encoders")),
                         testName);

std::vector<double> valuesOf(const GoldenModel::Row &row) {
  std::vector<double> values;
  for (const auto &[column, value] : row)
    values.push_back(value);
  return values;
}

// The reference implementation looks GELU up by f16 numbers; transformers has it by erf, both
// others by tanh.
TEST_P(Encoders, GraphsGiveTheRowsOfTheReferenceImplementations) {
  const GoldenModel golden = GoldenModel::read(GetParam());
  const Result<graph::Tensor> rows = rowsOf(golden, true);
  ASSERT_TRUE(rows) << rows.error().message;
  size_t first = 0;
  for (const auto &[position, expected] : golden.logits) {
    const auto found = std::span(rows->values).subspan(first);
    EXPECT_LT(GoldenModel::distance(valuesOf(expected), found), 2e-3) << "at position " << position;
    if (const auto second = golden.transformers.find(position); second != golden.transformers.end())
      EXPECT_LT(GoldenModel::distance(valuesOf(second->second), found), 5e-4)
          << "from transformers at position " << position;
    first += expected.size();
  }
}

} // namespace
} // namespace sinter::engine
