// The table of options, and their checks.
#include "cli/load/load_options.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace sinter::cli {
namespace {

constexpr const char *kServer = "Server", *kArrivals = "Arrivals", *kRequests = "Requests",
                     *kResults = "Results";

constexpr LoadOption kOptions[] = {
    {"--url,--base-url", "URL", kServer,
     "http://HOST:PORT, https://HOST:PORT or unix:PATH; a path behind it is a prefix"},
    {"--model", "NAME", kServer, "the model's name there (default: the first of /v1/models)"},
    {"--endpoint", "NAME", kServer, "completions or chat (default: completions)"},
    {"--key", "KEY", kServer, "an API key; other users of this machine can read it: --key-file"},
    {"--key-file", "FILE", kServer, "a file with an API key alone"},
    {"--tls-ca", "FILE", kServer, "certificates to trust, PEM (default: the system's)"},
    {"--insecure", "", kServer, "take any certificate"},
    {"--timeout", "N", kServer, "seconds that an answer may take (default: 600)"},
    {"--rate,--request-rate", "LIST", kArrivals,
     "requests a second, answered or not; several with commas are runs in turn"},
    {"--burstiness", "N", kArrivals,
     "shape of gamma arrivals: 1 is Poisson, less comes in bursts (default: 1)"},
    {"--concurrency", "LIST", kArrivals,
     "instead of --rate: clients that wait for each answer (default: 1)"},
    {"--max-concurrency", "N", kArrivals,
     "most of --rate under way; others wait, which counts (default: 4096)"},
    {"--requests,--num-prompts", "N", kArrivals, "requests of a run (default: 100)"},
    {"--seconds", "N", kArrivals,
     "begin no request of a run later; --requests has no default then"},
    {"--warmup,--num-warmups", "N", kArrivals,
     "requests before the first run that do not count (default: 1)"},
    {"--seed", "N", kArrivals,
     "the same seed sends the same requests at the same times (default: 1)"},
    {"--input-tokens", "LENGTHS", kRequests,
     "N, uniform:FROM:TO, normal:MEAN:DEVIATION, exponential:MEAN (default: 128)"},
    {"--output-tokens", "LENGTHS", kRequests, "of an answer at most (default: 128)"},
    {"--shared-prefix", "N", kRequests,
     "tokens that stand before --input-tokens, the same in each prompt (default: 0)"},
    {"--token-ids", "FROM:TO", kRequests,
     "prompts of token numbers in place of words; with completions"},
    {"--dataset,--dataset-path", "FILE", kRequests,
     "JSON lines or a list: prompt, messages or conversations; output_tokens"},
    {"--ignore-eos", "", kRequests, "ask for answers that go on behind end tokens"},
    {"--extra-body", "JSON", kRequests, "an object whose members each request has too"},
    {"--goodput", "LIST", kResults,
     "limits of good requests: ttft:MS, itl:MS (longest), tpot:MS, e2el:MS"},
    {"--json,--output-json", "FILE", kResults, "write all figures as JSON"},
    {"--svg", "FILE", kResults, "draw latencies, and throughput by rate"},
};

constexpr uint64_t kMostRequests = 1'000'000'000;
constexpr uint32_t kMostConcurrency = 60'000;
constexpr double kMostRate = 1e6, kMostSeconds = 7 * 24 * 3600;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == text.npos)
      return parts;
    text.remove_prefix(end + 1);
  }
}

template <typename T> std::optional<T> numberOf(std::string_view text, T least, T most) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() ||
      !(value >= least && value <= most))
    return std::nullopt;
  return value;
}

Fail bad(const std::string &key, std::string_view found, const std::string &expected) {
  return fail(Code::InvalidArgument,
              "--" + key + " is '" + std::string(found) + "', expected " + expected);
}

// Values of options by key.
class Texts {
public:
  explicit Texts(const LoadTexts &texts) : texts_(texts) {}

  bool has(const char *key) const { return texts_.contains(key); }
  // The last one that was given; null: none.
  const std::string *find(const char *key) const {
    const auto found = texts_.find(key);
    return found == texts_.end() ? nullptr : &found->second.back();
  }
  std::string get(const char *key) const { return find(key) ? *find(key) : std::string(); }
  // Sets `value` where the option was given.
  template <typename T>
  Result<void> read(const char *key, T least, T most, T &value, const char *what) const {
    if (!has(key))
      return {};
    const auto number = numberOf<T>(*find(key), least, most);
    if (!number)
      return bad(key, *find(key), what);
    value = *number;
    return {};
  }
  Result<void> readFile(const char *key, std::string &value) const {
    value = get(key);
    if (has(key) && value.empty())
      return fail(Code::InvalidArgument, std::string("--") + key + " is empty, expected a file");
    return {};
  }
  Result<void> readLengths(const char *key, Lengths &value) const {
    if (!has(key))
      return {};
    auto lengths = Lengths::parse(*find(key));
    if (!lengths)
      return fail(Code::InvalidArgument,
                  std::string("--") + key + " is " + lengths.error().message);
    value = *lengths;
    return {};
  }
  std::vector<std::string> all(const char *key) const {
    const auto found = texts_.find(key);
    return found == texts_.end() ? std::vector<std::string>() : found->second;
  }

private:
  const LoadTexts &texts_;
};

Result<void> readUrl(const Texts &texts, LoadTarget &target) {
  const std::string url = texts.get("url");
  const auto expected = [&] {
    return bad("url", url, "http://HOST:PORT, https://HOST:PORT or unix:PATH");
  };
  std::string_view left = url;
  if (left.starts_with("unix:") && left.size() > 5) {
    target.unixPath = left.substr(5);
    target.host = "localhost";
    return {};
  }
  target.isTls = left.starts_with("https://");
  if (!target.isTls && !left.starts_with("http://"))
    return expected();
  left.remove_prefix(left.find("//") + 2);
  std::string_view authority = left.substr(0, left.find('/'));
  target.prefix = left.substr(authority.size());
  while (target.prefix.ends_with('/'))
    target.prefix.pop_back();
  const size_t bracket = authority.find(']'); // of an IPv6 address
  const size_t colon = authority.find(':', bracket == authority.npos ? 0 : bracket);
  target.port = target.isTls ? 443 : 80;
  if (colon != authority.npos) {
    const auto port = numberOf<uint16_t>(authority.substr(colon + 1), 1, UINT16_MAX);
    if (!port)
      return expected();
    target.port = *port;
  }
  std::string_view host = authority.substr(0, colon);
  if (bracket != authority.npos)
    host = host.starts_with('[') ? host.substr(1, bracket - 1) : std::string_view();
  target.host = host;
  const auto isOdd = [](char c) {
    return c <= ' ' || c == 0x7f || c == '@' || c == '?' || c == '#';
  };
  if (host.empty() || std::ranges::any_of(url, isOdd))
    return expected();
  return {};
}

Result<void> readTarget(const Texts &texts, LoadArguments &load) {
  if (!texts.has("url"))
    return fail(Code::InvalidArgument, "--url is not given, expected a server's address such as "
                                       "http://127.0.0.1:11434");
  LoadTarget &target = load.target;
  SINTER_TRY(readUrl(texts, target));
  target.key = texts.get("key");
  SINTER_TRY(texts.readFile("key-file", load.keyFile));
  if (texts.has("key") && texts.has("key-file"))
    return fail(Code::InvalidArgument, "--key and --key-file exclude one another");
  target.isInsecure = texts.has("insecure");
  SINTER_TRY(texts.readFile("tls-ca", target.authorities));
  SINTER_TRY(
      texts.read("timeout", 0.001, kMostSeconds, target.timeoutSeconds, "a number of seconds"));
  load.model = texts.get("model");
  const std::string endpoint = texts.has("endpoint") ? texts.get("endpoint") : "completions";
  load.isChat = endpoint == "chat";
  if (!load.isChat && endpoint != "completions")
    return bad("endpoint", endpoint, "completions or chat");
  return {};
}

Result<void> readRuns(const Texts &texts, LoadArguments &load) {
  if (texts.has("rate") && texts.has("concurrency"))
    return fail(Code::InvalidArgument, "--rate and --concurrency exclude one another; "
                                       "--max-concurrency limits an open loop");
  if (texts.has("rate")) {
    const std::string rates = texts.get("rate");
    for (const std::string_view part : split(rates, ',')) {
      const auto rate = numberOf<double>(part, 1e-6, kMostRate);
      if (!rate)
        return bad("rate", rates, "requests a second, several with commas between them");
      load.runs.push_back({.rate = *rate});
    }
    return {};
  }
  const std::string clients = texts.has("concurrency") ? texts.get("concurrency") : "1";
  for (const std::string_view part : split(clients, ',')) {
    const auto count = numberOf<uint32_t>(part, 1, kMostConcurrency);
    if (!count)
      return bad("concurrency", clients,
                 "numbers from 1 to " + std::to_string(kMostConcurrency) +
                     " with commas between them");
    load.runs.push_back({.concurrency = *count});
  }
  return {};
}

Result<void> readArrivals(const Texts &texts, LoadArguments &load) {
  SINTER_TRY(readRuns(texts, load));
  SINTER_TRY(texts.read("burstiness", 0.01, 1e6, load.burstiness, "a number from 0.01"));
  if (texts.has("burstiness") && !texts.has("rate"))
    return fail(Code::InvalidArgument, "--burstiness has no effect without --rate");
  SINTER_TRY(texts.read("max-concurrency", 1u, kMostConcurrency, load.mostConcurrency,
                        "a number from 1 to 60000"));
  SINTER_TRY(texts.read("seconds", 0.001, kMostSeconds, load.seconds, "a number of seconds"));
  if (texts.has("seconds"))
    load.requests = kMostRequests;
  SINTER_TRY(texts.read<uint64_t>("requests", 1, kMostRequests, load.requests,
                                  "a number from 1 to 1000000000"));
  SINTER_TRY(texts.read("warmup", 0u, 100'000u, load.warmUp, "a number from 0 to 100000"));
  return texts.read<uint64_t>("seed", 0, UINT64_MAX, load.seed, "a number from 0");
}

Result<void> readTokenIds(const Texts &texts, LoadArguments &load) {
  if (!texts.has("token-ids"))
    return {};
  const std::string text = texts.get("token-ids");
  const std::string_view from = std::string_view(text).substr(0, text.find(':'));
  const auto first = numberOf<int32_t>(from, 0, INT32_MAX);
  const auto last =
      text.size() > from.size()
          ? numberOf<int32_t>(std::string_view(text).substr(from.size() + 1), 1, INT32_MAX)
          : std::nullopt;
  if (!first || !last || *last <= *first)
    return bad("token-ids", text, "FROM:TO, numbers of tokens");
  if (load.isChat)
    return fail(Code::InvalidArgument, "--token-ids has no effect with --endpoint chat");
  load.firstId = *first;
  load.lastId = *last;
  return {};
}

Result<void> readRequests(const Texts &texts, LoadArguments &load) {
  SINTER_TRY(texts.readLengths("input-tokens", load.input));
  SINTER_TRY(texts.readLengths("output-tokens", load.output));
  load.outputGiven = texts.has("output-tokens");
  SINTER_TRY(texts.read("shared-prefix", 0u, kMostLength, load.sharedPrefix, "a number of tokens"));
  SINTER_TRY(readTokenIds(texts, load));
  SINTER_TRY(texts.readFile("dataset", load.dataset));
  for (const char *other : {"input-tokens", "shared-prefix", "token-ids"})
    if (texts.has("dataset") && texts.has(other))
      return fail(Code::InvalidArgument,
                  std::string("--") + other + " has no effect with --dataset");
  load.ignoresEnd = texts.has("ignore-eos");
  load.extraBody = texts.get("extra-body");
  return {};
}

// "ttft:200", several with commas between them or given again.
Result<void> readGoodput(const Texts &texts, GoodputLimits &limits) {
  const std::pair<std::string_view, double *> names[] = {{"ttft", &limits.firstToken},
                                                         {"itl", &limits.betweenTokens},
                                                         {"tpot", &limits.perToken},
                                                         {"e2el", &limits.whole}};
  constexpr double kMostMs = 1e9, kMilli = 1e-3;
  for (const std::string &text : texts.all("goodput"))
    for (const std::string_view part : split(text, ',')) {
      const std::string_view name = part.substr(0, part.find(':'));
      const auto found =
          std::ranges::find(names, name, &std::pair<std::string_view, double *>::first);
      const auto ms = part.size() > name.size()
                          ? numberOf<double>(part.substr(name.size() + 1), 1e-3, kMostMs)
                          : std::nullopt;
      if (found == std::end(names) || !ms)
        return bad("goodput", part, "ttft:MS, itl:MS, tpot:MS or e2el:MS");
      *found->second = *ms * kMilli;
    }
  return {};
}

} // namespace

std::string LoadOption::key() const {
  const std::string_view all = names;
  return std::string(all.substr(2, all.find(',') - 2));
}

std::span<const LoadOption> loadOptions() {
  return kOptions;
}

std::string LoadTarget::url() const {
  if (!unixPath.empty())
    return "unix:" + unixPath;
  const bool isV6 = host.find(':') != host.npos;
  return std::string(isTls ? "https://" : "http://") + (isV6 ? "[" + host + "]" : host) + ":" +
         std::to_string(port) + prefix;
}

Result<LoadArguments> readLoadOptions(const LoadTexts &given) {
  const Texts texts(given);
  LoadArguments load;
  SINTER_TRY(readTarget(texts, load));
  SINTER_TRY(readArrivals(texts, load));
  SINTER_TRY(readRequests(texts, load));
  SINTER_TRY(readGoodput(texts, load.goodput));
  SINTER_TRY(texts.readFile("json", load.json));
  SINTER_TRY(texts.readFile("svg", load.svg));
  return load;
}

} // namespace sinter::cli
