// Values of keys, each with its bounds.
#include "tile/mlir_pch.h"

#include "format/known_names.h"
#include "models/metadata_reader.h"

#include <charconv>
#include <cmath>

namespace sinter::models {

static constexpr size_t kMostBytes = 64; // of a value in a message

static Fail wrong(const std::string &key, const std::string &value, const std::string &expected) {
  return fail(Code::Corrupt,
              "'" + key + "' is " + value.substr(0, kMostBytes) + ", expected " + expected);
}

static std::string boundsText(int64_t least, int64_t most) {
  return std::to_string(least) + " to " + std::to_string(most);
}

Result<int64_t> MetadataReader::inRange(std::string_view name, int64_t value, int64_t least,
                                        int64_t most) const {
  if (value >= least && value <= most)
    return value;
  return wrong(key(name), std::to_string(value), boundsText(least, most));
}

Result<int64_t> MetadataReader::count(std::string_view name, int64_t most, int64_t least) {
  SINTER_ASSIGN(const int64_t value, source_.integer(read(name)));
  return inRange(name, value, least, most);
}

Result<int64_t> MetadataReader::countOr(std::string_view name, int64_t most, int64_t fallback,
                                        int64_t least) {
  if (!has(name))
    return inRange(name, fallback, least, most);
  return count(name, most, least);
}

// Truth values are 0 and 1.
static std::optional<int64_t> integerOf(const std::string &text) {
  if (text == "false" || text == "true")
    return text == "true";
  int64_t value = 0;
  const char *end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

Result<std::vector<int64_t>> MetadataReader::integers(std::string_view name, int64_t least,
                                                      int64_t most) {
  if (!has(name))
    return fail(Code::NotFound, "no key '" + key(name) + "'");
  std::vector<int64_t> values;
  for (const std::string &text : source_.texts(key(name))) {
    const std::optional<int64_t> value = integerOf(text);
    if (!value || *value < least || *value > most)
      return wrong(key(name), "'" + text + "'", "whole numbers from " + boundsText(least, most));
    values.push_back(*value);
  }
  if (values.empty())
    return wrong(key(name), "an array of no or too many elements",
                 "whole numbers from " + boundsText(least, most));
  return values;
}

Result<std::vector<int64_t>> MetadataReader::counts(std::string_view name, size_t length,
                                                    int64_t most, int64_t least) {
  if (has(name) && source_.texts(key(name)).size() > 1) {
    SINTER_ASSIGN(std::vector<int64_t> values, integers(name, least, most));
    if (values.size() < length)
      return wrong(key(name), "an array of " + std::to_string(values.size()) + " elements",
                   "one for each of the " + std::to_string(length) + " layers");
    values.resize(length);
    return values;
  }
  if (has(name) && !source_.integer(key(name))) { // an array of one element
    SINTER_ASSIGN(std::vector<int64_t> values, integers(name, least, most));
    if (length == 1)
      return values;
    return wrong(key(name), "an array of 1 element",
                 "one for each of the " + std::to_string(length) + " layers");
  }
  SINTER_ASSIGN(const int64_t value, count(name, most));
  return std::vector<int64_t>(length, value);
}

Result<std::vector<int64_t>> MetadataReader::countsOr(std::string_view name, size_t length,
                                                      int64_t most, std::vector<int64_t> fallback,
                                                      int64_t least) {
  if (!has(name))
    return fallback;
  return counts(name, length, most, least);
}

Result<std::vector<float>> MetadataReader::reals(std::string_view wholeKey, size_t length) {
  constexpr double kMost = 1e6;
  const std::string key(wholeKey);
  read_.insert(key);
  if (!source_.has(key))
    return fail(Code::NotFound, "no key '" + key + "'");
  std::vector<float> values;
  for (const std::string &text : source_.texts(key)) {
    double value = 0;
    const char *end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc() || parsed.ptr != end || !(std::abs(value) <= kMost))
      return wrong(key, "'" + text + "'", "numbers of at most " + std::to_string(kMost));
    values.push_back(static_cast<float>(value));
  }
  if (values.size() == 1)
    values.resize(length, values[0]);
  if (values.size() < length)
    return wrong(key, "an array of " + std::to_string(values.size()) + " elements",
                 "one for each of the " + std::to_string(length) + " layers");
  return values;
}

Result<float> MetadataReader::positive(std::string_view name, double below) {
  SINTER_ASSIGN(const double value, source_.real(read(name)));
  if (std::isfinite(value) && value > 0 && value < below)
    return static_cast<float>(value);
  return wrong(key(name), std::to_string(value),
               "a number above 0 and below " + std::to_string(below));
}

Result<float> MetadataReader::positiveOr(std::string_view name, double below, float fallback) {
  if (!has(name))
    return fallback;
  return positive(name, below);
}

Result<float> MetadataReader::amount(std::string_view name, double below) {
  SINTER_ASSIGN(const double value, source_.real(read(name)));
  if (value >= 0 && value < below)
    return static_cast<float>(value);
  return wrong(key(name), std::to_string(value),
               "0 or a number above 0 and below " + std::to_string(below));
}

Result<float> MetadataReader::amountOr(std::string_view name, double below, float fallback) {
  if (!has(name))
    return fallback;
  return amount(name, below);
}

Result<double> MetadataReader::factorOr(std::string_view name) {
  constexpr double kMost = 1e6;
  if (!has(name))
    return 1.0;
  SINTER_ASSIGN(const double value, source_.real(key(name)));
  if (value == 0)
    return 1.0;
  if (value >= 1 / kMost && value <= kMost)
    return value;
  return wrong(key(name), std::to_string(value),
               "0 or a number from " + std::to_string(1 / kMost) + " to " + std::to_string(kMost));
}

Result<bool> MetadataReader::flagOr(std::string_view name, bool fallback) {
  if (!has(name))
    return fallback;
  const std::vector<std::string> texts = source_.texts(key(name));
  const std::optional<int64_t> value = texts.size() == 1 ? integerOf(texts[0]) : std::nullopt;
  if (value == 0 || value == 1)
    return *value == 1;
  return wrong(key(name), texts.size() == 1 ? texts[0] : "an array", "true or false");
}

Result<std::string> MetadataReader::textOr(std::string_view name, std::string_view fallback) {
  if (!has(name))
    return std::string(fallback);
  return source_.text(key(name));
}

Result<void> MetadataReader::expect(std::string_view name, int64_t expected, std::string_view why) {
  if (!has(name))
    return {};
  SINTER_ASSIGN(const int64_t value, source_.integer(key(name)));
  if (value == expected)
    return {};
  return fail(Code::Unsupported, "'" + key(name) + "' is " + std::to_string(value) + ", expected " +
                                     std::to_string(expected) + ": " + std::string(why));
}

// What the tokenizer's keys say is for those to check who read them.
std::vector<std::string> MetadataReader::unread(std::string_view architecture) const {
  std::vector<std::string> unread;
  for (const std::string &key : source_.keys()) {
    const KnownName *row = findKnownKey(key, architecture);
    if (!row || row->effect == NameEffect::Harmless || read_.contains(key) ||
        key.starts_with("tokenizer."))
      continue;
    const std::vector<std::string> values = source_.texts(key);
    if (!areNeutral(*row, values))
      unread.push_back("'" + key + "' is " +
                       (values.size() == 1 ? values[0].substr(0, kMostBytes) : "an array"));
  }
  return unread;
}

} // namespace sinter::models
