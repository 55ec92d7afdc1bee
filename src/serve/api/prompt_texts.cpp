// Lists of numbers are tokens, lists of anything else are prompts.
#include "serve/api/prompt_texts.h"

#include "llm/tokenizer/detokenizer.h"

#include <algorithm>

namespace sinter::serve {
namespace {

using jinja::Input;

constexpr const char *kExpected = "a text, a list of texts, or tokens";

bool isTokens(const Input &value) {
  const Input::List *list = value.list();
  return list && !list->empty() && std::ranges::all_of(*list, [](const Input &item) {
           const auto *token = std::get_if<int64_t>(&item.content());
           return token && *token >= 0 && *token <= INT32_MAX;
         });
}

std::optional<PromptSource> sourceOf(const Input &value) {
  if (value.text())
    return *value.text();
  if (!isTokens(value))
    return std::nullopt;
  std::vector<TokenId> tokens;
  for (const Input &item : *value.list())
    tokens.push_back(static_cast<TokenId>(std::get<int64_t>(item.content())));
  return tokens;
}

Result<std::vector<TokenId>> checkTokens(const ModelFile &file, std::vector<TokenId> tokens) {
  for (const TokenId token : tokens)
    if (file.hasTokenizer() && !file.tokenizer().contains(token))
      return fail(Code::InvalidArgument, "the prompt has token " + std::to_string(token) +
                                             ", the model has tokens 0 to " +
                                             std::to_string(file.tokenizer().size() - 1));
  return tokens;
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
  const PromptPart part{std::get<std::string>(source), true};
  return file.encodeParts({&part, 1});
}

Result<std::vector<TokenId>> plainTokens(const ModelFile &file, const PromptSource &source) {
  if (const auto *tokens = std::get_if<std::vector<TokenId>>(&source))
    return checkTokens(file, *tokens);
  return file.encodeRaw(std::get<std::string>(source));
}

Result<std::string> promptText(const ModelFile &file, const PromptSource &source) {
  if (const auto *text = std::get_if<std::string>(&source))
    return *text;
  return detokenize(file.tokenizer(), std::get<std::vector<TokenId>>(source), true);
}

} // namespace sinter::serve
