// A small decoder layer with what it reads: QKV, RoPE, KV cache, attention, gate and up, logits.
#pragma once

#include "graph/random_graph.h"

namespace sinter::graph {

// Three tokens of one sequence.
class DecoderGraph {
public:
  // Weights have this element; with `quantizes`, a value is quantized before each matmul.
  DecoderGraph(std::string weight, bool quantizes)
      : weight_(std::move(weight)), quantizes_(quantizes) {}

  RandomGraph make() {
    inputs();
    const std::string table = weight("head", 8, 64);
    body_ += "%x = graph.gather %head, %tokens : " + table + ", " + kIndex + " -> " + rows("64") +
             "\n%angles = graph.rope_table %positions dims 64 base 1.0e4 : " + kIndex + " -> " +
             rows("64") + "\n";
    attention();
    feedForward();
    norm("%n2", "%x2", "out_norm");
    body_ += "%logits = graph.dot_general %n2, %head : " + rows("64") + ", " + table + " -> " +
             rows("8") + "\ngraph.output \"logits\", %logits : " + rows("8") + "\n";
    return std::move(graph_);
  }

private:
  static constexpr const char *kIndex = "tensor<?xi32, #graph.dims<T>>";
  static constexpr const char *kAdd = "%y = arith.addf %l, %r : f32";

  static std::string rows(const std::string &columns, const std::string &element = "f32") {
    return "tensor<?x" + columns + "x" + element + ", #graph.dims<T>>";
  }
  RandomTensor numbers(const Shape &shape, double scale) {
    RandomTensor tensor{shape, {}};
    const int64_t count =
        std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
    for (int64_t i = 0; i < count; ++i)
      tensor.values.push_back(scale * (static_cast<double>(random_() >> 40) * 0x1p-23 - 1));
    return tensor;
  }

  void inputs() {
    graph_.inputs = {{"tokens", {{3}, {2, 0, 5}}},   {"positions", {{3}, {0, 1, 2}}},
                     {"slots", {{3}, {32, 33, 34}}}, {"pages", {{1, 2}, {1, 0}}},
                     {"lengths", {{1}, {3}}},        {"tiles", {{1, 3}, {0, 0, 3}}}};
    for (const std::string name : {"tokens", "positions", "slots"})
      body_ += "%" + name + " = graph.input \"" + name + "\" : " + kIndex + "\n";
    body_ += R"(%pages = graph.input "pages" : tensor<1x2xi32>
%lengths = graph.input "lengths" : tensor<1xi32>
%tiles = graph.input "tiles" : tensor<1x3xi32>
%kp = graph.state "keys" : tensor<2x1x64x32xf16>
%vp = graph.state "values" : tensor<2x1x32x64xf16>
)";
  }
  // Its type.
  std::string weight(const std::string &name, int64_t n, int64_t k) {
    graph_.weights[name] = numbers({n, k}, 0.2);
    const std::string type =
        "tensor<" + std::to_string(n) + "x" + std::to_string(k) + "x" + weight_ + ">";
    body_ += "%" + name + " = graph.weight [\"" + name + "\"] : " + type + "\n";
    return type;
  }
  void matmul(const std::string &result, const std::string &a, const std::string &w, int64_t n,
              int64_t k) {
    const std::string type = weight(w, n, k), depth = std::to_string(k);
    std::string left = a, leftType = rows(depth);
    if (quantizes_) {
      left = a + "_" + w;
      leftType = rows(depth, "!tile.block<\"q8a\">");
      body_ += left + " = graph.quantize " + a + " : " + rows(depth) + " -> " + leftType + "\n";
    }
    body_ += result + " = graph.dot_general " + left + ", %" + w + " : " + leftType + ", " + type +
             " -> " + rows(std::to_string(n)) + "\n";
  }
  void norm(const std::string &result, const std::string &x, const std::string &gain) {
    graph_.weights[gain] = numbers({64}, 1);
    body_ += "%" + gain + " = graph.weight [\"" + gain + "\"] : tensor<64xf32>\n" + result +
             " = graph.norm " + x + ", %" + gain + " eps 1.0e-5 : " + rows("64") +
             ", tensor<64xf32> -> " + rows("64") + "\n";
  }
  void map(const std::string &result, const std::string &a, const std::string &b,
           const std::string &columns, const std::string &text) {
    const std::string type = rows(columns);
    body_ += result + " = graph.map " + a + ", " + b + " : " + type + ", " + type + " -> " + type +
             " {\n^bb0(%l: f32, %r: f32):\n" + text + "\ngraph.yield %y : f32\n}\n";
  }
  void slice(const std::string &result, const std::string &from, const std::string &offset,
             const std::string &columns) {
    body_ += result + " = graph.slice " + from + " from [0, " + offset + "] : " + rows("256") +
             " -> " + rows(columns) + "\n";
  }
  void reshape(const std::string &result, const std::string &value, const std::string &from,
               const std::string &to) {
    body_ += result + " = graph.reshape " + value + " : " + rows(from) + " -> " + rows(to) + "\n";
  }
  void rope(const std::string &result, const std::string &heads, const std::string &shape) {
    body_ += result + " = graph.rope halves " + heads + ", %angles : " + rows(shape) + ", " +
             rows("64") + " -> " + rows(shape) + "\n";
  }
  void append(const std::string &result, const std::string &part, const std::string &heads,
              const std::string &pool, const std::string &type) {
    body_ += result + " = graph.kv_append " + part + " " + heads + " at %slots into " + pool +
             " : " + rows("1x64") + ", " + kIndex + " into " + type + " -> " + type + "\n";
  }

  void attention() {
    norm("%n", "%x", "attn_norm");
    matmul("%qkv", "%n", "w_qkv", 256, 64);
    slice("%q2", "%qkv", "0", "128");
    slice("%k2", "%qkv", "128", "64");
    slice("%v2", "%qkv", "192", "64");
    reshape("%q3", "%q2", "128", "2x64");
    reshape("%k3", "%k2", "64", "1x64");
    reshape("%v3", "%v2", "64", "1x64");
    rope("%q", "%q3", "2x64");
    rope("%k", "%k3", "1x64");
    const std::string keys = "tensor<2x1x64x32xf16>", values = "tensor<2x1x32x64xf16>";
    append("%ka", "keys", "%k", "%kp", keys);
    append("%va", "values", "%v3", "%vp", values);
    body_ += "%o3 = graph.paged_attention %q, %ka, %va, %positions, %pages, %lengths, %tiles scale "
             "0.125 : " +
             rows("2x64") + ", " + keys + ", " + values + ", " + kIndex +
             ", tensor<1x2xi32>, tensor<1xi32>, tensor<1x3xi32> -> " + rows("2x64") + "\n";
    reshape("%o2", "%o3", "2x64", "128");
    matmul("%o", "%o2", "w_o", 64, 128);
    map("%x1", "%o", "%x", "64", kAdd);
  }
  void feedForward() {
    norm("%n1", "%x1", "ffn_norm");
    matmul("%gu", "%n1", "w_gu", 256, 64);
    slice("%g", "%gu", "0", "128");
    slice("%u", "%gu", "128", "128");
    map("%h", "%g", "%u", "128", "%t = math.tanh %l : f32\n%y = arith.mulf %t, %r : f32");
    matmul("%d", "%h", "w_d", 64, 128);
    map("%x2", "%x1", "%d", "64", kAdd);
  }

  std::string weight_;
  bool quantizes_;
  RandomGraph graph_;
  std::string &body_ = graph_.body;
  std::mt19937_64 random_{1};
};

} // namespace sinter::graph
