// Messages and tools in OpenAI's shape, made into what templates of published models read.
#include "serve/api/chat_request.h"

#include "serve/api/constraint.h"

#include <algorithm>

namespace sinter::serve {
namespace {

using jinja::Input;

constexpr size_t kMostMessages = 1 << 16, kMostParts = 1 << 12, kMostCalls = 1024,
                 kMostTools = 1024;

std::string itemPath(const std::string &list, size_t i) {
  return list + "[" + std::to_string(i) + "]";
}

std::string partText(const RequestReader &part) {
  const auto type = part.text("type").value_or("text");
  if (type == "text" || type == "input_text" || type == "output_text" || type == "reasoning_text" ||
      type == "refusal")
    return part.text(type == "refusal" ? "refusal" : "text").value_or("");
  part.problem().note(Code::Unsupported,
                      "'" + part.pathOf("type") + "' is '" + type +
                          "', but only parts of type 'text' are read: there are no images, audio "
                          "or files",
                      part.pathOf("type"));
  return "";
}

// Templates take arguments as an object; the API has them as text.
Input argumentsOf(const RequestReader &function) {
  const Input *found = function.find("arguments");
  if (found && found->object())
    return *found;
  const std::string text = function.text("arguments").value_or("");
  auto json = jinja::inputFromJson(text.empty() ? "{}" : text);
  if (json && json->object())
    return std::move(*json);
  function.wrong("arguments", "the text of a JSON object");
  return {};
}

Input callOf(const RequestReader &call) {
  Input::Object made;
  if (const auto id = call.text("id"))
    made.emplace_back("id", Input(*id));
  made.emplace_back("type", Input(std::string("function")));
  call.choice("type", {"function"});
  const auto function = call.object("function");
  if (!function) {
    call.wrong("function", "an object with a name and arguments");
    return {};
  }
  made.emplace_back("function", Input(Input::Object{{"name", Input(function->requiredText("name"))},
                                                    {"arguments", argumentsOf(*function)}}));
  return Input(std::move(made));
}

Input::List callsOf(const RequestReader &message) {
  Input::List calls;
  if (const Input::List *list = message.list("tool_calls", kMostCalls))
    for (size_t i = 0; i < list->size(); ++i)
      calls.push_back(callOf(
          RequestReader((*list)[i], itemPath(message.pathOf("tool_calls"), i), message.problem())));
  return calls;
}

void copyText(const RequestReader &message, std::string_view from, std::string to,
              Input::Object &made) {
  if (auto text = message.text(from))
    made.emplace_back(std::move(to), Input(std::move(*text)));
}

Input messageOf(const RequestReader &message) {
  Input::Object made;
  if (!message.find("role"))
    message.wrong("role", "one of 'system', 'developer', 'user', 'assistant', 'tool'");
  const auto role =
      message.choice("role", {"system", "developer", "user", "assistant", "tool"}).value_or("user");
  made.emplace_back("role", Input(role));
  message.refuse("function_call", "it was replaced by tool_calls");
  message.refuse("audio", "there is no audio");
  message.refuse("images", "there are no images");
  Input::List calls = role == "assistant" ? callsOf(message) : Input::List();
  if (!message.find("content") && role != "assistant")
    message.wrong("content", "a text or a list of parts");
  made.emplace_back("content", Input(contentText(message, "content")));
  for (const char *name : {"reasoning_content", "reasoning", "thinking"})
    if (role == "assistant" && message.find(name)) {
      copyText(message, name, "reasoning_content", made);
      break;
    }
  if (!calls.empty())
    made.emplace_back("tool_calls", Input(std::move(calls)));
  copyText(message, message.find("tool_name") ? "tool_name" : "name", "name", made);
  copyText(message, "tool_call_id", "tool_call_id", made);
  return Input(std::move(made));
}

// Of tool_choice: whether tools are offered at all.
bool offersTools(const RequestReader &request) {
  const Input *choice = request.find("tool_choice");
  if (!choice)
    return true;
  if (choice->text())
    request.choice("tool_choice", {"auto", "none", "required"});
  if (choice->object() || (choice->text() && *choice->text() == "required"))
    refuseConstraint(request, "tool_choice", "a call that must be made");
  else if (!choice->text())
    request.wrong("tool_choice", "'auto', 'none', 'required' or a function");
  return !choice->text() || *choice->text() != "none";
}

// The template's source that is used for such inputs, as ModelFile chooses it.
std::string_view templateSource(const ModelFile &file, const ChatInputs &inputs) {
  const auto named = file.gguf().getString("tokenizer.chat_template.tool_use");
  if (inputs.tools && named)
    return *named;
  const auto plain = file.gguf().getString("tokenizer.chat_template");
  return plain ? *plain : std::string_view();
}

// A template that does not know developers takes them as the system.
Input::List messagesFor(std::string_view source, const Input::List &messages) {
  Input::List made = messages;
  if (source.find("developer") != source.npos)
    return made;
  for (Input &message : made)
    for (auto &[key, value] : *std::get_if<Input::Object>(&message.content()))
      if (key == "role" && *value.text() == "developer")
        value = Input(std::string("system"));
  return made;
}

// A template without a switch for thinking needs none to be told not to.
ChatInputs inputsFor(const ModelFile &file, const ChatRequest &chat) {
  ChatInputs inputs = chat.inputs;
  if (inputs.think == false && !file.canChat({.think = false}))
    inputs.think.reset();
  return inputs;
}

} // namespace

std::string contentText(const RequestReader &message, std::string_view name) {
  const Input *content = message.find(name);
  if (!content || content->text())
    return content ? *content->text() : "";
  if (!content->list()) {
    message.wrong(name, "a text or a list of parts");
    return "";
  }
  std::string text;
  if (const Input::List *parts = message.list(name, kMostParts))
    for (size_t i = 0; i < parts->size(); ++i)
      text += partText(
          RequestReader((*parts)[i], itemPath(message.pathOf(name), i), message.problem()));
  return text;
}

void readMessages(const RequestReader &request, ChatRequest &chat) {
  const Input::List *list = request.list("messages", kMostMessages);
  if (!list || list->empty())
    return request.wrong("messages", "a list of at least one message");
  for (size_t i = 0; i < list->size(); ++i)
    chat.messages.push_back(messageOf(
        RequestReader((*list)[i], itemPath(request.pathOf("messages"), i), request.problem())));
}

void readToolList(const RequestReader &request, ChatRequest &chat) {
  const Input::List *list = request.list("tools", kMostTools);
  if (!list || list->empty())
    return;
  for (size_t i = 0; i < list->size(); ++i) {
    const RequestReader tool((*list)[i], itemPath(request.pathOf("tools"), i), request.problem());
    tool.choice("type", {"function"});
    if (const auto function = tool.object("function"))
      function->requiredText("name");
    else
      tool.wrong("function", "an object with a name");
  }
  chat.inputs.tools = Input(*list);
}

void readTools(const RequestReader &request, ChatRequest &chat) {
  request.refuse("functions", "it was replaced by tools");
  request.refuse("function_call", "it was replaced by tool_choice");
  readToolList(request, chat);
  const bool offers = offersTools(request);
  if (!offers)
    chat.inputs.tools.reset();
  chat.callsTools = chat.inputs.tools.has_value();
  chat.oneCall = !request.boolean("parallel_tool_calls").value_or(true);
}

void readTemplateInputs(const RequestReader &request, ChatRequest &chat) {
  chat.asksForAnswer = request.boolean("add_generation_prompt").value_or(true);
  request.refuse("continue_final_message", "an answer is a message of its own");
  const auto effort = request.text("reasoning_effort").value_or("");
  if (effort == "none")
    chat.inputs.think = false;
  else
    chat.inputs.reasoningEffort = effort;
  const Input *others = request.find("chat_template_kwargs");
  if (others && !others->object())
    return request.wrong("chat_template_kwargs", "an object");
  if (!others)
    return;
  for (const auto &[name, value] : *others->object()) {
    const auto *boolean = std::get_if<bool>(&value.content());
    if (name == "enable_thinking" && boolean)
      chat.inputs.think = *boolean;
    else
      chat.inputs.others.emplace_back(name, value);
  }
}

ApiResult<std::vector<PromptPart>> chatParts(const ModelFile &file, const ChatRequest &chat) {
  const ChatInputs inputs = inputsFor(file, chat);
  const std::string_view source = templateSource(file, inputs);
  SINTER_ASSIGN(const Input messages, messageList(Input(messagesFor(source, chat.messages))));
  SINTER_ASSIGN(auto parts, file.renderChat(messages, chat.asksForAnswer, inputs));
  return parts;
}

ApiResult<Prompt> chatPrompt(const ModelFile &file, const ChatRequest &chat) {
  SINTER_ASSIGN(const auto parts, chatParts(file, chat));
  const std::string_view source = templateSource(file, inputsFor(file, chat));
  Prompt prompt;
  SINTER_ASSIGN(prompt.tokens, file.encodeParts(parts));
  prompt.style = answerStyleOf(source, parts.empty() ? "" : parts.back().text, chat.callsTools);
  prompt.style.oneCall = chat.oneCall;
  return prompt;
}

} // namespace sinter::serve
