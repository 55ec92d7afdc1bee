// Attention of a decoder's layer: projections, norms of heads, RoPE, KV cache.
#include "tile/mlir_pch.h"

#include "models/decoder_layer.h"
#include "models/tensor_names.h"

#include <cmath>

using namespace mlir;

namespace sinter::models {

using graph::Extent;
using graph::tensorOf;

static Extent extentOf(Value value) {
  return graph::symbolOf(cast<RankedTensorType>(value.getType()), 0);
}

// ---- what layers share ----

// Null where the model has none. Contexts beyond that of training have long factors.
Result<Value> LayerBuilder::ropeDivisors() {
  // One for each pair of layers that rotate most.
  const int64_t dims = f_.ropeDims * family_.unwindowedDivisor;
  for (std::string_view name : {kRopeDivisors, kLongRopeDivisors, kShortRopeDivisors})
    g_.leaveOut(std::string(name));
  const bool rotates =
      llvm::any_of(f_.layers, [](const LayerFeatures &layer) { return layer.ropeDims > 0; });
  const auto divisors = [&](std::string_view name) -> Result<Value> {
    if (!rotates || isUnused(family_, name) || !g_.has(std::string(name)))
      return Value();
    return g_.weight(std::string(name), {dims / 2});
  };
  SINTER_ASSIGN(Value always, divisors(kRopeDivisors));
  if (always)
    return always;
  const bool isLong = f_.contextLength > f_.rope.scaling.originalContext;
  return divisors(isLong ? kLongRopeDivisors : kShortRopeDivisors);
}

// Axes beyond the third do not turn in text, nor do pairs that no axis takes.
static void keepSections(std::vector<float> &scales, const DecoderFeatures &f, int64_t dims) {
  if (f.sections.empty())
    return;
  int64_t all = 0;
  for (int64_t section : f.sections)
    all += section;
  if (scales.empty())
    scales.assign(static_cast<size_t>(dims / 2), 1.0f);
  for (int64_t pair = 0; pair < dims / 2; ++pair) {
    const int64_t sector = pair % all;
    const bool turns =
        f.family.interleaved ? sector < 3 * f.sections[sector % 3] : sector < all - f.sections[3];
    if (!turns)
      scales[static_cast<size_t>(pair)] = 0;
  }
  if (llvm::all_of(scales, [](float scale) { return scale == 1; }))
    scales.clear();
}

Value LayerBuilder::ropeTable(Value positions, const RopeFeatures &rope, int64_t dims,
                              Value divisors) {
  std::vector<float> scales = frequencyScales(rope.scaling, dims, rope.base);
  keepSections(scales, f_, dims);
  const float magnitude = rotationMagnitude(rope.scaling);
  return graph::RopeTableOp::create(
      g_.b, g_.loc, tensorOf({extentOf(positions), dims}, g_.b.getF32Type()), positions, divisors,
      static_cast<uint64_t>(dims), APFloat(rope.base),
      scales.empty() ? DenseF32ArrayAttr() : g_.b.getDenseF32ArrayAttr(scales),
      magnitude == 1 ? FloatAttr() : g_.b.getF32FloatAttr(magnitude));
}

Result<LayerBuilder::Rows> LayerBuilder::rowsOf(Value positions, Value tiles, Value divisors) {
  Rows rows{positions, tiles, {}, {}, {}};
  const bool apart = family_.windowRotation != WindowRotation::Same;
  for (const LayerFeatures &layer : f_.layers) {
    const bool windowed = apart && layer.windowed;
    Value &table = windowed ? rows.windowRotations : rows.rotations;
    if (layer.attends() && layer.ropeDims > 0 && !table)
      table = ropeTable(positions, windowed ? f_.windowRope : f_.rope, layer.ropeDims,
                        windowed ? Value() : divisors);
  }
  rows.queryScales = queryScales(positions);
  return rows;
}

Value LayerBuilder::queryScales(Value positions) {
  const auto &p = f_.positions;
  if (p.scale == 0)
    return {};
  const Extent count = extentOf(positions), one(int64_t(1));
  Value places = graph::ReshapeOp::create(
      g_.b, g_.loc, tensorOf({count, one, one}, g_.b.getI32Type()), positions);
  return g_.map(tensorOf({count, one, one}, g_.b.getF32Type()), {places},
                [&](ScalarBuilder &s, ValueRange v) {
                  Value place = s.fromInteger(v[0]);
                  if (p.offset != 0)
                    place = s.add(place, s.number(p.offset));
                  Value turns = s.floor(s.div(place, s.number(p.length)));
                  Value grown = s.log(s.add(turns, s.number(1)));
                  return s.add(s.mul(grown, s.number(p.scale)), s.number(1));
                });
}

Result<void> LayerBuilder::place(const Placement &at, const WantedRows &wanted) {
  at_ = at;
  wanted_ = wanted.index;
  SINTER_ASSIGN(Value divisors, ropeDivisors());
  SINTER_ASSIGN(tokens_, rowsOf(at.positions, at.tiles, divisors));
  SINTER_ASSIGN(last_, rowsOf(wanted.positions, wanted.tiles, divisors));
  return {};
}

// ---- queries, keys and values ----

Result<Value> LayerBuilder::project(Value x, std::string_view part, int64_t columns) {
  SINTER_ASSIGN(Value rows, g_.linear(x, name(part), columns, family_));
  return g_.clamped(rows, f_.clampQkv);
}

// Of one matrix; biases may be apart all the same.
Result<LayerBuilder::Qkv> LayerBuilder::projectFused(Value x) {
  const LayerFeatures &l = layer();
  const int64_t queries = l.heads * l.headDim, keys = l.kvHeads * l.headDim,
                values = l.kvHeads * l.valueDim;
  SINTER_ASSIGN(Value all, project(x, kQkv, queries + keys + values));
  Qkv qkv{g_.columns(all, 0, queries), g_.columns(all, queries, keys),
          g_.columns(all, queries + keys, values)};
  const auto biased = [&](Value &rows, std::string_view part, int64_t columns) -> Result<void> {
    const std::string tensor = name(part) + ".bias";
    if (isUnused(family_, tensor))
      return {};
    SINTER_ASSIGN(Value bias, g_.optionalWeight(tensor, {columns}));
    if (bias)
      rows = g_.add(rows, bias);
    return {};
  };
  SINTER_TRY(biased(qkv.query, kQuery, queries));
  SINTER_TRY(biased(qkv.key, kKey, keys));
  SINTER_TRY(biased(qkv.value, kValue, values));
  return qkv;
}

Result<Value> LayerBuilder::headNorm(Value heads, std::string_view normPart) {
  auto type = cast<RankedTensorType>(heads.getType());
  const int64_t count = type.getDimSize(1), size = type.getDimSize(2);
  const std::string tensor = name(normPart) + ".weight";
  const NormKind kind = family_.qkNormKind;
  if (family_.qkNorm == QkNorm::Bare)
    return layer().ropeDims ? g_.norm(heads, kind, {}, {}, f_.qkNormEps) : heads;
  if (family_.qkNorm == QkNorm::Heads) {
    SINTER_ASSIGN(Value gain, g_.weight(tensor, {size}));
    return g_.norm(heads, kind, gain, {}, f_.qkNormEps);
  }
  const bool gains = family_.qkNorm == QkNorm::Gains;
  Value result = g_.norm(heads, kind, {}, {}, f_.qkNormEps);
  if (gains && normPart == kKeyNorm)
    return result;
  SINTER_ASSIGN(Value gain, g_.weight(tensor, {count, gains ? 1 : size}));
  result = g_.map({result, gain}, [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], v[1]); });
  if (gains)
    return result;
  SINTER_ASSIGN(Value bias, g_.optionalWeight(name(normPart) + ".bias", {count, size}));
  return bias ? g_.add(result, bias) : result;
}

// Rows as heads, with the norms that come before RoPE.
Result<Value> LayerBuilder::headsOf(Value rows, std::string_view normPart, int64_t heads) {
  // Norms of whole rows come in pairs.
  const bool rowNorms = family_.qkNorm == QkNorm::Rows;
  const bool absent =
      family_.qkNorm == QkNorm::None ||
      (family_.qkNormOptional && !g_.has(name(rowNorms ? kQueryNorm : normPart) + ".weight"));
  if (absent && rowNorms)
    for (const char *kind : {".weight", ".bias"})
      g_.leaveOut(name(normPart) + kind);
  if (!absent && rowNorms) {
    SINTER_ASSIGN(rows, g_.norm(rows, family_.qkNormKind, name(normPart), f_.qkNormEps));
  }
  Value result = g_.asHeads(rows, heads, layer().headDim);
  if (absent || rowNorms || family_.qkNormAfterRope)
    return result;
  return headNorm(result, normPart);
}

Value LayerBuilder::rope(Value heads, const Rows &rows) {
  if (layer().ropeDims == 0)
    return heads;
  const bool apart = family_.windowRotation != WindowRotation::Same && layer().windowed;
  const auto pairing =
      f_.rotation == Rotation::Halves ? graph::Pairing::Halves : graph::Pairing::Neighbours;
  const bool whole = layer().ropeDims == layer().headDim;
  return graph::RopeOp::create(g_.b, g_.loc, heads.getType(), heads,
                               apart ? rows.windowRotations : rows.rotations, pairing,
                               whole ? IntegerAttr() : g_.b.getI64IntegerAttr(layer().ropeDims));
}

// Heads after RoPE and the norms that come after it.
Result<Value> LayerBuilder::rotated(Value heads, const Rows &rows, std::string_view normPart) {
  Value result = rope(heads, rows);
  return family_.qkNormAfterRope ? headNorm(result, normPart) : Result<Value>(result);
}

// The KV cache of the layer with the keys and values of all tokens.
Result<LayerBuilder::KvCache> LayerBuilder::store(Value keyHeads, Value valueRows) {
  const LayerFeatures &l = layer();
  Value values = g_.asHeads(valueRows, l.kvHeads, l.valueDim);
  if (family_.valueNorm)
    values = g_.norm(values, NormKind::Rms, {}, {}, f_.normEps);
  const auto poolOf = [&](int64_t size, bool transposed) {
    const Extent pages(kvPlaces().pages);
    return transposed ? tensorOf({pages, l.kvHeads, size, kv_.pageRows}, kv_.element)
                      : tensorOf({pages, l.kvHeads, kv_.pageRows, size}, kv_.element);
  };
  const std::string name = "kv." + std::to_string(number_);
  Value keyPool =
      graph::StateOp::create(g_.b, g_.loc, poolOf(l.headDim, kv_.transposesKeys), name + ".keys");
  Value valuePool =
      graph::StateOp::create(g_.b, g_.loc, poolOf(l.valueDim, false), name + ".values");
  SINTER_ASSIGN(Value keys, rotated(keyHeads, tokens_, kKeyNorm));
  const auto append = [&](graph::KvPart part, Value rows, Value pool) -> Value {
    return graph::KvAppendOp::create(g_.b, g_.loc, pool.getType(), part, rows, kvPlaces().slots,
                                     pool);
  };
  return KvCache{append(graph::KvPart::Keys, keys, keyPool),
                 append(graph::KvPart::Values, values, valuePool)};
}

// ---- attention ----

// What heads lose for each position between query and key: powers of two for as many heads as
// there are up to a power of two, then those between (Press et al., 2108.12409).
static std::vector<float> alibiSlopes(int64_t heads, float largest) {
  const auto whole = static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<float> slopes;
  for (int64_t head = 0; head < heads; ++head) {
    const bool between = head >= whole;
    const double step = largest / static_cast<double>(whole) / (between ? 2 : 1);
    const int64_t number = between ? 2 * (head - whole) + 1 : head + 1;
    slopes.push_back(static_cast<float>(std::exp2(-step * static_cast<double>(number))));
  }
  return slopes;
}

Result<Value> LayerBuilder::attend(Value query, const KvCache &cache, const Rows &rows) {
  const LayerFeatures &l = layer();
  const float scale =
      f_.attentionScale > 0 ? f_.attentionScale : 1.0f / std::sqrt(static_cast<float>(l.headDim));
  Value sinks;
  const bool hasSinks = g_.has(name(kAttentionSinks) + ".weight");
  if (family_.sinks || (family_.sinksOptional && hasSinks)) {
    SINTER_ASSIGN(sinks, g_.weight(name(kAttentionSinks) + ".weight", {l.heads}));
  }
  DenseF32ArrayAttr slopes;
  if (f_.alibi > 0)
    slopes = g_.b.getDenseF32ArrayAttr(alibiSlopes(l.heads, f_.alibi));
  auto type = tensorOf({extentOf(query), l.heads, l.valueDim}, g_.b.getF32Type());
  return graph::PagedAttentionOp::create(
             g_.b, g_.loc, type, query, cache.keys, cache.values, rows.positions,
             kvPlaces().pageTable, at_.lengths, rows.tiles, sinks, g_.b.getF32FloatAttr(scale),
             l.window ? g_.b.getI64IntegerAttr(l.window) : IntegerAttr(),
             l.chunk ? g_.b.getI64IntegerAttr(l.chunk) : IntegerAttr(),
             f_.attentionSoftCap > 0 ? g_.b.getF32FloatAttr(f_.attentionSoftCap) : FloatAttr(),
             slopes, f_.bothWays ? g_.b.getUnitAttr() : UnitAttr())
      .getResult();
}

// Attention's result times a function of a gate, for each of its elements or for each head.
Result<Value> LayerBuilder::gated(Value attended, Value x) {
  const LayerFeatures &l = layer();
  const std::string tensor = name(kAttentionGate);
  const std::optional<TensorInfo> info = g_.source().tensor(tensor + ".weight");
  const bool byHead = info && !info->shape.empty() && info->shape[0] == l.heads && l.valueDim > 1;
  const int64_t columns = byHead ? l.heads : l.heads * l.valueDim;
  SINTER_ASSIGN(Value gate, g_.linear(x, tensor, columns, family_));
  const bool softplus = family_.attentionGate == AttentionGate::Softplus;
  const auto body = [=](ScalarBuilder &s, ValueRange v) {
    return s.mul(v[0], softplus ? s.softplus(v[1]) : s.sigmoid(v[1]));
  };
  if (!byHead)
    return g_.map({attended, gate}, body);
  Value heads = g_.asHeads(attended, l.heads, l.valueDim);
  return g_.asRows(g_.map({heads, g_.asHeads(gate, l.heads, 1)}, body));
}

// The layer's own keys and values, or those of the layer whose it reads.
Result<LayerBuilder::KvCache> LayerBuilder::ownCache(Value n, Qkv qkv) {
  const LayerFeatures &l = layer();
  if (l.kvOf >= 0) {
    for (std::string_view part : {kKey, kValue, kKeyNorm})
      for (const char *kind : {".weight", ".scale", ".bias"})
        g_.leaveOut(name(part) + kind);
    return caches_.at(static_cast<size_t>(l.kvOf));
  }
  const bool fused = qkv.key != nullptr;
  if (!fused) {
    SINTER_ASSIGN(qkv.key, project(n, kKey, l.kvHeads * l.headDim));
  }
  SINTER_ASSIGN(Value k, headsOf(qkv.key, kKeyNorm, l.kvHeads));
  if (!fused && family_.valuesOfKeys && !g_.has(name(kValue) + ".weight")) {
    qkv.value = qkv.key;
  } else if (!fused) {
    SINTER_ASSIGN(qkv.value, project(n, kValue, l.kvHeads * l.valueDim));
  }
  SINTER_ASSIGN(const KvCache cache, store(k, qkv.value));
  caches_[number_] = cache;
  return cache;
}

Value LayerBuilder::splitGate(Value &query) {
  const int64_t heads = layer().heads, size = layer().headDim;
  Value both = g_.asHeads(query, heads, 2 * size);
  const auto part = [&](int64_t first) {
    auto type = tensorOf({extentOf(query), heads, size}, g_.b.getF32Type());
    return g_.asRows(graph::SliceOp::create(g_.b, g_.loc, type, both,
                                            ArrayRef<int64_t>{0, 0, first}, DenseI64ArrayAttr()));
  };
  query = part(0);
  return part(size);
}

Result<Value> LayerBuilder::attention(Value n, Value attending) {
  const LayerFeatures &l = layer();
  if (l.mixer == Mixer::ShortConv)
    return shortConv(n);
  if (l.mixer == Mixer::DeltaNet)
    return deltaNet(n, attending);
  if (!l.attends()) // a matrix stands for it
    return g_.linear(attending, name(kAttentionOutput), f_.width, family_);
  const Rows &rows = isLast() ? last_ : tokens_;
  const bool fused = g_.has(name(kQkv) + ".weight");
  Qkv qkv;
  if (fused) {
    SINTER_ASSIGN(qkv, projectFused(n));
  } else {
    const int64_t parts = family_.queryGate ? 2 : 1;
    SINTER_ASSIGN(qkv.query, project(attending, kQuery, parts * l.heads * l.headDim));
  }
  Value gate = family_.queryGate ? splitGate(qkv.query) : Value();
  SINTER_ASSIGN(Value q, headsOf(qkv.query, kQueryNorm, l.heads));
  SINTER_ASSIGN(const KvCache cache, ownCache(n, qkv));
  SINTER_ASSIGN(Value query, rotated(q, fused ? tokens_ : rows, kQueryNorm));
  if (fused && isLast()) // queries of one matrix with keys and values are of all tokens
    query = g_.asHeads(wantedOnly(g_.asRows(query)), l.heads, l.headDim);
  const bool scaled = family_.positionScale == PositionScale::Key || l.ropeDims == 0;
  if (rows.queryScales && scaled)
    query = g_.map({query, rows.queryScales},
                   [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], v[1]); });
  SINTER_ASSIGN(Value attended, attend(query, cache, rows));
  Value flat = g_.asRows(attended);
  if (gate)
    flat = g_.map({flat, gate},
                  [](ScalarBuilder &s, ValueRange v) { return s.mul(v[0], s.sigmoid(v[1])); });
  const bool gates = family_.attentionGate != AttentionGate::None &&
                     (!family_.attentionGateOptional || g_.has(name(kAttentionGate) + ".weight"));
  if (gates) {
    SINTER_ASSIGN(flat, gated(flat, attending));
  }
  if (family_.subNorms) {
    SINTER_ASSIGN(flat, blockNorm(flat, kAttentionSubNorm));
  }
  SINTER_ASSIGN(Value result, g_.linear(flat, name(kAttentionOutput), f_.width, family_));
  return g_.scaled(result, f_.valueScale);
}

} // namespace sinter::models
