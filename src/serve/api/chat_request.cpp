// Messages and tools in OpenAI's shape, made into what templates of published models read.
#include "serve/api/chat_request.h"

#include "llm/chat/probe_texts.h"
#include "llm/chat/tool_prompt.h"
#include "serve/api/constraint.h"
#include "serve/api/json_text.h"

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

constexpr const char *kTools = "tools", *kThink = "think";

void setMember(Input &object, std::string_view name, Input value) {
  auto &members = std::get<Input::Object>(object.content());
  const auto same = std::ranges::find(members, name, &Input::Object::value_type::first);
  if (same == members.end())
    members.emplace_back(std::string(name), std::move(value));
  else
    same->second = std::move(value);
}

Input::List *callsIn(Input &message) {
  for (auto &[key, value] : std::get<Input::Object>(message.content()))
    if (key == "tool_calls")
      return std::get_if<Input::List>(&value.content());
  return nullptr;
}

// Calls without ids, as Ollama's clients send them, get such as every template takes; their answers
// follow in the same order.
class CallIds {
public:
  void complete(Input &message) {
    if (Input::List *calls = callsIn(message))
      for (Input &call : *calls) {
        if (!call.find("id"))
          setMember(call, "id", Input(next()));
        open_.push_back(*call.find("id")->text());
      }
    if (*message.find("role")->text() != "tool" || open_.empty())
      return;
    if (!message.find("tool_call_id"))
      setMember(message, "tool_call_id", Input(open_.front()));
    std::erase(open_, *message.find("tool_call_id")->text());
  }

private:
  std::string next() {
    std::string number = std::to_string(++count_);
    return "call" + std::string(5 - std::min<size_t>(5, number.size()), '0') + number;
  }

  std::vector<std::string> open_; // of calls without an answer so far
  size_t count_ = 0;
};

void writeArgumentsAsText(Input &message) {
  Input::List *calls = callsIn(message);
  for (size_t i = 0; calls && i < calls->size(); ++i)
    for (auto &[key, value] : std::get<Input::Object>((*calls)[i].content()))
      if (key == "function")
        setMember(value, "arguments", Input(jsonText(jsonOf(*value.find("arguments")))));
}

// A template that does not know developers takes them as the system.
Input::List messagesFor(const std::string &source, const AnswerSyntax *syntax,
                        const Input::List &messages) {
  Input::List made = messages;
  const auto has = [&](std::string_view text) { return source.find(text) != source.npos; };
  const bool knowsDevelopers = has("developer");
  const bool namesThinking = has(".thinking") && !has("reasoning_content"); // as gpt-oss does
  CallIds ids;
  for (Input &message : made) {
    ids.complete(message);
    if (syntax && syntax->argumentsAsText)
      writeArgumentsAsText(message);
    if (const Input *thought = message.find("reasoning_content"); thought && namesThinking)
      setMember(message, "thinking", Input(*thought));
    if (!knowsDevelopers && *message.find("role")->text() == "developer")
      setMember(message, "role", Input(std::string("system")));
  }
  return made;
}

// A template without a switch for thinking needs none to be told not to, or to go on doing it.
ApiResult<ChatInputs> inputsFor(const ModelFile &file, const ChatRequest &chat) {
  ChatInputs inputs = chat.inputs;
  const auto syntax = file.answerSyntax(inputs);
  const bool thinks = syntax && syntax->thinks();
  if (chat.thinkIsLevel && !file.canChat({.reasoningEffort = inputs.reasoningEffort})) {
    inputs.reasoningEffort.clear();
    inputs.think = true;
  }
  const bool isAsked = chat.asksForThought && inputs.think == true;
  const bool hasSwitch = file.canChat({.think = true}).has_value();
  if (isAsked && !thinks && !hasSwitch)
    return tl::unexpected(ApiError(Code::Unsupported,
                                   "the model does not support thinking: its "
                                   "chat template has no thoughts",
                                   kThink));
  if (inputs.think && (*inputs.think == false || isAsked) && !hasSwitch)
    inputs.think.reset();
  return inputs;
}

ApiResult<void> checkTools(const ChatInputs &inputs, const AnswerSyntax *syntax) {
  if (!inputs.tools || !syntax || takesTools(*syntax))
    return {};
  return tl::unexpected(ApiError(Code::Unsupported,
                                 "the model does not support tools: its chat "
                                 "template writes none into the prompt, and "
                                 "does not tell how the model writes calls",
                                 kTools));
}

// Tools that the template has no place for stand in the message of the system, which the first one
// is then.
void writeTools(const AnswerSyntax &syntax, ChatInputs &inputs, Input::List &messages) {
  const std::string text = toolPrompt(syntax.calls, *inputs.tools);
  inputs.tools.reset();
  const Input *role = messages.front().find("role");
  if (*role->text() != "system")
    messages.insert(messages.begin(), Input(Input::Object{{"role", Input(std::string("system"))},
                                                          {"content", Input(std::string())}}));
  const std::string *said = messages.front().find("content")->text();
  const std::string before = said && !said->empty() ? *said + "\n\n" : "";
  setMember(messages.front(), "content", Input(before + text));
}

// Calls that must be made, or whose arguments must be right, are held to a grammar.
AnswerRules rulesFor(const ChatRequest &chat, const AnswerSyntax *syntax) {
  AnswerRules rules;
  rules.mayReason = chat.inputs.think != false;
  rules.severalCalls = !chat.oneCall;
  const Input::List *tools = chat.callsTools ? chat.inputs.tools->list() : nullptr;
  bool isStrict = false;
  for (size_t i = 0; tools && i < tools->size(); ++i) {
    const Input *function = (*tools)[i].find("function");
    const Input *parameters = function->find("parameters"), *strict = function->find("strict");
    const bool *truth = strict ? std::get_if<bool>(&strict->content()) : nullptr;
    OfferedTool tool{*function->find("name")->text(), parameters ? *parameters : Input(),
                     truth && *truth};
    isStrict |= tool.isStrict;
    if (chat.choice.allows(tool.name))
      rules.tools.push_back(std::move(tool));
  }
  // Where a call need not be made, a form that no grammar tells is left as it is.
  const bool canHold = syntax && syntax->calls.shape != CallShape::None;
  const bool isHeld = chat.choice.wish == CallWish::Must || !chat.choice.names.empty() ||
                      (canHold && (isStrict || chat.hasForm));
  if (chat.callsTools && isHeld)
    rules.calls = chat.choice.wish;
  return rules;
}

// What the prompt ends with: the messages, the begin of an answer, or the text of one.
void readEnd(const RequestReader &request, ChatRequest &chat) {
  constexpr const char *kContinues = "continue_final_message";
  const auto asks = request.boolean("add_generation_prompt");
  const auto continues = request.boolean(kContinues);
  chat.asksForAnswer = asks.value_or(true);
  chat.continuesLast = continues.value_or(chat.asksForAnswer) && endsWithAnswer(chat);
  if (continues == true && asks == true)
    request.wrong(kContinues, "'add_generation_prompt' to be false beside it");
  else if (continues == true && !chat.continuesLast)
    request.wrong(kContinues, "a last message of the assistant, with a text, after others");
}

// The last bytes of a prompt.
std::string promptEnd(std::span<const PromptPart> parts) {
  constexpr size_t kMostBytes = 256;
  std::string end;
  for (size_t i = parts.size(); i-- > 0 && end.size() < kMostBytes;)
    end = parts[i].text + end;
  return end;
}

// A prompt that ends with <think> asks for thoughts, though the template may not show how they end.
std::shared_ptr<const AnswerSyntax> withOpenThought(std::shared_ptr<const AnswerSyntax> syntax,
                                                    std::string_view end) {
  constexpr std::string_view kOpen = "<think>", kClose = "</think>";
  if (syntax->thinks() || !trim(end).ends_with(kOpen))
    return syntax;
  AnswerSyntax made = *syntax;
  made.reasoning = {std::string(kOpen), std::string(kClose)};
  return std::make_shared<const AnswerSyntax>(std::move(made));
}

bool endsInThought(const AnswerSyntax &syntax, std::string_view end) {
  const std::string &open = syntax.reasoning.open;
  return !open.empty() && trim(end).ends_with(open);
}

ApiResult<void> checkContinues(std::shared_ptr<const AnswerSyntax> syntax,
                               std::span<const PromptPart> parts) {
  const std::string end = promptEnd(parts);
  if (!syntax || !endsInThought(*withOpenThought(std::move(syntax), end), end))
    return {};
  return tl::unexpected(ApiError(Code::Unsupported,
                                 "the model's template opens thoughts before an answer, so that "
                                 "the last message cannot be continued: turn thinking off, or "
                                 "set 'continue_final_message' to false",
                                 "messages"));
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

void chooseTools(const RequestReader &request, ChatRequest &chat) {
  const Input::List *tools = chat.inputs.tools ? chat.inputs.tools->list() : nullptr;
  chat.choice = readToolChoice(request, tools ? *tools : Input::List());
  if (chat.choice.wish == CallWish::None)
    chat.inputs.tools.reset();
  chat.callsTools = chat.inputs.tools.has_value();
}

void readTools(const RequestReader &request, ChatRequest &chat) {
  request.refuse("functions", "it was replaced by tools");
  request.refuse("function_call", "it was replaced by tool_choice");
  readToolList(request, chat);
  chooseTools(request, chat);
  chat.oneCall = !request.boolean("parallel_tool_calls").value_or(true);
}

bool endsWithAnswer(const ChatRequest &chat) {
  if (chat.messages.size() < 2)
    return false;
  const Input &last = chat.messages.back();
  return *last.find("role")->text() == "assistant" && !last.find("content")->text()->empty() &&
         !last.find("tool_calls") && !last.find("reasoning_content");
}

void readTemplateInputs(const RequestReader &request, ChatRequest &chat) {
  readEnd(request, chat);
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
  SINTER_ASSIGN(ChatInputs inputs, inputsFor(file, chat));
  const auto syntax = file.answerSyntax(inputs);
  SINTER_TRY(checkTools(inputs, syntax.get()));
  const auto &chosen = file.chatTemplates().choose(inputs);
  Input::List sent = messagesFor(chosen ? chosen->source() : "", syntax.get(), chat.messages);
  std::string begun;
  if (chat.continuesLast) {
    begun = *sent.back().find("content")->text();
    sent.pop_back();
  }
  if (inputs.tools && syntax && !syntax->offersTools)
    writeTools(*syntax, inputs, sent);
  SINTER_ASSIGN(const Input messages, messageList(Input(std::move(sent))));
  SINTER_ASSIGN(auto parts,
                file.renderChat(messages, chat.asksForAnswer || chat.continuesLast, inputs));
  if (chat.continuesLast) {
    SINTER_TRY(checkContinues(syntax, parts));
    parts.push_back({std::move(begun), false});
  }
  return parts;
}

ApiResult<Prompt> chatPrompt(const ModelFile &file, const ChatRequest &chat) {
  SINTER_ASSIGN(const auto parts, chatParts(file, chat));
  Prompt prompt;
  SINTER_ASSIGN(prompt.tokens, file.encodeParts(parts));
  AnswerStyle &style = prompt.style;
  style.syntax = file.answerSyntax(chat.inputs);
  prompt.rules = rulesFor(chat, style.syntax.get());
  style.oneCall = chat.oneCall;
  style.wholeCalls = chat.wholeCalls;
  style.readsCalls = chat.callsTools;
  if (chat.callsTools)
    style.tools = toolTypesOf(*chat.inputs.tools);
  if (!style.syntax)
    return prompt;
  const std::string end = promptEnd(parts);
  style.syntax = withOpenThought(std::move(style.syntax), end);
  style.startsInReasoning = endsInThought(*style.syntax, end);
  style.startsInCall =
      style.syntax->calls.promptOpens && trim(end).ends_with(trim(style.syntax->calls.open()));
  const std::string &said = style.syntax->content.open;
  prompt.rules.startsInReasoning = style.startsInReasoning;
  prompt.rules.startsInCall = style.startsInCall;
  prompt.rules.startsInContent = !said.empty() && trim(end).ends_with(trim(said));
  prompt.shownTokens = markTokens(*style.syntax, file.tokenizer());
  return prompt;
}

} // namespace sinter::serve
