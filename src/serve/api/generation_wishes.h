// What a request says about choosing tokens and ending an answer, before the model is known.
#pragma once

#include "llm/model.h"
#include "llm/sampler/settings.h"
#include "serve/api/constraint.h"

#include <memory>

namespace sinter::serve {

struct GenerationWishes {
  std::vector<std::pair<const SamplerSetting *, double>> settings; // within their ranges
  std::optional<std::vector<std::string>> breakers;                // of DRY
  std::vector<LogitBias> biases;
  std::vector<std::pair<std::string, float>> textBiases; // of each token of the text
  std::optional<uint64_t> seed;                          // none: a new one for each answer
  uint64_t maxTokens = UINT64_MAX;
  std::vector<std::string> stops;
  std::optional<uint32_t> likelihoods; // as GenerationJob::likelihoods
  bool ignoreEndTokens = false;
  bool usesPrefixCache = true;
  std::string cacheSalt;          // answers of other salts share no part of a prompt
  std::optional<AnswerForm> form; // none: any text
  uint32_t choices = 1;           // answers for each prompt
  // Of the server, under what the request says: settings, seed, maxTokens. Null: none.
  std::shared_ptr<const GenerationWishes> defaults = nullptr;

  bool asks(std::string_view setting) const;
  uint64_t mostTokens() const;
  // The file's defaults, the server's over them, the wishes over both; of each choice another seed.
  // A default gives way where a wish contradicts it. Errors: SamplerSettings::check; Unsupported:
  // a bias of a text, and the file has no tokenizer.
  Result<SamplerSettings> samplerFor(const ModelFile &file, uint32_t choice) const;
};

// Every setting of samplerSettingTable() by its name, seed, logit_bias (of tokens by their numbers,
// or of each token of a text), dry_sequence_breakers, and the names that peers have for them.
// Settings of peers' samplers that there are not here are refused by name, unless they are off.
void readSampler(const RequestReader &request, GenerationWishes &wishes);
// A server's defaults, JSON: an object of settings, "seed" and "max_tokens". InvalidArgument, with
// the field: anything else.
ApiResult<GenerationWishes> readDefaults(std::string_view json);
// "stop", or what an API calls it: a text or several, none empty.
void readStops(const RequestReader &request, GenerationWishes &wishes,
               std::string_view name = "stop");
// "cache_prompt", as llama-server has it, and "cache_salt", as vLLM has it.
void readCacheWishes(const RequestReader &request, GenerationWishes &wishes);

inline constexpr uint32_t kMostChoices = 128;
inline constexpr uint32_t kMostLikelihoods = 20; // OpenAI's top_logprobs

} // namespace sinter::serve
