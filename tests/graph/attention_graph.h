// An attention layer in any of its forms, of two sequences in a paged KV cache: what its matmul
// makes goes through norms and RoPE into the cache, and attends.
#pragma once

#include "graph/graph.h"
#include "graph/random_graph.h"

#include <algorithm>
#include <string>
#include <vector>

namespace sinter::graph {

struct AttentionForm {
  int64_t heads = 4, kvHeads = 2, headDim = 32, valueDim = 32;
  int64_t ropeDims = 32; // 0: no RoPE
  const char *pairing = "halves";
  bool normsBefore = false, normsAfter = false; // of heads, beside their RoPE
  bool rotatesKeys = true;                      // as queries rotate
  bool scalesQueries = false;                   // by a number a row, before attention
  bool joined = true;                           // one matmul makes queries, keys and values
  std::string attributes = {};                  // of the attention
  bool sinks = false;
  bool queriesAreRead = false; // by an output too
  std::string pool = "f16";
  bool decodes = false;    // each sequence has one token
  bool freshCache = false; // sequences hold no keys of earlier steps

  int64_t columns() const { return heads * headDim + kvHeads * (headDim + valueDim); }
};

class AttentionGraph {
public:
  explicit AttentionGraph(const AttentionForm &form) : f_(form) {}

  RandomGraph make() {
    makeInputs();
    makeHeads();
    makeQueries();
    const std::string keys = rotated("k", f_.kvHeads, f_.rotatesKeys);
    line("%kp = graph.state \"keys\" : " + keyPool());
    line("%vp = graph.state \"values\" : " + valuePool());
    append("%ka", "keys", keys, rows(f_.kvHeads, f_.headDim), "%kp", keyPool());
    append("%va", "values", "%v", rows(f_.kvHeads, f_.valueDim), "%vp", valuePool());
    attend();
    return std::move(graph_);
  }
  // What sequences hold before the step.
  RandomTensor keys() { return numbers({kPages, f_.kvHeads, f_.headDim, kPageRows}); }
  RandomTensor values() { return numbers({kPages, f_.kvHeads, kPageRows, f_.valueDim}); }
  bool startsEmpty() const { return f_.freshCache || inBlocks(); }

private:
  bool inBlocks() const { return f_.pool.front() == '!'; }
  static constexpr int64_t kPages = 8, kPageRows = 32, kWidth = 32;
  // Positions of each sequence, and those of them that are this step's.
  int64_t lengthOf(int64_t sequence) const { return sequence == 0 ? 41 : 75; }
  int64_t stepOf(int64_t sequence) const {
    if (f_.freshCache)
      return lengthOf(sequence);
    return f_.decodes ? 1 : sequence == 0 ? 41 : 3;
  }

  static std::string rows(int64_t heads, int64_t dim) {
    return "tensor<?x" + std::to_string(heads) + "x" + std::to_string(dim) +
           "xf32, #graph.dims<T>>";
  }
  static std::string columns(int64_t count) {
    return "tensor<?x" + std::to_string(count) + "xf32, #graph.dims<T>>";
  }
  static std::string shape(std::initializer_list<int64_t> extents, const std::string &element) {
    std::string text = "tensor<";
    for (int64_t extent : extents)
      text += std::to_string(extent) + "x";
    return text + element + ">";
  }
  std::string keyPool() const {
    if (inBlocks())
      return shape({kPages, f_.kvHeads, kPageRows, f_.headDim}, f_.pool);
    return shape({kPages, f_.kvHeads, f_.headDim, kPageRows}, f_.pool);
  }
  std::string valuePool() const {
    return shape({kPages, f_.kvHeads, kPageRows, f_.valueDim}, f_.pool);
  }
  void line(const std::string &text) { graph_.body += text + "\n"; }
  RandomTensor numbers(const Shape &extents, double scale = 1) {
    RandomTensor tensor{extents, {}};
    const int64_t count =
        std::accumulate(extents.begin(), extents.end(), int64_t(1), std::multiplies<>());
    for (int64_t i = 0; i < count; ++i) // of few bits, so that 16-bit floats hold them
      tensor.values.push_back(scale * (static_cast<double>(random_() >> 57) / 64 - 1));
    return tensor;
  }
  // Its type.
  std::string weight(const std::string &name, const Shape &extents, double scale = 1) {
    graph_.weights[name] = numbers(extents, scale);
    std::string type = "tensor<";
    for (int64_t extent : extents)
      type += std::to_string(extent) + "x";
    type += "f32>";
    line("%" + name + " = graph.weight [\"" + name + "\"] : " + type);
    return type;
  }
  void integers(const std::string &name, const Shape &extents, const std::vector<double> &values,
                const std::string &type) {
    graph_.inputs[name] = {extents, values};
    line("%" + name + " = graph.input \"" + name + "\" : " + type);
  }

  // Page p of sequence s is page 2 p + 1 - s of the cache.
  void makeInputs() {
    constexpr int64_t kMost = 3;
    std::vector<double> positions, slots, pages, tiles, lengths;
    for (int64_t s : {0, 1}) {
      const int64_t count = stepOf(s), length = lengthOf(s);
      for (int64_t first = 0; first < count; first += kTile)
        tiles.insert(tiles.end(), {double(s), double(positions.size() + first),
                                   double(std::min(kTile, count - first))});
      for (int64_t at = length - count; at < length; ++at) {
        positions.push_back(static_cast<double>(at));
        slots.push_back(
            static_cast<double>((2 * (at / kPageRows) + 1 - s) * kPageRows + at % kPageRows));
      }
      for (int64_t p = 0; p < kMost; ++p)
        pages.push_back(static_cast<double>(2 * p + 1 - s));
      lengths.push_back(static_cast<double>(length));
    }
    const auto tokens = static_cast<int64_t>(positions.size());
    const auto count = static_cast<int64_t>(tiles.size()) / 3;
    graph_.inputs["x"] = numbers({tokens, kWidth});
    line("%x = graph.input \"x\" : " + columns(kWidth));
    integers("positions", {tokens}, positions, kIndex);
    integers("slots", {tokens}, slots, kIndex);
    integers("pages", {2, kMost}, pages, "tensor<2x3xi32>");
    integers("lengths", {2}, lengths, "tensor<2xi32>");
    integers("tiles", {count, 3}, tiles, "tensor<?x3xi32, #graph.dims<B>>");
    if (f_.ropeDims)
      line("%angles = graph.rope_table %positions dims " + std::to_string(f_.ropeDims) +
           " base 1.0e4 : " + std::string(kIndex) + " -> " + columns(f_.ropeDims));
  }

  // %q, %k and %v as heads.
  void makeHeads() {
    const int64_t ofQueries = f_.heads * f_.headDim, ofKeys = f_.kvHeads * f_.headDim,
                  ofValues = f_.kvHeads * f_.valueDim;
    if (f_.joined)
      matmul("qkv", f_.columns());
    int64_t first = 0;
    for (auto [name, width, heads] : {std::tuple("q", ofQueries, f_.heads),
                                      {"k", ofKeys, f_.kvHeads},
                                      {"v", ofValues, f_.kvHeads}}) {
      const std::string value = std::string("%") + name;
      if (f_.joined)
        line(value + "c = graph.slice %qkv from [0, " + std::to_string(first) +
             "] : " + columns(f_.columns()) + " -> " + columns(width));
      else
        matmul(std::string(name) + "c", width);
      line(value + " = graph.reshape " + value + "c : " + columns(width) + " -> " +
           rows(heads, width / heads));
      first += width;
    }
  }
  void matmul(const std::string &name, int64_t width) {
    const std::string type = weight("w_" + name, {width, kWidth}, 0.25);
    line("%" + name + " = graph.dot_general %x, %w_" + name + " : " + columns(kWidth) + ", " +
         type + " -> " + columns(width));
  }
  std::string normed(const std::string &value, const std::string &gain, int64_t heads) {
    const std::string type = weight(gain, {f_.headDim}), result = value + "_" + gain;
    line(result + " = graph.norm " + value + ", %" + gain + " eps 1.0e-5 : " +
         rows(heads, f_.headDim) + ", " + type + " -> " + rows(heads, f_.headDim));
    return result;
  }
  // Heads after their norms and RoPE.
  std::string rotated(const std::string &name, int64_t heads, bool rotates) {
    std::string value = "%" + name;
    const std::string type = rows(heads, f_.headDim);
    if (f_.normsBefore)
      value = normed(value, "before_" + name, heads);
    if (f_.ropeDims && rotates) {
      line("%" + name + "r = graph.rope " + f_.pairing + " " + value + ", %angles" +
           (f_.ropeDims == f_.headDim ? "" : " dims " + std::to_string(f_.ropeDims)) + " : " +
           type + ", " + columns(f_.ropeDims) + " -> " + type);
      value = "%" + name + "r";
    }
    return f_.normsAfter ? normed(value, "after_" + name, heads) : value;
  }
  void makeQueries() {
    query_ = rotated("q", f_.heads, true);
    const std::string type = rows(f_.heads, f_.headDim);
    if (f_.queriesAreRead)
      line("graph.output \"q\", " + query_ + " : " + type);
    if (!f_.scalesQueries)
      return;
    graph_.inputs["by_row"] = numbers({graph_.inputs["x"].shape[0], 1, 1});
    line("%by_row = graph.input \"by_row\" : " + rows(1, 1));
    line("%qs = graph.map " + query_ + ", %by_row : " + type + ", " + rows(1, 1) + " -> " + type +
         " {\n^bb0(%l: f32, %r: f32):\n%y = arith.mulf %l, %r : f32\ngraph.yield %y : f32\n}");
    query_ = "%qs";
  }
  void append(const std::string &result, const std::string &part, const std::string &heads,
              const std::string &type, const std::string &pool, const std::string &poolType) {
    line(result + " = graph.kv_append " + part + " " + heads + " at %slots into " + pool + " : " +
         type + ", " + kIndex + " into " + poolType + " -> " + poolType);
  }
  void attend() {
    std::string sinks, sinksType;
    if (f_.sinks) {
      sinksType = " sinks " + weight("sinks", {f_.heads}, 2);
      sinks = " sinks %sinks";
    }
    const std::string result = rows(f_.heads, f_.valueDim);
    line("%y = graph.paged_attention " + query_ + ", %ka, %va, %positions, %pages, %lengths, "
         "%tiles" + sinks + " scale 0.5 " + f_.attributes + " : " + rows(f_.heads, f_.headDim) +
         ", " + keyPool() + ", " + valuePool() + ", " + kIndex +
         ", tensor<2x3xi32>, tensor<2xi32>, tensor<?x3xi32, #graph.dims<B>>" + sinksType + " -> " +
         result);
    line("graph.output \"y\", %y : " + result);
  }

  static constexpr const char *kIndex = "tensor<?xi32, #graph.dims<T>>";
  static constexpr int64_t kTile = 16;
  AttentionForm f_;
  RandomGraph graph_;
  std::string query_;
  std::mt19937_64 random_{1};
};

// ALiBi's slopes of so many heads, as the attribute's text.
inline std::string slopesOf(int64_t heads) {
  std::string text = "slopes [";
  for (int64_t head = 0; head < heads; ++head)
    text += (head ? ", " : "") + std::string(head % 2 ? "0.0625" : "0.5");
  return text + "]";
}

// Forms of published decoders, and of none.
inline std::vector<std::pair<std::string, AttentionForm>> attentionForms() {
  return {
      {"Plain", {}},
      {"NeighboursThatRotate", {.pairing = "neighbours"}},
      {"ApartMatmuls", {.pairing = "neighbours", .joined = false}},
      {"NoRope", {.ropeDims = 0}},
      {"KeysThatDoNotRotate", {.rotatesKeys = false}},
      {"NeighboursOfQueriesAlone", {.pairing = "neighbours", .rotatesKeys = false, .joined = false}},
      {"PartOfAHeadAsHalves", {.heads = 6, .headDim = 64, .valueDim = 64, .ropeDims = 16}},
      {"PartOfAHeadAsNeighbours",
       {.headDim = 64, .valueDim = 64, .ropeDims = 32, .pairing = "neighbours"}},
      {"ThreeQuartersOfAHead", {.headDim = 128, .valueDim = 128, .ropeDims = 96}},
      {"NormsOfHeads", {.normsBefore = true}},
      {"NormsOfHeadsBesidePartialRope", {.headDim = 64, .valueDim = 64, .ropeDims = 32, .normsBefore = true}},
      {"NormsOfHeadsWithoutRope", {.ropeDims = 0, .normsBefore = true}},
      {"NormsOfHeadsBesideNeighbours", {.pairing = "neighbours", .normsBefore = true}},
      {"NormsAfterRope", {.normsAfter = true}},
      {"NormsAfterNeighbours", {.pairing = "neighbours", .normsAfter = true, .joined = false}},
      {"QueriesScaledByRow", {.pairing = "neighbours", .scalesQueries = true, .joined = false}},
      {"QueriesReadElsewhere", {.pairing = "neighbours", .joined = false, .queriesAreRead = true}},
      {"Window", {.attributes = "window 9"}},
      {"LongWindow", {.attributes = "window 40"}},
      {"Chunk", {.attributes = "chunk 12"}},
      {"SoftCap", {.attributes = "soft_cap 2.0"}},
      {"Sinks", {.attributes = "window 33", .sinks = true}},
      {"Slopes", {.heads = 6, .ropeDims = 0, .attributes = slopesOf(6)}},
      {"AllAtOnce", {.attributes = "window 20 soft_cap 3.0 " + slopesOf(4), .sinks = true}},
      {"ValuesOfAnotherSize", {.headDim = 64, .valueDim = 32, .ropeDims = 16}},
      {"OneKeyHead", {.heads = 7, .kvHeads = 1, .headDim = 64, .valueDim = 64, .ropeDims = 64}},
      {"HeadsOf40", {.heads = 3, .kvHeads = 3, .headDim = 40, .valueDim = 40, .ropeDims = 40}},
      {"Decode", {.attributes = "window 50 " + slopesOf(4), .sinks = true, .decodes = true}},
      {"HeadsOf80", {.headDim = 80, .valueDim = 80, .ropeDims = 32}},
      {"PoolsOfBlocks",
       {.headDim = 64,
        .ropeDims = 48,
        .pairing = "neighbours",
        .attributes = "window 9",
        .pool = "!tile.block<\"q8_0\">"}},
  };
}

inline void giveEdges(auto &evaluation, AttentionGraph &maker, const RandomGraph &graph) {
  giveEdges(evaluation, graph);
  if (maker.startsEmpty())
    return;
  const RandomTensor keys = maker.keys(), values = maker.values();
  evaluation.state("keys", keys.shape, keys.values)
      .state("values", values.shape, values.values);
}

} // namespace sinter::graph
