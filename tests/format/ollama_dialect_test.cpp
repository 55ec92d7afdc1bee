// Files as Ollama's converter writes them, read in llama.cpp's words.
#include "format/gguf_writer.h"
#include "format/ollama_dialect.h"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter {
namespace {

using testing::ElementsAre;

// A file of an architecture with tensors of two rows of eight numbers.
class DialectFile {
public:
  explicit DialectFile(std::string architecture) : architecture_(std::move(architecture)) {}

  GgufWriter &values(int count) {
    valueCount_ += count;
    return values_;
  }
  DialectFile &tensor(const std::string &name, uint64_t rows = 2) {
    tensors_.emplace_back(name, rows);
    return *this;
  }
  std::vector<uint8_t> bytes() const {
    GgufWriter w;
    w.header(tensors_.size(), static_cast<uint64_t>(valueCount_) + 1);
    w.text("general.architecture", architecture_);
    w.raw({reinterpret_cast<const char *>(values_.bytes().data()), values_.size()});
    uint64_t offset = 0;
    for (const auto &[name, rows] : tensors_) {
      w.tensor(name, {8, rows}, TensorType::F32, offset);
      offset += rows * 32;
    }
    w.pad().zeros(offset);
    return w.bytes();
  }

private:
  std::string architecture_;
  GgufWriter values_;
  int valueCount_ = 0;
  std::vector<std::pair<std::string, uint64_t>> tensors_;
};

struct Read {
  std::vector<uint8_t> bytes;
  GgufFile file;
};

Read read(const DialectFile &made) {
  std::vector<uint8_t> bytes = made.bytes();
  auto parsed = GgufFile::parse(bytes);
  EXPECT_TRUE(parsed) << parsed.error().toString();
  const auto done = readDialect(*parsed);
  EXPECT_TRUE(done) << done.error().toString();
  return {std::move(bytes), std::move(*parsed)};
}

std::string textOf(const GgufFile &file, std::string_view key) {
  return std::string(file.getString(key).value_or("none"));
}

TEST(OllamaDialect, NamesOfAnArchitectureFollowIt) {
  DialectFile made("gptoss");
  made.values(1).value("gptoss.block_count", GgufType::U32, 1u);
  made.tensor("blk.0.attn_out.weight").tensor("blk.0.attn_out.bias").tensor("blk.0.attn_sinks");
  made.tensor("blk.0.ffn_norm.weight").tensor("blk.0.ffn_gate_exps.weight", 3);
  const Read of = read(made);
  EXPECT_EQ(textOf(of.file, "general.architecture"), "gpt-oss");
  EXPECT_EQ(of.file.getU64("gpt-oss.block_count").value_or(0), 1u);
  EXPECT_EQ(of.file.getU64("gpt-oss.expert_feed_forward_length").value_or(0), 3u);
  EXPECT_EQ(textOf(of.file, "gpt-oss.rope.scaling.type"), "yarn");
  EXPECT_EQ(textOf(of.file, "tokenizer.ggml.pre"), "gpt-4o");
  EXPECT_EQ(of.file.find("gptoss.block_count"), nullptr);
  for (const char *name : {"blk.0.attn_output.weight", "blk.0.attn_output.bias",
                           "blk.0.attn_sinks.weight", "blk.0.post_attention_norm.weight"})
    EXPECT_NE(of.file.findTensor(name), nullptr) << name;
  EXPECT_EQ(of.file.findTensor("blk.0.attn_out.weight"), nullptr);
}

TEST(OllamaDialect, GemmasThatSeeLoseWhatOnlyImagesNeed) {
  DialectFile made("gemma3");
  GgufWriter &w = made.values(4);
  w.value("gemma3.rope.local.freq_base", GgufType::F32, 5000.0f);
  w.array("tokenizer.ggml.tokens", GgufType::String, 3).string("a").string("bc").string("image");
  w.array("tokenizer.ggml.scores", GgufType::F32, 3).put(1.0f).put(2.0f).put(3.0f);
  w.array("tokenizer.ggml.token_type", GgufType::I32, 3).put(1).put(1).put(4);
  made.tensor("token_embd.weight", 2).tensor("v.patch_embedding.weight");
  const Read of = read(made);
  EXPECT_THAT(*of.file.getStrings("tokenizer.ggml.tokens"), ElementsAre("a", "bc"));
  EXPECT_THAT(*of.file.getF32s("tokenizer.ggml.scores"), ElementsAre(1.0f, 2.0f));
  EXPECT_THAT(*of.file.getI64s("tokenizer.ggml.token_type"), ElementsAre(1, 1));
  EXPECT_EQ(of.file.getF32("gemma3.rope.freq_base_swa").value_or(0), 5000.0f);
  EXPECT_EQ(of.file.getF32("gemma3.rope.freq_base").value_or(0), 1e6f);
  EXPECT_EQ(of.file.getF32("gemma3.attention.layer_norm_rms_epsilon").value_or(0), 1e-6f);
  EXPECT_EQ(of.file.getF32("gemma3.rope.scaling.factor").value_or(0), 8.0f);
}

TEST(OllamaDialect, WhatLlamaCppWroteStaysAsItIs) {
  DialectFile made("gemma3");
  GgufWriter &w = made.values(4);
  w.value("gemma3.attention.layer_norm_rms_epsilon", GgufType::F32, 1e-5f);
  w.value("gemma3.rope.freq_base", GgufType::F32, 7.0f);
  w.value("gemma3.rope.freq_base_swa", GgufType::F32, 8.0f);
  w.array("tokenizer.ggml.tokens", GgufType::String, 2).string("a").string("b");
  made.tensor("token_embd.weight", 2);
  const Read of = read(made);
  EXPECT_EQ(of.file.values().size(), 5u);
  EXPECT_EQ(of.file.getF32("gemma3.rope.freq_base").value_or(0), 7.0f);
  EXPECT_EQ(of.file.getF32("gemma3.attention.layer_norm_rms_epsilon").value_or(0), 1e-5f);
}

TEST(OllamaDialect, AGemmaOfEmbeddingsIsKnownByItsDenseLayers) {
  DialectFile made("gemma3");
  made.values(1).value("gemma3.block_count", GgufType::U32, 2u);
  made.tensor("dense.0.weight").tensor("dense.1.weight");
  const Read of = read(made);
  EXPECT_EQ(textOf(of.file, "general.architecture"), "gemma-embedding");
  EXPECT_EQ(of.file.getU64("gemma-embedding.block_count").value_or(0), 2u);
  EXPECT_NE(of.file.findTensor("dense_2.weight"), nullptr);
  EXPECT_NE(of.file.findTensor("dense_3.weight"), nullptr);
}

TEST(OllamaDialect, AnOutputNormOfLfm2IsTheEmbeddingsNorm) {
  DialectFile made("lfm2");
  made.values(1).value("lfm2.feed_forward_length", GgufType::U32, 12288u);
  made.tensor("output_norm.weight").tensor("blk.0.ffn_gate.weight", 5);
  const Read of = read(made);
  EXPECT_NE(of.file.findTensor("token_embd_norm.weight"), nullptr);
  EXPECT_EQ(of.file.getU64("lfm2.feed_forward_length").value_or(0), 5u);
  DialectFile same("lfm2");
  same.tensor("output_norm.weight").tensor("token_embd_norm.weight");
  EXPECT_NE(read(same).file.findTensor("output_norm.weight"), nullptr);
}

TEST(OllamaDialect, ListsBecomeWhatReadersExpect) {
  DialectFile made("qwen35moe");
  GgufWriter &w = made.values(2);
  w.array("qwen35moe.attention.head_count_kv", GgufType::U32, 3).u32(0).u32(2).u32(0);
  w.array("qwen35moe.rope.dimension_sections", GgufType::I32, 3).put(11).put(11).put(10);
  made.tensor("blk.0.ssm_dt");
  const Read of = read(made);
  EXPECT_EQ(of.file.getU64("qwen35moe.attention.head_count_kv").value_or(0), 2u);
  EXPECT_THAT(*of.file.getI64s("qwen35moe.rope.dimension_sections"), ElementsAre(11, 11, 10, 0));
  EXPECT_NE(of.file.findTensor("blk.0.ssm_dt.bias"), nullptr);
}

TEST(OllamaDialect, TheDigestIsOfTheFileAsItLies) {
  DialectFile made("olmo3");
  made.tensor("token_embd.weight");
  const std::vector<uint8_t> bytes = made.bytes();
  auto file = GgufFile::parse(bytes);
  ASSERT_TRUE(file);
  const auto before = file->digest();
  ASSERT_TRUE(readDialect(*file));
  EXPECT_EQ(textOf(*file, "general.architecture"), "olmo2");
  EXPECT_TRUE(*before == *file->digest());
  GgufFile moved = std::move(*file);
  EXPECT_EQ(textOf(moved, "general.architecture"), "olmo2");
}

TEST(OllamaDialect, AListOfAnotherTypeIsAnError) {
  DialectFile made("qwen35");
  made.values(1).array("qwen35.attention.head_count_kv", GgufType::String, 1).string("two");
  const std::vector<uint8_t> bytes = made.bytes();
  auto file = GgufFile::parse(bytes);
  ASSERT_TRUE(file);
  EXPECT_FALSE(readDialect(*file));
}

TEST(OllamaDialect, EveryRowNamesWhatItChanges) {
  for (const DialectRow &row : ollamaDialect()) {
    EXPECT_FALSE(row.architecture.empty());
    EXPECT_TRUE(!row.from.empty() || row.change == DialectChange::Architecture);
    if (row.marker == DialectMarker::HasTensor || row.marker == DialectMarker::LacksTensor)
      EXPECT_FALSE(row.when.empty());
  }
}

} // namespace
} // namespace sinter
