// KL divergence of one set of logits from another:
//
//   text_divergence WIDTH BASE OTHER
//
// BASE and OTHER hold rows of WIDTH raw f32 logits, as many in both. One line per row: the sum over
// the vocabulary of p * log(p / q) in f64, p by BASE and q by OTHER; NaN where a row has no
// distribution. In nats.
#include "base/mapped_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace sinter {
namespace {

Result<std::vector<float>> readRows(const char *path, size_t width) {
  SINTER_ASSIGN(const MappedFile file, MappedFile::open(path));
  const std::span<const uint8_t> bytes = file.bytes();
  if (bytes.empty() || bytes.size() % (width * sizeof(float)) != 0)
    return fail(Code::InvalidArgument,
                std::string("'") + path + "' has " + std::to_string(bytes.size()) +
                    " bytes, expected rows of " + std::to_string(width * sizeof(float)));
  std::vector<float> rows(bytes.size() / sizeof(float));
  std::memcpy(rows.data(), bytes.data(), bytes.size());
  return rows;
}

double logOfSum(std::span<const float> row) {
  const double largest = *std::ranges::max_element(row);
  double sum = 0;
  for (const float x : row)
    sum += std::exp(x - largest);
  return largest + std::log(sum);
}

double divergence(std::span<const float> base, std::span<const float> other) {
  const double ofBase = logOfSum(base), ofOther = logOfSum(other);
  double sum = 0;
  for (size_t i = 0; i < base.size(); ++i) {
    const double p = base[i] - ofBase, q = other[i] - ofOther;
    sum += std::exp(p) * (p - q);
  }
  return sum;
}

// As JSON readers take it.
void printNumber(double value) {
  if (std::isfinite(value))
    std::printf("%.9g\n", value);
  else
    std::printf("NaN\n");
}

Result<void> run(const char *widthText, const char *basePath, const char *otherPath) {
  size_t width = 0;
  const char *end = widthText + std::strlen(widthText);
  const auto [stop, error] = std::from_chars(widthText, end, width);
  if (error != std::errc() || stop != end || width < 1 || width > (1u << 24))
    return fail(Code::InvalidArgument,
                std::string("WIDTH is '") + widthText + "', expected 1 or more");
  SINTER_ASSIGN(const std::vector<float> base, readRows(basePath, width));
  SINTER_ASSIGN(const std::vector<float> other, readRows(otherPath, width));
  if (base.size() != other.size())
    return fail(Code::InvalidArgument, "found " + std::to_string(base.size() / width) + " and " +
                                           std::to_string(other.size() / width) +
                                           " rows, expected as many");
  for (size_t at = 0; at < base.size(); at += width)
    std::printf("%.9g\n", divergence(std::span(base).subspan(at, width),
                                     std::span(other).subspan(at, width)));
  return {};
}

} // namespace
} // namespace sinter

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: text_divergence WIDTH BASE OTHER\n");
    return 2;
  }
  const auto done = sinter::run(argv[1], argv[2], argv[3]);
  if (done)
    return 0;
  std::fprintf(stderr, "text_divergence: %s\n", done.error().toString().c_str());
  return 1;
}
