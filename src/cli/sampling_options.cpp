// The table of sampling options, and from their texts to settings.
#include "cli/sampling_options.h"

#include "cli/arguments.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace sinter::cli {
namespace {

constexpr const char *kChoice = "Choosing tokens";
constexpr const char *kRepetition = "Against repetition";
constexpr const char *kPenalties = "--repeat-penalty,--presence-penalty,--frequency-penalty";

// Help shows them in this order; texts fit one line of 120 columns.
const SamplingOption kOptions[] = {
    {"--temp", "N", kChoice,
     "temperature, 0 to 100; 0 takes the likeliest token each time (default: 0)", "temperature"},
    {"--top-k", "N", kChoice, "draw from the N likeliest tokens (default: 0, all)", "top_k",
     "--temp"},
    {"--typical", "P", kChoice,
     "draw from the most typical tokens, of probability P together (default: 1)", "typical_p",
     "--temp"},
    {"--top-p", "P", kChoice,
     "draw from the likeliest tokens, of probability P together (default: 1)", "top_p", "--temp"},
    {"--min-p", "P", kChoice,
     "draw from tokens at least P times as likely as the likeliest (default: 0)", "min_p",
     "--temp"},
    {"--xtc-probability", "P", kChoice,
     "XTC: how often the likeliest tokens are left out (default: 0)", "xtc_probability", "--temp"},
    {"--xtc-threshold", "P", kChoice,
     "XTC: all but the last of the tokens above P, 0.5 at most (default: 0.1)", "xtc_threshold",
     "--xtc-probability"},
    {"--mirostat", "N", kChoice,
     "2: Mirostat 2.0 in place of top-k, typical, top-p, min-p, XTC (default: 0)", "mirostat",
     "--temp"},
    {"--mirostat-ent", "BITS", kChoice, "Mirostat: the surprise to aim at, tau (default: 5)",
     "mirostat_tau", "--mirostat"},
    {"--mirostat-lr", "N", kChoice, "Mirostat: how fast it gets there, eta (default: 0.1)",
     "mirostat_eta", "--mirostat"},
    {"--logit-bias", "ID+N", kChoice,
     "add N to the logit of token ID; 15043-2.5, 15043-inf: never; may be repeated", "", "", true},
    {"--seed", "N", kChoice, "the same seed draws the same tokens (default: a new one each time)"},

    {"--repeat-penalty", "N", kRepetition,
     "divide logits of recent tokens, multiply negative ones (default: 1)", "repeat_penalty"},
    {"--presence-penalty", "N", kRepetition, "subtract from logits of recent tokens (default: 0)",
     "presence_penalty"},
    {"--frequency-penalty", "N", kRepetition,
     "subtract once for each time a recent token was there (default: 0)", "frequency_penalty"},
    {"--repeat-last-n", "N", kRepetition,
     "tokens of prompt and answer that are recent; -1: all (default: 64)", "repeat_last_n",
     kPenalties},
    {"--dry-multiplier", "N", kRepetition,
     "DRY: subtract N * base ^ (run - allowed) where a run would go on (default: 0)",
     "dry_multiplier"},
    {"--dry-base", "N", kRepetition, "DRY: the base (default: 1.75)", "dry_base",
     "--dry-multiplier"},
    {"--dry-allowed-length", "N", kRepetition,
     "DRY: shorter runs of tokens may be repeated freely (default: 2)", "dry_allowed_length",
     "--dry-multiplier"},
    {"--dry-penalty-last-n", "N", kRepetition,
     "DRY: tokens back that runs are looked for in; -1: all (default: -1)", "dry_penalty_last_n",
     "--dry-multiplier"},
    {"--dry-sequence-breaker", "TEXT", kRepetition,
     "DRY: ends runs; 'none', or repeated (default: \\n : \" *)", "", "--dry-multiplier", true},
};

Message usage(std::string text) {
  return {kExitUsage, std::move(text)};
}

template <typename T> bool parsesWhole(std::string_view text, T &value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

std::optional<Message> readNumber(const SamplingOption &option, const std::string &text,
                                  SamplerSettings &settings) {
  const SamplerSetting &setting = *findSamplerSetting(option.setting);
  int64_t whole = 0;
  double number = 0;
  const bool parsed = setting.isWhole() ? parsesWhole(text, whole) : parsesWhole(text, number);
  if (setting.isWhole())
    number = static_cast<double>(whole);
  if (!parsed || !setting.allows(number))
    return usage(std::string(option.name) + " is '" + text + "', expected " + setting.expected());
  setting.set(settings, number);
  return std::nullopt;
}

// ID, a sign, a number.
std::optional<Message> readBias(const std::string &text, std::vector<LogitBias> &biases) {
  LogitBias bias{};
  const size_t sign = text.find_first_of("+-", 1);
  const bool found = sign != std::string::npos && sign + 1 < text.size();
  const std::string_view id = std::string_view(text).substr(0, found ? sign : 0);
  const std::string_view size = std::string_view(text).substr(found ? sign + 1 : 0);
  if (!found || size.front() == '-' || !parsesWhole(id, bias.token) || bias.token < 0 ||
      !parsesWhole(size, bias.bias) || std::isnan(bias.bias))
    return usage("--logit-bias is '" + text +
                 "', expected a token's id, + or -, and a number, as in 15043-2.5");
  bias.bias = text[sign] == '-' ? -bias.bias : bias.bias;
  biases.push_back(bias);
  return std::nullopt;
}

std::optional<Message> readBreaker(const std::string &text, std::vector<std::string> &breakers) {
  std::string breaker;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      breaker += text[i];
      continue;
    }
    const char escaped = i + 1 < text.size() ? text[++i] : '\0';
    if (escaped != 'n' && escaped != 't' && escaped != '\\')
      return usage("--dry-sequence-breaker is '" + text +
                   "', expected n, t or \\ after its backslash");
    breaker += escaped == 'n' ? '\n' : escaped == 't' ? '\t' : '\\';
  }
  breakers.push_back(std::move(breaker));
  return std::nullopt;
}

std::optional<Message> readLists(const SamplingTexts &texts, SamplerSettings &settings) {
  for (const auto &[name, values] : texts.lists) {
    const bool isBias = name == "--logit-bias";
    if (!isBias)
      settings.drySequenceBreakers.clear();
    if (!isBias && values == std::vector<std::string>{"none"})
      continue;
    for (const std::string &text : values)
      if (auto bad = isBias ? readBias(text, settings.logitBias)
                            : readBreaker(text, settings.drySequenceBreakers))
        return bad;
  }
  return std::nullopt;
}

// Nothing that was asked for may be without effect unnoticed.
std::optional<Message> checkNeeds(const SamplingTexts &texts) {
  for (const SamplingOption &option : kOptions) {
    if (!texts.has(option.name) || option.needs[0] == '\0')
      continue;
    std::string_view rest = option.needs;
    bool met = false;
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      met |= texts.has(std::string(rest.substr(0, comma)));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    if (!met)
      return usage(
          std::string(option.name) + " has no effect without " +
          (option.needs == kPenalties ? "a penalty such as --repeat-penalty" : option.needs));
  }
  return std::nullopt;
}

} // namespace

std::span<const SamplingOption> samplingOptions() {
  return kOptions;
}

std::optional<Message> readSampler(const SamplingTexts &texts, SamplerSettings &settings) {
  for (const SamplingOption &option : kOptions) {
    const auto given = texts.values.find(option.name);
    if (given == texts.values.end() || option.setting[0] == '\0')
      continue;
    if (auto bad = readNumber(option, given->second, settings))
      return bad;
  }
  if (auto bad = readLists(texts, settings))
    return bad;
  const auto seed = texts.values.find("--seed");
  if (seed != texts.values.end() && !parsesWhole(seed->second, settings.seed))
    return usage("--seed is '" + seed->second + "', expected a whole number from 0 to " +
                 std::to_string(std::numeric_limits<uint64_t>::max()));
  if (auto bad = checkNeeds(texts))
    return bad;
  if (const auto checked = settings.check(); !checked)
    return usage(checked.error().message);
  return std::nullopt;
}

} // namespace sinter::cli
