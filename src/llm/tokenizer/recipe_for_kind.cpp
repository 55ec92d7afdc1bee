// The recipes of GGUF's tokenizers.
#include "llm/tokenizer/recipe_for_kind.h"

#include <algorithm>

namespace sinter {
namespace {

constexpr std::string_view kMetaspace = "\u2581";

std::string quoted(std::string_view name) {
  return "'" + std::string(name.substr(0, 64)) + "'";
}

// The name that counts: what a file leaves out is split by the default rules, with less quality.
std::string_view preOf(const VocabularyData &data, const TokenizerKind &kind,
                       const std::function<void(std::string)> &note) {
  if (!kind.pre.empty())
    return kind.pre;
  if (!data.pre.empty())
    return data.pre;
  note("file names no pre-tokenizer (tokenizer.ggml.pre), so prompts are split by default rules, "
       "most likely not as in training");
  return "default";
}

void addSplits(const VocabularyData &data, const KindDefaults &defaults, TokenizerRecipe &recipe) {
  const std::string_view name = !defaults.kind.pre.empty() ? defaults.kind.pre
                                : data.pre.empty()         ? "default"
                                                           : data.pre;
  for (const FamilySplit &split : findPretokenizer(name)->splits)
    recipe.splits.push_back({.kind = split.kind, .expression = std::string(split.expression)});
}

TokenizerRecipe mergeRanksRecipe(const VocabularyData &data, const KindDefaults &defaults) {
  const PretokenizerFlags &flags = defaults.flags;
  TokenizerRecipe recipe;
  recipe.model = ModelKind::MergeRanks;
  recipe.bytes = !flags.rawUtf8;
  recipe.byteFallback = flags.rawUtf8;
  recipe.usesByteTexts = !flags.rawUtf8;
  recipe.spelling = flags.escapesSpaces ? Spelling::Metaspace
                    : flags.rawUtf8     ? Spelling::Plain
                                        : Spelling::ByteAlphabet;
  recipe.takesWholeWords = flags.ignoresMerges;
  recipe.takesNewlines = flags.takesNewlines;
  recipe.cleansSpaces = flags.cleansSpaces;
  if (flags.escapesSpaces)
    recipe.normalizers.push_back(
        {.kind = NormalizerKind::Replace, .pattern = " ", .content = std::string(kMetaspace)});
  if (defaults.kind.name == "whitespace") {
    if (data.lowercase.value_or(false))
      recipe.normalizers.push_back({.kind = NormalizerKind::Lowercase});
    recipe.splits.push_back({.expression = R"(\s+)", .behavior = SplitBehavior::Removed});
  }
  addSplits(data, defaults, recipe);
  return recipe;
}

TokenizerRecipe mergeScoresRecipe(const VocabularyData &data, const KindDefaults &defaults) {
  TokenizerRecipe recipe;
  recipe.model = ModelKind::MergeScores;
  recipe.byteFallback = true;
  recipe.usesByteTexts = true;
  recipe.spelling = Spelling::Metaspace;
  recipe.dropsFirstSpace = data.addSpacePrefix.value_or(defaults.kind.addsSpacePrefix);
  if (recipe.dropsFirstSpace)
    recipe.normalizers.push_back({.kind = NormalizerKind::Prepend, .content = " "});
  recipe.normalizers.push_back(
      {.kind = NormalizerKind::Replace, .pattern = " ", .content = std::string(kMetaspace)});
  return recipe;
}

TokenizerRecipe wordPieceRecipe(const VocabularyData &data) {
  TokenizerRecipe recipe;
  recipe.model = ModelKind::WordPiece;
  recipe.spelling = Spelling::Metaspace;
  recipe.wordStart = kMetaspace;
  recipe.cleansSpaces = true;
  const bool lowercase = data.lowercase.value_or(true);
  recipe.normalizers.push_back({.kind = NormalizerKind::BertClean});
  recipe.normalizers.push_back({.kind = NormalizerKind::PadCjk});
  if (data.stripAccents.value_or(lowercase)) {
    recipe.normalizers.push_back({.kind = NormalizerKind::Nfd});
    recipe.normalizers.push_back({.kind = NormalizerKind::StripAccents});
  }
  if (lowercase)
    recipe.normalizers.push_back({.kind = NormalizerKind::Lowercase});
  recipe.splits.push_back({.kind = SplitKind::Bert});
  return recipe;
}

TokenizerRecipe unigramRecipe(const VocabularyData &data, const KindDefaults &defaults) {
  TokenizerRecipe recipe;
  recipe.model = ModelKind::Unigram;
  recipe.spelling = Spelling::Metaspace;
  recipe.fusesUnknown = true;
  recipe.dropsFirstSpace = data.addSpacePrefix.value_or(defaults.kind.addsSpacePrefix);
  if (!data.charsmap.empty())
    recipe.normalizers.push_back(
        {.kind = NormalizerKind::Charsmap, .content = std::string(data.charsmap)});
  recipe.normalizers.push_back({.kind = NormalizerKind::SentencePiece,
                                .prefixesSpace = recipe.dropsFirstSpace,
                                .mergesSpaces = data.mergeSpaces.value_or(false)});
  return recipe;
}

bool containsAny(std::string_view text, std::span<const std::string_view> parts) {
  return std::ranges::any_of(
      parts, [text](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

std::vector<TokenTraits> rightStrippers(const VocabularyData &data, const StripRule &rule) {
  std::vector<TokenTraits> traits;
  for (size_t i = 0; i < data.tokens.size(); ++i) {
    const int64_t type = i < data.types.size() ? data.types[i] : 1;
    const bool special = type >= static_cast<int64_t>(TokenType::Unknown) &&
                         type <= static_cast<int64_t>(TokenType::UserDefined);
    const bool keeps = std::ranges::find(rule.keeps, data.tokens[i]) != rule.keeps.end();
    if ((special && !keeps) || data.tokens[i] == rule.stripsRight)
      traits.push_back({.id = static_cast<TokenId>(i), .stripsRight = true});
  }
  return traits;
}

} // namespace

Result<KindDefaults> kindDefaults(const VocabularyData &data,
                                  const std::function<void(std::string)> &note) {
  const auto kinds = tokenizerKinds();
  const auto kind = std::ranges::find(kinds, data.model, &TokenizerKind::name);
  if (kind == kinds.end())
    return fail(Code::Unsupported, "tokenizer model is " + quoted(data.model) +
                                       ", expected one such as 'gpt2', 'bert' or 't5'");
  KindDefaults defaults{*kind, {}};
  if (!kind->hasPretokenizer)
    return defaults;
  const std::string_view name = preOf(data, *kind, note);
  const PretokenizerFamily *family = findPretokenizer(name);
  if (!family)
    return fail(Code::Unsupported, "pre-tokenizer " + quoted(name) +
                                       " is not known to this version, expected one such as "
                                       "'smollm', 'gpt-2', 'llama-bpe' or 'qwen2'");
  defaults.flags = family->flags;
  defaults.kind.addsBos = family->flags.addsBos;
  return defaults;
}

Result<TokenizerRecipe> recipeForKind(const VocabularyData &data, const KindDefaults &defaults) {
  TokenizerRecipe recipe;
  switch (defaults.kind.model) {
  case ModelKind::MergeRanks:
    return mergeRanksRecipe(data, defaults);
  case ModelKind::MergeScores:
    return mergeScoresRecipe(data, defaults);
  case ModelKind::WordPiece:
    return wordPieceRecipe(data);
  case ModelKind::Unigram:
    return unigramRecipe(data, defaults);
  case ModelKind::LongestMatch:
    recipe.spelling = Spelling::Escapes;
    break;
  case ModelKind::Plamo2:
    recipe.spelling = Spelling::Plain;
    recipe.dropsByteOrderMark = true;
    break;
  case ModelKind::WordLevel:
  case ModelKind::None:
    break;
  }
  recipe.model = defaults.kind.model;
  return recipe;
}

std::vector<TokenTraits> traitsForNames(const VocabularyData &data, const TextIndex &texts) {
  std::string name(data.modelName);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  for (const StripRule &rule : stripRules()) {
    const std::string_view field = rule.field == StripRule::Field::Pretokenizer ? data.pre
                                   : rule.field == StripRule::Field::Architecture
                                       ? data.architecture
                                       : name;
    if (!containsAny(field, rule.fragments))
      continue;
    if (rule.stripsLeft.empty())
      return rightStrippers(data, rule);
    if (const auto id = texts.find(rule.stripsLeft))
      return {{.id = *id, .stripsLeft = true}};
    return {};
  }
  return {};
}

} // namespace sinter
