// Figures of an answer in llama-server's words.
#include "serve/api/timings.h"

#include <cmath>

namespace sinter::serve {

Json timings(const AnswerSummary &summary) {
  const auto rate = [](uint64_t count, double seconds) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
  };
  const auto each = [](double seconds, uint64_t count) {
    return count > 0 ? seconds * 1e3 / static_cast<double>(count) : 0.0;
  };
  const uint64_t read = summary.promptTokens - summary.reusedTokens;
  // The first token comes of prefill.
  const uint64_t decoded = summary.answerTokens > 0 ? summary.answerTokens - 1 : 0;
  return {{"cache_n", summary.reusedTokens},
          {"prompt_n", read},
          {"prompt_ms", summary.prefillSeconds * 1e3},
          {"prompt_per_token_ms", each(summary.prefillSeconds, read)},
          {"prompt_per_second", rate(read, summary.prefillSeconds)},
          {"predicted_n", summary.answerTokens},
          {"predicted_ms", summary.decodeSeconds * 1e3},
          {"predicted_per_token_ms", each(summary.decodeSeconds, decoded)},
          {"predicted_per_second", rate(decoded, summary.decodeSeconds)}};
}

Json generationSettings(const Choice &choice, const std::vector<std::string> &stops,
                        std::span<const TokenId> ends) {
  Json made = {{"n_predict", choice.maxTokens == UINT64_MAX ? Json(-1) : Json(choice.maxTokens)},
               {"seed", choice.sampler.seed}};
  made.update(settingsJson(choice.sampler));
  made["dry_sequence_breakers"] = choice.sampler.drySequenceBreakers;
  made["stop"] = stops;
  made["ignore_eos"] = !ends.empty();
  made["logit_bias"] = Json::array();
  for (const LogitBias &bias : choice.sampler.logitBias)
    made["logit_bias"].push_back(
        {{"token", bias.token},
         {"bias", std::isfinite(bias.bias) ? Json(shortest(bias.bias)) : Json()}});
  for (const TokenId end : ends)
    made["logit_bias"].push_back({{"token", end}, {"bias", nullptr}});
  return made;
}

} // namespace sinter::serve
