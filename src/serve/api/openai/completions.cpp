// Completions: prompts in, texts or their chunks out.
#include "serve/api/openai/completions.h"

#include "serve/api/infill.h"
#include "serve/api/prompt_texts.h"
#include "serve/api/timings.h"

namespace sinter::serve::openai {
namespace {

constexpr size_t kMostPrompts = 2048;

size_t charactersOf(std::string_view text) {
  size_t count = 0;
  for (const char byte : text)
    count += (byte & 0xc0) != 0x80;
  return count;
}

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"}; `offset` is moved on.
Json logprobsOf(const LikelihoodRows &rows, size_t &offset) {
  if (rows.empty())
    return nullptr;
  Json tokens = Json::array(), logprobs = Json::array(), offsets = Json::array();
  Json tops = Json::array();
  for (const auto &row : rows) {
    if (row.empty())
      continue;
    tokens.push_back(row.front().bytes);
    logprobs.push_back(shortest(row.front().logprob));
    offsets.push_back(offset);
    offset += charactersOf(row.front().bytes);
    Json top = Json::object();
    for (size_t i = 1; i < row.size(); ++i)
      top[row[i].bytes] = shortest(row[i].logprob);
    tops.push_back(std::move(top));
  }
  return {{"tokens", std::move(tokens)},
          {"token_logprobs", std::move(logprobs)},
          {"top_logprobs", std::move(tops)},
          {"text_offset", std::move(offsets)}};
}

class CompletionFormat : public AnswerFormat {
public:
  CompletionFormat(AnswerHead head, StreamWishes stream)
      : head_(std::move(head)), stream_(stream) {}

  std::string streamType() const override { return kEventStream; }

  std::string opened(const std::vector<Choice> &choices) override {
    std::string text;
    for (const Choice &choice : choices) {
      offsets_.push_back(charactersOf(choice.promptText));
      if (!choice.promptText.empty())
        text += event(choice, choice.promptText, nullptr, nullptr);
    }
    return text;
  }

  std::string delta(const Choice &choice, const ChoiceDelta &delta) override {
    return event(choice, delta.text.content, logprobsOf(delta.likelihoods, offsets_[choice.index]),
                 nullptr);
  }

  std::string ended(const Choice &choice) override {
    return event(choice, "", nullptr, choice.finishReason());
  }

  std::string closed(const std::vector<Choice> &choices) override {
    std::string text;
    if (stream_.includesUsage) {
      Json last = object();
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
    Json made = object();
    for (const Choice &choice : choices) {
      size_t offset = charactersOf(choice.promptText);
      made["choices"].push_back(choiceJson(choice, choice.promptText + choice.whole.content,
                                           logprobsOf(choice.likelihoods, offset),
                                           choice.finishReason()));
    }
    made["usage"] = usageOf(choices);
    made["timings"] = timings(choices.front().summary);
    return jsonText(made);
  }

  HttpResponse error(const ApiError &error) override { return openaiError(error); }

private:
  Json object() const {
    return {{"id", head_.id},
            {"object", "text_completion"},
            {"created", head_.created},
            {"model", head_.model},
            {"system_fingerprint", head_.fingerprint}};
  }
  static Json choiceJson(const Choice &choice, std::string text, Json logprobs, Json reason) {
    return {{"index", choice.index},
            {"text", std::move(text)},
            {"logprobs", std::move(logprobs)},
            {"finish_reason", std::move(reason)}};
  }
  std::string event(const Choice &choice, std::string text, Json logprobs, Json reason) const {
    Json made = object();
    made["choices"].push_back(
        choiceJson(choice, std::move(text), std::move(logprobs), std::move(reason)));
    if (stream_.includesUsage)
      made["usage"] = stream_.usageSoFar(choice);
    return serverSentEvent(jsonText(made));
  }

  const AnswerHead head_;
  const StreamWishes stream_;
  std::vector<size_t> offsets_; // characters so far, of each choice
};

struct CompletionRequest {
  std::vector<PromptSource> prompts;
  bool echoes = false;
  std::string suffix; // empty: texts are completed at their ends
};

CompletionRequest readCompletion(const RequestReader &body, GenerationWishes &wishes) {
  CompletionRequest made;
  made.prompts = readPrompts(body, "prompt", kMostPrompts);
  made.echoes = body.boolean("echo").value_or(false);
  if (const auto top = body.whole("logprobs", 0, kMostLikelihoods))
    wishes.likelihoods = static_cast<uint32_t>(*top);
  if (made.echoes && wishes.likelihoods)
    body.problem().note(Code::Unsupported,
                        "'echo' beside 'logprobs' is not supported: there are no logprobs of "
                        "prompts",
                        "echo");
  made.suffix = body.text("suffix").value_or("");
  if (!made.suffix.empty())
    for (const PromptSource &prompt : made.prompts)
      if (!std::holds_alternative<std::string>(prompt))
        body.wrong("prompt", "texts beside 'suffix'");
  const auto bestOf = body.whole("best_of", 1, kMostChoices);
  if (bestOf && *bestOf != wishes.choices)
    body.problem().note(Code::Unsupported,
                        "'best_of' is " + std::to_string(*bestOf) +
                            ", but answers are not compared, expected the value of 'n', " +
                            std::to_string(wishes.choices),
                        "best_of");
  return made;
}

ApiResult<std::vector<Prompt>> promptsOf(const ModelFile &file, const CompletionRequest &request) {
  std::vector<Prompt> prompts;
  for (const PromptSource &source : request.prompts) {
    Prompt prompt;
    if (request.suffix.empty()) {
      SINTER_ASSIGN(prompt.tokens, rawTokens(file, source));
    } else {
      SINTER_ASSIGN(
          prompt.tokens,
          infillTokens(file, {std::get<std::string>(source), request.suffix, {}}, "suffix"));
    }
    if (request.echoes) {
      SINTER_ASSIGN(prompt.text, promptText(file, source));
    }
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

} // namespace

BodyHandler completions(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) -> ApiResult<void> {
    GenerationRequest made;
    made.model = modelOf(context, body);
    const StreamWishes stream = readCommon(body, made.wishes);
    auto read = std::make_shared<CompletionRequest>(readCompletion(body, made.wishes));
    SINTER_TRY(check(body.problem()));
    made.streams = stream.streams;
    made.queue = request.account;
    made.keyName = request.keyName;
    made.prepare = [read](const ModelFile &file) { return promptsOf(file, *read); };
    made.format =
        std::make_unique<CompletionFormat>(makeHead(context, "cmpl-", made.model), stream);
    startGeneration(context, std::move(made), std::move(responder));
    return {};
  };
}

} // namespace sinter::serve::openai
