// The table of sampling options, and from their texts to settings.
#include "cli/sampling_options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace sinter::cli {
namespace {

// Help shows a group's name above its options.
constexpr const char *kChoice =
    "Choosing tokens (the model file's general.sampling.* before defaults)";
constexpr const char *kRepetition = "Against repetition";
constexpr const char *kMirostatName = "mirostat";
constexpr const char *kLogitBias = "logit-bias", *kSeed = "seed";

using S = SamplerSettings;

constexpr SamplingNeed kDrawing = {"temp", [](const S &s) { return s.temperature != 0; }};
constexpr SamplingNeed kXtc = {"xtc-probability", [](const S &s) { return s.xtcProbability != 0; }};
constexpr SamplingNeed kMirostat = {kMirostatName, [](const S &s) { return s.mirostat != 0; }};
constexpr SamplingNeed kDry = {"dry-multiplier", [](const S &s) { return s.dryMultiplier != 0; }};
constexpr SamplingNeed kPenalties = {"repeat-penalty",
                                     [](const S &s) {
                                       return s.repeatPenalty != 1 || s.presencePenalty != 0 ||
                                              s.frequencyPenalty != 0;
                                     },
                                     "a penalty such as "};

// Help shows them in this order; texts fit one line of 120 columns.
const SamplingOption kOptions[] = {
    {"temp", "N", kChoice,
     "temperature, 0 to 100; 0 takes the likeliest token each time (default: 0.8)", "temperature"},
    {"top-k", "N", kChoice, "draw from the N likeliest tokens; 0: all (default: 40)", "top_k",
     &kDrawing},
    {"typical", "P", kChoice,
     "draw from the most typical tokens, of probability P together (default: 1)", "typical_p",
     &kDrawing},
    {"top-p", "P", kChoice,
     "draw from the likeliest tokens, of probability P together (default: 0.95)", "top_p",
     &kDrawing},
    {"min-p", "P", kChoice,
     "draw from tokens at least P times as likely as the likeliest (default: 0.05)", "min_p",
     &kDrawing},
    {"xtc-probability", "P", kChoice,
     "XTC: how often the likeliest tokens are left out (default: 0)", "xtc_probability", &kDrawing},
    {"xtc-threshold", "P", kChoice,
     "XTC: all but the last of the tokens above P, 0.5 at most (default: 0.1)", "xtc_threshold",
     &kXtc},
    {kMirostatName, "N", kChoice,
     "2: Mirostat 2.0 in place of top-k, typical, top-p, min-p, XTC (default: 0)", "mirostat",
     &kDrawing},
    {"mirostat-ent", "BITS", kChoice, "Mirostat: the surprise to aim at, tau (default: 5)",
     "mirostat_tau", &kMirostat},
    {"mirostat-lr", "N", kChoice, "Mirostat: how fast it gets there, eta (default: 0.1)",
     "mirostat_eta", &kMirostat},
    {kLogitBias, "ID+N", kChoice,
     "add N to the logit of token ID; 15043-2.5, 15043-inf: never; may be repeated", "", nullptr,
     true},
    {kSeed, "N", kChoice, "the same seed draws the same tokens (default: a new one each time)", "",
     &kDrawing},

    {"repeat-penalty", "N", kRepetition,
     "divide logits of recent tokens, multiply negative ones (default: 1)", "repeat_penalty"},
    {"presence-penalty", "N", kRepetition, "subtract from logits of recent tokens (default: 0)",
     "presence_penalty"},
    {"frequency-penalty", "N", kRepetition,
     "subtract once for each time a recent token was there (default: 0)", "frequency_penalty"},
    {"repeat-last-n", "N", kRepetition,
     "tokens of prompt and answer that are recent; -1: all (default: 64)", "repeat_last_n",
     &kPenalties},
    {"dry-multiplier", "N", kRepetition,
     "DRY: subtract N * base ^ (run - allowed) where a run would go on (default: 0)",
     "dry_multiplier"},
    {"dry-base", "N", kRepetition, "DRY: the base (default: 1.75)", "dry_base", &kDry},
    {"dry-allowed-length", "N", kRepetition,
     "DRY: shorter runs of tokens may be repeated freely (default: 2)", "dry_allowed_length",
     &kDry},
    {"dry-penalty-last-n", "N", kRepetition,
     "DRY: tokens back that runs are looked for in; -1: all (default: -1)", "dry_penalty_last_n",
     &kDry},
    {"dry-sequence-breaker", "TEXT", kRepetition,
     "DRY: ends runs; 'none', or repeated (default: \\n : \" *)", "", &kDry, true},
};

template <typename T> bool parsesWhole(std::string_view text, T &value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

// Reads texts into settings. Its messages name options as the user spells them.
class SamplerReader {
public:
  SamplerReader(const SamplingTexts &texts, std::string_view dashes, SamplerSettings &settings)
      : texts_(texts), dashes_(dashes), settings_(settings) {}

  std::optional<Message> readValues() {
    for (const SamplingOption &option : kOptions)
      if (auto bad = readOption(option))
        return bad;
    return std::nullopt;
  }

  std::optional<Message> read() {
    if (auto bad = readValues())
      return bad;
    settleMirostat();
    for (const SamplingOption &option : kOptions)
      if (auto bad = checkNeed(option))
        return bad;
    if (const auto checked = settings_.check(); !checked)
      return usage(checked.error().message);
    return std::nullopt;
  }

private:
  static Message usage(std::string text) { return {kExitUsage, std::move(text)}; }
  std::string spelled(std::string_view name) const {
    return std::string(dashes_) + std::string(name);
  }
  Message isWrong(std::string_view name, const std::string &text, const std::string &expected) {
    return usage(spelled(name) + " is '" + text + "', expected " + expected);
  }

  // What was asked for beats a default that it contradicts.
  void settleMirostat() {
    SamplerSettings given = settings_;
    given.turnOffCandidateSteps();
    bool choosesCandidates = false;
    for (const char *name : {"top-k", "typical", "top-p", "min-p", "xtc-probability"}) {
      if (!texts_.has(name))
        continue;
      const SamplerSetting &setting = *findSamplerSetting(findSamplingOption(name)->setting);
      setting.set(given, setting.valueIn(settings_));
      choosesCandidates = true;
    }
    if (choosesCandidates && !texts_.has(kMirostatName))
      settings_.mirostat = 0;
    if (settings_.mirostat != 0)
      settings_ = std::move(given);
  }

  std::optional<Message> readOption(const SamplingOption &option) {
    if (option.isList) {
      const auto given = texts_.lists.find(option.name);
      return given == texts_.lists.end() ? std::nullopt : readList(option, given->second);
    }
    const auto given = texts_.values.find(option.name);
    if (given == texts_.values.end())
      return std::nullopt;
    return option.setting[0] ? readNumber(option, given->second) : readSeed(option, given->second);
  }

  std::optional<Message> readNumber(const SamplingOption &option, const std::string &text) {
    const SamplerSetting &setting = *findSamplerSetting(option.setting);
    int64_t whole = 0;
    double number = 0;
    const bool parsed = setting.isWhole() ? parsesWhole(text, whole) : parsesWhole(text, number);
    if (setting.isWhole())
      number = static_cast<double>(whole);
    if (!parsed || !setting.allows(number))
      return isWrong(option.name, text, setting.expected());
    setting.set(settings_, number);
    return std::nullopt;
  }

  std::optional<Message> readSeed(const SamplingOption &option, const std::string &text) {
    if (parsesWhole(text, settings_.seed))
      return std::nullopt;
    return isWrong(option.name, text,
                   "a whole number from 0 to " +
                       std::to_string(std::numeric_limits<uint64_t>::max()));
  }

  std::optional<Message> readList(const SamplingOption &option,
                                  const std::vector<std::string> &texts) {
    const bool isBias = std::string_view(option.name) == kLogitBias;
    if (!isBias)
      settings_.drySequenceBreakers.clear();
    if (!isBias && texts == std::vector<std::string>{"none"})
      return std::nullopt;
    for (const std::string &text : texts)
      if (auto bad = isBias ? readBias(option, text) : readBreaker(option, text))
        return bad;
    return std::nullopt;
  }

  // ID, a sign, a number.
  std::optional<Message> readBias(const SamplingOption &option, const std::string &text) {
    LogitBias bias{};
    const size_t sign = text.find_first_of("+-", 1);
    const bool found = sign != std::string::npos && sign + 1 < text.size();
    const std::string_view id = std::string_view(text).substr(0, found ? sign : 0);
    const std::string_view size = std::string_view(text).substr(found ? sign + 1 : 0);
    if (!found || size.front() == '-' || !parsesWhole(id, bias.token) || bias.token < 0 ||
        !parsesWhole(size, bias.bias) || std::isnan(bias.bias))
      return isWrong(option.name, text, "a token's id, + or -, and a number, as in 15043-2.5");
    bias.bias = text[sign] == '-' ? -bias.bias : bias.bias;
    settings_.logitBias.push_back(bias);
    return std::nullopt;
  }

  std::optional<Message> readBreaker(const SamplingOption &option, const std::string &text) {
    std::string breaker;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        breaker += text[i];
        continue;
      }
      const char escaped = i + 1 < text.size() ? text[++i] : '\0';
      if (escaped != 'n' && escaped != 't' && escaped != '\\')
        return isWrong(option.name, text, "n, t or \\ after its backslash");
      breaker += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : '\\';
    }
    settings_.drySequenceBreakers.push_back(std::move(breaker));
    return std::nullopt;
  }

  // Nothing that was asked for may be without effect unnoticed.
  std::optional<Message> checkNeed(const SamplingOption &option) const {
    const SamplingNeed *need = option.need;
    if (!need || !texts_.has(option.name) || need->isMet(settings_))
      return std::nullopt;
    const auto given = texts_.values.find(need->option);
    return usage(spelled(option.name) + " has no effect " +
                 (given == texts_.values.end()
                      ? std::string("without ") + need->kind + spelled(need->option)
                      : "at " + spelled(need->option) + " " + given->second));
  }

  const SamplingTexts &texts_;
  const std::string_view dashes_;
  SamplerSettings &settings_;
};

} // namespace

std::span<const SamplingOption> samplingOptions() {
  return kOptions;
}

const SamplingOption *findSamplingOption(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  for (const SamplingOption &option : kOptions) {
    std::string setting = option.setting;
    std::replace(setting.begin(), setting.end(), '_', '-');
    if (name == option.name || (!setting.empty() && name == setting))
      return &option;
  }
  return nullptr;
}

std::optional<Message> readSampler(const SamplingTexts &texts, SamplerSettings &settings,
                                   std::string_view dashes) {
  return SamplerReader(texts, dashes, settings).read();
}

std::optional<Message> checkSamplingValues(const SamplingTexts &texts) {
  SamplerSettings unused;
  return SamplerReader(texts, "--", unused).readValues();
}

bool drawsSeed(const SamplingTexts &texts, const SamplerSettings &settings) {
  return settings.temperature != 0 && !texts.has(kSeed);
}

} // namespace sinter::cli
