// Puts a model's parts together and checks that they fit one another.
#include "llm/model.h"

#include "base/check.h"
#include "llm/chat/syntax_probe.h"
#include "llm/pooling.h"
#include "llm/tokenizer/unicode.h"
#include "llm/tokenizer/vocabulary_from_gguf.h"

#include <cstdio>

namespace sinter {
namespace {

Fail withPath(const std::string &path, const Status &error) {
  if (error.message.find(path) != std::string::npos)
    return Fail(error);
  return fail(error.code, path + ": " + error.message, error.byteOffset);
}

// The texts of special tokens that templates write; those that the vocabulary lacks are empty.
ChatVariables tokenTexts(const GgufFile &gguf, const Tokenizer &tokenizer) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"unk_token", "tokenizer.ggml.unknown_token_id"},
      {"pad_token", "tokenizer.ggml.padding_token_id"},
      {"sep_token", "tokenizer.ggml.seperator_token_id"}, // as the format spells it
      {"cls_token", "tokenizer.ggml.cls_token_id"},
      {"mask_token", "tokenizer.ggml.mask_token_id"},
  };
  ChatVariables texts;
  const auto add = [&](std::string_view name, std::optional<int64_t> id) {
    const bool isThere = id && tokenizer.contains(*id);
    texts.emplace_back(
        name, jinja::Input(std::string(isThere ? tokenizer.piece(static_cast<TokenId>(*id)) : ""),
                           jinja::Origin::Template));
  };
  add("bos_token", tokenizer.bos());
  add("eos_token", tokenizer.eos());
  for (const auto &[name, key] : kOthers)
    if (const auto id = gguf.find(key) ? gguf.getI64(key) : Result<int64_t>(-1); id && *id >= 0)
      add(name, *id);
  return texts;
}

// The tokenizer would put U+FFFD in place of such bytes.
Result<void> checkUtf8(std::string_view text, const std::string &what) {
  const size_t valid = validUtf8Prefix(text);
  if (valid == text.size())
    return {};
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[valid]));
  const bool ends = decodeUtf8(text, valid).kind == Utf8Step::Kind::Incomplete;
  return fail(Code::InvalidArgument,
              what + " is not UTF-8: " +
                  (ends ? "it ends inside a character" : "found byte " + std::string(byte)) +
                  ", expected a whole character",
              valid);
}

Result<std::vector<TokenId>> idsOf(Result<Encoding> encoding) {
  if (!encoding)
    return Fail(encoding.error());
  if (encoding->droppedBytes > 0)
    return fail(Code::Unsupported, "the model's vocabulary has no token for " +
                                       std::to_string(encoding->droppedBytes) +
                                       " bytes of the prompt");
  return std::move(encoding->ids);
}

} // namespace

Result<ModelFile> ModelFile::open(const std::string &path, TextNeed text) {
  SINTER_ASSIGN(GgufFile gguf, GgufFile::openModel(path));
  FileTemplates templates = FileTemplates::read(gguf);
  const auto vocabulary = vocabularyFromGguf(gguf);
  Result<Tokenizer> tokenizer =
      vocabulary ? Tokenizer::create(*vocabulary) : Result<Tokenizer>(Fail(vocabulary.error()));
  if (!tokenizer) {
    const Fail why = withPath(path, tokenizer.error());
    if (text == TextNeed::Required)
      return why;
    return ModelFile(path, std::move(gguf), why, std::move(templates));
  }
  return ModelFile(path, std::move(gguf), std::move(tokenizer), std::move(templates));
}

const Tokenizer &ModelFile::tokenizer() const {
  SINTER_CHECK(tokenizer_);
  return *tokenizer_;
}

Result<uint32_t> ModelFile::contextTokens(uint32_t asked) const {
  const auto architecture = gguf_.getString("general.architecture");
  const auto most = architecture ? gguf_.getU64(std::string(*architecture) + ".context_length")
                                 : Result<uint64_t>(Fail(architecture.error()));
  return contextTokensOf(most ? *most : UINT64_MAX, asked);
}

Result<std::vector<TokenId>> ModelFile::encodeRaw(std::string_view prompt) const {
  if (!tokenizer_)
    return Fail(tokenizer_.error());
  SINTER_TRY(checkUtf8(prompt, "the text"));
  return idsOf(tokenizer_->encode(prompt));
}

Result<std::vector<PromptPart>> ModelFile::renderChat(const jinja::Input &messages,
                                                      bool addGenerationPrompt,
                                                      const ChatInputs &inputs) const {
  const Result<ChatTemplate> &chosen = chatTemplates_.choose(inputs);
  if (!chosen)
    return Fail(chosen.error());
  SINTER_TRY(chosen->checkReads(inputs));
  if (!tokenizer_)
    return Fail(tokenizer_.error());
  return chosen->render(messages, addGenerationPrompt, inputs, tokenTexts(gguf_, *tokenizer_));
}

Result<std::vector<TokenId>> ModelFile::encodeChat(std::span<const ChatMessage> messages,
                                                   const ChatInputs &inputs) const {
  for (const ChatMessage &message : messages)
    SINTER_TRY(checkUtf8(message.content, "the " + message.role + " message"));
  SINTER_ASSIGN(const auto parts, renderChat(messageList(messages), true, inputs));
  return encodeParts(parts);
}

Result<std::vector<TokenId>> ModelFile::encodeParts(std::span<const PromptPart> parts) const {
  if (!tokenizer_)
    return Fail(tokenizer_.error());
  SINTER_ASSIGN(std::vector<TokenId> ids, idsOf(tokenizer_->encode(parts, {.addSpecial = false})));
  const std::optional<TokenId> bos = tokenizer_->bos();
  if (tokenizer_->addsBos() && bos && (ids.empty() || ids.front() != *bos))
    ids.insert(ids.begin(), *bos);
  return ids;
}

Result<void> ModelFile::canChat(const ChatInputs &inputs) const {
  const Result<ChatTemplate> &chosen = chatTemplates_.choose(inputs);
  if (!chosen)
    return Fail(chosen.error());
  return chosen->checkReads(inputs);
}

std::shared_ptr<const AnswerSyntax> ModelFile::answerSyntax(const ChatInputs &inputs) const {
  const Result<ChatTemplate> &chosen = chatTemplates_.choose(inputs);
  if (!chosen || !tokenizer_)
    return nullptr;
  const std::lock_guard lock(syntaxes_->mutex);
  auto &known = syntaxes_->known[chosen->source()];
  if (!known)
    known = std::make_shared<const AnswerSyntax>(
        probeAnswerSyntax(*chosen, tokenTexts(gguf_, *tokenizer_)));
  return known;
}

// The file's own template for pairs, whose texts are between its markup.
static std::vector<PromptPart> pairParts(std::string_view pattern, std::string_view query,
                                         std::string_view document) {
  constexpr std::string_view kQuery = "{query}", kDocument = "{document}";
  std::vector<PromptPart> parts;
  while (!pattern.empty()) {
    const size_t at = std::min(pattern.find(kQuery), pattern.find(kDocument));
    parts.push_back({std::string(pattern.substr(0, at)), true});
    pattern.remove_prefix(std::min(at, pattern.size()));
    if (pattern.empty())
      break;
    const bool isQuery = pattern.starts_with(kQuery);
    parts.push_back({std::string(isQuery ? query : document), false});
    pattern.remove_prefix(isQuery ? kQuery.size() : kDocument.size());
  }
  return parts;
}

Result<std::vector<TokenId>> ModelFile::encodePair(std::string_view query,
                                                   std::string_view document) const {
  if (!tokenizer_)
    return Fail(tokenizer_.error());
  SINTER_TRY(checkUtf8(query, "the query"));
  SINTER_TRY(checkUtf8(document, "the document"));
  const auto pattern = gguf_.getString("tokenizer.chat_template.rerank");
  if (pattern)
    return idsOf(tokenizer_->encode(pairParts(*pattern, query, document), {.addSpecial = false}));
  const EncodeOptions bare{.addSpecial = false};
  SINTER_ASSIGN(const auto first, idsOf(tokenizer_->encode(query, bare)));
  SINTER_ASSIGN(const auto second, idsOf(tokenizer_->encode(document, bare)));
  std::vector<TokenId> ids(tokenizer_->prefix().begin(), tokenizer_->prefix().end());
  ids.insert(ids.end(), first.begin(), first.end());
  if (tokenizer_->addsEos() && tokenizer_->eos())
    ids.push_back(*tokenizer_->eos());
  if (tokenizer_->addsSeparator() && tokenizer_->separator())
    ids.push_back(*tokenizer_->separator());
  ids.insert(ids.end(), second.begin(), second.end());
  ids.insert(ids.end(), tokenizer_->suffix().begin(), tokenizer_->suffix().end());
  return ids;
}

std::shared_ptr<const grammar::TokenTrie> ModelFile::tokenTrie() const {
  std::call_once(trie_->once, [&] { trie_->trie = tokenTrieOf(tokenizer(), tokenizer().size()); });
  return trie_->trie;
}

Result<void> ModelFile::givesLogits() const {
  if (!seesBothWays(gguf_))
    return {};
  return fail(Code::Unsupported, path_ + ": the model's tokens see both ways, so it continues no "
                                         "text; `sinter embed` gives its embeddings, `sinter "
                                         "rerank` the scores of one that ranks");
}

Result<std::unique_ptr<Model>> Model::create(ModelFile file, std::shared_ptr<const plan::Plan> plan,
                                             hal::Device &device,
                                             const PlanRunnerOptions &options) {
  std::unique_ptr<Model> model(new Model(std::move(file)));
  SINTER_ASSIGN(model->runner_,
                PlanRunner::create(device, model->file_.gguf(), std::move(plan), options));
  const RunnerLimits &limits = model->runner_->limits();
  if (model->file_.hasTokenizer() && model->tokenizer().size() > limits.vocabSize)
    return fail(Code::Corrupt, "the tokenizer has " + std::to_string(model->tokenizer().size()) +
                                   " tokens, the model has embeddings of " +
                                   std::to_string(limits.vocabSize));
  SINTER_ASSIGN(PagePool pages,
                PagePool::create(limits.kvGroups, limits.pageRows, limits.stateSlots));
  model->pages_ = std::make_unique<PagePool>(std::move(pages));
  return model;
}

} // namespace sinter
