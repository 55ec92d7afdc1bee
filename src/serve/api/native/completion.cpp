// A prompt in; an object with "content" out, or one for each piece.
#include "serve/api/native/completion.h"

#include "serve/api/constraint.h"
#include "serve/api/infill.h"
#include "serve/api/json_text.h"
#include "serve/api/prompt_texts.h"
#include "serve/api/timings.h"

#include <algorithm>
#include <iterator>

namespace sinter::serve::native {
namespace {

constexpr size_t kMostPrompts = 2048, kMostFields = 256;

Json tokenJson(const TokenLikelihood &token) {
  Json bytes = Json::array();
  for (const char byte : token.bytes)
    bytes.push_back(static_cast<unsigned char>(byte));
  return {{"id", token.token},
          {"token", token.bytes},
          {"bytes", std::move(bytes)},
          {"logprob", shortest(token.logprob)}};
}

Json probabilities(const LikelihoodRows &rows) {
  Json all = Json::array();
  for (const auto &row : rows) {
    if (row.empty())
      continue;
    Json token = tokenJson(row.front());
    token["top_logprobs"] = Json::array();
    for (size_t i = 1; i < row.size(); ++i)
      token["top_logprobs"].push_back(tokenJson(row[i]));
    all.push_back(std::move(token));
  }
  return all;
}

const char *stopType(const AnswerSummary &summary) {
  switch (summary.end) {
  case AnswerEnd::EndToken:
    return "eos";
  case AnswerEnd::StopText:
    return "word";
  default:
    return "limit";
  }
}

// The fields of `paths` alone, "timings/prompt_n" being one within another.
Json chosenFields(const Json &all, const std::vector<std::string> &paths) {
  Json chosen = Json::object();
  for (const std::string &path : paths) {
    const Json *at = &all;
    for (size_t begin = 0, end = 0; at && end != std::string::npos; begin = end + 1) {
      end = path.find('/', begin);
      const auto found = at->is_object() ? at->find(path.substr(begin, end - begin)) : at->end();
      at = found == at->end() ? nullptr : &*found;
    }
    if (at)
      chosen[path] = *at;
  }
  return chosen;
}

// How the answer is to look.
struct CompletionLook {
  std::string model;
  bool givesTokens = false;        // without a stream, whose pieces always have them
  std::vector<std::string> fields; // of the last object; empty: all
  std::vector<std::string> stops;
  // The model's end tokens where answers ignore them; filled when the file is known.
  std::shared_ptr<std::vector<TokenId>> ignoredEnds = std::make_shared<std::vector<TokenId>>();
};

class CompletionFormat : public AnswerFormat {
public:
  explicit CompletionFormat(CompletionLook look) : look_(std::move(look)) {}

  std::string streamType() const override { return "text/event-stream"; }
  std::string opened(const std::vector<Choice> &choices) override {
    counts_.resize(choices.size());
    return "";
  }

  std::string delta(const Choice &choice, const ChoiceDelta &delta) override {
    counts_[choice.index] += delta.tokens.size();
    Json made = {{"index", choice.index}, {"content", delta.text.content}};
    made["tokens"] = delta.tokens;
    made["stop"] = false;
    made["model"] = look_.model;
    made["tokens_predicted"] = counts_[choice.index];
    if (!delta.likelihoods.empty())
      made["completion_probabilities"] = probabilities(delta.likelihoods);
    return serverSentEvent(jsonText(made));
  }

  // Pieces had the text; the last object has none.
  std::string ended(const Choice &choice) override {
    Json made = last(choice);
    made["content"] = "";
    made["tokens"] = Json::array();
    return serverSentEvent(jsonText(chosen(std::move(made))));
  }
  std::string closed(const std::vector<Choice> &) override { return ""; }
  std::string failed(const ApiError &error) override {
    return serverSentEvent(openaiErrorBody(error));
  }

  // One object for one prompt, a list for several.
  std::string whole(const std::vector<Choice> &choices) override {
    Json all = Json::array();
    for (const Choice &choice : choices) {
      Json made = last(choice);
      if (!choice.likelihoods.empty())
        made["completion_probabilities"] = probabilities(choice.likelihoods);
      all.push_back(chosen(std::move(made)));
    }
    return jsonText(all.size() == 1 ? all.front() : all);
  }
  HttpResponse error(const ApiError &error) override { return openaiError(error); }

private:
  Json chosen(Json made) const {
    return look_.fields.empty() ? made : chosenFields(made, look_.fields);
  }

  Json last(const Choice &choice) const {
    const AnswerSummary &summary = choice.summary;
    Json made = {{"index", choice.index}, {"content", choice.whole.content}};
    made["tokens"] = look_.givesTokens ? Json(choice.tokens) : Json::array();
    made["stop"] = true;
    made["model"] = look_.model;
    made["tokens_predicted"] = summary.answerTokens;
    made["tokens_evaluated"] = summary.promptTokens;
    made["prompt"] = choice.promptText;
    made["has_new_line"] = choice.whole.content.find('\n') != std::string::npos;
    made["truncated"] = summary.end == AnswerEnd::ContextFull;
    made["stop_type"] = stopType(summary);
    made["stopping_word"] = summary.stopText;
    made["tokens_cached"] = summary.promptTokens + summary.answerTokens;
    made["timings"] = timings(summary);
    made["generation_settings"] = generationSettings(choice, look_.stops, *look_.ignoredEnds);
    return made;
  }

  const CompletionLook look_;
  std::vector<uint64_t> counts_; // tokens so far, of each choice
};

void readWishes(const RequestReader &body, GenerationWishes &wishes) {
  readSampler(body, wishes);
  readStops(body, wishes);
  readCacheWishes(body, wishes);
  wishes.form = readForm(body);
  for (const char *name : {"n_predict", "max_tokens"})
    if (const auto most = body.whole(name, -1, INT32_MAX)) {
      wishes.maxTokens = *most < 0 ? UINT64_MAX : static_cast<uint64_t>(*most);
      break;
    }
  const auto likelihoods = body.whole("n_probs", 0, kMostLikelihoods);
  if (likelihoods.value_or(0) > 0)
    wishes.likelihoods = static_cast<uint32_t>(*likelihoods);
  wishes.choices = static_cast<uint32_t>(body.whole("n_cmpl", 1, kMostChoices).value_or(1));
  wishes.ignoreEndTokens = body.boolean("ignore_eos").value_or(false);
  body.refuse("post_sampling_probs", "probabilities are those of the model, before sampling");
  body.refuse("return_progress", "prefill says nothing of its progress");
  body.refuse("multimodal_data", "there are no images or audio");
  body.refuse("image_data", "there are no images");
}

ApiResult<std::vector<Prompt>> promptsOf(const ModelFile &file,
                                         const std::vector<PromptSource> &sources) {
  std::vector<Prompt> prompts;
  for (const PromptSource &source : sources) {
    Prompt prompt;
    SINTER_ASSIGN(prompt.tokens, rawTokens(file, source));
    SINTER_ASSIGN(prompt.text, promptText(file, source));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

ApiResult<std::vector<Prompt>> infillPrompt(const ModelFile &file, const InfillRequest &request) {
  std::vector<Prompt> prompts(1);
  SINTER_ASSIGN(prompts.front().tokens, infillTokens(file, request, "input_suffix"));
  prompts.front().text = request.prefix;
  return prompts;
}

using MakePrompts = std::function<ApiResult<std::vector<Prompt>>(const ModelFile &)>;

ApiResult<void> answer(ApiContext &context, const HttpRequest &request, const RequestReader &body,
                       MakePrompts makePrompts, std::shared_ptr<Responder> responder) {
  GenerationRequest made;
  made.model = modelOf(context, body);
  readWishes(body, made.wishes);
  CompletionLook look = {made.model, body.boolean("return_tokens").value_or(false),
                         body.texts("response_fields", kMostFields), made.wishes.stops};
  made.streams = body.boolean("stream").value_or(false);
  SINTER_TRY(check(body.problem()));
  made.queue = request.account;
  made.keyName = request.keyName;
  made.prepare = [makePrompts = std::move(makePrompts), ends = look.ignoredEnds,
                  ignores = made.wishes.ignoreEndTokens](const ModelFile &file) {
    if (ignores && file.hasTokenizer())
      std::ranges::copy(file.tokenizer().generationEnds(), std::back_inserter(*ends));
    return makePrompts(file);
  };
  made.format = std::make_unique<CompletionFormat>(std::move(look));
  startGeneration(context, std::move(made), std::move(responder));
  return {};
}

} // namespace

BodyHandler completion(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) {
    return answer(
        context, request, body,
        [sources = readPrompts(body, "prompt", kMostPrompts)](const ModelFile &file) {
          return promptsOf(file, sources);
        },
        std::move(responder));
  };
}

BodyHandler infill(ApiContext &context) {
  return [&context](const HttpRequest &request, const RequestReader &body,
                    std::shared_ptr<Responder> responder) {
    return answer(
        context, request, body,
        [read = readInfill(body)](const ModelFile &file) { return infillPrompt(file, read); },
        std::move(responder));
  };
}

} // namespace sinter::serve::native
