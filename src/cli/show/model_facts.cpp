// Reads facts of a model file, without a word on what is wrong with it.
#include "cli/show/model_facts.h"

#include "format/known_names.h"

#include <algorithm>
#include <map>
#include <set>

namespace sinter::cli {
namespace {

// A value as one short text: of an array the distinct elements, or their number.
std::string valueText(const GgufFile &file, const std::string &key) {
  const GgufValue *value = file.find(key);
  if (!value)
    return "";
  constexpr size_t kMostShown = 4;
  std::vector<std::string> texts = valueTexts(*value);
  if (texts.empty())
    return value->isArray() ? std::to_string(value->count) + " values" : "";
  std::vector<std::string> distinct;
  for (const std::string &text : texts)
    if (std::ranges::find(distinct, text) == distinct.end())
      distinct.push_back(text);
  std::string all = distinct.front();
  for (size_t i = 1; i < std::min(distinct.size(), kMostShown); ++i)
    all += " or " + distinct[i];
  return distinct.size() > kMostShown ? all + " or others" : all;
}

struct ShapeRow {
  const char *what, *key;
};
constexpr ShapeRow kShapes[] = {
    {"layers", "block_count"},
    {"width", "embedding_length"},
    {"feed-forward width", "feed_forward_length"},
    {"query heads", "attention.head_count"},
    {"key/value heads", "attention.head_count_kv"},
    {"head size", "attention.key_length"},
    {"window", "attention.sliding_window"},
    {"experts", "expert_count"},
    {"experts of a token", "expert_used_count"},
    {"context", "context_length"},
};

std::vector<TypeFacts> typesOf(const GgufFile &file) {
  std::map<std::string, TypeFacts, std::less<>> byName;
  for (const GgufTensor &tensor : file.tensors()) {
    TypeFacts &facts = byName[std::string(tensor.format->name)];
    ++facts.tensors;
    facts.elements += tensor.elements();
    facts.bytes += tensor.bytes.size();
  }
  std::vector<TypeFacts> types;
  for (auto &[name, facts] : byName) {
    facts.type = name;
    types.push_back(std::move(facts));
  }
  std::ranges::stable_sort(types, std::greater(), &TypeFacts::bytes);
  return types;
}

std::string tokenizerOf(const GgufFile &file) {
  std::string text = valueText(file, "tokenizer.ggml.model");
  if (const std::string pre = valueText(file, "tokenizer.ggml.pre"); !pre.empty())
    text += ", pre " + pre;
  if (const GgufValue *tokens = file.find("tokenizer.ggml.tokens"))
    text += (text.empty() ? "" : ", ") + std::to_string(tokens->count) + " tokens";
  return text;
}

} // namespace

FileFacts factsOf(const GgufFile &file) {
  FileFacts facts;
  facts.name = valueText(file, "general.name");
  facts.architecture = valueText(file, "general.architecture");
  facts.paths = file.paths();
  facts.bytes = file.totalBytes();
  for (const GgufTensor &tensor : file.tensors())
    facts.parameters += tensor.elements();
  facts.types = typesOf(file);
  for (const ShapeRow &row : kShapes)
    if (std::string text = valueText(file, facts.architecture + "." + row.key); !text.empty())
      facts.shapes.emplace_back(row.what, std::move(text));
  facts.tokenizer = tokenizerOf(file);
  facts.hasTemplate = file.find("tokenizer.chat_template") != nullptr;
  return facts;
}

UnusedFacts unusedOf(const GgufFile &file, const plan::Plan &plan) {
  std::set<std::string_view> used;
  for (const plan::Buffer &buffer : plan.buffers)
    used.insert(buffer.tensors.begin(), buffer.tensors.end());
  UnusedFacts unused;
  for (const GgufTensor &tensor : file.tensors()) {
    if (used.contains(tensor.name))
      continue;
    unused.tensors.emplace_back(tensor.name);
    unused.bytes += tensor.bytes.size();
  }
  return unused;
}

} // namespace sinter::cli
