// A model made of a map, for tests: metadata and tensor shapes of a small llama, to be broken one
// key at a time.
#pragma once

#include "models/model_source.h"

#include <map>
#include <sstream>
#include <variant>

namespace sinter::models {

class FakeSource : public ModelSource {
public:
  using Value = std::variant<int64_t, double, std::string, bool>;
  std::map<std::string, Value, std::less<>> values;
  std::map<std::string, TensorInfo, std::less<>> tensors;

  bool has(std::string_view key) const override { return values.contains(key); }
  Result<std::string> text(std::string_view key) const override { return get<std::string>(key); }
  Result<int64_t> integer(std::string_view key) const override { return get<int64_t>(key); }
  Result<double> real(std::string_view key) const override { return get<double>(key); }
  std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    for (const auto &[key, value] : values)
      keys.push_back(key);
    return keys;
  }
  std::vector<std::string> texts(std::string_view key) const override {
    auto found = values.find(key);
    if (found == values.end())
      return {};
    if (auto *integer = std::get_if<int64_t>(&found->second))
      return {std::to_string(*integer)};
    if (auto *real = std::get_if<double>(&found->second)) {
      std::ostringstream text;
      text << *real;
      return {text.str()};
    }
    if (auto *flag = std::get_if<bool>(&found->second))
      return {*flag ? "true" : "false"};
    return {std::get<std::string>(found->second)};
  }
  std::optional<TensorInfo> tensor(std::string_view name) const override {
    auto found = tensors.find(name);
    return found == tensors.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<std::string> tensorNames() const override {
    std::vector<std::string> names;
    for (const auto &[name, info] : tensors)
      names.push_back(name);
    return names;
  }

  void matrix(const std::string &name, std::vector<int64_t> shape, TensorType type) {
    tensors[name] = {&blockFormat(type), std::move(shape)};
  }

private:
  template <class T> Result<T> get(std::string_view key) const {
    auto found = values.find(key);
    if (found == values.end())
      return fail(Code::NotFound, "no key '" + std::string(key) + "'");
    if (const T *value = std::get_if<T>(&found->second))
      return *value;
    return fail(Code::Corrupt, "key '" + std::string(key) + "' has another type");
  }
};

// Two layers of width 64 with 4 heads over 2, a hidden row of 96 and 100 tokens, matrices of
// `type`.
inline FakeSource smallLlama(TensorType type = TensorType::Q4_1) {
  FakeSource s;
  s.values = {{"general.architecture", std::string("llama")},
              {"llama.block_count", int64_t(2)},
              {"llama.embedding_length", int64_t(64)},
              {"llama.feed_forward_length", int64_t(96)},
              {"llama.attention.head_count", int64_t(4)},
              {"llama.attention.head_count_kv", int64_t(2)},
              {"llama.context_length", int64_t(256)},
              {"llama.rope.freq_base", 10000.0},
              {"llama.attention.layer_norm_rms_epsilon", 1e-5}};
  s.matrix("token_embd.weight", {100, 64}, type);
  s.matrix("output_norm.weight", {64}, TensorType::F32);
  for (std::string layer : {"blk.0.", "blk.1."}) {
    s.matrix(layer + "attn_norm.weight", {64}, TensorType::F32);
    s.matrix(layer + "attn_q.weight", {64, 64}, type);
    s.matrix(layer + "attn_k.weight", {32, 64}, type);
    s.matrix(layer + "attn_v.weight", {32, 64}, type);
    s.matrix(layer + "attn_output.weight", {64, 64}, type);
    s.matrix(layer + "ffn_norm.weight", {64}, TensorType::F32);
    s.matrix(layer + "ffn_gate.weight", {96, 64}, type);
    s.matrix(layer + "ffn_up.weight", {96, 64}, type);
    s.matrix(layer + "ffn_down.weight", {64, 96}, type);
  }
  return s;
}

} // namespace sinter::models
