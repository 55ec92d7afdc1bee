// Responses: items in, items or their events out.
#include "serve/api/openai/responses.h"

#include "serve/api/openai/response_input.h"
#include "serve/api/stored_extras.h"

namespace sinter::serve::openai {
namespace {

Json textPart(const std::string &text, Json logprobs) {
  return {{"type", "output_text"},
          {"annotations", Json::array()},
          {"logprobs", std::move(logprobs)},
          {"text", text}};
}

// One item of the output while it grows.
struct OutputItem {
  enum class Kind : uint8_t { Reasoning, Message, Call } kind;
  std::string id;
  std::string text; // of a call its arguments
  std::string name = {}, callId = {};
  Json logprobs = Json::array();

  const char *partType() const { return kind == Kind::Message ? "output_text" : "reasoning_text"; }
  Json part() const {
    if (kind == Kind::Message)
      return textPart(text, logprobs);
    return {{"type", "reasoning_text"}, {"text", text}};
  }
  Json json(const char *status) const {
    const bool isBegun = std::string_view(status) == "in_progress";
    if (kind == Kind::Call)
      return {{"id", id},          {"type", "function_call"},
              {"status", status},  {"arguments", isBegun ? "" : text},
              {"call_id", callId}, {"name", name}};
    Json content = Json::array();
    if (!isBegun)
      content.push_back(part());
    if (kind == Kind::Reasoning)
      return {{"id", id},
              {"type", "reasoning"},
              {"summary", Json::array()},
              {"content", std::move(content)},
              {"status", status}};
    return {{"id", id},
            {"type", "message"},
            {"status", status},
            {"role", "assistant"},
            {"content", std::move(content)}};
  }
};

class ResponseFormat : public AnswerFormat {
public:
  ResponseFormat(AnswerHead head, ResponseRequest request)
      : head_(std::move(head)), request_(std::move(request)) {}

  std::string streamType() const override { return kEventStream; }

  std::string opened(const std::vector<Choice> &) override {
    return event("response.created", {{"response", response("in_progress", nullptr)}}) +
           event("response.in_progress", {{"response", response("in_progress", nullptr)}});
  }

  std::string delta(const Choice &, const ChoiceDelta &delta) override {
    using Kind = OutputItem::Kind;
    std::string text;
    if (!delta.text.reasoning.empty())
      text += grow(Kind::Reasoning, delta.text.reasoning, {});
    if (!delta.text.content.empty() || !delta.likelihoods.empty())
      text += grow(Kind::Message, delta.text.content, delta.likelihoods);
    for (const ToolCallDelta &part : delta.text.calls)
      text += growCall(part.call);
    return text;
  }

  std::string ended(const Choice &choice) override {
    lastStatus_ = statusOf(choice);
    return closeItem(lastStatus_);
  }

  std::string closed(const std::vector<Choice> &choices) override {
    const bool isWhole = std::string_view(lastStatus_) == "completed";
    return event(isWhole ? "response.completed" : "response.incomplete",
                 {{"response", response(lastStatus_, &choices.front())}});
  }

  std::string failed(const ApiError &error) override {
    Json body = response("failed", nullptr);
    body["error"] = {{"code", "server_error"}, {"message", error.message}};
    return event("response.failed", {{"response", std::move(body)}});
  }

  std::string whole(const std::vector<Choice> &choices) override {
    const Choice &choice = choices.front();
    ChoiceDelta all{{choice.whole.content, choice.whole.reasoning, {}}, {}, choice.likelihoods};
    for (const ToolCall &call : choice.whole.toolCalls)
      all.text.calls.push_back({all.text.calls.size(), call});
    delta(choice, all);
    ended(choice);
    return jsonText(response(lastStatus_, &choice));
  }

  HttpResponse error(const ApiError &error) override { return openaiError(error); }

private:
  using Kind = OutputItem::Kind;

  static const char *statusOf(const Choice &choice) {
    return std::string_view(choice.finishReason()) == "length" ? "incomplete" : "completed";
  }

  std::string event(const char *type, Json data) {
    Json made = {{"type", type}, {"sequence_number", sequence_++}};
    made.update(data);
    return std::string("event: ") + type + "\n" + serverSentEvent(jsonText(made));
  }
  std::string itemEvent(const char *type, Json data) {
    Json made = {{"item_id", items_.back().id}, {"output_index", items_.size() - 1}};
    made.update(data);
    return event(type, std::move(made));
  }

  std::string open(OutputItem item) {
    items_.push_back(std::move(item));
    isOpen_ = true;
    return event("response.output_item.added", {{"output_index", items_.size() - 1},
                                                {"item", items_.back().json("in_progress")}});
  }

  std::string grow(Kind kind, const std::string &text, const LikelihoodRows &rows) {
    std::string written;
    if (!isOpen_ || items_.back().kind != kind) {
      written = closeItem("completed");
      written += open({kind, randomId(kind == Kind::Message ? "msg_" : "rs_"), ""});
      written += itemEvent("response.content_part.added",
                           {{"content_index", 0}, {"part", items_.back().part()}});
    }
    OutputItem &item = items_.back();
    item.text += text;
    Json delta = {{"content_index", 0}, {"delta", text}};
    if (kind == Kind::Message) {
      delta["logprobs"] = logprobsOf(rows);
      for (const Json &each : delta["logprobs"])
        item.logprobs.push_back(each);
    }
    return written + itemEvent(kind == Kind::Message ? "response.output_text.delta"
                                                     : "response.reasoning_text.delta",
                               std::move(delta));
  }

  // A part with a name begins a call, others add to its arguments.
  std::string growCall(const ToolCall &part) {
    std::string text;
    if (!part.name.empty()) {
      text = closeItem("completed");
      text += open({Kind::Call, randomId("fc_"), "", part.name, part.id});
    }
    items_.back().text += part.arguments;
    if (part.arguments.empty())
      return text;
    return text + itemEvent("response.function_call_arguments.delta", {{"delta", part.arguments}});
  }

  std::string closeItem(const char *status) {
    if (!std::exchange(isOpen_, false))
      return "";
    const OutputItem &item = items_.back();
    std::string text;
    if (item.kind == Kind::Call) {
      text = itemEvent("response.function_call_arguments.done",
                       {{"name", item.name}, {"arguments", item.text}});
    } else {
      Json done = {{"content_index", 0}, {"text", item.text}};
      if (item.kind == Kind::Message)
        done["logprobs"] = item.logprobs;
      text = itemEvent(item.kind == Kind::Message ? "response.output_text.done"
                                                  : "response.reasoning_text.done",
                       std::move(done));
      text +=
          itemEvent("response.content_part.done", {{"content_index", 0}, {"part", item.part()}});
    }
    return text + event("response.output_item.done",
                        {{"output_index", items_.size() - 1}, {"item", item.json(status)}});
  }

  Json logprobsOf(const LikelihoodRows &rows) const {
    const Json all = request_.givesLogprobs ? chatLogprobs(rows) : Json();
    return all.is_null() ? Json::array() : all["content"];
  }

  // `choice`: null before the end.
  Json response(const char *status, const Choice *choice) const {
    Json output = Json::array();
    for (const OutputItem &item : items_)
      output.push_back(item.json(choice && &item == &items_.back() ? status : "completed"));
    const bool isCut = std::string_view(status) == "incomplete";
    Json made = {{"id", head_.id},   {"object", "response"}, {"created_at", head_.created},
                 {"status", status}, {"background", false},  {"error", nullptr}};
    made["incomplete_details"] = isCut ? Json{{"reason", "max_output_tokens"}} : Json();
    made["instructions"] = request_.instructions;
    made["max_output_tokens"] = request_.maxOutputTokens;
    made["model"] = head_.model;
    made["output"] = std::move(output);
    addSettings(made);
    made["usage"] = choice ? usage(*choice) : Json();
    return made;
  }

  void addSettings(Json &made) const {
    made["parallel_tool_calls"] = request_.parallelToolCalls;
    made["previous_response_id"] = nullptr;
    made["reasoning"] = {{"effort", request_.effort}, {"summary", nullptr}};
    made["store"] = false;
    made["temperature"] = request_.temperature;
    made["text"] = {{"format", request_.format}};
    made["tool_choice"] = request_.toolChoice;
    made["tools"] = request_.tools;
    made["top_p"] = request_.topP;
    made["truncation"] = "disabled";
    made["metadata"] = request_.metadata;
  }

  static Json usage(const Choice &choice) {
    const AnswerSummary &summary = choice.summary;
    return {{"input_tokens", summary.promptTokens},
            {"input_tokens_details",
             {{"cached_tokens", summary.reusedTokens}, {"cache_write_tokens", 0}}},
            {"output_tokens", summary.answerTokens},
            {"output_tokens_details", {{"reasoning_tokens", choice.reasoningTokens}}},
            {"total_tokens", summary.promptTokens + summary.answerTokens}};
  }

  const AnswerHead head_;
  const ResponseRequest request_;
  uint64_t sequence_ = 0;
  std::vector<OutputItem> items_;
  bool isOpen_ = false; // the last item grows
  const char *lastStatus_ = "completed";
};

} // namespace

BodyHandler responses(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    GenerationRequest made;
    made.model = modelOf(context, body);
    ResponseRequest read = readResponse(body, made.wishes);
    SINTER_TRY(check(body.problem()));
    SINTER_TRY(addStoredMessages(context, made.model, read.chat.messages));
    made.streams = read.streams;
    made.queue = request.account;
    made.keyName = request.keyName;
    made.prepare = [chat = std::make_shared<ChatRequest>(std::move(read.chat))](
                       const ModelFile &file) -> ApiResult<std::vector<Prompt>> {
      SINTER_ASSIGN(Prompt prompt, chatPrompt(file, *chat));
      std::vector<Prompt> prompts;
      prompts.push_back(std::move(prompt));
      return prompts;
    };
    made.format =
        std::make_unique<ResponseFormat>(makeHead(context, "resp_", made.model), std::move(read));
    startGeneration(context, std::move(made), std::move(responder));
    return {};
  };
}

} // namespace sinter::serve::openai
