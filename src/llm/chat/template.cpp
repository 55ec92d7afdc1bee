// Gives a template its variables, and turns origins of text into parts of a prompt.
#include "llm/chat/template.h"

#include <algorithm>

namespace sinter {
namespace {

using jinja::Input;
using jinja::Origin;

// Free text is never one of these, so they may stand inside of control tokens.
constexpr std::string_view kRoles[] = {"assistant", "developer", "function", "model",
                                       "system",    "tool",      "user"};

bool isRole(std::string_view role) {
  return std::ranges::find(kRoles, role) != std::end(kRoles);
}

Fail ofTemplate(const Status &error) {
  return fail(error.code, "chat template: " + error.message, error.byteOffset);
}

std::tm clockTime() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  return local;
}

void set(ChatVariables &variables, std::string name, Input value) {
  const auto same = std::ranges::find(variables, name, &ChatVariables::value_type::first);
  if (same != variables.end())
    same->second = std::move(value);
  else
    variables.emplace_back(std::move(name), std::move(value));
}

} // namespace

Input messageList(std::span<const ChatMessage> messages) {
  Input::List list;
  for (const ChatMessage &message : messages) {
    const Origin origin = isRole(message.role) ? Origin::Template : Origin::Input;
    Input::Object entries;
    entries.emplace_back("role", Input(message.role, origin));
    entries.emplace_back("content", Input(message.content));
    list.push_back(Input(std::move(entries)));
  }
  return Input(std::move(list));
}

Result<Input> messageList(Input json) {
  auto *list = std::get_if<Input::List>(&json.content());
  if (!list)
    return fail(Code::InvalidArgument, "the messages are no list");
  for (size_t i = 0; i < list->size(); ++i) {
    auto *message = std::get_if<Input::Object>(&(*list)[i].content());
    const Input *role = (*list)[i].find("role");
    if (!message || !role || !role->text())
      return fail(Code::InvalidArgument, "message " + std::to_string(i + 1) +
                                             " is no object with a role, expected "
                                             "{\"role\": \"user\", \"content\": \"...\"}");
    if (isRole(*role->text()))
      for (auto &[key, value] : *message)
        if (key == "role")
          value.setOrigin(Origin::Template);
  }
  return json;
}

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  auto parsed = jinja::Template::parse(source);
  if (!parsed)
    return ofTemplate(parsed.error());
  return ChatTemplate(std::string(source), std::move(*parsed));
}

Result<std::vector<PromptPart>> ChatTemplate::render(const Input &messages,
                                                     bool addGenerationPrompt,
                                                     const ChatInputs &inputs,
                                                     const ChatVariables &tokens) const {
  ChatVariables variables = tokens;
  set(variables, "messages", messages);
  set(variables, "add_generation_prompt", Input(addGenerationPrompt));
  if (inputs.think) {
    set(variables, "enable_thinking", Input(*inputs.think));
    set(variables, "thinking", Input(*inputs.think));
  }
  if (!inputs.reasoningEffort.empty())
    set(variables, "reasoning_effort", Input(inputs.reasoningEffort));
  if (inputs.tools)
    set(variables, "tools", *inputs.tools);
  for (const auto &[name, value] : inputs.others)
    set(variables, name, value);
  auto text = template_.render(variables, inputs.now ? *inputs.now : clockTime());
  if (!text)
    return ofTemplate(text.error());
  std::vector<PromptPart> parts;
  size_t begin = 0;
  for (const jinja::Text::Piece &piece : text->pieces()) {
    parts.push_back(
        {text->bytes().substr(begin, piece.end - begin), piece.origin == Origin::Template});
    begin = piece.end;
  }
  return parts;
}

Result<void> ChatTemplate::checkReads(const ChatInputs &inputs) const {
  const auto check = [&](bool isGiven, bool isRead, const std::string &name) -> Result<void> {
    if (!isGiven || isRead)
      return {};
    return fail(Code::InvalidArgument, "the chat template does not read " + name);
  };
  SINTER_TRY(check(inputs.think.has_value(), reads("enable_thinking") || reads("thinking"),
                   "enable_thinking or thinking, so it has no switch for thinking"));
  SINTER_TRY(check(!inputs.reasoningEffort.empty(), reads("reasoning_effort"), "reasoning_effort"));
  SINTER_TRY(check(inputs.tools.has_value(), reads("tools"), "tools, so it cannot offer any"));
  for (const auto &[name, value] : inputs.others)
    SINTER_TRY(check(true, reads(name), "'" + name + "'"));
  return {};
}

std::string promptText(std::span<const PromptPart> parts) {
  std::string text;
  for (const PromptPart &part : parts)
    text += part.text;
  return text;
}

} // namespace sinter
