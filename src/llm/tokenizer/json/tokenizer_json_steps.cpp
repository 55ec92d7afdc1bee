// The normalizers, pre-tokenizers and decoders of tokenizer.json.
#include "llm/tokenizer/json/base64.h"
#include "llm/tokenizer/json/tokenizer_json.h"

#include <algorithm>
#include <cctype>

namespace sinter {
namespace {

constexpr std::string_view kMetaspace = "\u2581";
constexpr const char *kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

Fail unsupported(const char *what, JsonValue value) {
  const std::string type(value.find("type").text().value_or("").substr(0, 64));
  return fail(Code::Unsupported, std::string("the ") + what + " '" + type +
                                     "' of the tokenizer is not known to this version");
}

Fail corrupt(const char *what, const char *key, JsonValue found, const char *expected) {
  return fail(Code::Corrupt, std::string("the ") + what + "'s '" + key + "' is " +
                                 found.kindName() + ", expected " + expected);
}

bool flag(JsonValue value, const char *key, bool fallback) {
  return value.find(key).boolean().value_or(fallback);
}

// A literal text as an expression.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<uint8_t>(c) < 0x80 && !std::isalnum(static_cast<unsigned char>(c)))
      out += '\\';
    out += c;
  }
  return out;
}

// The parts of a sequence, or the value itself.
std::vector<JsonValue> partsOf(JsonValue value, const char *key) {
  if (value.find("type").text() != "Sequence")
    return {value};
  std::vector<JsonValue> parts;
  for (size_t i = 0; i < value.find(key).size(); ++i)
    parts.push_back(value.find(key).at(i));
  return parts;
}

Result<void> addReplace(JsonValue value, TokenizerRecipe &recipe) {
  const JsonValue pattern = value.find("pattern");
  const auto literal = pattern.find("String").text(), regex = pattern.find("Regex").text();
  const auto content = value.find("content").text();
  if (!content)
    return corrupt("normalizer", "content", value.find("content"), "a string");
  if (!literal && !regex)
    return corrupt("normalizer", "pattern", pattern, "an object with a String or a Regex");
  recipe.normalizers.push_back(
      {.kind = literal ? NormalizerKind::Replace : NormalizerKind::ReplaceRegex,
       .pattern = std::string(literal ? *literal : *regex),
       .content = std::string(*content)});
  return {};
}

void addBert(JsonValue value, TokenizerRecipe &recipe) {
  const bool lowercase = flag(value, "lowercase", true);
  if (flag(value, "clean_text", true))
    recipe.normalizers.push_back({.kind = NormalizerKind::BertClean});
  if (flag(value, "handle_chinese_chars", true))
    recipe.normalizers.push_back({.kind = NormalizerKind::PadCjk});
  if (flag(value, "strip_accents", lowercase)) {
    recipe.normalizers.push_back({.kind = NormalizerKind::Nfd});
    recipe.normalizers.push_back({.kind = NormalizerKind::StripAccents});
  }
  if (lowercase)
    recipe.normalizers.push_back({.kind = NormalizerKind::Lowercase});
}

Result<void> addCharsmap(JsonValue value, TokenizerRecipe &recipe) {
  const JsonValue encoded = value.find("precompiled_charsmap");
  if (encoded.isNull())
    return {};
  const auto text = encoded.text();
  auto bytes = text ? decodeBase64(*text) : std::nullopt;
  if (!bytes)
    return corrupt("normalizer", "precompiled_charsmap", encoded, "a string in Base64");
  recipe.normalizers.push_back({.kind = NormalizerKind::Charsmap, .content = std::move(*bytes)});
  return {};
}

Result<void> addNormalizer(JsonValue value, TokenizerRecipe &recipe) {
  struct Row {
    std::string_view type;
    NormalizerKind kind;
  };
  constexpr Row kPlain[] = {{"NFC", NormalizerKind::Nfc},
                            {"NFD", NormalizerKind::Nfd},
                            {"NFKC", NormalizerKind::Nfkc},
                            {"NFKD", NormalizerKind::Nfkd},
                            {"Lowercase", NormalizerKind::Lowercase},
                            {"StripAccents", NormalizerKind::StripMarks}};
  const std::string_view type = value.find("type").text().value_or("");
  const auto plain = std::ranges::find(kPlain, type, &Row::type);
  if (plain != std::end(kPlain)) {
    recipe.normalizers.push_back({.kind = plain->kind});
  } else if (type == "Strip") {
    recipe.normalizers.push_back({.kind = NormalizerKind::Strip,
                                  .left = flag(value, "strip_left", true),
                                  .right = flag(value, "strip_right", true)});
  } else if (type == "Prepend") {
    recipe.normalizers.push_back(
        {.kind = NormalizerKind::Prepend,
         .content = std::string(value.find("prepend").text().value_or(kMetaspace))});
  } else if (type == "Replace") {
    return addReplace(value, recipe);
  } else if (type == "BertNormalizer") {
    addBert(value, recipe);
  } else if (type == "Precompiled") {
    return addCharsmap(value, recipe);
  } else {
    return unsupported("normalizer", value);
  }
  return {};
}

Result<void> addSplit(JsonValue value, TokenizerRecipe &recipe) {
  struct Row {
    std::string_view name;
    SplitBehavior behavior;
  };
  constexpr Row kBehaviors[] = {{"Isolated", SplitBehavior::Isolated},
                                {"Removed", SplitBehavior::Removed},
                                {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
                                {"MergedWithNext", SplitBehavior::MergedWithNext},
                                {"Contiguous", SplitBehavior::Contiguous}};
  const JsonValue pattern = value.find("pattern");
  const auto literal = pattern.find("String").text(), regex = pattern.find("Regex").text();
  if (!literal && !regex)
    return corrupt("pre-tokenizer", "pattern", pattern, "an object with a String or a Regex");
  const auto name = value.find("behavior").text();
  const auto behavior = std::ranges::find(kBehaviors, name.value_or(""), &Row::name);
  if (behavior == std::end(kBehaviors))
    return corrupt("pre-tokenizer", "behavior", value.find("behavior"),
                   "a name such as \"Isolated\"");
  recipe.splits.push_back({.expression = literal ? quoted(*literal) : std::string(*regex),
                           .behavior = behavior->behavior,
                           .invert = flag(value, "invert", false)});
  return {};
}

Result<void> addMetaspace(JsonValue value, TokenizerRecipe &recipe) {
  if (value.find("replacement").text().value_or(kMetaspace) != kMetaspace)
    return corrupt("pre-tokenizer", "replacement", value.find("replacement"), "U+2581");
  const auto scheme = value.find("prepend_scheme").text();
  SplitStep step{.kind = SplitKind::Metaspace, .splits = flag(value, "split", true)};
  if (scheme ? scheme == "always" : flag(value, "add_prefix_space", true))
    step.prepend = PrependScheme::Always;
  else if (scheme == "first")
    step.prepend = PrependScheme::First;
  recipe.dropsFirstSpace = recipe.dropsFirstSpace || step.prepend != PrependScheme::Never;
  recipe.splits.push_back(std::move(step));
  recipe.spelling = Spelling::Metaspace;
  return {};
}

void addByteLevel(JsonValue value, TokenizerRecipe &recipe) {
  if (flag(value, "add_prefix_space", true))
    recipe.splits.push_back({.kind = SplitKind::PrefixSpace});
  if (flag(value, "use_regex", true))
    recipe.splits.push_back({.expression = kGpt2Words});
  recipe.spelling = Spelling::ByteAlphabet;
  recipe.bytes = true;
}

Result<void> addPretokenizer(JsonValue value, TokenizerRecipe &recipe) {
  const std::string_view type = value.find("type").text().value_or("");
  if (type == "Split")
    return addSplit(value, recipe);
  if (type == "Metaspace")
    return addMetaspace(value, recipe);
  if (type == "ByteLevel") {
    addByteLevel(value, recipe);
  } else if (type == "BertPreTokenizer") {
    recipe.splits.push_back({.kind = SplitKind::Bert});
  } else if (type == "Whitespace") {
    recipe.splits.push_back({.expression =
                                 R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+)"
                                 R"(|[^\s\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+)",
                             .behavior = SplitBehavior::Removed,
                             .invert = true});
  } else if (type == "WhitespaceSplit") {
    recipe.splits.push_back({.expression = R"(\s+)", .behavior = SplitBehavior::Removed});
  } else if (type == "Punctuation") {
    recipe.splits.push_back({.expression = R"([\p{P}!-/:-@\[-`{-~])"});
    const auto behavior = value.find("behavior").text();
    if (behavior && behavior != "Isolated")
      return unsupported("pre-tokenizer", value);
  } else if (type == "Digits") {
    recipe.splits.push_back(
        {.expression = flag(value, "individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)"});
  } else if (type == "CharDelimiterSplit") {
    recipe.splits.push_back({.expression = quoted(value.find("delimiter").text().value_or(" ")),
                             .behavior = SplitBehavior::Removed});
  } else {
    return unsupported("pre-tokenizer", value);
  }
  return {};
}

} // namespace

Result<void> readNormalizer(JsonValue value, TokenizerRecipe &recipe) {
  if (value.isNull())
    return {};
  for (const JsonValue part : partsOf(value, "normalizers"))
    SINTER_TRY(addNormalizer(part, recipe));
  return {};
}

Result<void> readPretokenizer(JsonValue value, TokenizerRecipe &recipe) {
  if (value.isNull())
    return {};
  for (const JsonValue part : partsOf(value, "pretokenizers"))
    SINTER_TRY(addPretokenizer(part, recipe));
  return {};
}

void readDecoder(JsonValue value, TokenizerRecipe &recipe) {
  if (value.isNull())
    return;
  for (const JsonValue part : partsOf(value, "decoders")) {
    const std::string_view type = part.find("type").text().value_or("");
    if (type == "ByteLevel") {
      recipe.spelling = Spelling::ByteAlphabet;
    } else if (type == "Metaspace" ||
               (type == "Replace" && part.find("pattern").find("String").text() == kMetaspace)) {
      recipe.spelling = Spelling::Metaspace;
    } else if (type == "Strip") {
      recipe.dropsFirstSpace = part.find("start").integer().value_or(0) > 0;
    } else if (type == "WordPiece") {
      recipe.spelling = Spelling::WordPiece;
      recipe.dropsFirstSpace = true;
      recipe.cleansSpaces = flag(part, "cleanup", true);
    }
  }
}

} // namespace sinter
