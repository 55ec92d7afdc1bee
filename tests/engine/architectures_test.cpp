// Every decoder and encoder family against llama.cpp: the graph of each golden, in the reference
// evaluator.
#include "engine/gguf_source.h"
#include "golden_model.h"
#include "graph/evaluate/evaluate.h"
#include "models/decoder.h"
#include "plan/contract.h"
#include "tile/mlir_pch.h"

#include <gtest/gtest.h>

namespace sinter::engine {
namespace {

using contract::Input;

constexpr int64_t kPageRows = 16;

// One sequence from its first position, with the logits of some of its tokens.
graph::NamedTensors inputsOf(mlir::MLIRContext &context, const GoldenModel &golden) {
  const auto count = static_cast<int64_t>(golden.tokens.size());
  graph::NamedTensors inputs;
  const auto add = [&](Input id, graph::Shape shape, std::vector<double> values) {
    inputs[contract::rowOf(id).name] = {mlir::IntegerType::get(&context, 32), std::move(shape),
                                        std::move(values)};
  };
  std::vector<double> places, pages, tiles, rows, rowTiles;
  for (int64_t i = 0; i < count; ++i) {
    places.push_back(static_cast<double>(i));
    tiles.insert(tiles.end(), {0.0, static_cast<double>(i), 1.0});
  }
  for (int64_t i = 0; i * kPageRows < count; ++i)
    pages.push_back(static_cast<double>(i));
  for (const auto &[position, row] : golden.logits) {
    rowTiles.insert(rowTiles.end(), {0.0, static_cast<double>(rows.size()), 1.0});
    rows.push_back(static_cast<double>(position));
  }
  const auto wanted = static_cast<int64_t>(rows.size());
  add(Input::TokenIds, {count}, {golden.tokens.begin(), golden.tokens.end()});
  add(Input::Positions, {count}, places);
  add(Input::KvSlots, {count}, places);
  add(Input::PageTable, {1, static_cast<int64_t>(pages.size())}, pages);
  add(Input::KvLengths, {1}, {static_cast<double>(count)});
  add(Input::QueryTiles, {count, 3}, tiles);
  add(Input::LogitIndices, {wanted}, rows);
  add(Input::LogitPositions, {wanted}, rows);
  add(Input::LogitTiles, {wanted, 3}, rowTiles);
  add(Input::StateSpans, {1, 4}, {-1, 0, 0, static_cast<double>(count)});
  return inputs;
}

// Logits, or embeddings where these are asked for or nothing else is given.
Result<graph::Tensor> rowsOf(const GoldenModel &golden, bool embeddings = false) {
  const std::vector<uint8_t> bytes = golden.bytes();
  SINTER_ASSIGN(const GgufFile file, GgufFile::parse(bytes));
  const GgufSource source(file);
  SINTER_ASSIGN(const models::DecoderFeatures features, models::readDecoder(source));
  mlir::MLIRContext context;
  graph::loadDialects(context);
  SINTER_ASSIGN(auto module,
                models::buildDecoder(context, features, source,
                                     {.pageRows = kPageRows, .embeddings = embeddings}));
  graph::Edges edges;
  edges.inputs = inputsOf(context, golden);
  edges.symbols[contract::nameOf(contract::Symbol::PoolPages)] =
      static_cast<int64_t>(golden.tokens.size()) / kPageRows + 1;
  edges.symbols[contract::nameOf(contract::Symbol::StateSlots)] = 1;
  edges.weight = [&](const std::string &name, mlir::RankedTensorType) -> Result<graph::Tensor> {
    const auto found = std::ranges::find(golden.tensors, name, &GoldenModel::Tensor::name);
    const std::vector<float> values = GoldenModel::weights(*found);
    graph::Shape shape(found->extents.rbegin(), found->extents.rend());
    return graph::Tensor{mlir::Float32Type::get(&context), shape, {values.begin(), values.end()}};
  };
  auto step = *module->getOps<mlir::func::FuncOp>().begin();
  SINTER_ASSIGN(graph::Outcome outcome, graph::evaluate(step, edges, graph::Precision::F32));
  return outcome.outputs.at(embeddings ? contract::kEmbeddings.name : contract::kLogits.name);
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
    row += logits->shape[1];
  }
}

class Encoders : public testing::TestWithParam<std::filesystem::path> {};
INSTANTIATE_TEST_SUITE_P(Goldens, Encoders,
                         testing::ValuesIn(goldenModels(SINTER_TEST_DIR "/data", "encoders")),
                         testName);

// The reference implementation looks GELU up by f16 numbers.
TEST_P(Encoders, GraphsGiveTheRowsOfTheReferenceImplementation) {
  const GoldenModel golden = GoldenModel::read(GetParam());
  const Result<graph::Tensor> rows = rowsOf(golden, true);
  ASSERT_TRUE(rows) << rows.error().message;
  size_t first = 0;
  for (const auto &[position, expected] : golden.logits) {
    std::vector<double> wanted;
    for (const auto &[column, value] : expected)
      wanted.push_back(value);
    EXPECT_LT(GoldenModel::distance(wanted, std::span(rows->values).subspan(first)), 2e-3)
        << "at position " << position;
    first += wanted.size();
  }
}

} // namespace
} // namespace sinter::engine
