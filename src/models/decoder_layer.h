// A decoder's layers, built from its features.
#pragma once

#include "models/decoder_features.h"
#include "models/graph_builder.h"

namespace sinter::models {

// How keys and values are kept.
struct KvLayout {
  int64_t pageRows = 0; // positions of a page
  mlir::Type element;
  bool transposesKeys = false; // blocks lie along a head, other elements along positions
};

// Where a KV cache group keeps the tokens.
struct KvPlaces {
  std::string pages; // symbol of the number of its pages
  mlir::Value slots, pageTable;
};

// The inputs that say where the tokens of the step are.
struct Placement {
  mlir::Value positions, tiles, lengths;
  mlir::Value stateSpans;         // null where no layer has a state
  std::vector<KvPlaces> kvGroups; // in the order of contract::kKvGroups
};

// The rows whose logits are wanted: where they are, and which of the tokens they are.
struct WantedRows {
  mlir::Value positions, tiles, index;
};

class LayerBuilder {
public:
  LayerBuilder(GraphBuilder &builder, const DecoderFeatures &features, KvLayout kv)
      : g_(builder), f_(features), family_(features.family), kv_(std::move(kv)) {}

  // Makes what layers share. Before any layer.
  Result<void> place(const Placement &at, const WantedRows &wanted);
  // The rows that enter the first layer, for families that use them again, and their tokens.
  Result<void> keepEmbedding(mlir::Value rows, mlir::Value tokens);
  // Streams side by side, [rows, streams * width], of families that have several, and the rows that
  // come of them in the end; other families' rows stay as they are.
  Result<mlir::Value> expandStreams(mlir::Value x);
  Result<mlir::Value> mergeStreams(mlir::Value x);
  // The rows after layer `number` of the rows before it. The last layer's are those whose logits
  // are wanted. Errors: of tensors (GraphBuilder::weight), and Unsupported: attention or RoPE of a
  // form that has no kernel.
  Result<mlir::Value> build(mlir::Value x, size_t number);

private:
  // Rows that attend.
  struct Rows {
    mlir::Value positions, tiles;
    mlir::Value rotations, windowRotations; // tables; null where nothing rotates by them
    mlir::Value queryScales;                // [rows, 1, 1]; null: none
  };
  struct KvCache {
    mlir::Value keys, values;
  };
  // Projections of a layer: each null where it is not made yet.
  struct Qkv {
    mlir::Value query, key, value; // rows
  };

  const LayerFeatures &layer() const { return f_.layers[number_]; }
  const KvPlaces &kvPlaces() const { return at_.kvGroups[f_.kvGroupOf(layer())]; }
  std::string name(std::string_view part) const;
  bool isLast() const { return number_ + 1 == f_.layers.size(); }
  mlir::Value wantedOnly(mlir::Value rows) { return isLast() ? g_.rowsAt(rows, wanted_) : rows; }

  Result<mlir::Value> ropeDivisors();
  mlir::Value queryScales(mlir::Value positions);
  mlir::Value ropeTable(mlir::Value positions, const RopeFeatures &rope, int64_t dims,
                        mlir::Value divisors);
  Result<Rows> rowsOf(mlir::Value positions, mlir::Value tiles, mlir::Value divisors);

  Result<mlir::Value> blockNorm(mlir::Value x, std::string_view part, bool isPostNorm = false);
  Result<Qkv> projectFused(mlir::Value x);
  Result<mlir::Value> project(mlir::Value x, std::string_view part, int64_t columns);
  Result<mlir::Value> headsOf(mlir::Value rows, std::string_view normPart, int64_t heads);
  Result<mlir::Value> headNorm(mlir::Value heads, std::string_view normPart);
  Result<mlir::Value> rotated(mlir::Value heads, const Rows &rows, std::string_view normPart);
  mlir::Value rope(mlir::Value heads, const Rows &rows);
  Result<KvCache> store(mlir::Value keyHeads, mlir::Value valueRows);
  Result<KvCache> ownCache(mlir::Value n, Qkv qkv);
  Result<mlir::Value> attend(mlir::Value query, const KvCache &cache, const Rows &rows);
  Result<mlir::Value> gated(mlir::Value attended, mlir::Value x);
  // A state of this layer [slots, shape...]; `part` tells the states of a layer apart.
  mlir::Value state(std::string_view part, llvm::ArrayRef<int64_t> shape);
  Result<mlir::Value> causalConv(mlir::Value rows, std::string_view part);
  // short_conv.cpp and delta_net.cpp: of all tokens' rows `n`, for those in `attending`.
  Result<mlir::Value> shortConv(mlir::Value n);
  Result<mlir::Value> deltaNet(mlir::Value n, mlir::Value attending);
  struct DeltaInputs;
  llvm::SmallVector<mlir::Value> partsOfKeyHeads(mlir::Value rows, llvm::ArrayRef<int64_t> sizes);
  Result<std::pair<mlir::Value, mlir::Value>> deltaRows(mlir::Value n, mlir::Value attending);
  Result<DeltaInputs> deltaInputs(mlir::Value n, mlir::Value attending);
  // Queries, and the gates that come with them.
  mlir::Value splitGate(mlir::Value &query);
  Result<mlir::Value> buildSummed(mlir::Value x);
  Gating gating() const;
  // Of the keys and values of all tokens, which `n` has, by `attending`.
  Result<mlir::Value> attention(mlir::Value n, mlir::Value attending);
  Result<mlir::Value> activated(mlir::Value n);
  // Of `n`, the normed sum residual_.
  Result<mlir::Value> feedForward(mlir::Value n);
  Result<mlir::Value> denseFeedForward(mlir::Value n);
  // mixture.cpp: experts and what is beside them.
  Result<mlir::Value> mixture(mlir::Value n);
  Result<mlir::Value> routerInput(mlir::Value n);
  Result<mlir::Value> expertInput(mlir::Value n);
  Result<mlir::Value> layerEmbeddingOf(mlir::Value x);
  Result<mlir::Value> buildAltup(mlir::Value x);
  mlir::Value stream(mlir::Value all, int64_t number);
  mlir::Value joined(llvm::ArrayRef<mlir::Value> streams);
  mlir::Value sumOfSquares(mlir::Value value);
  mlir::Value ofMagnitude(mlir::Value streams, int64_t count, mlir::Value like);
  mlir::Value largestOnly(mlir::Value gate);
  Result<mlir::Value> modalities(mlir::Value active);
  Result<llvm::SmallVector<mlir::Value>> predicted(mlir::Value x);
  Result<mlir::Value> laurel(mlir::Value n);
  Result<mlir::Value> enterStack(mlir::Value x);
  Result<mlir::Value> finish(mlir::Value x);

  GraphBuilder &g_;
  const DecoderFeatures &f_;
  const DecoderFamily &family_;
  KvLayout kv_;
  Placement at_;
  Rows tokens_, last_;
  mlir::Value wanted_, embedding_;
  mlir::Value layerInput_, residual_; // before and after attention, of the rows that go on
  mlir::Value low_, high_;            // the last results of both stacks; null: none yet
  mlir::Value layerEmbeddings_;       // [rows, layers * width of one]; null: none
  std::map<size_t, KvCache> caches_;  // of the layers that are built
  size_t number_ = 0;                 // of the layer that is being built
};

} // namespace sinter::models
