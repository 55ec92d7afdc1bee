// Chat templates: the text that a conversation becomes before the model sees it.
#pragma once

#include "base/status.h"
#include "jinja/template.h"
#include "llm/tokenizer/tokenizer.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter {

struct ChatMessage {
  std::string role; // "system", "user", "assistant", "tool"
  std::string content;
};

// Variables of a template by name, as jinja::Input::Object.
using ChatVariables = jinja::Input::Object;

// What a template is given besides the messages.
struct ChatInputs {
  std::optional<bool> think = {};         // as enable_thinking and as thinking
  std::string reasoningEffort = {};       // empty: not given
  std::optional<jinja::Input> tools = {}; // a list
  ChatVariables others = {};              // what the user names; they win
  std::optional<std::tm> now = {}; // what strftime_now formats; nothing: the clock's local time
};

// A list of objects with `role` and `content`, for ChatTemplate::render. Roles that everybody uses
// count as the template's own text, since templates make control tokens of them.
jinja::Input messageList(std::span<const ChatMessage> messages);
// The same for messages from JSON. InvalidArgument: it is no list of objects that have a role.
Result<jinja::Input> messageList(jinja::Input json);

// One template. Const use is safe from several threads.
class ChatTemplate {
public:
  // Errors are those of jinja::Template::parse, after "chat template: ".
  static Result<ChatTemplate> parse(std::string_view source);

  // The conversation as a prompt. Only text of the template, roles and `tokens` is markup: a
  // control token's text in a message, tool or variable stays text. Errors are those of
  // jinja::Template::render, after "chat template: ".
  Result<std::vector<PromptPart>> render(const jinja::Input &messages, bool addGenerationPrompt,
                                         const ChatInputs &inputs,
                                         const ChatVariables &tokens) const;

  const std::string &source() const { return source_; }
  // Whether it reads a variable of this name.
  bool reads(std::string_view name) const { return template_.mentions(name); }

  // That no input is without effect. InvalidArgument: the template reads no variable of its name.
  Result<void> checkReads(const ChatInputs &inputs) const;

private:
  ChatTemplate(std::string source, jinja::Template parsed)
      : source_(std::move(source)), template_(std::move(parsed)) {}

  std::string source_;
  jinja::Template template_;
};

// The parts in a row, as a reader would see the prompt.
std::string promptText(std::span<const PromptPart> parts);

} // namespace sinter
