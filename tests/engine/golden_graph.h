// The graph of a golden model in the reference evaluator, step by step, with its KV cache and
// states kept between steps.
#pragma once

#include "engine/gguf_source.h"
#include "golden_model.h"
#include "graph/evaluate/evaluate.h"
#include "models/decoder.h"
#include "plan/contract.h"
#include "tile/mlir_pch.h"

#include <algorithm>
#include <memory>
#include <span>

namespace sinter::engine {

// The next tokens of a sequence, those at [position, position + tokens), and which of them want
// rows, by their number among these tokens.
struct GoldenPart {
  int64_t sequence = 0, position = 0;
  std::span<const int32_t> tokens;
  std::vector<int64_t> wanted;
};

class GoldenGraph {
public:
  struct Options {
    int64_t sequences = 1;
    bool embeddings = false; // instead of logits
  };

  static Result<std::unique_ptr<GoldenGraph>> create(const GoldenModel &golden,
                                                     const Options &options) {
    auto graph = std::unique_ptr<GoldenGraph>(new GoldenGraph(golden, options));
    SINTER_TRY(graph->build());
    return graph;
  }

  // Rows of the tokens that want them, part by part.
  Result<graph::Tensor> step(const std::vector<GoldenPart> &parts) {
    edges_.inputs = inputsOf(parts);
    auto function = *module_->getOps<mlir::func::FuncOp>().begin();
    SINTER_ASSIGN(graph::Outcome outcome, graph::evaluate(function, edges_, graph::Precision::F32));
    edges_.states = std::move(outcome.states);
    return outcome.outputs.at(options_.embeddings ? contract::kEmbeddings.name
                                                  : contract::kLogits.name);
  }

private:
  static constexpr int64_t kPageRows = 16;

  GoldenGraph(const GoldenModel &golden, const Options &options)
      : golden_(golden), options_(options),
        pages_(static_cast<int64_t>(golden.tokens.size()) / kPageRows + 1) {}

  Result<void> build() {
    const std::vector<uint8_t> bytes = golden_.bytes();
    SINTER_ASSIGN(const GgufFile file, GgufFile::parse(bytes));
    const GgufSource source(file);
    SINTER_ASSIGN(const models::DecoderFeatures features, models::readDecoder(source));
    graph::loadDialects(context_);
    SINTER_ASSIGN(module_,
                  models::buildDecoder(context_, features, source,
                                       {.pageRows = kPageRows, .embeddings = options_.embeddings}));
    for (const GoldenModel::Tensor &tensor : golden_.tensors) {
      const std::vector<float> values = GoldenModel::weights(tensor);
      weights_[tensor.name] = {mlir::Float32Type::get(&context_),
                               graph::Shape(tensor.extents.rbegin(), tensor.extents.rend()),
                               {values.begin(), values.end()}};
    }
    edges_.weight = [this](const std::string &name,
                           mlir::RankedTensorType) -> Result<graph::Tensor> {
      return weights_.at(name);
    };
    for (const contract::KvGroup &group : contract::kKvGroups)
      edges_.symbols[contract::nameOf(group.poolPages)] = pages_ * options_.sequences;
    edges_.symbols[contract::nameOf(contract::Symbol::StateSlots)] = options_.sequences;
    return {};
  }

  // Pages of sequences lie between one another.
  int64_t pageOf(int64_t sequence, int64_t number) const {
    return number * options_.sequences + (options_.sequences - 1 - sequence);
  }

  struct Lists {
    std::vector<double> tokens, positions, slots, pages, lengths, tiles, rows, rowPositions,
        rowTiles, spans;
  };

  void addPart(const GoldenPart &part, int64_t number, Lists &lists) const {
    const auto first = static_cast<int64_t>(lists.tokens.size());
    const auto add = [](std::vector<double> &list, std::initializer_list<int64_t> values) {
      list.insert(list.end(), values.begin(), values.end());
    };
    for (int64_t i = 0; i < static_cast<int64_t>(part.tokens.size()); ++i) {
      const int64_t at = part.position + i;
      add(lists.tokens, {part.tokens[static_cast<size_t>(i)]});
      add(lists.positions, {at});
      add(lists.slots, {pageOf(part.sequence, at / kPageRows) * kPageRows + at % kPageRows});
      add(lists.tiles, {number, first + i, 1});
    }
    for (int64_t page = 0; page < pages_; ++page)
      add(lists.pages, {pageOf(part.sequence, page)});
    const auto count = static_cast<int64_t>(part.tokens.size());
    add(lists.lengths, {part.position + count});
    for (const int64_t wanted : part.wanted) {
      add(lists.rowTiles, {number, static_cast<int64_t>(lists.rows.size()), 1});
      add(lists.rows, {first + wanted});
      add(lists.rowPositions, {part.position + wanted});
    }
    add(lists.spans, {part.position == 0 ? -1 : part.sequence, part.sequence, first, count});
  }

  graph::NamedTensors inputsOf(const std::vector<GoldenPart> &parts) {
    using contract::Input;
    Lists lists;
    for (size_t i = 0; i < parts.size(); ++i)
      addPart(parts[i], static_cast<int64_t>(i), lists);
    graph::NamedTensors inputs;
    const auto add = [&](Input id, const std::vector<double> &values, int64_t width = 0) {
      graph::Shape shape{static_cast<int64_t>(values.size()) / std::max<int64_t>(width, 1)};
      if (width > 0)
        shape.push_back(width);
      inputs[contract::rowOf(id).name] = {mlir::IntegerType::get(&context_, 32), shape, values};
    };
    add(Input::TokenIds, lists.tokens);
    add(Input::Positions, lists.positions);
    for (const contract::KvGroup &group : contract::kKvGroups) {
      add(group.slots, lists.slots);
      add(group.pageTable, lists.pages, pages_);
    }
    add(Input::KvLengths, lists.lengths);
    add(Input::QueryTiles, lists.tiles, 3);
    add(Input::LogitIndices, lists.rows);
    add(Input::LogitPositions, lists.rowPositions);
    add(Input::LogitTiles, lists.rowTiles, 3);
    add(Input::StateSpans, lists.spans, 4);
    return inputs;
  }

  const GoldenModel &golden_;
  Options options_;
  int64_t pages_; // of each sequence
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::map<std::string, graph::Tensor> weights_;
  graph::Edges edges_;
};

} // namespace sinter::engine
