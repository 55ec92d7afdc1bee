// Poolings by name and by number, sums and lengths of rows.
#include "llm/pooling.h"

#include "base/check.h"
#include "llm/ranking_family.h"

#include <array>
#include <cmath>

namespace sinter {
namespace {

// At llama.cpp's number of each.
constexpr std::array<std::string_view, 4> kNames = {"none", "mean", "cls", "last"};
constexpr uint64_t kRank = kNames.size();

std::string keyOf(const GgufFile &file, std::string_view name) {
  const auto architecture = file.getString("general.architecture");
  return std::string(architecture ? *architecture : "") + "." + std::string(name);
}

Fail wrongType(const std::string &key, uint64_t type) {
  return fail(Code::Corrupt,
              "'" + key + "' is " + std::to_string(type) + ", expected 0 to " +
                  std::to_string(kRank));
}

} // namespace

std::optional<Pooling> findPooling(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name)
      return static_cast<Pooling>(i);
  return std::nullopt;
}

std::string poolingNames() {
  std::string names;
  for (const std::string_view name : kNames)
    names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

bool seesBothWays(const GgufFile &file) {
  const auto causal = file.getBool(keyOf(file, "attention.causal"));
  return causal && !*causal;
}

Result<Pooling> poolingOf(const GgufFile &file) {
  const std::string key = keyOf(file, "pooling_type");
  if (!file.find(key))
    return seesBothWays(file) ? Pooling::Mean : Pooling::Last;
  SINTER_ASSIGN(const uint64_t type, file.getU64(key));
  if (type == kRank)
    return fail(Code::Unsupported,
                "the model ranks documents, which `sinter rerank` does; --pooling NAME gives "
                "embeddings all the same");
  if (type > kRank)
    return wrongType(key, type);
  return static_cast<Pooling>(type);
}

Result<Pooling> rankPoolingOf(const GgufFile &file) {
  const auto architecture = file.getString("general.architecture");
  const bool ofMean = architecture && rankingFamilyOf(*architecture).ofMean;
  const std::string key = keyOf(file, "classifier.pooling_type");
  const uint64_t usual = static_cast<uint64_t>(ofMean ? Pooling::Mean : Pooling::None);
  SINTER_ASSIGN(const uint64_t type, file.getU64Or(key, usual));
  if (type > kRank)
    return wrongType(key, type);
  if (type == static_cast<uint64_t>(Pooling::Mean))
    return Pooling::Mean;
  return seesBothWays(file) ? Pooling::First : Pooling::Last;
}

std::vector<float> pooled(std::span<const float> rows, size_t width) {
  SINTER_CHECK(width > 0 && !rows.empty() && rows.size() % width == 0);
  const auto count = static_cast<double>(rows.size() / width);
  std::vector<float> result;
  for (size_t column = 0; column < width; ++column) {
    double sum = 0;
    for (size_t at = column; at < rows.size(); at += width)
      sum += rows[at];
    result.push_back(static_cast<float>(sum / count));
  }
  return result;
}

void normalize(std::span<float> rows, size_t width) {
  for (size_t first = 0; first < rows.size(); first += width) {
    double squares = 0;
    for (const float value : rows.subspan(first, width))
      squares += static_cast<double>(value) * value;
    const double length = squares > 0 ? std::sqrt(squares) : 1;
    for (float &value : rows.subspan(first, width))
      value = static_cast<float>(value / length);
  }
}

} // namespace sinter
