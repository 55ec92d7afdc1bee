// A llama with random weights that fits in a hundred kilobytes, as the bytes of a GGUF file: what
// it says has no meaning, but every part of the program runs as with a large one.
#pragma once

#include "format/gguf_writer.h"
#include "llm/tokenizer/byte_alphabet.h"

#include <random>
#include <string>
#include <vector>

namespace sinter {

// What a test may want to be otherwise.
struct TinyModel {
  std::string architecture = "llama";
  std::string tokenizer = "gpt2"; // empty: the file has none
  std::string chatTemplate =
      "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] "
      "+ '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
      "{{ '<|im_start|>assistant\n' }}{% endif %}"; // empty: the file has none
  bool addsBos = false;                             // a begin token, <|im_start|>
  bool seesBothWays = false;                        // an encoder
  std::string oddKey;                               // metadata of this name too, where not empty
  uint32_t context = 1 << 17;                       // tokens
  TensorType matrices = TensorType::Q8_0;           // or F32
  uint16_t scale = 0x1800;                          // of each block, a half: 2^-9
};

// 256 tokens of one byte each, one of two bytes and two of control. Answers are printable ASCII and
// never end by themselves: every other token has the logit 0, which is never the largest.
class TinyModelWriter {
public:
  explicit TinyModelWriter(const TinyModel &model) : model_(model) {}

  std::vector<uint8_t> write() {
    listTensors();
    writeMetadata();
    uint64_t offset = 0;
    for (const Tensor &tensor : tensors_) {
      file_.string(tensor.name).u32(static_cast<uint32_t>(tensor.dims.size()));
      for (const uint64_t dim : tensor.dims)
        file_.u64(dim);
      file_.u32(static_cast<uint32_t>(tensor.type)).u64(offset);
      offset += (bytesOf(tensor) + kAlignment - 1) / kAlignment * kAlignment;
    }
    for (const Tensor &tensor : tensors_) {
      file_.pad(kAlignment);
      writeData(tensor);
    }
    return file_.bytes();
  }

private:
  static constexpr uint32_t kLayers = 2, kWidth = 64, kHidden = 96, kHeads = 4, kKvHeads = 2;
  static constexpr uint32_t kBytes = 256, kControls = 2;
  static constexpr uint32_t kVocabulary = kBytes + 1 + kControls;
  static constexpr uint64_t kAlignment = 32;
  static constexpr uint64_t kBlock = 32, kBlockBytes = 34; // of Q8_0

  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims; // the fastest first
    TensorType type;
  };

  static uint64_t elementsOf(const Tensor &tensor) {
    uint64_t count = 1;
    for (const uint64_t dim : tensor.dims)
      count *= dim;
    return count;
  }
  static uint64_t bytesOf(const Tensor &tensor) {
    const uint64_t count = elementsOf(tensor);
    return tensor.type == TensorType::Q8_0 ? count / kBlock * kBlockBytes : count * 4;
  }

  void listTensors() {
    const auto matrix = [&](const std::string &name, uint64_t columns, uint64_t rows) {
      tensors_.push_back({name + ".weight", {columns, rows}, model_.matrices});
    };
    const auto norm = [&](const std::string &name) {
      tensors_.push_back({name + ".weight", {kWidth}, TensorType::F32});
    };
    constexpr uint64_t kKvWidth = kWidth / kHeads * kKvHeads;
    matrix("token_embd", kWidth, kVocabulary);
    norm("output_norm");
    for (uint32_t i = 0; i < kLayers; ++i) {
      const std::string layer = "blk." + std::to_string(i) + ".";
      norm(layer + "attn_norm");
      matrix(layer + "attn_q", kWidth, kWidth);
      matrix(layer + "attn_k", kWidth, kKvWidth);
      matrix(layer + "attn_v", kWidth, kKvWidth);
      matrix(layer + "attn_output", kWidth, kWidth);
      norm(layer + "ffn_norm");
      matrix(layer + "ffn_gate", kWidth, kHidden);
      matrix(layer + "ffn_up", kWidth, kHidden);
      matrix(layer + "ffn_down", kHidden, kWidth);
    }
  }

  void writeMetadata() {
    const std::string prefix = model_.architecture + ".";
    const uint64_t tokenizerKeys = model_.tokenizer.empty() ? 0 : model_.addsBos ? 8 : 6;
    const uint64_t chatKeys = model_.chatTemplate.empty() ? 0 : 1;
    const uint64_t oddKeys = model_.oddKey.empty() ? 0 : 1;
    const uint64_t encoderKeys = model_.seesBothWays ? 1 : 0;
    file_.header(tensors_.size(), 8 + tokenizerKeys + chatKeys + oddKeys + encoderKeys);
    file_.text("general.architecture", model_.architecture);
    const auto number = [&](const std::string &name, uint32_t value) {
      file_.value(prefix + name, GgufType::U32, value);
    };
    number("block_count", kLayers);
    number("embedding_length", kWidth);
    number("feed_forward_length", kHidden);
    number("attention.head_count", kHeads);
    number("attention.head_count_kv", kKvHeads);
    number("context_length", model_.context);
    file_.value(prefix + "attention.layer_norm_rms_epsilon", GgufType::F32, 1e-5f);
    if (model_.seesBothWays)
      file_.value(prefix + "attention.causal", GgufType::Bool, uint8_t{0});
    if (!model_.tokenizer.empty())
      writeTokenizer();
    if (!model_.chatTemplate.empty())
      file_.text("tokenizer.chat_template", model_.chatTemplate);
    if (!model_.oddKey.empty())
      file_.value(model_.oddKey, GgufType::U32, uint32_t{7});
  }

  void writeTokenizer() {
    constexpr int32_t kNormal = 1, kControl = 3;
    file_.text("tokenizer.ggml.model", model_.tokenizer);
    file_.text("tokenizer.ggml.pre", "gpt-2");
    file_.array("tokenizer.ggml.tokens", GgufType::String, kVocabulary);
    for (uint32_t i = 0; i < kBytes; ++i)
      file_.string(alphabetFromBytes(std::string(1, static_cast<char>(i))));
    file_.string("th").string("<|im_start|>").string("<|im_end|>");
    file_.array("tokenizer.ggml.token_type", GgufType::I32, kVocabulary);
    for (uint32_t i = 0; i < kVocabulary; ++i)
      file_.put(i < kVocabulary - kControls ? kNormal : kControl);
    file_.array("tokenizer.ggml.merges", GgufType::String, 1).string("t h");
    file_.value("tokenizer.ggml.eos_token_id", GgufType::U32, kVocabulary - 1);
    if (model_.addsBos) {
      file_.value("tokenizer.ggml.bos_token_id", GgufType::U32, kVocabulary - 2);
      file_.value("tokenizer.ggml.add_bos_token", GgufType::Bool, uint8_t{1});
    }
  }

  // The embedding is the output matrix too.
  void writeData(const Tensor &tensor) {
    const bool norm = tensor.dims.size() == 1;
    for (uint64_t i = 0; i < elementsOf(tensor); ++i) {
      const uint64_t row = i / tensor.dims[0];
      const bool silent = tensor.name == "token_embd.weight" && (row < ' ' || row > '~');
      const auto code = static_cast<int8_t>(silent ? 0 : static_cast<int>(random_() % 255) - 127);
      if (tensor.type == TensorType::Q8_0) {
        if (i % kBlock == 0)
          file_.put(model_.scale);
        file_.put(code);
      } else {
        file_.put(norm ? 1.0f : static_cast<float>(code) / 512);
      }
    }
  }

  const TinyModel model_;
  GgufWriter file_;
  std::vector<Tensor> tensors_;
  std::minstd_rand random_{1};
};

inline std::vector<uint8_t> tinyModel(const TinyModel &model = {}) {
  return TinyModelWriter(model).write();
}

} // namespace sinter
