// Fields and objects that more than one route of OpenAI's has.
#include "serve/api/openai/common.h"

#include "serve/api/constraint.h"

#include <ctime>

namespace sinter::serve::openai {
namespace {

uint64_t limitOf(const RequestReader &body) {
  for (const char *name : {"max_completion_tokens", "max_tokens", "n_predict"}) {
    const bool isNative = std::string_view(name) == "n_predict";
    if (const auto most = body.whole(name, isNative ? -1 : 0, INT32_MAX))
      return *most < 0 ? UINT64_MAX : static_cast<uint64_t>(*most);
  }
  return UINT64_MAX;
}

// What would change the answer and is not there. Fields that only label, bill or place a request
// (user, metadata, service_tier, prompt_cache_key, ...) are let be.
void refuseOthers(const RequestReader &body) {
  if (const jinja::Input *modalities = body.find("modalities"))
    for (const std::string &each : body.texts("modalities", 8))
      if (each != "text")
        body.problem().note(Code::Unsupported,
                            "'modalities' has '" + each + "', but answers are texts (" +
                                foundText(*modalities) + ")",
                            "modalities");
  body.refuse("audio", "there is no audio");
  body.refuse("prediction", "answers are not predicted");
  body.refuse("moderation", "there is no moderation");
  body.refuse("web_search_options", "there is no search");
  body.refuse("store", "answers are not kept");
  body.refuse("return_progress", "prefill says nothing of its progress");
  body.choice("verbosity", {"medium"});
}

} // namespace

AnswerHead makeHead(const ApiContext &context, const std::string &idPrefix, std::string model) {
  return {randomId(idPrefix), static_cast<int64_t>(std::time(nullptr)), std::move(model),
          "b" + context.version};
}

StreamWishes readCommon(const RequestReader &body, GenerationWishes &wishes) {
  readSampler(body, wishes);
  readStops(body, wishes);
  readCacheWishes(body, wishes);
  wishes.form = readForm(body);
  refuseOthers(body);
  wishes.maxTokens = limitOf(body);
  wishes.choices = static_cast<uint32_t>(body.whole("n", 1, kMostChoices).value_or(1));
  wishes.ignoreEndTokens = body.boolean("ignore_eos").value_or(false);
  StreamWishes stream;
  stream.streams = body.boolean("stream").value_or(false);
  if (const auto options = body.object("stream_options")) {
    stream.countsOn = options->boolean("continuous_usage_stats").value_or(false);
    stream.includesUsage = options->boolean("include_usage").value_or(false);
  }
  if (body.find("stream_options") && !stream.streams)
    body.wrong("stream_options", "'stream' to be true beside it");
  return stream;
}

Json StreamWishes::usageSoFar(const Choice &choice) const {
  return countsOn ? usageOf({choice}) : Json();
}

Json usageOf(const std::vector<Choice> &choices) {
  uint64_t prompt = 0, reused = 0, answer = 0, reasoning = 0;
  for (const Choice &choice : choices) {
    answer += choice.summary.answerTokens;
    reasoning += choice.reasoningTokens;
    if (!choice.isFirstOfPrompt)
      continue;
    prompt += choice.summary.promptTokens;
    reused += choice.summary.reusedTokens;
  }
  return {{"prompt_tokens", prompt},
          {"completion_tokens", answer},
          {"total_tokens", prompt + answer},
          {"prompt_tokens_details", {{"cached_tokens", reused}}},
          {"completion_tokens_details", {{"reasoning_tokens", reasoning}}}};
}

Json tokenLogprob(const TokenLikelihood &token) {
  Json bytes = Json::array();
  for (const char byte : token.bytes)
    bytes.push_back(static_cast<unsigned char>(byte));
  return {
      {"token", token.bytes}, {"logprob", shortest(token.logprob)}, {"bytes", std::move(bytes)}};
}

Json chatLogprobs(const LikelihoodRows &rows) {
  if (rows.empty())
    return nullptr;
  Json content = Json::array();
  for (const auto &row : rows) {
    if (row.empty())
      continue;
    Json token = tokenLogprob(row.front());
    Json top = Json::array();
    for (size_t i = 1; i < row.size(); ++i)
      top.push_back(tokenLogprob(row[i]));
    token["top_logprobs"] = std::move(top);
    content.push_back(std::move(token));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

} // namespace sinter::serve::openai
