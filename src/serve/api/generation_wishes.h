// What a request says about choosing tokens and ending an answer, before the model is known.
#pragma once

#include "llm/model.h"
#include "llm/sampler/settings.h"
#include "serve/api/constraint.h"

namespace sinter::serve {

struct GenerationWishes {
  std::vector<std::pair<const SamplerSetting *, double>> settings; // within their ranges
  std::optional<std::vector<std::string>> breakers;                // of DRY
  std::vector<LogitBias> biases;
  std::optional<uint64_t> seed; // none: a new one for each answer
  uint64_t maxTokens = UINT64_MAX;
  std::vector<std::string> stops;
  std::optional<uint32_t> likelihoods; // as GenerationJob::likelihoods
  bool ignoreEndTokens = false;
  std::optional<AnswerForm> form; // none: any text
  uint32_t choices = 1; // answers for each prompt

  bool asks(std::string_view setting) const;
  // The file's defaults with the wishes over them; of each choice another seed. A default gives
  // way where a wish contradicts it. Errors: SamplerSettings::check.
  Result<SamplerSettings> samplerFor(const ModelFile &file, uint32_t choice) const;
};

// Every setting of samplerSettingTable() by its name, seed, logit_bias, dry_sequence_breakers, and
// the names that peers have for them. Settings of peers' samplers that there are not here are
// refused by name, unless they are off.
void readSampler(const RequestReader &request, GenerationWishes &wishes);
// "stop": a text or several, none empty.
void readStops(const RequestReader &request, GenerationWishes &wishes);

inline constexpr uint32_t kMostChoices = 128;
inline constexpr uint32_t kMostLikelihoods = 20; // OpenAI's top_logprobs

} // namespace sinter::serve
