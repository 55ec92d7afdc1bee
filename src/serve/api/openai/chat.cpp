// Chat completions: messages in, a message or its chunks out.
#include "serve/api/openai/chat.h"

#include "serve/api/chat_request.h"
#include "serve/api/prompt_texts.h"
#include "serve/api/stored_extras.h"
#include "serve/api/timings.h"

namespace sinter::serve::openai {
namespace {

Json callJson(const ToolCall &call) {
  return {{"id", call.id},
          {"type", "function"},
          {"function", {{"name", call.name}, {"arguments", call.arguments}}}};
}

Json partJson(const ToolCallDelta &part) {
  Json made = {{"index", part.index}};
  if (part.call.name.empty())
    made["function"] = {{"arguments", part.call.arguments}};
  else
    made.update(callJson(part.call));
  return made;
}

class ChatFormat : public AnswerFormat {
public:
  ChatFormat(AnswerHead head, StreamWishes stream) : head_(std::move(head)), stream_(stream) {}

  std::string streamType() const override { return kEventStream; }

  std::string opened(const std::vector<Choice> &choices) override {
    std::string text;
    for (const Choice &choice : choices)
      text += event(choice, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
    return text;
  }

  std::string delta(const Choice &choice, const ChoiceDelta &delta) override {
    Json made = Json::object();
    if (!delta.text.reasoning.empty())
      made["reasoning_content"] = delta.text.reasoning;
    if (!delta.text.content.empty())
      made["content"] = delta.text.content;
    for (const ToolCallDelta &part : delta.text.calls)
      made["tool_calls"].push_back(partJson(part));
    return event(choice, std::move(made), chatLogprobs(delta.likelihoods), nullptr);
  }

  std::string ended(const Choice &choice) override {
    return event(choice, Json::object(), nullptr, choice.finishReason());
  }

  std::string closed(const std::vector<Choice> &choices) override {
    std::string text;
    if (stream_.includesUsage) {
      Json last = object("chat.completion.chunk");
      last["choices"] = Json::array();
      last["usage"] = usageOf(choices);
      last["timings"] = timings(choices.front().summary);
      text = serverSentEvent(jsonText(last));
    }
    return text + serverSentEvent("[DONE]");
  }

  std::string failed(const ApiError &error) override {
    return serverSentEvent(openaiErrorBody(error));
  }

  std::string whole(const std::vector<Choice> &choices) override {
    Json made = object("chat.completion");
    for (const Choice &choice : choices)
      made["choices"].push_back({{"index", choice.index},
                                 {"message", message(choice)},
                                 {"logprobs", chatLogprobs(choice.likelihoods)},
                                 {"finish_reason", choice.finishReason()}});
    made["usage"] = usageOf(choices);
    made["timings"] = timings(choices.front().summary);
    if (head_.isVerbose)
      made["__verbose"] = verbose(choices.front());
    return jsonText(made);
  }

  HttpResponse error(const ApiError &error) override { return openaiError(error); }

private:
  Json object(const char *kind) const {
    return {{"id", head_.id},
            {"object", kind},
            {"created", head_.created},
            {"model", head_.model},
            {"system_fingerprint", head_.fingerprint}};
  }

  std::string event(const Choice &choice, Json delta, Json logprobs, Json reason) const {
    Json made = object("chat.completion.chunk");
    made["choices"].push_back({{"index", choice.index},
                               {"delta", std::move(delta)},
                               {"logprobs", std::move(logprobs)},
                               {"finish_reason", std::move(reason)}});
    if (stream_.includesUsage)
      made["usage"] = stream_.usageSoFar(choice);
    return serverSentEvent(jsonText(made));
  }

  static Json message(const Choice &choice) {
    const AnswerText &said = choice.whole;
    Json made = {{"role", "assistant"}};
    made["content"] = said.content.empty() && !said.toolCalls.empty() ? Json() : Json(said.content);
    made["refusal"] = nullptr;
    if (!said.reasoning.empty())
      made["reasoning_content"] = said.reasoning;
    for (const ToolCall &call : said.toolCalls)
      made["tool_calls"].push_back(callJson(call));
    return made;
  }

  // As llama-server shows what became of a request.
  static Json verbose(const Choice &choice) {
    return {{"prompt", choice.promptText},
            {"tokens", choice.tokens},
            {"generation_settings", generationSettings(choice, {}, {})}};
  }

  const AnswerHead head_;
  const StreamWishes stream_;
};

void readLogprobs(const RequestReader &body, GenerationWishes &wishes) {
  const bool wanted = body.boolean("logprobs").value_or(false);
  const auto top = body.whole("top_logprobs", 0, kMostLikelihoods);
  if (wanted)
    wishes.likelihoods = static_cast<uint32_t>(top.value_or(0));
  else if (top && *top > 0)
    body.wrong("top_logprobs", "'logprobs' to be true beside it");
}

} // namespace

BodyHandler chatCompletions(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    GenerationRequest made;
    auto chat = std::make_shared<ChatRequest>();
    made.model = modelOf(context, body);
    readMessages(body, *chat);
    readTools(body, *chat);
    readTemplateInputs(body, *chat);
    const StreamWishes stream = readCommon(body, made.wishes);
    chat->hasForm = made.wishes.form.has_value();
    readLogprobs(body, made.wishes);
    const bool isVerbose = body.boolean("verbose").value_or(false);
    SINTER_TRY(check(body.problem()));
    SINTER_TRY(addStoredMessages(context, made.model, chat->messages));
    made.streams = stream.streams;
    made.queue = request.account;
    made.keyName = request.keyName;
    AnswerHead head = makeHead(context, "chatcmpl-", made.model);
    head.isVerbose = isVerbose;
    made.prepare = [chat, isVerbose](const ModelFile &file) -> ApiResult<std::vector<Prompt>> {
      SINTER_ASSIGN(Prompt prompt, chatPrompt(file, *chat));
      if (isVerbose) {
        SINTER_ASSIGN(prompt.text, promptText(file, prompt.tokens));
      }
      std::vector<Prompt> prompts;
      prompts.push_back(std::move(prompt));
      return prompts;
    };
    made.format = std::make_unique<ChatFormat>(std::move(head), stream);
    startGeneration(context, std::move(made), std::move(responder));
    return {};
  };
}

} // namespace sinter::serve::openai
