// A block is open while it grows; another kind of text closes it.
#include "serve/api/anthropic/message_format.h"

#include "serve/api/anthropic/errors.h"
#include "serve/api/json_text.h"

namespace sinter::serve::anthropic {
namespace {

enum class Block : uint8_t { None, Thinking, Text, Call };

std::string event(const char *type, Json data) {
  Json made = {{"type", type}};
  made.update(data);
  return std::string("event: ") + type + "\n" + serverSentEvent(jsonText(made));
}

const char *stopReason(const Choice &choice) {
  const std::string_view finish = choice.finishReason();
  if (choice.summary.end == AnswerEnd::ContextFull)
    return "model_context_window_exceeded";
  if (finish == "length")
    return "max_tokens";
  if (finish == "tool_calls")
    return "tool_use";
  return choice.summary.end == AnswerEnd::StopText ? "stop_sequence" : "end_turn";
}

Json stopSequence(const Choice &choice) {
  return choice.summary.end == AnswerEnd::StopText ? Json(choice.summary.stopText) : Json();
}

// Tokens that the cache had are counted apart.
Json usageOf(const AnswerSummary &summary) {
  return {{"input_tokens", summary.promptTokens - summary.reusedTokens},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", summary.reusedTokens},
          {"output_tokens", summary.answerTokens}};
}

Json callBlock(const ToolCall &call) {
  const auto arguments = jinja::inputFromJson(call.arguments);
  const bool isObject = arguments && arguments->object();
  return {{"type", "tool_use"},
          {"id", call.id},
          {"name", call.name},
          {"input", isObject ? jsonOf(*arguments) : Json::object()}};
}

Json thinkingBlock(const std::string &thought) {
  return {{"type", "thinking"}, {"thinking", thought}, {"signature", ""}};
}

class MessageFormat : public AnswerFormat {
public:
  explicit MessageFormat(std::string model) : model_(std::move(model)) {}

  std::string streamType() const override { return "text/event-stream"; }

  std::string opened(const std::vector<Choice> &choices) override {
    return event("message_start", {{"message", message(Json::array(), nullptr, choices.front())}});
  }

  std::string delta(const Choice &, const ChoiceDelta &delta) override {
    std::string text;
    if (!delta.text.reasoning.empty())
      text += grow(Block::Thinking, thinkingBlock(""),
                   {{"type", "thinking_delta"}, {"thinking", delta.text.reasoning}});
    if (!delta.text.content.empty())
      text += grow(Block::Text, {{"type", "text"}, {"text", ""}},
                   {{"type", "text_delta"}, {"text", delta.text.content}});
    for (const ToolCallDelta &part : delta.text.calls)
      text += growCall(part.call);
    return text;
  }

  std::string ended(const Choice &choice) override {
    return close() +
           event("message_delta",
                 {{"delta",
                   {{"stop_reason", stopReason(choice)}, {"stop_sequence", stopSequence(choice)}}},
                  {"usage", usageOf(choice.summary)}});
  }

  std::string closed(const std::vector<Choice> &) override {
    return event("message_stop", Json::object());
  }

  std::string failed(const ApiError &error) override {
    return "event: error\n" + serverSentEvent(errorBody(error));
  }

  std::string whole(const std::vector<Choice> &choices) override {
    const Choice &choice = choices.front();
    Json content = Json::array();
    if (!choice.whole.reasoning.empty())
      content.push_back(thinkingBlock(choice.whole.reasoning));
    if (!choice.whole.content.empty())
      content.push_back({{"type", "text"}, {"text", choice.whole.content}});
    for (const ToolCall &call : choice.whole.toolCalls)
      content.push_back(callBlock(call));
    return jsonText(message(std::move(content), stopReason(choice), choice));
  }

  HttpResponse error(const ApiError &error) override { return anthropic::error(error); }

private:
  // `reason`: null before the end.
  Json message(Json content, const char *reason, const Choice &choice) const {
    return {{"id", id_},
            {"type", "message"},
            {"role", "assistant"},
            {"model", model_},
            {"content", std::move(content)},
            {"stop_reason", reason ? Json(reason) : Json()},
            {"stop_sequence", reason ? stopSequence(choice) : Json()},
            {"usage", usageOf(choice.summary)}};
  }

  std::string grow(Block kind, const Json &begin, Json delta) {
    std::string text;
    if (open_ != kind)
      text = open(kind, begin);
    return text + event("content_block_delta", {{"index", index_}, {"delta", std::move(delta)}});
  }

  // Its name comes first, with the id.
  std::string growCall(const ToolCall &call) {
    std::string text;
    if (!call.name.empty())
      text = open(
          Block::Call,
          {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", Json::object()}});
    if (call.arguments.empty())
      return text;
    return text +
           event("content_block_delta",
                 {{"index", index_},
                  {"delta", {{"type", "input_json_delta"}, {"partial_json", call.arguments}}}});
  }

  std::string open(Block kind, const Json &begin) {
    std::string text = close();
    open_ = kind;
    return text + event("content_block_start", {{"index", index_}, {"content_block", begin}});
  }

  std::string close() {
    if (std::exchange(open_, Block::None) == Block::None)
      return "";
    return event("content_block_stop", {{"index", index_++}});
  }

  const std::string id_ = randomId("msg_"), model_;
  Block open_ = Block::None;
  size_t index_ = 0; // of the block that is open, or comes next
};

} // namespace

std::unique_ptr<AnswerFormat> makeMessageFormat(std::string model) {
  return std::make_unique<MessageFormat>(std::move(model));
}

} // namespace sinter::serve::anthropic
