// Chat templates: the text that a conversation becomes before the model sees it. Templates of the
// ChatML family are recognised by what they render; no template code is run.
#pragma once

#include "base/status.h"
#include "llm/tokenizer/tokenizer.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

struct ChatMessage {
  std::string role; // "system", "user", "assistant", "tool"; rendered as it stands
  std::string content;
};

// What a template of the ChatML family leaves open. It renders each message as
//   <|im_start|>ROLE\nCONTENT<|im_end|>\n
// and, where an answer is asked for, <|im_start|>assistant\n after the last.
struct ChatMl {
  // Said first in a conversation whose first message is not a system message.
  std::optional<std::string> defaultSystem;
};

// Reads a model file's template (tokenizer.chat_template). It is ChatML when, spacing and quoting
// aside, it is a loop over the messages that renders the above, optionally with a default system
// message before the first and with a generation prompt. Unsupported for every other template,
// saying where it departs.
Result<ChatMl> recogniseChatMl(std::string_view source);

// The conversation as a prompt. What messages hold is not markup: a control token's text in a
// message stays text.
std::vector<PromptPart> applyChatMl(const ChatMl &chat, std::span<const ChatMessage> messages,
                                    bool addGenerationPrompt);

// The parts in a row, as a reader would see the prompt.
std::string promptText(std::span<const PromptPart> parts);

} // namespace sinter
