// Mistral's tekken.json.
#include "llm/tokenizer/json/tekken_json.h"

#include "llm/tokenizer/json/base64.h"

namespace sinter {
namespace {

// The first special tokens of files that list none (version 3 and before).
constexpr const char *kSpecialTexts[] = {"<unk>",
                                         "<s>",
                                         "</s>",
                                         "[INST]",
                                         "[/INST]",
                                         "[AVAILABLE_TOOLS]",
                                         "[/AVAILABLE_TOOLS]",
                                         "[TOOL_RESULTS]",
                                         "[/TOOL_RESULTS]",
                                         "[TOOL_CALLS]",
                                         "[IMG]",
                                         "<pad>",
                                         "[IMG_BREAK]",
                                         "[IMG_END]",
                                         "[PREFIX]",
                                         "[MIDDLE]",
                                         "[SUFFIX]",
                                         "[SYSTEM_PROMPT]",
                                         "[/SYSTEM_PROMPT]",
                                         "[TOOL_CONTENT]"};

Fail corrupt(const std::string &what, JsonValue found, const char *expected) {
  return fail(Code::Corrupt,
              "the tokenizer's " + what + " is " + found.kindName() + ", expected " + expected);
}

class TekkenReader {
public:
  TekkenReader(JsonValue root, std::deque<std::string> &texts) : root_(root), texts_(texts) {}

  Result<VocabularyData> read() {
    SINTER_TRY(readCounts());
    readSpecial();
    SINTER_TRY(readVocabulary());
    SINTER_TRY(readRecipe());
    data_.unknown = 0;
    data_.bos = 1;
    data_.eos = 2;
    if (specialCount_ > 1)
      data_.prefix = {1};
    return std::move(data_);
  }

private:
  Result<void> readCounts() {
    const JsonValue config = root_.find("config"), vocab = root_.find("vocab");
    if (!vocab.isArray())
      return corrupt("'vocab'", vocab, "an array");
    const auto special = config.find("default_num_special_tokens").integer();
    if (!special || *special < 0 || *special > kMostSpecial)
      return corrupt("'default_num_special_tokens'", config.find("default_num_special_tokens"),
                     "a number of 0 to 65536");
    specialCount_ = static_cast<size_t>(*special);
    // The file holds more tokens than the model knows.
    const auto size = config.find("default_vocab_size").integer();
    const auto most = static_cast<int64_t>(specialCount_ + vocab.size());
    if (!size || *size < static_cast<int64_t>(specialCount_) || *size > most)
      return corrupt("'default_vocab_size'", config.find("default_vocab_size"),
                     "a number between that of special tokens and that of all");
    vocabCount_ = static_cast<size_t>(*size) - specialCount_;
    return {};
  }

  void add(std::string text, TokenType type, double score) {
    texts_.push_back(std::move(text));
    data_.tokens.push_back(texts_.back());
    data_.types.push_back(static_cast<int64_t>(type));
    data_.scores.push_back(score);
  }

  void readSpecial() {
    std::vector<std::string> names(specialCount_);
    for (size_t i = 0; i < names.size(); ++i)
      names[i] =
          i < std::size(kSpecialTexts) ? kSpecialTexts[i] : "<SPECIAL_" + std::to_string(i) + ">";
    const JsonValue listed = root_.find("special_tokens");
    for (size_t i = 0; i < listed.size(); ++i) {
      const auto rank = listed.at(i).find("rank").integer();
      const auto text = listed.at(i).find("token_str").text();
      if (rank && text && *rank >= 0 && static_cast<size_t>(*rank) < names.size())
        names[static_cast<size_t>(*rank)] = *text;
    }
    for (std::string &name : names)
      add(std::move(name), TokenType::Control, 0);
  }

  Result<void> readVocabulary() {
    for (size_t i = 0; i < vocabCount_; ++i) {
      const JsonValue token = root_.find("vocab").at(i);
      const auto rank = token.find("rank").integer();
      const auto encoded = token.find("token_bytes").text();
      auto bytes = encoded ? decodeBase64(*encoded) : std::nullopt;
      if (rank != static_cast<int64_t>(i) || !bytes)
        return corrupt("token " + std::to_string(i), token,
                       "its rank and its token_bytes in Base64");
      add(std::move(*bytes), TokenType::Normal, -static_cast<double>(i));
    }
    return {};
  }

  Result<void> readRecipe() {
    const auto pattern = root_.find("config").find("pattern").text();
    if (!pattern)
      return corrupt("'pattern'", root_.find("config").find("pattern"), "a string");
    TokenizerRecipe recipe;
    recipe.model = ModelKind::MergeScores;
    recipe.spelling = Spelling::Plain;
    recipe.bytes = true;
    recipe.takesWholeWords = true;
    recipe.splits.push_back({.expression = std::string(*pattern)});
    data_.recipe = std::move(recipe);
    return {};
  }

  static constexpr int64_t kMostSpecial = 65536;

  JsonValue root_;
  std::deque<std::string> &texts_;
  VocabularyData data_;
  size_t specialCount_ = 0, vocabCount_ = 0;
};

} // namespace

Result<VocabularyData> readTekken(JsonValue root, std::deque<std::string> &texts) {
  return TekkenReader(root, texts).read();
}

} // namespace sinter
