// The tokenizer's part of a GGUF file's metadata.
#include "llm/tokenizer/vocabulary_from_gguf.h"

#include "llm/tokenizer/pretokenizer_table.h"

#include <algorithm>

namespace sinter {
namespace {

Result<std::optional<int64_t>> optionalId(const GgufFile &file, std::string_view key) {
  if (!file.find(key))
    return std::optional<int64_t>();
  SINTER_ASSIGN(int64_t id, file.getI64(key));
  return std::optional(id);
}

Result<std::optional<bool>> optionalFlag(const GgufFile &file, std::string_view key) {
  if (!file.find(key))
    return std::optional<bool>();
  SINTER_ASSIGN(bool flag, file.getBool(key));
  return std::optional(flag);
}

Result<std::vector<double>> scoresOf(const GgufFile &file, const char *key) {
  const GgufValue *value = file.find(key);
  if (!value)
    return std::vector<double>();
  if (!value->isArray() || value->elementType == GgufType::F32) {
    SINTER_ASSIGN(const std::vector<float> scores, file.getF32s(key));
    return std::vector<double>(scores.begin(), scores.end());
  }
  SINTER_ASSIGN(const std::vector<int64_t> whole, file.getI64s(key));
  return std::vector<double>(whole.begin(), whole.end());
}

Result<std::string_view> charsmapOf(const GgufFile &file, const char *key) {
  const GgufValue *value = file.find(key);
  if (!value)
    return std::string_view();
  if (!value->isArray() ||
      (value->elementType != GgufType::U8 && value->elementType != GgufType::I8))
    return fail(Code::Corrupt,
                std::string(key) + " is of type " + std::string(ggufTypeName(value->type)) +
                    ", expected an array of bytes",
                value->byteOffset);
  return std::string_view(reinterpret_cast<const char *>(value->bytes.data()), value->bytes.size());
}

Result<void> readIds(const GgufFile &file, VocabularyData &data) {
  struct Row {
    const char *key;
    std::optional<int64_t> &id;
  };
  const Row rows[] = {{"tokenizer.ggml.bos_token_id", data.bos},
                      {"tokenizer.ggml.eos_token_id", data.eos},
                      {"tokenizer.ggml.eot_token_id", data.eot},
                      {"tokenizer.ggml.eom_token_id", data.eom},
                      {"tokenizer.ggml.unknown_token_id", data.unknown},
                      {"tokenizer.ggml.seperator_token_id", data.separator}, // as GGUF spells it
                      {"tokenizer.ggml.separator_token_id", data.separator},
                      {"tokenizer.ggml.fim_pre_token_id", data.fimPrefix},
                      {"tokenizer.ggml.fim_suf_token_id", data.fimSuffix},
                      {"tokenizer.ggml.fim_mid_token_id", data.fimMiddle},
                      {"tokenizer.ggml.prefix_token_id", data.fimPrefix}, // of older files
                      {"tokenizer.ggml.suffix_token_id", data.fimSuffix},
                      {"tokenizer.ggml.middle_token_id", data.fimMiddle},
                      {"tokenizer.ggml.fim_pad_token_id", data.fimPad},
                      {"tokenizer.ggml.fim_rep_token_id", data.fimRepository},
                      {"tokenizer.ggml.fim_sep_token_id", data.fimSeparator}};
  for (const Row &row : rows) {
    SINTER_ASSIGN(const auto id, optionalId(file, row.key));
    if (id)
      row.id = id;
  }
  return {};
}

Result<void> readFlags(const GgufFile &file, VocabularyData &data) {
  struct Row {
    const char *key;
    std::optional<bool> &flag;
  };
  const Row rows[] = {{"tokenizer.ggml.add_bos_token", data.addBos},
                      {"tokenizer.ggml.add_eos_token", data.addEos},
                      {"tokenizer.ggml.add_sep_token", data.addSeparator},
                      {"tokenizer.ggml.add_space_prefix", data.addSpacePrefix},
                      {"tokenizer.ggml.remove_extra_whitespaces", data.mergeSpaces},
                      {"tokenizer.ggml.normalizer.lowercase", data.lowercase},
                      {"tokenizer.ggml.normalizer.strip_accents", data.stripAccents}};
  for (const Row &row : rows) {
    SINTER_ASSIGN(row.flag, optionalFlag(file, row.key));
  }
  return {};
}

// What the kind's algorithm is; nothing for a kind that is not known, which is refused elsewhere.
std::optional<ModelKind> modelOf(std::string_view name) {
  const auto kinds = tokenizerKinds();
  const auto kind = std::ranges::find(kinds, name, &TokenizerKind::name);
  return kind == kinds.end() ? std::nullopt : std::optional(kind->model);
}

bool needsMerges(const VocabularyData &data) {
  const PretokenizerFamily *family = findPretokenizer(data.pre);
  return modelOf(data.model) == ModelKind::MergeRanks && !(family && family->flags.needsNoMerges);
}

Result<void> readTokens(const GgufFile &file, VocabularyData &data) {
  SINTER_ASSIGN(data.tokens, file.getStrings("tokenizer.ggml.tokens"));
  if (file.find("tokenizer.ggml.token_type")) {
    SINTER_ASSIGN(data.types, file.getI64s("tokenizer.ggml.token_type"));
  }
  SINTER_ASSIGN(data.scores, scoresOf(file, "tokenizer.ggml.scores"));
  if (file.find("tokenizer.ggml.merges") || needsMerges(data)) {
    SINTER_ASSIGN(const auto merges, file.getStrings("tokenizer.ggml.merges"));
    data.merges.assign(merges.begin(), merges.end());
  }
  if (file.find("tokenizer.ggml.suppress_tokens")) {
    SINTER_ASSIGN(data.suppressed, file.getI64s("tokenizer.ggml.suppress_tokens"));
  }
  SINTER_ASSIGN(data.charsmap, charsmapOf(file, "tokenizer.ggml.precompiled_charsmap"));
  return {};
}

} // namespace

Result<VocabularyData> vocabularyFromGguf(const GgufFile &file) {
  VocabularyData data;
  SINTER_ASSIGN(data.model, file.getString("tokenizer.ggml.model"));
  SINTER_ASSIGN(data.pre, file.getStringOr("tokenizer.ggml.pre", ""));
  SINTER_ASSIGN(data.chatTemplate, file.getStringOr("tokenizer.chat_template", ""));
  SINTER_ASSIGN(data.modelName, file.getStringOr("general.name", ""));
  SINTER_ASSIGN(data.architecture, file.getStringOr("general.architecture", ""));
  if (modelOf(data.model) == ModelKind::None) {
    const std::string key = std::string(data.architecture) + ".vocab_size";
    SINTER_ASSIGN(data.size, file.getU64Or(key, 0));
    return data;
  }
  SINTER_TRY(readTokens(file, data));
  SINTER_TRY(readIds(file, data));
  SINTER_TRY(readFlags(file, data));
  return data;
}

} // namespace sinter
