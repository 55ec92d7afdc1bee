// Options, durations and the lines of Ollama's answers.
#include "serve/api/ollama/common.h"

#include "serve/api/constraint.h"
#include "serve/api/duration_text.h"
#include "serve/api/model_facts.h"
#include "serve/api/stored_extras.h"

#include <cmath>

namespace sinter::serve::ollama {
namespace {

using jinja::Input;

// Hints on how a model is run (num_gpu, num_thread, use_mmap, ...) and num_keep, of a context that
// is never shifted here, change no answer and are let be.
void readOptions(const RequestReader &options, GenerationRequest &made) {
  readSampler(options, made.wishes);
  readStops(options, made.wishes);
  // -1 and -2: as many as the context holds.
  if (const auto most = options.whole("num_predict", -2, INT32_MAX); most && *most >= 0)
    made.wishes.maxTokens = static_cast<uint64_t>(*most);
  if (options.boolean("penalize_newline") == false)
    options.problem().note(Code::Unsupported,
                           "'" + options.pathOf("penalize_newline") +
                               "' is false, but penalties are for all tokens alike",
                           options.pathOf("penalize_newline"));
}

void readLogprobs(const RequestReader &body, GenerationWishes &wishes) {
  const auto top = body.whole("top_logprobs", 0, kMostLikelihoods);
  if (body.boolean("logprobs").value_or(false))
    wishes.likelihoods = static_cast<uint32_t>(top.value_or(0));
  else if (top && *top > 0)
    body.wrong("top_logprobs", "'logprobs' to be true beside it");
}

std::optional<std::chrono::seconds> durationOf(const Input &value) {
  if (value.text())
    return parseDuration(*value.text());
  constexpr int64_t kMostSeconds = int64_t{100} * 366 * 24 * 3600;
  const auto inRange = [](double seconds) { return std::fabs(seconds) <= kMostSeconds; };
  const auto *whole = std::get_if<int64_t>(&value.content());
  if (whole && inRange(static_cast<double>(*whole)))
    return std::chrono::seconds(*whole);
  const auto *real = std::get_if<double>(&value.content());
  if (real && inRange(*real))
    return std::chrono::seconds(static_cast<int64_t>(std::floor(*real)));
  return std::nullopt;
}

Json tokenJson(const TokenLikelihood &token) {
  Json bytes = Json::array();
  for (const char byte : token.bytes)
    bytes.push_back(static_cast<unsigned char>(byte));
  return {
      {"token", token.bytes}, {"logprob", shortest(token.logprob)}, {"bytes", std::move(bytes)}};
}

int64_t nanoseconds(double seconds) {
  return static_cast<int64_t>(seconds * 1e9);
}

} // namespace

LoadWishes readLoad(const RequestReader &body) {
  LoadWishes load;
  if (const Input *keep = body.find("keep_alive")) {
    load.keepAlive = durationOf(*keep);
    if (!load.keepAlive)
      body.wrong("keep_alive", "seconds or a duration such as '5m'");
  }
  if (const auto options = body.object("options"))
    load.context = static_cast<uint32_t>(options->whole("num_ctx", 0, INT32_MAX).value_or(0));
  return load;
}

void readCommon(const RequestReader &body, GenerationRequest &made) {
  made.streams = body.boolean("stream").value_or(true);
  made.load = readLoad(body);
  if (const auto options = body.object("options"))
    readOptions(*options, made);
  readLogprobs(body, made.wishes);
  readCacheWishes(body, made.wishes);
  made.wishes.form = readForm(body);
  body.refuse("images", "there are no images");
}

void readThink(const RequestReader &body, ChatRequest &chat) {
  const Input *think = body.find("think");
  if (!think)
    return;
  const auto *boolean = std::get_if<bool>(&think->content());
  chat.asksForThought = !boolean || *boolean;
  chat.thinkIsLevel = think->text() != nullptr;
  if (boolean)
    chat.inputs.think = *boolean;
  else if (think->text())
    chat.inputs.reasoningEffort = body.choice("think", {"low", "medium", "high"}).value_or("");
  else
    body.wrong("think", "true, false, 'low', 'medium' or 'high'");
}

void startLoading(ApiContext &context, const std::string &model, const LoadWishes &load, Json body,
                  std::shared_ptr<Responder> responder) {
  const bool unloads = load.keepAlive == std::chrono::seconds(0);
  body["created_at"] = timeText(std::chrono::system_clock::now());
  body["done"] = true;
  body["done_reason"] = unloads ? "unload" : "load";
  HttpResponse response;
  response.body = jsonText(body);
  if (unloads) {
    context.models.unload(model);
    return responder->respond(std::move(response));
  }
  context.models.get(model, withStoredContext(context, model, load),
                     [&tasks = context.tasks, responder, response](auto worker) {
                       if (!worker)
                         return responder->respond(ollamaError(worker.error()));
                       responder->respond(response);
                       tasks.postAlways([held = std::move(*worker)]() mutable { held.reset(); });
                     });
}

Json LineFormat::line(const AnswerText &text, const LikelihoodRows &rows) const {
  Json made = {{"model", model_}, {"created_at", timeText(std::chrono::system_clock::now())}};
  say(text, made);
  for (const auto &row : rows) {
    if (row.empty())
      continue;
    Json token = tokenJson(row.front());
    for (size_t i = 1; i < row.size(); ++i)
      token["top_logprobs"].push_back(tokenJson(row[i]));
    made["logprobs"].push_back(std::move(token));
  }
  made["done"] = false;
  return made;
}

void LineFormat::addEnd(const Choice &choice, Json &line) {
  const bool isCut = std::string_view(choice.finishReason()) == "length";
  line["done"] = true;
  line["done_reason"] = isCut ? "length" : "stop";
  line["total_duration"] = nanoseconds(choice.totalSeconds);
  line["load_duration"] = nanoseconds(choice.loadSeconds);
  line["prompt_eval_count"] = choice.summary.promptTokens;
  line["prompt_eval_duration"] = nanoseconds(choice.summary.prefillSeconds);
  line["eval_count"] = choice.summary.answerTokens;
  line["eval_duration"] = nanoseconds(choice.summary.decodeSeconds);
}

std::string LineFormat::delta(const Choice &, const ChoiceDelta &delta) {
  AnswerText text{delta.text.content, delta.text.reasoning};
  for (const ToolCallDelta &part : delta.text.calls) // each whole, as the routes ask for them
    text.toolCalls.push_back(part.call);
  return jsonLine(line(text, delta.likelihoods));
}

std::string LineFormat::ended(const Choice &choice) {
  Json made = line({}, {});
  addEnd(choice, made);
  return jsonLine(made);
}

std::string LineFormat::whole(const std::vector<Choice> &choices) {
  const Choice &choice = choices.front();
  Json made = line(choice.whole, choice.likelihoods);
  addEnd(choice, made);
  return jsonText(made);
}

} // namespace sinter::serve::ollama
