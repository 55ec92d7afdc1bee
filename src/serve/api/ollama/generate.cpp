// Prompts and conversations in, lines out.
#include "serve/api/ollama/generate.h"

#include "serve/api/chat_request.h"
#include "serve/api/infill.h"
#include "serve/api/prompt_texts.h"
#include "serve/api/stored_extras.h"

namespace sinter::serve::ollama {
namespace {

using jinja::Input;

class GenerateFormat : public LineFormat {
public:
  using LineFormat::LineFormat;

protected:
  void say(const AnswerText &text, Json &line) const override {
    line["response"] = text.content;
    if (!text.reasoning.empty())
      line["thinking"] = text.reasoning;
  }
};

class ChatFormat : public LineFormat {
public:
  using LineFormat::LineFormat;

protected:
  void say(const AnswerText &text, Json &line) const override {
    Json message = {{"role", "assistant"}, {"content", text.content}};
    if (!text.reasoning.empty())
      message["thinking"] = text.reasoning;
    for (size_t i = 0; i < text.toolCalls.size(); ++i) {
      const ToolCall &call = text.toolCalls[i];
      const auto arguments = jinja::inputFromJson(call.arguments);
      const Json object = arguments && arguments->object() ? jsonOf(*arguments) : Json::object();
      message["tool_calls"].push_back(
          {{"id", call.id},
           {"function", {{"index", i}, {"name", call.name}, {"arguments", object}}}});
    }
    line["message"] = std::move(message);
  }
};

Input message(const char *role, const std::string &content) {
  return Input(Input::Object{{"role", Input(std::string(role))}, {"content", Input(content)}});
}

// A prompt as the template has it, or as it stands.
struct GenerateRequest {
  ChatRequest chat;
  std::string prompt, suffix; // a suffix: what lies between is filled in
  bool isRaw = false;
};

GenerateRequest readGenerate(const RequestReader &body) {
  GenerateRequest made;
  made.prompt = body.text("prompt").value_or("");
  made.isRaw = body.boolean("raw").value_or(false);
  made.suffix = body.text("suffix").value_or("");
  body.refuse("context", "answers give none; send the conversation to /api/chat");
  body.refuse("template", "the model's own template is used; Go templates are not read");
  for (const char *name : {"width", "height", "steps"})
    body.refuse(name, "there are no images");
  const std::string system = body.text("system").value_or("");
  if (made.isRaw && !system.empty())
    body.wrong("system", "none beside 'raw': such a prompt goes to the model as it stands");
  if (!made.suffix.empty() && (made.isRaw || !system.empty()))
    body.wrong("suffix", "none beside 'raw' or 'system'");
  if (!system.empty())
    made.chat.messages.push_back(message("system", system));
  made.chat.messages.push_back(message("user", made.prompt));
  readThink(body, made.chat);
  return made;
}

ApiResult<std::vector<Prompt>> promptsOf(const ModelFile &file, const GenerateRequest &request) {
  std::vector<Prompt> prompts(1);
  if (!request.suffix.empty()) {
    SINTER_ASSIGN(prompts.front().tokens,
                  infillTokens(file, {request.prompt, request.suffix, {}}, "suffix"));
  } else if (request.isRaw) {
    SINTER_ASSIGN(prompts.front().tokens, rawTokens(file, request.prompt));
  } else {
    SINTER_ASSIGN(prompts.front(), chatPrompt(file, request.chat));
  }
  return prompts;
}

} // namespace

BodyHandler generate(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    GenerationRequest made;
    made.model = modelOf(context, body);
    readCommon(body, made);
    auto read = std::make_shared<GenerateRequest>(readGenerate(body));
    SINTER_TRY(check(body.problem()));
    made.format = std::make_unique<GenerateFormat>(made.model);
    if (read->prompt.empty() && read->suffix.empty()) {
      Json answer = {{"model", made.model}, {"response", ""}};
      startLoading(context, made.model, made.load, std::move(answer), std::move(responder));
      return {};
    }
    if (!read->isRaw)
      SINTER_TRY(addStoredMessages(context, made.model, read->chat.messages));
    made.queue = request.account;
    made.keyName = request.keyName;
    made.prepare = [read](const ModelFile &file) { return promptsOf(file, *read); };
    startGeneration(context, std::move(made), std::move(responder));
    return {};
  };
}

BodyHandler chat(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    GenerationRequest made;
    made.model = modelOf(context, body);
    readCommon(body, made);
    auto read = std::make_shared<ChatRequest>();
    const Input *messages = body.find("messages");
    const bool loads = !messages || (messages->list() && messages->list()->empty());
    if (!loads)
      readMessages(body, *read);
    read->continuesLast = endsWithAnswer(*read);
    readToolList(body, *read);
    chooseTools(body, *read);
    read->wholeCalls = true;
    read->hasForm = made.wishes.form.has_value();
    readThink(body, *read);
    SINTER_TRY(check(body.problem()));
    made.format = std::make_unique<ChatFormat>(made.model);
    if (loads) {
      Json answer = {{"model", made.model}, {"message", {{"role", "assistant"}, {"content", ""}}}};
      startLoading(context, made.model, made.load, std::move(answer), std::move(responder));
      return {};
    }
    SINTER_TRY(addStoredMessages(context, made.model, read->messages));
    made.queue = request.account;
    made.keyName = request.keyName;
    made.prepare = [read](const ModelFile &file) -> ApiResult<std::vector<Prompt>> {
      std::vector<Prompt> prompts(1);
      SINTER_ASSIGN(prompts.front(), chatPrompt(file, *read));
      return prompts;
    };
    startGeneration(context, std::move(made), std::move(responder));
    return {};
  };
}

} // namespace sinter::serve::ollama
