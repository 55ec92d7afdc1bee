// Dequantizes the matrices of heads and applies them.
#include "llm/embedding_head.h"

#include "base/check.h"
#include "llm/ranking_family.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sinter {
namespace {

std::vector<float> numbersOf(const GgufTensor &tensor) {
  std::vector<float> numbers(tensor.elements());
  dequantizeRow(*tensor.format, tensor.bytes, numbers);
  return numbers;
}

// Empty where the file has none.
Result<std::vector<float>> vectorOf(const GgufFile &file, const std::string &name, size_t length) {
  const auto tensor = file.tensor(name);
  if (!tensor)
    return std::vector<float>();
  if ((*tensor)->elements() != length)
    return fail(Code::Corrupt, "tensor '" + name + "' has " +
                                   std::to_string((*tensor)->elements()) + " elements, expected " +
                                   std::to_string(length));
  return numbersOf(**tensor);
}

// By tanh, as graphs compute it.
double gelu(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

void layerNorm(std::vector<float> &row, std::span<const float> gain, float eps) {
  const auto count = static_cast<double>(row.size());
  double mean = 0, variance = 0;
  for (const float value : row)
    mean += value / count;
  for (const float value : row)
    variance += (value - mean) * (value - mean) / count;
  for (size_t i = 0; i < row.size(); ++i)
    row[i] = static_cast<float>((row[i] - mean) / std::sqrt(variance + eps) * gain[i]);
}

void softmax(std::vector<float> &row) {
  const double most = *std::ranges::max_element(row);
  double sum = 0;
  for (const float value : row)
    sum += std::exp(value - most);
  for (float &value : row)
    value = static_cast<float>(std::exp(value - most) / sum);
}

} // namespace

Result<void> EmbeddingHead::add(const GgufFile &file, const std::string &name, Then then) {
  const auto found = file.tensor(name + ".weight");
  if (!found)
    return {};
  const GgufTensor *tensor = *found;
  if (tensor->dims[0] != width_ || tensor->rank > 2)
    return fail(Code::Corrupt, "tensor '" + name + ".weight' has rows of " +
                                   std::to_string(tensor->dims[0]) +
                                   " elements, expected a matrix with rows of " +
                                   std::to_string(width_));
  Layer layer;
  layer.then = then;
  layer.matrix = numbersOf(*tensor);
  width_ = tensor->rows();
  SINTER_ASSIGN(layer.bias, vectorOf(file, name + ".bias", width_));
  layers_.push_back(std::move(layer));
  return {};
}

Result<EmbeddingHead> EmbeddingHead::dense(const GgufFile &file, size_t width) {
  EmbeddingHead head(width);
  SINTER_TRY(head.add(file, "dense_2", Then::Nothing));
  SINTER_TRY(head.add(file, "dense_3", Then::Nothing));
  return head;
}

Result<EmbeddingHead> EmbeddingHead::ranking(const GgufFile &file, size_t width) {
  EmbeddingHead head(width);
  SINTER_ASSIGN(const std::string_view architecture, file.getString("general.architecture"));
  const RankingFamily &family = rankingFamilyOf(architecture);
  SINTER_TRY(head.add(file, "cls", family.gelu ? Then::Gelu : Then::Tanh));
  if (!head.layers_.empty()) {
    SINTER_ASSIGN(head.layers_.back().gain, vectorOf(file, "cls.norm.weight", head.width_));
    SINTER_ASSIGN(head.normEps_,
                  file.getF32Or(std::string(architecture) + ".attention.layer_norm_epsilon", 0));
  }
  SINTER_TRY(head.add(file, "cls.output", Then::Nothing));
  if (head.layers_.empty())
    return fail(Code::NotFound, "the model cannot rank: it has no tensor 'cls.weight' and none "
                                "'cls.output.weight'");
  head.sharesOne_ = family.sharesOne;
  return head;
}

std::vector<float> EmbeddingHead::apply(std::span<const float> row) const {
  std::vector<float> from(row.begin(), row.end());
  for (const Layer &layer : layers_) {
    const size_t columns = from.size();
    SINTER_CHECK(layer.matrix.size() % columns == 0);
    std::vector<float> to;
    for (size_t at = 0; at < layer.matrix.size(); at += columns) {
      double sum = layer.bias.empty() ? 0 : layer.bias[to.size()];
      for (size_t i = 0; i < columns; ++i)
        sum += static_cast<double>(from[i]) * layer.matrix[at + i];
      to.push_back(static_cast<float>(layer.then == Then::Tanh   ? std::tanh(sum)
                                      : layer.then == Then::Gelu ? gelu(sum)
                                                                 : sum));
    }
    if (!layer.gain.empty())
      layerNorm(to, layer.gain, normEps_);
    from = std::move(to);
  }
  if (sharesOne_)
    softmax(from);
  return from;
}

} // namespace sinter
