// The models, added tokens and post-processors of tokenizer.json.
#include "llm/tokenizer/json/tokenizer_json.h"

#include "llm/tokenizer/json/tekken_json.h"

#include <algorithm>
#include <deque>

namespace sinter {
namespace {

// What keeps the texts of a vocabulary alive.
struct Storage {
  JsonDocument document;
  std::deque<std::string> texts;
};

Fail corrupt(const std::string &what, JsonValue found, const char *expected) {
  return fail(Code::Corrupt,
              "the tokenizer's " + what + " is " + found.kindName() + ", expected " + expected);
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 64)) + "'";
}

class Reader {
public:
  explicit Reader(JsonValue root) : root_(root) {}

  Result<VocabularyData> read() {
    const JsonValue model = root_.find("model");
    if (!model.isObject())
      return corrupt("'model'", model, "an object");
    SINTER_TRY(readModelKind(model));
    SINTER_TRY(readNormalizer(root_.find("normalizer"), recipe_));
    SINTER_TRY(readPretokenizer(root_.find("pre_tokenizer"), recipe_));
    readDecoder(root_.find("decoder"), recipe_);
    SINTER_TRY(readVocabulary(model));
    SINTER_TRY(readAddedTokens());
    SINTER_TRY(readMerges(model));
    SINTER_TRY(readUnknown(model));
    SINTER_TRY(readPostProcessor(root_.find("post_processor")));
    markBytes();
    data_.recipe = std::move(recipe_);
    return std::move(data_);
  }

private:
  Result<void> readModelKind(JsonValue model);
  Result<void> readVocabulary(JsonValue model);
  Result<void> readScoredVocabulary(JsonValue vocab);
  Result<void> readAddedTokens();
  Result<void> readMerges(JsonValue model);
  Result<void> readUnknown(JsonValue model);
  Result<void> readPostProcessor(JsonValue value);
  Result<void> readTemplate(JsonValue value);
  Result<void> readPairEnds(JsonValue value, bool isRoberta);
  Result<void> addToken(std::string_view text, JsonValue id, TokenType type);
  Result<TokenId> tokenNamed(std::string_view text, const char *what) const;
  void markBytes();

  JsonValue root_;
  TokenizerRecipe recipe_;
  VocabularyData data_;
};

Result<void> Reader::readModelKind(JsonValue model) {
  std::string_view type = model.find("type").text().value_or("");
  // Old files leave the type out.
  if (type.empty())
    type = model.find("merges").exists()   ? "BPE"
           : model.find("vocab").isArray() ? "Unigram"
                                           : "WordPiece";
  recipe_.spelling = Spelling::Plain;
  recipe_.byteFallback = model.find("byte_fallback").boolean().value_or(false);
  recipe_.continuation = model.find("continuing_subword_prefix").text().value_or("");
  if (type == "BPE") {
    recipe_.model = ModelKind::MergeRanks;
    recipe_.fusesUnknown = model.find("fuse_unk").boolean().value_or(false);
    recipe_.takesWholeWords = model.find("ignore_merges").boolean().value_or(false);
    recipe_.wordEnd = model.find("end_of_word_suffix").text().value_or("");
  } else if (type == "Unigram") {
    recipe_.model = ModelKind::Unigram;
    recipe_.fusesUnknown = true;
    recipe_.spelling = Spelling::Metaspace;
  } else if (type == "WordPiece") {
    recipe_.model = ModelKind::WordPiece;
    if (!model.find("continuing_subword_prefix").exists())
      recipe_.continuation = "##";
    recipe_.longestWord = static_cast<uint32_t>(std::clamp<int64_t>(
        model.find("max_input_chars_per_word").integer().value_or(100), 0, UINT32_MAX));
    recipe_.spelling = Spelling::WordPiece;
  } else if (type == "WordLevel") {
    recipe_.model = ModelKind::WordLevel;
  } else {
    return fail(Code::Unsupported, "the tokenizer's model is " + quoted(type) +
                                       ", expected BPE, Unigram, WordPiece or WordLevel");
  }
  return {};
}

Result<void> Reader::addToken(std::string_view text, JsonValue id, TokenType type) {
  // Files leave gaps among their ids, but no great ones.
  constexpr int64_t kMostGap = 1 << 16;
  const auto number = id.integer();
  const auto most = static_cast<int64_t>(
      2 * (root_.find("model").find("vocab").size() + root_.find("added_tokens").size()) +
      kMostGap);
  if (!number || *number < 0 || *number > most)
    return fail(Code::Corrupt, "the id of token " + quoted(text) + " is " +
                                   (number ? std::to_string(*number) : id.kindName()) +
                                   ", expected 0 to " + std::to_string(most));
  const auto at = static_cast<size_t>(*number);
  if (at >= data_.tokens.size()) {
    data_.tokens.resize(at + 1);
    data_.types.resize(at + 1, static_cast<int64_t>(TokenType::Unused));
  }
  if (!data_.tokens[at].empty() && data_.tokens[at] != text)
    return fail(Code::Corrupt, "tokens " + quoted(data_.tokens[at]) + " and " + quoted(text) +
                                   " both have the id " + std::to_string(at));
  data_.tokens[at] = text;
  data_.types[at] = static_cast<int64_t>(type);
  return {};
}

Result<void> Reader::readVocabulary(JsonValue model) {
  const JsonValue vocab = model.find("vocab");
  if (recipe_.model == ModelKind::Unigram)
    return readScoredVocabulary(vocab);
  if (!vocab.isObject())
    return corrupt("'vocab'", vocab, "an object");
  return vocab.eachMember([this](std::string_view text, JsonValue id) {
    return addToken(text, id, TokenType::Normal);
  });
}

Result<void> Reader::readScoredVocabulary(JsonValue vocab) {
  if (!vocab.isArray())
    return corrupt("'vocab'", vocab, "an array of texts and scores");
  for (size_t i = 0; i < vocab.size(); ++i) {
    const auto text = vocab.at(i).at(0).text();
    const auto score = vocab.at(i).at(1).number();
    if (!text || !score)
      return corrupt("entry " + std::to_string(i) + " of 'vocab'", vocab.at(i),
                     "a text and a score");
    data_.tokens.push_back(*text);
    data_.types.push_back(static_cast<int64_t>(TokenType::Normal));
    data_.scores.push_back(*score);
  }
  return {};
}

Result<void> Reader::readAddedTokens() {
  const JsonValue added = root_.find("added_tokens");
  for (size_t i = 0; i < added.size(); ++i) {
    const JsonValue token = added.at(i);
    const auto text = token.find("content").text();
    if (!text)
      return corrupt("added token " + std::to_string(i), token, "an object with a content");
    const auto flag = [&](const char *key) { return token.find(key).boolean().value_or(false); };
    const bool special = flag("special");
    SINTER_TRY(
        addToken(*text, token.find("id"), special ? TokenType::Control : TokenType::UserDefined));
    data_.traits.push_back({.id = static_cast<TokenId>(*token.find("id").integer()),
                            .stripsLeft = flag("lstrip"),
                            .stripsRight = flag("rstrip"),
                            .wholeWord = flag("single_word"),
                            .normalized = flag("normalized")});
  }
  if (!data_.scores.empty())
    data_.scores.resize(data_.tokens.size(), 0);
  return {};
}

Result<void> Reader::readMerges(JsonValue model) {
  if (recipe_.model != ModelKind::MergeRanks)
    return {};
  const JsonValue merges = model.find("merges");
  if (!merges.isArray())
    return corrupt("'merges'", merges, "an array");
  data_.merges.reserve(merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const JsonValue merge = merges.at(i);
    const auto both = merge.text(), left = merge.at(0).text(), right = merge.at(1).text();
    if (!both && !(left && right))
      return corrupt("merge " + std::to_string(i), merge, "a text or a pair of texts");
    data_.merges.push_back(both ? MergeText(*both) : MergeText(*left, *right));
  }
  return {};
}

Result<TokenId> Reader::tokenNamed(std::string_view text, const char *what) const {
  const auto found = std::ranges::find(data_.tokens, text);
  if (text.empty() || found == data_.tokens.end())
    return fail(Code::Corrupt, std::string("the ") + what + " token is " + quoted(text) +
                                   ", expected one of the vocabulary");
  return static_cast<TokenId>(found - data_.tokens.begin());
}

Result<void> Reader::readUnknown(JsonValue model) {
  if (const auto id = model.find("unk_id").integer())
    data_.unknown = *id;
  const auto text = model.find("unk_token").text();
  // A file may name one that it does not have, and do without.
  if (text && std::ranges::find(data_.tokens, *text) != data_.tokens.end()) {
    SINTER_ASSIGN(data_.unknown, tokenNamed(*text, "unknown"));
  }
  return {};
}

Result<void> Reader::readPostProcessor(JsonValue value) {
  if (value.isNull())
    return {};
  const std::string_view type = value.find("type").text().value_or("");
  if (type == "Sequence") {
    const JsonValue parts = value.find("processors");
    for (size_t i = 0; i < parts.size(); ++i)
      if (parts.at(i).find("type").text() != "Sequence")
        SINTER_TRY(readPostProcessor(parts.at(i)));
    return {};
  }
  if (type == "ByteLevel")
    return {};
  if (type == "TemplateProcessing")
    return readTemplate(value);
  if (type == "BertProcessing" || type == "RobertaProcessing")
    return readPairEnds(value, type == "RobertaProcessing");
  return fail(Code::Unsupported, "the post-processor " + quoted(type) +
                                     " of the tokenizer is not known to this version");
}

Result<void> Reader::readTemplate(JsonValue value) {
  const JsonValue single = value.find("single");
  if (!single.isArray())
    return corrupt("post-processor's 'single'", single, "an array");
  bool afterText = false;
  for (size_t i = 0; i < single.size(); ++i) {
    if (single.at(i).find("Sequence").exists()) {
      if (std::exchange(afterText, true))
        return fail(Code::Unsupported, "the tokenizer's template has a text twice");
      continue;
    }
    const auto name = single.at(i).find("SpecialToken").find("id").text();
    if (!name)
      return corrupt("post-processor's part " + std::to_string(i), single.at(i),
                     "a SpecialToken or a Sequence");
    const JsonValue ids = value.find("special_tokens").find(*name).find("ids");
    for (size_t at = 0; at < ids.size(); ++at) {
      const auto id = ids.at(at).integer();
      if (!id || *id < 0 || *id >= static_cast<int64_t>(data_.tokens.size()))
        return corrupt("special token " + quoted(*name), ids.at(at), "an id of the vocabulary");
      (afterText ? data_.suffix : data_.prefix).push_back(static_cast<TokenId>(*id));
    }
  }
  if (!data_.prefix.empty())
    data_.bos = data_.prefix.front();
  if (!data_.suffix.empty())
    data_.eos = data_.suffix.back();
  return {};
}

Result<void> Reader::readPairEnds(JsonValue value, bool isRoberta) {
  SINTER_ASSIGN(const TokenId begin,
                tokenNamed(value.find("cls").at(0).text().value_or(""), "begin"));
  SINTER_ASSIGN(const TokenId end, tokenNamed(value.find("sep").at(0).text().value_or(""), "end"));
  data_.prefix = {begin};
  data_.suffix = {end};
  data_.bos = begin;
  data_.separator = end;
  data_.addSeparator = true;
  if (isRoberta)
    data_.eos = end;
  return {};
}

// The tokens of single bytes.
void Reader::markBytes() {
  if (!recipe_.byteFallback)
    return;
  for (size_t i = 0; i < data_.tokens.size(); ++i)
    if (data_.types[i] == static_cast<int64_t>(TokenType::Normal) && data_.tokens[i].size() == 6 &&
        data_.tokens[i].starts_with("<0x") && data_.tokens[i].ends_with('>'))
      data_.types[i] = static_cast<int64_t>(TokenType::Byte);
}

} // namespace

Result<VocabularyData> vocabularyFromJson(std::string_view bytes) {
  SINTER_ASSIGN(JsonDocument document, JsonDocument::parse(bytes));
  auto storage = std::make_shared<Storage>(std::move(document));
  const JsonValue root = storage->document.root();
  Result<VocabularyData> data =
      root.find("config").isObject() ? readTekken(root, storage->texts) : Reader(root).read();
  if (data)
    data->storage = std::move(storage);
  return data;
}

} // namespace sinter
