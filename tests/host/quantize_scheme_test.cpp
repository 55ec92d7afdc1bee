// Types of tensors by scheme, name, layer and row length.
#include "host/quantize/scheme.h"

#include "format/gguf_writer.h"

#include <gtest/gtest.h>

namespace sinter::host {
namespace {

// A model of tensors without data, all of one type, zeros.
class Shape {
public:
  Shape &add(std::string name, uint64_t rowLength, uint64_t rows = 1,
             TensorType type = TensorType::F16) {
    tensors_.push_back({std::move(name), rowLength, rows, type});
    return *this;
  }
  // The type that each tensor gets, by its order.
  std::vector<std::string_view> types(const char *scheme, const char *output = nullptr) {
    GgufWriter w;
    w.header(tensors_.size(), 0);
    uint64_t offset = 0;
    for (const Entry &entry : tensors_) {
      w.tensor(entry.name, {entry.rowLength, entry.rows}, entry.type, offset);
      offset += (*blockFormat(entry.type).rowBytes(entry.rowLength) * entry.rows + 31) / 32 * 32;
    }
    w.pad().zeros(offset);
    const GgufFile model = *GgufFile::parse(w.bytes());
    std::vector<std::string_view> names;
    for (const TensorChoice &choice :
         chooseTypes(model, {findScheme(scheme), output ? findFittedFormat(output) : nullptr, {}}))
      names.push_back(choice.format->name);
    return names;
  }

private:
  struct Entry {
    std::string name;
    uint64_t rowLength, rows;
    TensorType type;
  };
  std::vector<Entry> tensors_;
};

using Types = std::vector<std::string_view>;

TEST(QuantizeScheme, APureTypeIsThatOfEveryMatrix) {
  Shape shape;
  shape.add("token_embd.weight", 256).add("blk.0.attn_v.weight", 256).add("output.weight", 256);
  EXPECT_EQ(shape.types("Q4_K"), (Types{"Q4_K", "Q4_K", "Q4_K"}));
}

TEST(QuantizeScheme, TheOptionForTheOutputIsStronger) {
  Shape shape;
  shape.add("token_embd.weight", 256).add("output.weight", 256);
  EXPECT_EQ(shape.types("Q4_K_M", "Q8_0"), (Types{"Q4_K", "Q8_0"}));
}

TEST(QuantizeScheme, NormsRoutersConvolutionsAndIntegersKeepTheirType) {
  Shape shape;
  shape.add("blk.0.attn_q_norm.weight", 256, 2).add("blk.0.ffn_gate_inp.weight", 256, 2);
  shape.add("blk.0.ssm_conv1d.weight", 256, 2).add("position_embd.weight", 256, 2);
  shape.add("blk.0.attn_q.bias", 256, 2).add("ids.weight", 256, 2, TensorType::I32);
  EXPECT_EQ(shape.types("Q4_K"), (Types{"F16", "F16", "F16", "F16", "F16", "I32"}));
}

TEST(QuantizeScheme, MixesGiveMoreBitsToSomeLayers) {
  Shape shape;
  for (int layer = 0; layer < 16; ++layer)
    shape.add("blk." + std::to_string(layer) + ".ffn_down.weight", 256);
  const Types medium = shape.types("q4_k_m"), small = shape.types("Q4_K_S");
  for (size_t layer = 0; layer < 16; ++layer) {
    const bool more =
        layer < 2 || layer >= 14 || layer == 4 || layer == 7 || layer == 10 || layer == 13;
    EXPECT_EQ(medium[layer], more ? "Q6_K" : "Q4_K") << layer;
    EXPECT_EQ(small[layer], layer < 2 ? "Q5_K" : "Q4_K") << layer;
  }
}

TEST(QuantizeScheme, AnEmbeddingThatIsTheOutputToo) {
  Shape tied, apart;
  tied.add("token_embd.weight", 256);
  apart.add("token_embd.weight", 256).add("output.weight", 256);
  EXPECT_EQ(tied.types("Q4_K_M"), (Types{"Q6_K"}));
  EXPECT_EQ(apart.types("Q4_K_M"), (Types{"Q4_K", "Q6_K"}));
}

TEST(QuantizeScheme, RowsThatAreNoWholeBlocksGetSmallerBlocksOrF16) {
  Shape shape;
  shape.add("a.weight", 576).add("b.weight", 100).add("c.weight", 768);
  EXPECT_EQ(shape.types("Q4_K"), (Types{"Q5_0", "F16", "Q4_K"}));
  EXPECT_EQ(shape.types("IQ4_XS"), (Types{"IQ4_NL", "F16", "IQ4_XS"}));
  EXPECT_EQ(shape.types("Q6_K"), (Types{"Q8_0", "F16", "Q6_K"}));
}

TEST(QuantizeScheme, EveryFittedTypeIsASchemeToo) {
  for (const BlockFormat &format : blockFormats())
    if (findFittedFormat(format.name)) {
      ASSERT_NE(findScheme(format.name), nullptr) << format.name;
      EXPECT_EQ(findScheme(format.name)->type, format.type);
    }
}

TEST(QuantizeScheme, UnknownNamesAreNone) {
  for (const char *name : {"", "Q4", "Q4_K_L", "IQ2_XXS", "Q8_K", "I32", "Q4_K "})
    EXPECT_EQ(findScheme(name), nullptr) << name;
}

} // namespace
} // namespace sinter::host
