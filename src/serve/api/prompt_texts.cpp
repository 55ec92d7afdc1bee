// Lists with numbers are one prompt, lists of anything else are prompts.
#include "serve/api/prompt_texts.h"

#include "llm/tokenizer/detokenizer.h"

#include <algorithm>

namespace sinter::serve {
namespace {

using jinja::Input;

constexpr const char *kExpected = "a text, a list of texts, or tokens";

std::optional<TokenId> tokenOf(const Input &item) {
  const auto *token = std::get_if<int64_t>(&item.content());
  const bool isToken = token && *token >= 0 && *token <= INT32_MAX;
  return isToken ? std::optional(static_cast<TokenId>(*token)) : std::nullopt;
}

// Nothing where an item is neither, or none is a token.
std::optional<PromptSource> rowOf(const Input::List &list) {
  std::vector<TokenId> tokens;
  MixedPrompt mixed;
  for (const Input &item : list) {
    if (const auto token = tokenOf(item)) {
      tokens.push_back(*token);
      mixed.emplace_back(*token);
    } else if (item.text()) {
      mixed.emplace_back(*item.text());
    } else {
      return std::nullopt;
    }
  }
  if (tokens.empty())
    return std::nullopt;
  if (tokens.size() == list.size())
    return tokens;
  return mixed;
}

std::optional<PromptSource> sourceOf(const Input &value) {
  if (value.text())
    return *value.text();
  if (value.list())
    return rowOf(*value.list());
  const Input *within = value.object() ? value.find("prompt_string") : nullptr;
  const Input *media = value.object() ? value.find("multimodal_data") : nullptr;
  const bool hasMedia = media && !(media->list() && media->list()->empty());
  return within && within->text() && !hasMedia ? std::optional<PromptSource>(*within->text())
                                               : std::nullopt;
}

std::string rowText(const ModelFile &file, const std::variant<std::string, TokenId> &item) {
  if (const auto *text = std::get_if<std::string>(&item))
    return *text;
  return std::string(file.tokenizer().piece(std::get<TokenId>(item)));
}

Result<std::vector<TokenId>> checkTokens(const ModelFile &file, std::vector<TokenId> tokens) {
  for (const TokenId token : tokens)
    if (file.hasTokenizer() && !file.tokenizer().contains(token))
      return fail(Code::InvalidArgument, "the prompt has token " + std::to_string(token) +
                                             ", the model has tokens 0 to " +
                                             std::to_string(file.tokenizer().size() - 1));
  return tokens;
}

// `readsControl`: control tokens in texts are such. The begin token comes before a first text only.
Result<std::vector<TokenId>> mixedTokens(const ModelFile &file, const MixedPrompt &prompt,
                                         bool readsControl) {
  if (!file.hasTokenizer())
    return fail(Code::Unsupported, "the prompt has texts, and the model has no tokenizer");
  std::vector<TokenId> all;
  for (const auto &item : prompt) {
    if (const auto *token = std::get_if<TokenId>(&item)) {
      SINTER_ASSIGN(const auto one, checkTokens(file, {*token}));
      all.push_back(one.front());
      continue;
    }
    const auto &text = std::get<std::string>(item);
    if (all.empty() && readsControl) {
      const PromptPart part{text, true};
      SINTER_ASSIGN(all, file.encodeParts({&part, 1}));
      continue;
    }
    SINTER_ASSIGN(const Encoding encoding, file.tokenizer().encode(text, {false, readsControl}));
    all.insert(all.end(), encoding.ids.begin(), encoding.ids.end());
  }
  return all;
}

} // namespace

std::vector<PromptSource> readPrompts(const RequestReader &body, std::string_view name,
                                      size_t mostPrompts) {
  const Input *found = body.find(name);
  if (!found) {
    body.wrong(name, kExpected);
    return {};
  }
  if (auto one = sourceOf(*found))
    return {std::move(*one)};
  std::vector<PromptSource> all;
  const Input::List *list = body.list(name, mostPrompts);
  if (!list)
    return {};
  for (const Input &item : *list)
    if (auto source = sourceOf(item))
      all.push_back(std::move(*source));
  if (all.empty() || all.size() != list->size())
    body.wrong(name, kExpected);
  return all;
}

Result<std::vector<TokenId>> rawTokens(const ModelFile &file, const PromptSource &source) {
  if (const auto *tokens = std::get_if<std::vector<TokenId>>(&source))
    return checkTokens(file, *tokens);
  if (const auto *mixed = std::get_if<MixedPrompt>(&source))
    return mixedTokens(file, *mixed, true);
  const PromptPart part{std::get<std::string>(source), true};
  return file.encodeParts({&part, 1});
}

Result<std::vector<TokenId>> plainTokens(const ModelFile &file, const PromptSource &source) {
  if (const auto *tokens = std::get_if<std::vector<TokenId>>(&source))
    return checkTokens(file, *tokens);
  if (const auto *mixed = std::get_if<MixedPrompt>(&source))
    return mixedTokens(file, *mixed, false);
  return file.encodeRaw(std::get<std::string>(source));
}

Result<std::string> promptText(const ModelFile &file, const PromptSource &source) {
  if (const auto *text = std::get_if<std::string>(&source))
    return *text;
  if (const auto *mixed = std::get_if<MixedPrompt>(&source)) {
    std::string text;
    for (const auto &item : *mixed)
      text += rowText(file, item);
    return text;
  }
  return detokenize(file.tokenizer(), std::get<std::vector<TokenId>>(source), true);
}

} // namespace sinter::serve
