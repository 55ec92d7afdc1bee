// The ranges of settings, and what contradicts what.
#include "llm/sampler/settings.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace sinter {
namespace {

using S = SamplerSettings;

constexpr double kMostTokens = std::numeric_limits<int32_t>::max();
constexpr float kMostBias = 1e6f;
constexpr size_t kMostBreakers = 64, kMostBreakerBytes = 64;

constexpr SamplerSetting kSettings[] = {
    {"temperature", &S::temperature, 0, 100},
    {"top_k", &S::topK, 0, kMostTokens},
    {"typical_p", &S::typicalP, 0, 1},
    {"top_p", &S::topP, 0, 1},
    {"min_p", &S::minP, 0, 1},
    {"xtc_probability", &S::xtcProbability, 0, 1},
    {"xtc_threshold", &S::xtcThreshold, 0, 0.5},
    {"repeat_penalty", &S::repeatPenalty, 0.01, 100},
    {"presence_penalty", &S::presencePenalty, -100, 100},
    {"frequency_penalty", &S::frequencyPenalty, -100, 100},
    {"repeat_last_n", &S::repeatLastN, -1, kMostTokens},
    {"dry_multiplier", &S::dryMultiplier, 0, 100},
    {"dry_base", &S::dryBase, 1, 100},
    {"dry_allowed_length", &S::dryAllowedLength, 1, kMostTokens},
    {"dry_penalty_last_n", &S::dryPenaltyLastN, -1, kMostTokens},
    {"mirostat", &S::mirostat, 0, 2, true},
    {"mirostat_tau", &S::mirostatTau, 0, 100},
    {"mirostat_eta", &S::mirostatEta, 0, 1},
};

Fail invalid(std::string message) {
  return fail(Code::InvalidArgument, std::move(message));
}

Result<void> checkRanges(const SamplerSettings &settings) {
  for (const SamplerSetting &setting : kSettings)
    if (const double value = setting.valueIn(settings); !setting.allows(value))
      return invalid(std::string(setting.name) + " is " + numberText(value) + ", expected " +
                     setting.expected());
  return {};
}

Result<void> checkBreakers(const std::vector<std::string> &breakers) {
  if (breakers.size() > kMostBreakers)
    return invalid("there are " + std::to_string(breakers.size()) +
                   " DRY sequence breakers, expected at most " + std::to_string(kMostBreakers));
  for (const std::string &text : breakers)
    if (text.empty() || text.size() > kMostBreakerBytes)
      return invalid("a DRY sequence breaker has " + std::to_string(text.size()) +
                     " bytes, expected 1 to " + std::to_string(kMostBreakerBytes));
  return {};
}

Result<void> checkBiases(const std::vector<LogitBias> &biases) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  std::vector<TokenId> tokens;
  for (const LogitBias &bias : biases) {
    if (!(bias.bias == kNever || std::fabs(bias.bias) <= kMostBias))
      return invalid("the logit bias of token " + std::to_string(bias.token) + " is " +
                     numberText(bias.bias) +
                     ", expected a number from -1000000 to 1000000 or -inf");
    tokens.push_back(bias.token);
  }
  std::sort(tokens.begin(), tokens.end());
  if (const auto twice = std::adjacent_find(tokens.begin(), tokens.end()); twice != tokens.end())
    return invalid("two logit biases name token " + std::to_string(*twice) + ", expected one");
  return {};
}

Result<void> checkMirostat(const SamplerSettings &settings) {
  if (settings.mirostat == 0)
    return {};
  if (settings.temperature == 0)
    return invalid("mirostat 2 draws tokens, but the temperature is 0, expected above 0");
  const std::pair<const char *, bool> others[] = {{"top-k", settings.topK != 0},
                                                  {"typical", settings.typicalP != 1},
                                                  {"top-p", settings.topP != 1},
                                                  {"min-p", settings.minP != 0},
                                                  {"XTC", settings.xtcProbability != 0}};
  for (const auto &[name, isOn] : others)
    if (isOn)
      return invalid(std::string("mirostat 2 decides itself which candidates stay, expected no ") +
                     name + " beside it");
  return {};
}

} // namespace

void SamplerSettings::turnOffCandidateSteps() {
  const SamplerSettings off;
  topK = off.topK;
  typicalP = off.typicalP;
  topP = off.topP;
  minP = off.minP;
  xtcProbability = off.xtcProbability;
}

bool SamplerSettings::onlyLowers() const {
  const bool penaltiesDo = repeatPenalty >= 1 && presencePenalty >= 0 && frequencyPenalty >= 0;
  return (!penalises() || penaltiesDo) &&
         std::ranges::all_of(logitBias, [](const LogitBias &bias) { return bias.bias <= 0; });
}

Result<void> SamplerSettings::check() const {
  SINTER_TRY(checkRanges(*this));
  SINTER_TRY(checkBreakers(drySequenceBreakers));
  SINTER_TRY(checkBiases(logitBias));
  return checkMirostat(*this);
}

Result<void> SamplerSettings::checkVocabulary(size_t vocabulary) const {
  for (const LogitBias &bias : logitBias)
    if (bias.token < 0 || static_cast<size_t>(bias.token) >= vocabulary)
      return invalid("a logit bias names token " + std::to_string(bias.token) +
                     ", the model has tokens 0 to " + std::to_string(vocabulary - 1));
  return {};
}

bool SamplerSetting::allows(double value) const {
  return value >= least && value <= most && (!onlyEnds || value == least || value == most);
}

std::string SamplerSetting::expected() const {
  if (onlyEnds)
    return numberText(least) + " or " + numberText(most);
  return std::string(isWhole() ? "a whole number" : "a number") + " from " + numberText(least) +
         " to " + numberText(most);
}

double SamplerSetting::valueIn(const SamplerSettings &settings) const {
  return std::visit([&](auto field) { return static_cast<double>(settings.*field); }, member);
}

void SamplerSetting::set(SamplerSettings &settings, double value) const {
  if (const auto *real = std::get_if<double SamplerSettings::*>(&member))
    settings.**real = value;
  else
    settings.*std::get<int64_t SamplerSettings::*>(member) = static_cast<int64_t>(value);
}

std::span<const SamplerSetting> samplerSettingTable() {
  return kSettings;
}

const SamplerSetting *findSamplerSetting(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kSettings), std::end(kSettings),
                   [&](const SamplerSetting &setting) { return setting.name == name; });
  return found == std::end(kSettings) ? nullptr : &*found;
}

std::string numberText(double value) {
  char text[40];
  // Whole numbers without an exponent, which the shortest form may have.
  const bool whole = std::fabs(value) < 1e15 && value == std::trunc(value);
  const auto end = whole ? std::to_chars(text, text + sizeof text, static_cast<int64_t>(value))
                         : std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

} // namespace sinter
