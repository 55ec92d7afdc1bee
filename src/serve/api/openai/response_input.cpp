// Items of input, flat tools, and what of a response's request is refused.
#include "serve/api/openai/response_input.h"

#include "serve/api/constraint.h"

namespace sinter::serve::openai {
namespace {

using jinja::Input;

constexpr size_t kMostItems = 1 << 16, kMostTools = 1024, kMostIncludes = 16;

Input textInput(std::string_view text) {
  return Input(std::string(text));
}

// Makes messages of items, one after another.
class Items {
public:
  explicit Items(Input::List &messages) : messages_(messages) {}

  void add(const RequestReader &item) {
    const std::string type = item.text("type").value_or("message");
    if (type == "message")
      addMessage(item);
    else if (type == "function_call")
      addCall(item);
    else if (type == "function_call_output")
      addOutput(item);
    else if (type == "reasoning")
      reasoning_ += contentText(item, "content");
    else
      item.problem().note(Code::Unsupported,
                          "'" + item.pathOf("type") + "' is '" + type +
                              "', expected 'message', 'function_call', 'function_call_output' or "
                              "'reasoning'",
                          item.pathOf("type"));
  }

private:
  void addMessage(const RequestReader &item) {
    if (!item.find("role"))
      item.wrong("role", "one of 'system', 'developer', 'user', 'assistant'");
    const auto role =
        item.choice("role", {"system", "developer", "user", "assistant"}).value_or("user");
    Input::Object message = {{"role", textInput(role)},
                             {"content", textInput(contentText(item, "content"))}};
    if (role == "assistant")
      takeReasoning(message);
    messages_.push_back(Input(std::move(message)));
  }

  void addCall(const RequestReader &item) {
    const std::string text = item.text("arguments").value_or("{}");
    auto arguments = jinja::inputFromJson(text.empty() ? "{}" : text);
    if (!arguments || !arguments->object())
      return item.wrong("arguments", "the text of a JSON object");
    Input call(Input::Object{
        {"id", textInput(item.requiredText("call_id"))},
        {"type", textInput("function")},
        {"function", Input(Input::Object{{"name", textInput(item.requiredText("name"))},
                                         {"arguments", std::move(*arguments)}})}});
    callsOfLast().push_back(std::move(call));
  }

  void addOutput(const RequestReader &item) {
    messages_.push_back(
        Input(Input::Object{{"role", textInput("tool")},
                            {"content", textInput(contentText(item, "output"))},
                            {"tool_call_id", textInput(item.requiredText("call_id"))}}));
  }

  Input::List &callsOfLast() {
    const bool isAssistant =
        !messages_.empty() && *messages_.back().find("role")->text() == "assistant";
    if (!isAssistant) {
      Input::Object message = {{"role", textInput("assistant")}, {"content", textInput("")}};
      takeReasoning(message);
      messages_.push_back(Input(std::move(message)));
    }
    auto &message = std::get<Input::Object>(messages_.back().content());
    if (message.back().first != "tool_calls")
      message.emplace_back("tool_calls", Input(Input::List()));
    return std::get<Input::List>(message.back().second.content());
  }

  void takeReasoning(Input::Object &message) {
    if (!reasoning_.empty())
      message.emplace_back("reasoning_content", textInput(std::exchange(reasoning_, {})));
  }

  Input::List &messages_;
  std::string reasoning_;
};

void readInput(const RequestReader &body, Input::List &messages) {
  const Input *input = body.find("input");
  if (input && input->text()) {
    messages.push_back(Input(Input::Object{{"role", textInput("user")}, {"content", *input}}));
    return;
  }
  const Input::List *list = body.list("input", kMostItems);
  if (!list || list->empty())
    return body.wrong("input", "a text or a list of items");
  Items items(messages);
  for (size_t i = 0; i < list->size(); ++i)
    items.add(RequestReader((*list)[i], "input[" + std::to_string(i) + "]", body.problem()));
}

// {"type": "function", "name", "parameters", ...} as templates have it: all but the type within
// "function".
Input nested(const RequestReader &tool, const Input &value) {
  if (!tool.find("type"))
    tool.wrong("type", "'function'");
  if (const auto type = tool.text("type"); type && *type != "function")
    tool.problem().note(Code::Unsupported,
                        "'" + tool.pathOf("type") + "' is '" + *type +
                            "', but only tools of type 'function' can be offered",
                        tool.pathOf("type"));
  tool.requiredText("name");
  Input::Object function;
  for (const auto &[key, member] : *value.object())
    if (key != "type")
      function.emplace_back(key, member);
  return Input(Input::Object{{"type", textInput("function")}, {"function", Input(function)}});
}

void readResponseTools(const RequestReader &body, ResponseRequest &made) {
  const Input::List *list = body.list("tools", kMostTools);
  Input::List tools;
  for (size_t i = 0; list && i < list->size(); ++i) {
    const RequestReader tool((*list)[i], "tools[" + std::to_string(i) + "]", body.problem());
    if (!body.isFine())
      return;
    tools.push_back(nested(tool, (*list)[i]));
  }
  if (list)
    made.tools = jsonOf(*body.find("tools"));
  if (!tools.empty())
    made.chat.inputs.tools = Input(std::move(tools));
  chooseTools(body, made.chat);
  if (const Input *choice = body.find("tool_choice"))
    made.toolChoice = jsonOf(*choice);
  made.parallelToolCalls = body.boolean("parallel_tool_calls").value_or(true);
  made.chat.oneCall = !made.parallelToolCalls;
}

void refuseKept(const RequestReader &body) {
  constexpr const char *kNotKept = "responses are not kept; send all items with each request";
  body.refuse("previous_response_id", kNotKept);
  body.refuse("conversation", kNotKept);
  body.refuse("background", kNotKept);
  body.refuse("store", kNotKept);
  body.refuse("prompt", "there are no stored prompts");
  body.refuse("context_management", "nothing is taken out of a context");
  body.refuse("moderation", "there is no moderation");
  body.refuse("image", "there are no images");
  body.refuse("return_progress", "prefill says nothing of its progress");
  body.refuse("max_tool_calls", "there are no built-in tools");
  if (body.choice("truncation", {"auto", "disabled"}) == "auto")
    body.problem().note(Code::Unsupported,
                        "'truncation' is 'auto', but nothing is left out of a conversation, "
                        "expected 'disabled'",
                        "truncation");
}

std::optional<AnswerForm> formOfText(const RequestReader &body) {
  const auto text = body.object("text");
  return text ? readTypedForm(*text, "format") : std::nullopt;
}

// What is to be in the answer besides.
void readIncludes(const RequestReader &body, ResponseRequest &made, GenerationWishes &wishes) {
  for (const std::string &include : body.texts("include", kMostIncludes)) {
    if (include == "message.output_text.logprobs")
      made.givesLogprobs = true;
    else if (include != "reasoning.encrypted_content") // reasoning is given as it is
      body.problem().note(Code::Unsupported, "'include' has '" + include + "', which there is not",
                          "include");
  }
  const auto top = body.whole("top_logprobs", 0, kMostLikelihoods);
  if (made.givesLogprobs || top.value_or(0) > 0)
    wishes.likelihoods = static_cast<uint32_t>(top.value_or(0));
}

Json jsonOr(const RequestReader &body, std::string_view name) {
  const Input *found = body.find(name);
  return found ? jsonOf(*found) : Json();
}

} // namespace

ResponseRequest readResponse(const RequestReader &body, GenerationWishes &wishes) {
  ResponseRequest made;
  if (const auto instructions = body.text("instructions"))
    made.chat.messages.push_back(
        Input(Input::Object{{"role", textInput("system")}, {"content", textInput(*instructions)}}));
  readInput(body, made.chat.messages);
  readResponseTools(body, made);
  readTemplateInputs(body, made.chat);
  if (const auto reasoning = body.object("reasoning")) {
    const std::string effort = reasoning->text("effort").value_or("");
    if (effort == "none")
      made.chat.inputs.think = false;
    else
      made.chat.inputs.reasoningEffort = effort;
    made.effort = jsonOr(*reasoning, "effort");
  }
  refuseKept(body);
  wishes.form = formOfText(body);
  if (const auto text = body.object("text"); text && text->find("format"))
    made.format = jsonOr(*text, "format");
  made.chat.hasForm = wishes.form.has_value();
  readSampler(body, wishes);
  readStops(body, wishes);
  readCacheWishes(body, wishes);
  readIncludes(body, made, wishes);
  if (const auto most = body.whole("max_output_tokens", 1, INT32_MAX))
    wishes.maxTokens = static_cast<uint64_t>(*most);
  made.streams = body.boolean("stream").value_or(false);
  made.instructions = jsonOr(body, "instructions");
  made.maxOutputTokens = jsonOr(body, "max_output_tokens");
  made.temperature = jsonOr(body, "temperature");
  made.topP = jsonOr(body, "top_p");
  made.metadata = body.find("metadata") ? jsonOr(body, "metadata") : Json::object();
  return made;
}

} // namespace sinter::serve::openai
