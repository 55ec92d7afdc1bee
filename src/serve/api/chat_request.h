// A conversation as requests bring it, and the prompt that a model's template makes of it.
#pragma once

#include "serve/api/generation.h"
#include "serve/api/request_reader.h"
#include "serve/api/tool_choice.h"

namespace sinter::serve {

struct ChatRequest {
  jinja::Input::List messages; // as templates read them
  ChatInputs inputs = {};
  ToolChoice choice = {};
  bool callsTools = false; // tools were offered and may be called
  bool oneCall = false;
  bool asksForAnswer = true; // the prompt ends with the begin of one
  // The last message is the assistant's, and the answer goes on where its text ends.
  bool continuesLast = false;
  bool wholeCalls = false; // as AnswerStyle's
  bool hasForm = false;    // the answer must have a form where it calls no tool
  // Of Ollama's `think`: thoughts are asked for; it says how much.
  bool asksForThought = false, thinkIsLevel = false;
};

// OpenAI's "messages": roles system, developer, user, assistant and tool; content as text, or parts
// of type text; calls of tools with arguments as JSON text. The rest is refused by its name.
void readMessages(const RequestReader &request, ChatRequest &chat);
// "tools" and "tool_choice", "parallel_tool_calls".
void readTools(const RequestReader &request, ChatRequest &chat);
// "tool_choice", of the tools that were read.
void chooseTools(const RequestReader &request, ChatRequest &chat);
// "chat_template_kwargs", "reasoning_effort", "add_generation_prompt", "continue_final_message";
// after readMessages().
void readTemplateInputs(const RequestReader &request, ChatRequest &chat);

// Whether the last message is a text of the assistant's after others, which an answer may continue.
bool endsWithAnswer(const ChatRequest &chat);

// One text of a message's content. Notes a problem at what is no text.
std::string contentText(const RequestReader &message, std::string_view name);
// A list [{"type": "function", "function": {"name": ...}}] for templates.
void readToolList(const RequestReader &request, ChatRequest &chat);

// The error of ModelFile::renderChat where the template cannot write it; Unsupported, by name,
// where it takes no tools or no thoughts, or opens thoughts where an answer is to be continued.
// That nothing should be thought is no error for a template that has no switch for it.
ApiResult<std::vector<PromptPart>> chatParts(const ModelFile &file, const ChatRequest &chat);
// The same as tokens, with how the answer is to be read.
ApiResult<Prompt> chatPrompt(const ModelFile &file, const ChatRequest &chat);

} // namespace sinter::serve
