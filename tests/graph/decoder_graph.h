// A small decoder layer with what it reads: QKV, RoPE, KV cache, attention, gate and up, logits.
#pragma once

#include "graph/random_graph.h"

namespace sinter::graph {

// Three tokens of one sequence. Weights have this element; with `quantizes`, a value is quantized
// before each matmul.
inline RandomGraph decoderGraph(const std::string &weight, bool quantizes) {
  RandomGraph graph;
  std::mt19937_64 random(1);
  auto numbers = [&](Shape shape, double scale) {
    RandomTensor tensor{shape, {}};
    for (int64_t i = 0, n = std::accumulate(shape.begin(), shape.end(), int64_t(1),
                                            std::multiplies<>());
         i < n; ++i)
      tensor.values.push_back(scale * (static_cast<double>(random() >> 40) * 0x1p-23 - 1));
    return tensor;
  };
  auto rows = [](const std::string &columns, const std::string &element = "f32") {
    return "tensor<?x" + columns + "x" + element + ", #graph.dims<T>>";
  };
  std::string &body = graph.body;
  auto weightOf = [&](const std::string &name, int64_t n, int64_t k) {
    graph.weights[name] = numbers({n, k}, 0.2);
    const std::string type =
        "tensor<" + std::to_string(n) + "x" + std::to_string(k) + "x" + weight + ">";
    body += "%" + name + " = graph.weight [\"" + name + "\"] : " + type + "\n";
    return type;
  };
  auto matmul = [&](const std::string &result, const std::string &a, const std::string &w,
                    int64_t n, int64_t k) {
    const std::string type = weightOf(w, n, k), element = quantizes ? "!tile.block<\"q8a\">" : "f32";
    std::string left = a;
    if (quantizes) {
      left = a + "_" + w;
      body += left + " = graph.quantize " + a + " : " + rows(std::to_string(k)) + " -> " +
              rows(std::to_string(k), element) + "\n";
    }
    body += result + " = graph.dot_general " + left + ", %" + w + " : " +
            rows(std::to_string(k), element) + ", " + type + " -> " + rows(std::to_string(n)) + "\n";
  };
  auto norm = [&](const std::string &result, const std::string &x, const std::string &gain) {
    graph.weights[gain] = numbers({64}, 1);
    body += "%" + gain + " = graph.weight [\"" + gain + "\"] : tensor<64xf32>\n" + result +
            " = graph.norm " + x + ", %" + gain + " eps 1.0e-5 : " + rows("64") +
            ", tensor<64xf32> -> " + rows("64") + "\n";
  };
  auto map = [&](const std::string &result, const std::string &a, const std::string &b,
                 const std::string &columns, const std::string &text) {
    const std::string type = rows(columns);
    body += result + " = graph.map " + a + ", " + b + " : " + type + ", " + type + " -> " + type +
            " {\n^bb0(%l: f32, %r: f32):\n" + text + "\ngraph.yield %y : f32\n}\n";
  };
  const std::string add = "%y = arith.addf %l, %r : f32";

  graph.inputs["tokens"] = {{3}, {2, 0, 5}};
  graph.inputs["positions"] = {{3}, {0, 1, 2}};
  graph.inputs["slots"] = {{3}, {32, 33, 34}};
  graph.inputs["pages"] = {{1, 2}, {1, 0}};
  graph.inputs["lengths"] = {{1}, {3}};
  graph.inputs["tiles"] = {{1, 3}, {0, 0, 3}};
  const std::string index = "tensor<?xi32, #graph.dims<T>>";
  for (const char *name : {"tokens", "positions", "slots"})
    body += std::string("%") + name + " = graph.input \"" + name + "\" : " + index + "\n";
  body += R"(%pages = graph.input "pages" : tensor<1x2xi32>
%lengths = graph.input "lengths" : tensor<1xi32>
%tiles = graph.input "tiles" : tensor<1x3xi32>
%kp = graph.state "keys" : tensor<2x1x64x32xf16>
%vp = graph.state "values" : tensor<2x1x32x64xf16>
)";
  const std::string table = weightOf("head", 8, 64);
  body += "%x = graph.gather %head, %tokens : " + table + ", " + index + " -> " + rows("64") + "\n" +
          "%angles = graph.rope_table %positions dims 64 base 1.0e4 : " + index + " -> " +
          rows("64") + "\n";
  norm("%n", "%x", "attn_norm");
  matmul("%qkv", "%n", "w_qkv", 256, 64);
  body += "%q2 = graph.slice %qkv from [0, 0] : " + rows("256") + " -> " + rows("128") +
          "\n%k2 = graph.slice %qkv from [0, 128] : " + rows("256") + " -> " + rows("64") +
          "\n%v2 = graph.slice %qkv from [0, 192] : " + rows("256") + " -> " + rows("64") + "\n";
  const std::string queries = rows("2x64"), heads = rows("1x64");
  body += "%q3 = graph.reshape %q2 : " + rows("128") + " -> " + queries +
          "\n%k3 = graph.reshape %k2 : " + rows("64") + " -> " + heads +
          "\n%v3 = graph.reshape %v2 : " + rows("64") + " -> " + heads +
          "\n%q = graph.rope halves %q3, %angles : " + queries + ", " + rows("64") + " -> " +
          queries + "\n%k = graph.rope halves %k3, %angles : " + heads + ", " + rows("64") +
          " -> " + heads + "\n";
  const std::string keys = "tensor<2x1x64x32xf16>", values = "tensor<2x1x32x64xf16>";
  body += "%ka = graph.kv_append keys %k at %slots into %kp : " + heads + ", " + index + " into " +
          keys + " -> " + keys + "\n%va = graph.kv_append values %v3 at %slots into %vp : " +
          heads + ", " + index + " into " + values + " -> " + values +
          "\n%o3 = graph.paged_attention %q, %ka, %va, %positions, %pages, %lengths, %tiles scale "
          "0.125 : " +
          queries + ", " + keys + ", " + values + ", " + index +
          ", tensor<1x2xi32>, tensor<1xi32>, tensor<1x3xi32> -> " + queries +
          "\n%o2 = graph.reshape %o3 : " + queries + " -> " + rows("128") + "\n";
  matmul("%o", "%o2", "w_o", 64, 128);
  map("%x1", "%o", "%x", "64", add);
  norm("%n1", "%x1", "ffn_norm");
  matmul("%gu", "%n1", "w_gu", 256, 64);
  body += "%g = graph.slice %gu from [0, 0] : " + rows("256") + " -> " + rows("128") +
          "\n%u = graph.slice %gu from [0, 128] : " + rows("256") + " -> " + rows("128") + "\n";
  map("%h", "%g", "%u", "128", "%t = math.tanh %l : f32\n%y = arith.mulf %t, %r : f32");
  matmul("%d", "%h", "w_d", 64, 128);
  map("%x2", "%x1", "%d", "64", add);
  norm("%n2", "%x2", "out_norm");
  body += "%logits = graph.dot_general %n2, %head : " + rows("64") + ", " + table + " -> " +
          rows("8") + "\ngraph.output \"logits\", %logits : " + rows("8") + "\n";
  return graph;
}

} // namespace sinter::graph
