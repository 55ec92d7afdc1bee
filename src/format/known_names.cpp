// The search in the tables of known names, values as texts, and what no table has.
#include "format/known_names.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sinter {
namespace {

const KnownName *findIn(std::span<const KnownName> table, std::string_view name) {
  const auto found = std::ranges::find_if(
      table, [&](const KnownName &row) { return matchesPattern(row.pattern, name); });
  return found == table.end() ? nullptr : &*found;
}

template <class T> std::string numberText(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

struct ScalarText {
  std::string text;
  size_t bytes; // that it takes in the file
};

ScalarText scalarText(GgufType type, const uint8_t *bytes) {
  switch (type) {
  case GgufType::U8:
    return {numberText<uint8_t>(bytes), 1};
  case GgufType::I8:
    return {numberText<int8_t>(bytes), 1};
  case GgufType::U16:
    return {numberText<uint16_t>(bytes), 2};
  case GgufType::I16:
    return {numberText<int16_t>(bytes), 2};
  case GgufType::U32:
    return {numberText<uint32_t>(bytes), 4};
  case GgufType::I32:
    return {numberText<int32_t>(bytes), 4};
  case GgufType::F32:
    return {numberText<float>(bytes), 4};
  case GgufType::Bool:
    return {*bytes ? "true" : "false", 1};
  case GgufType::U64:
    return {numberText<uint64_t>(bytes), 8};
  case GgufType::I64:
    return {numberText<int64_t>(bytes), 8};
  case GgufType::F64:
    return {numberText<double>(bytes), 8};
  case GgufType::String: {
    uint64_t length;
    std::memcpy(&length, bytes, sizeof length);
    return {std::string(reinterpret_cast<const char *>(bytes) + sizeof length, length),
            sizeof length + length};
  }
  case GgufType::Array:
    break;
  }
  return {"", 0};
}

void appendNames(std::string &text, const char *kind, std::span<const std::string_view> names) {
  constexpr size_t kMostNames = 8, kMostBytes = 64;
  if (names.empty())
    return;
  text += (text.empty() ? "" : "; ") + std::string(kind) + (names.size() > 1 ? "s " : " ");
  for (size_t i = 0; i < std::min(names.size(), kMostNames); ++i)
    text += (i ? ", '" : "'") + std::string(names[i].substr(0, kMostBytes)) + "'";
  if (names.size() > kMostNames)
    text += " and " + std::to_string(names.size() - kMostNames) + " more";
}

} // namespace

// Each star stands for as little text as it can, and takes more where the rest does not match.
bool matchesPattern(std::string_view pattern, std::string_view name) {
  size_t at = 0, from = 0, star = std::string_view::npos, resume = 0;
  while (from < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resume = from;
    } else if (at < pattern.size() && pattern[at] == name[from]) {
      ++at;
      ++from;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      from = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

const KnownName *findKnownKey(std::string_view key, std::string_view architecture) {
  const bool ours =
      key.starts_with(architecture) && key.substr(architecture.size()).starts_with('.');
  return ours ? findIn(architectureKeys(), key.substr(architecture.size() + 1))
              : findIn(fileKeys(), key);
}

const KnownName *findKnownTensor(std::string_view tensor) {
  return findIn(tensorNames(), tensor);
}

bool areNeutral(const KnownName &row, std::span<const std::string> values) {
  const auto isNeutral = [&](const std::string &value) {
    for (std::string_view rest = row.neutral; !rest.empty();) {
      const size_t bar = std::min(rest.find('|'), rest.size());
      if (rest.substr(0, bar) == value)
        return true;
      rest.remove_prefix(std::min(bar + 1, rest.size()));
    }
    return false;
  };
  return !values.empty() && std::ranges::all_of(values, isNeutral);
}

std::vector<std::string> valueTexts(const GgufValue &value) {
  std::vector<std::string> texts;
  if ((value.isArray() && value.elementType == GgufType::Array) || value.count > kMostValueTexts)
    return texts;
  const uint8_t *at = value.bytes.data();
  for (uint64_t i = 0; i < value.count; ++i) {
    ScalarText scalar = scalarText(value.elementType, at);
    texts.push_back(std::move(scalar.text));
    at += scalar.bytes;
  }
  return texts;
}

std::string UnknownNames::text() const {
  std::string text;
  appendNames(text, "key", keys);
  appendNames(text, "tensor", tensors);
  return text;
}

UnknownNames findUnknownNames(const GgufFile &file) {
  UnknownNames unknown;
  const std::string_view architecture = file.getStringOr("general.architecture", "").value_or("");
  for (const GgufValue &value : file.values())
    if (!findKnownKey(value.key, architecture))
      unknown.keys.push_back(value.key);
  for (const GgufTensor &tensor : file.tensors())
    if (!findKnownTensor(tensor.name))
      unknown.tensors.push_back(tensor.name);
  return unknown;
}

} // namespace sinter
