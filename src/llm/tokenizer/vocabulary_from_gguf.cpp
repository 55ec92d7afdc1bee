// The tokenizer's part of a GGUF file's metadata.
#include "llm/tokenizer/vocabulary_from_gguf.h"

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

} // namespace

Result<VocabularyData> vocabularyFromGguf(const GgufFile &file) {
  SINTER_ASSIGN(std::string_view model, file.getString("tokenizer.ggml.model"));
  if (model != "gpt2")
    return fail(Code::Unsupported, "tokenizer model is '" + std::string(model.substr(0, 64)) +
                                       "', expected 'gpt2', byte-level BPE");
  if (!file.find("tokenizer.ggml.pre"))
    return fail(Code::Unsupported,
                "file names no pre-tokenizer (tokenizer.ggml.pre), without which "
                "prompts cannot be split as in training");
  VocabularyData data;
  SINTER_ASSIGN(data.pre, file.getString("tokenizer.ggml.pre"));
  SINTER_ASSIGN(data.tokens, file.getStrings("tokenizer.ggml.tokens"));
  SINTER_ASSIGN(data.merges, file.getStrings("tokenizer.ggml.merges"));
  if (file.find("tokenizer.ggml.token_type")) {
    SINTER_ASSIGN(data.types, file.getI64s("tokenizer.ggml.token_type"));
  }
  SINTER_ASSIGN(data.bos, optionalId(file, "tokenizer.ggml.bos_token_id"));
  SINTER_ASSIGN(data.eos, optionalId(file, "tokenizer.ggml.eos_token_id"));
  SINTER_ASSIGN(data.eot, optionalId(file, "tokenizer.ggml.eot_token_id"));
  SINTER_ASSIGN(data.eom, optionalId(file, "tokenizer.ggml.eom_token_id"));
  SINTER_ASSIGN(data.fimPad, optionalId(file, "tokenizer.ggml.fim_pad_token_id"));
  SINTER_ASSIGN(data.fimRepository, optionalId(file, "tokenizer.ggml.fim_rep_token_id"));
  SINTER_ASSIGN(data.fimSeparator, optionalId(file, "tokenizer.ggml.fim_sep_token_id"));
  if (file.find("tokenizer.ggml.suppress_tokens")) {
    SINTER_ASSIGN(data.suppressed, file.getI64s("tokenizer.ggml.suppress_tokens"));
  }
  SINTER_ASSIGN(data.addBos, optionalFlag(file, "tokenizer.ggml.add_bos_token"));
  SINTER_ASSIGN(data.addEos, optionalFlag(file, "tokenizer.ggml.add_eos_token"));
  SINTER_ASSIGN(data.chatTemplate, file.getStringOr("tokenizer.chat_template", ""));
  return data;
}

} // namespace sinter
