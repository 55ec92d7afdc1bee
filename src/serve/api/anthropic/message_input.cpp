// Blocks of content, flat tools, and what of a message's request is refused.
#include "serve/api/anthropic/message_input.h"

#include "serve/api/constraint.h"

#include <map>

namespace sinter::serve::anthropic {
namespace {

using jinja::Input;

constexpr size_t kMostMessages = 1 << 16, kMostBlocks = 1 << 12, kMostTools = 1024;

Input textInput(std::string_view text) {
  return Input(std::string(text));
}

std::string itemPath(const std::string &list, size_t i) {
  return list + "[" + std::to_string(i) + "]";
}

void refuseType(const RequestReader &block, const std::string &type, const char *expected) {
  block.problem().note(Code::Unsupported,
                       "'" + block.pathOf("type") + "' is '" + type + "', expected " + expected,
                       block.pathOf("type"));
}

// A message's parts while its blocks are read.
struct Parts {
  std::string text, thought;
  Input::List calls;
};

void appendLine(std::string &text, const std::string &more) {
  text += (text.empty() || more.empty() ? "" : "\n") + more;
}

// Makes messages of messages, one after another.
class Messages {
public:
  explicit Messages(Input::List &made) : made_(made) {}

  void add(const RequestReader &message) {
    const auto role = message.choice("role", {"user", "assistant"});
    if (!role && message.isFine())
      message.wrong("role", "'user' or 'assistant'");
    const Input *content = message.find("content");
    if (content && content->list())
      addBlocks(message, role == "assistant");
    else if (content && content->text())
      push(role.value_or("user"), {*content->text(), "", {}});
    else
      message.wrong("content", "a text or a list of blocks");
  }

private:
  void addBlocks(const RequestReader &message, bool isAssistant) {
    Parts parts;
    const size_t before = made_.size();
    const Input::List *list = message.list("content", kMostBlocks);
    for (size_t i = 0; list && i < list->size(); ++i) {
      const RequestReader block((*list)[i], itemPath(message.pathOf("content"), i),
                                message.problem());
      if (isAssistant)
        addSaid(block, parts);
      else
        addAsked(block, parts);
    }
    if (isAssistant || !parts.text.empty() || made_.size() == before)
      push(isAssistant ? "assistant" : "user", std::move(parts));
  }

  void addSaid(const RequestReader &block, Parts &parts) {
    const std::string type = block.text("type").value_or("text");
    if (type == "text")
      appendLine(parts.text, block.text("text").value_or(""));
    else if (type == "thinking")
      appendLine(parts.thought, block.text("thinking").value_or(""));
    else if (type == "tool_use")
      parts.calls.push_back(callOf(block));
    else if (type != "redacted_thinking") // nobody here can read it
      refuseType(block, type, "'text', 'thinking' or 'tool_use'");
  }

  void addAsked(const RequestReader &block, Parts &parts) {
    const std::string type = block.text("type").value_or("text");
    if (type == "text")
      return appendLine(parts.text, block.text("text").value_or(""));
    if (type != "tool_result")
      return refuseType(block, type,
                        "'text' or 'tool_result': there are no images, documents or searches");
    if (!parts.text.empty())
      push("user", std::exchange(parts, {}));
    const std::string id = block.requiredText("tool_use_id");
    Input::Object result = {{"role", textInput("tool")},
                            {"content", textInput(contentText(block, "content"))},
                            {"tool_call_id", textInput(id)}};
    if (const auto name = names_.find(id); name != names_.end())
      result.emplace_back("name", textInput(name->second));
    made_.push_back(Input(std::move(result)));
  }

  Input callOf(const RequestReader &block) {
    const std::string id = block.requiredText("id"), name = block.requiredText("name");
    const Input *input = block.find("input");
    if (input && !input->object())
      block.wrong("input", "an object");
    names_[id] = name;
    const Input arguments = input && input->object() ? *input : Input(Input::Object());
    return Input(Input::Object{
        {"id", textInput(id)},
        {"type", textInput("function")},
        {"function", Input(Input::Object{{"name", textInput(name)}, {"arguments", arguments}})}});
  }

  void push(std::string_view role, Parts parts) {
    Input::Object message = {{"role", textInput(role)}, {"content", textInput(parts.text)}};
    if (!parts.thought.empty())
      message.emplace_back("reasoning_content", textInput(parts.thought));
    if (!parts.calls.empty())
      message.emplace_back("tool_calls", Input(std::move(parts.calls)));
    made_.push_back(Input(std::move(message)));
  }

  Input::List &made_;
  std::map<std::string, std::string> names_; // of tools, by the ids of calls
};

void readConversation(const RequestReader &body, ChatRequest &chat) {
  if (const std::string system = contentText(body, "system"); !system.empty())
    chat.messages.push_back(
        Input(Input::Object{{"role", textInput("system")}, {"content", textInput(system)}}));
  const Input::List *list = body.list("messages", kMostMessages);
  if (!list || list->empty())
    return body.wrong("messages", "a list of at least one message");
  Messages messages(chat.messages);
  for (size_t i = 0; i < list->size(); ++i)
    messages.add(RequestReader((*list)[i], itemPath(body.pathOf("messages"), i), body.problem()));
  chat.continuesLast = body.isFine() && endsWithAnswer(chat);
}

Input functionOf(const RequestReader &tool) {
  const std::string type = tool.text("type").value_or("custom");
  if (type != "custom")
    refuseType(tool, type, "'custom': the server runs no tools");
  Input::Object function = {{"name", textInput(tool.requiredText("name"))}};
  if (const auto description = tool.text("description"))
    function.emplace_back("description", textInput(*description));
  if (const Input *schema = tool.find("input_schema"))
    function.emplace_back("parameters", *schema);
  if (const Input *strict = tool.find("strict"))
    function.emplace_back("strict", *strict);
  return Input(
      Input::Object{{"type", textInput("function")}, {"function", Input(std::move(function))}});
}

bool hasTool(const Input::List &tools, std::string_view name) {
  for (const Input &tool : tools)
    if (*tool.find("function")->find("name")->text() == name)
      return true;
  return false;
}

void readChoice(const RequestReader &choice, const Input::List &tools, ChatRequest &chat) {
  const auto type = choice.choice("type", {"auto", "any", "tool", "none"});
  chat.oneCall = choice.boolean("disable_parallel_tool_use").value_or(false);
  if (type == "none")
    chat.choice.wish = CallWish::None;
  else if (type == "any" || type == "tool")
    chat.choice.wish = CallWish::Must;
  if (type == "tool")
    chat.choice.names = {choice.requiredText("name")};
  if (chat.choice.wish == CallWish::Must && tools.empty())
    choice.wrong("type", "'auto' or 'none', since there are no 'tools'");
  else if (type == "tool" && choice.isFine() && !hasTool(tools, chat.choice.names.front()))
    choice.wrong("name", "the name of one of 'tools'");
}

void readFlatTools(const RequestReader &body, ChatRequest &chat) {
  Input::List tools;
  if (const Input::List *list = body.list("tools", kMostTools))
    for (size_t i = 0; i < list->size(); ++i)
      tools.push_back(
          functionOf(RequestReader((*list)[i], itemPath(body.pathOf("tools"), i), body.problem())));
  if (const auto choice = body.object("tool_choice"))
    readChoice(*choice, tools, chat);
  if (tools.empty() || chat.choice.wish == CallWish::None)
    return;
  chat.inputs.tools = Input(std::move(tools));
  chat.callsTools = true;
}

void readThinking(const RequestReader &body, MessageRequest &made) {
  const auto thinking = body.object("thinking");
  if (!thinking)
    return;
  const auto type = thinking->choice("type", {"enabled", "disabled", "adaptive"});
  made.mayThink = type == "enabled";
  if (type == "disabled")
    made.chat.inputs.think = false;
}

void refuseOthers(const RequestReader &body) {
  body.refuse("container", "nothing is run in containers");
  body.refuse("mcp_servers", "the server runs no tools");
  body.refuse("context_management", "nothing is taken out of a context");
}

} // namespace

MessageRequest readMessage(const RequestReader &body, GenerationWishes &wishes) {
  MessageRequest made;
  readConversation(body, made.chat);
  readFlatTools(body, made.chat);
  readThinking(body, made);
  refuseOthers(body);
  readSampler(body, wishes);
  readStops(body, wishes, "stop_sequences");
  readCacheWishes(body, wishes);
  if (const auto config = body.object("output_config"))
    wishes.form = readTypedForm(*config, "format");
  made.chat.hasForm = wishes.form.has_value();
  if (const auto most = body.whole("max_tokens", 1, INT32_MAX))
    wishes.maxTokens = static_cast<uint64_t>(*most);
  made.streams = body.boolean("stream").value_or(false);
  return made;
}

} // namespace sinter::serve::anthropic
