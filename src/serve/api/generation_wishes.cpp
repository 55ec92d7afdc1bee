// From fields to sampler settings, by the sampler's own table.
#include "serve/api/generation_wishes.h"

#include "llm/sampler/defaults.h"
#include "serve/api/request_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <unordered_set>

namespace sinter::serve {
namespace {

using jinja::Input;

constexpr size_t kMostStops = 64, kMostStopBytes = 1024, kMostBreakers = 64, kMostBiases = 1 << 16;
constexpr size_t kMostTextBiases = 1024; // each is tokenized for each choice
constexpr std::string_view kMirostat = "mirostat", kTemperature = "temperature";

// Other names of settings.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"repetition_penalty", "repeat_penalty"},
    {"typical", "typical_p"},
};

// Of peers' samplers, with the value at which each is off.
struct ForeignSetting {
  std::string_view name;
  double off;
};
constexpr ForeignSetting kForeign[] = {
    {"top_n_sigma", -1},   {"dynatemp_range", 0},    {"tfs_z", 1},
    {"min_keep", 0},       {"adaptive_target", -1},  {"min_tokens", 0},
    {"length_penalty", 1}, {"smoothing_factor", 0},  {"top_a", 0},
    {"n_indent", 0},       {"t_max_predict_ms", -1}, {"t_max_prompt_ms", -1},
};

double number(const Input &value) {
  if (const auto *whole = std::get_if<int64_t>(&value.content()))
    return static_cast<double>(*whole);
  const auto *real = std::get_if<double>(&value.content());
  return real ? *real : std::numeric_limits<double>::quiet_NaN();
}

void readSetting(const RequestReader &request, std::string_view name, const SamplerSetting &setting,
                 GenerationWishes &wishes) {
  const Input *found = request.find(name);
  if (!found || wishes.asks(setting.name))
    return;
  const double value = number(*found);
  if (!setting.allows(value) || (setting.isWhole() && value != std::trunc(value)))
    request.wrong(name, setting.expected());
  else
    wishes.settings.emplace_back(&setting, value);
}

void refuseForeign(const RequestReader &request) {
  for (const ForeignSetting &setting : kForeign) {
    const Input *found = request.find(setting.name);
    if (found && number(*found) != setting.off && number(*found) != 0)
      request.problem().note(Code::Unsupported,
                             "'" + request.pathOf(setting.name) + "' is " + foundText(*found) +
                                 ", but there is no such setting here",
                             request.pathOf(setting.name));
  }
  request.refuse("samplers", "the order of the sampler's steps is fixed");
  request.refuse("lora", "there are no adapters");
  request.refuse("use_beam_search", "answers are sampled");
}

// A number; false: never.
std::optional<float> biasOf(const Input &value) {
  if (const auto *boolean = std::get_if<bool>(&value.content()); boolean && !*boolean)
    return -std::numeric_limits<float>::infinity();
  const double bias = number(value);
  return std::isnan(bias) ? std::nullopt : std::optional(static_cast<float>(bias));
}

std::optional<TokenId> tokenOf(const std::string &text) {
  TokenId token = -1;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), token);
  const bool isWhole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return isWhole && token >= 0 ? std::optional(token) : std::nullopt;
}

// One entry of an object {"15043": -2.5, " the": -1}. False: it is none.
bool addBias(const std::string &name, const Input &value, GenerationWishes &wishes) {
  const auto bias = biasOf(value);
  if (!bias || name.empty())
    return false;
  if (const auto token = tokenOf(name))
    wishes.biases.push_back({*token, *bias});
  else
    wishes.textBiases.emplace_back(name, *bias);
  return wishes.textBiases.size() <= kMostTextBiases;
}

// One of a list [[15043, -2.5], [" the", -1]].
bool addBiasPair(const Input &item, GenerationWishes &wishes) {
  const Input::List *pair = item.list();
  if (!pair || pair->size() != 2)
    return false;
  if (pair->front().text())
    return addBias(*pair->front().text(), pair->back(), wishes);
  const double id = number(pair->front());
  const bool isToken = id >= 0 && id <= std::numeric_limits<TokenId>::max() && id == std::trunc(id);
  const auto bias = biasOf(pair->back());
  if (isToken && bias)
    wishes.biases.push_back({static_cast<TokenId>(id), *bias});
  return isToken && bias;
}

void readBiases(const RequestReader &request, GenerationWishes &wishes) {
  constexpr std::string_view kName = "logit_bias";
  const Input *found = request.find(kName);
  if (!found)
    return;
  const size_t count = found->object() ? found->object()->size()
                       : found->list() ? found->list()->size()
                                       : SIZE_MAX;
  bool isFine = count <= kMostBiases;
  if (isFine && found->object())
    for (const auto &[key, value] : *found->object())
      isFine &= addBias(key, value, wishes);
  if (isFine && found->list())
    for (const Input &item : *found->list())
      isFine &= addBiasPair(item, wishes);
  if (!isFine)
    request.wrong(kName, "an object of token ids or texts and numbers, as in {\"15043\": -2.5}");
}

// A token that several texts have takes the first one's; one that is named by its number, that.
Result<void> addTextBiases(const GenerationWishes &wishes, const ModelFile &file,
                           std::vector<LogitBias> &biases) {
  if (wishes.textBiases.empty())
    return {};
  if (!file.hasTokenizer())
    return fail(Code::Unsupported, "'logit_bias' has texts, and the model has no tokenizer");
  std::unordered_set<TokenId> taken;
  for (const LogitBias &bias : biases)
    taken.insert(bias.token);
  for (const auto &[text, bias] : wishes.textBiases) {
    SINTER_ASSIGN(const Encoding encoding, file.tokenizer().encode(text, {false, false}));
    for (const TokenId token : encoding.ids)
      if (taken.insert(token).second)
        biases.push_back({token, bias});
  }
  return {};
}

// Wishes beat defaults that they contradict.
void settleMirostat(const GenerationWishes &wishes, SamplerSettings &settings) {
  SamplerSettings given = settings;
  given.turnOffCandidateSteps();
  bool choosesCandidates = false;
  for (const std::string_view name : {"top_k", "typical_p", "top_p", "min_p", "xtc_probability"}) {
    if (!wishes.asks(name))
      continue;
    const SamplerSetting &setting = *findSamplerSetting(name);
    setting.set(given, setting.valueIn(settings));
    choosesCandidates = true;
  }
  const bool isGreedy = wishes.asks(kTemperature) && settings.temperature == 0;
  if ((choosesCandidates || isGreedy) && !wishes.asks(kMirostat))
    settings.mirostat = 0;
  if (settings.mirostat != 0)
    settings = std::move(given);
}

uint64_t newSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

} // namespace

bool GenerationWishes::asks(std::string_view setting) const {
  return std::ranges::any_of(settings,
                             [&](const auto &wish) { return wish.first->name == setting; });
}

uint64_t GenerationWishes::mostTokens() const {
  return maxTokens == UINT64_MAX && defaults ? defaults->maxTokens : maxTokens;
}

Result<SamplerSettings> GenerationWishes::samplerFor(const ModelFile &file, uint32_t choice) const {
  SamplerSettings made = samplerDefaultsOf(file.gguf()).settings;
  if (defaults)
    for (const auto &[setting, value] : defaults->settings)
      setting->set(made, value);
  for (const auto &[setting, value] : settings)
    setting->set(made, value);
  settleMirostat(*this, made);
  if (breakers)
    made.drySequenceBreakers = *breakers;
  made.logitBias = biases;
  SINTER_TRY(addTextBiases(*this, file, made.logitBias));
  const std::optional<uint64_t> given = seed || !defaults ? seed : defaults->seed;
  made.seed = given ? *given + choice : newSeed();
  SINTER_TRY(made.check());
  if (file.hasTokenizer())
    SINTER_TRY(made.checkVocabulary(file.tokenizer().size()));
  return made;
}

void readSampler(const RequestReader &request, GenerationWishes &wishes) {
  for (const SamplerSetting &setting : samplerSettingTable())
    readSetting(request, setting.name, setting, wishes);
  for (const auto &[alias, name] : kAliases)
    readSetting(request, alias, *findSamplerSetting(name), wishes);
  refuseForeign(request);
  readBiases(request, wishes);
  if (request.find("dry_sequence_breakers"))
    wishes.breakers = request.texts("dry_sequence_breakers", kMostBreakers);
  // -1: a new one, as peers say it.
  const auto seed = request.whole("seed", std::numeric_limits<int64_t>::min(),
                                  std::numeric_limits<int64_t>::max());
  if (seed && *seed != -1)
    wishes.seed = static_cast<uint64_t>(*seed);
}

ApiResult<GenerationWishes> readDefaults(std::string_view json) {
  SINTER_ASSIGN(const Input fields, readRequestJson(json));
  RequestProblem problem;
  const RequestReader reader(fields, "", problem);
  if (fields.object())
    for (const auto &[name, value] : *fields.object())
      if (!findSamplerSetting(name) && name != "seed" && name != "max_tokens")
        problem.note(Code::InvalidArgument,
                     "there is no default '" + name +
                         "', expected a sampler's setting, seed or "
                         "max_tokens",
                     name);
  GenerationWishes made;
  readSampler(reader, made);
  if (const auto most = reader.whole("max_tokens", 1, INT32_MAX))
    made.maxTokens = static_cast<uint64_t>(*most);
  if (problem.first)
    return tl::unexpected(*problem.first);
  return made;
}

void readStops(const RequestReader &request, GenerationWishes &wishes, std::string_view name) {
  wishes.stops = request.texts(name, kMostStops);
  const bool isFine = std::ranges::all_of(wishes.stops, [](const std::string &stop) {
    return !stop.empty() && stop.size() <= kMostStopBytes;
  });
  if (!isFine)
    request.wrong(name, "texts of 1 to " + std::to_string(kMostStopBytes) + " bytes");
}

void readCacheWishes(const RequestReader &request, GenerationWishes &wishes) {
  constexpr size_t kMostSaltBytes = 1024;
  wishes.usesPrefixCache = request.boolean("cache_prompt").value_or(true);
  const auto salt = request.text("cache_salt");
  if (salt && (salt->empty() || salt->size() > kMostSaltBytes))
    request.wrong("cache_salt", "a text of 1 to " + std::to_string(kMostSaltBytes) + " bytes");
  wishes.cacheSalt = salt.value_or("");
}

} // namespace sinter::serve
