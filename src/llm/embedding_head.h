// What models do to a pooled row: dense layers of embedders, heads that rank.
#pragma once

#include "format/gguf.h"

#include <span>
#include <vector>

namespace sinter {

// Few small matrices for one row a text, so they run where the row is, with f32 weights and sums in
// f64. For any thread.
class EmbeddingHead {
public:
  // dense_2 and dense_3; rows stay as they are where the file has neither. Corrupt: a tensor has
  // another shape than rows of `width` elements need.
  static Result<EmbeddingHead> dense(const GgufFile &file, size_t width);
  // cls, cls.norm and cls.output. NotFound: the file has none of them.
  static Result<EmbeddingHead> ranking(const GgufFile &file, size_t width);

  // Elements of the result.
  size_t width() const { return width_; }
  std::vector<float> apply(std::span<const float> row) const;

private:
  enum class Then : uint8_t { Nothing, Tanh, Gelu };
  struct Layer {
    std::vector<float> matrix;     // [rows of the result, columns]
    std::vector<float> bias, gain; // empty: none; `gain` of a layer norm after `then`
    Then then = Then::Nothing;
  };

  explicit EmbeddingHead(size_t width) : width_(width) {}
  Result<void> add(const GgufFile &file, const std::string &name, Then then);

  size_t width_;
  std::vector<Layer> layers_;
  float normEps_ = 0;
  bool sharesOne_ = false; // results are shares of one, by softmax
};

} // namespace sinter
