// Range checks of every value of the command line.
#include "cli/arguments.h"

#include "base/nearest.h"
#include "cli/command_line.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace sinter::cli {
namespace {

// Context, prompt and token counts stay below what an i32 of a plan holds.
constexpr uint64_t kMostTokens = std::numeric_limits<int32_t>::max();
constexpr uint64_t kMostThreads = 4096;
constexpr uint64_t kMostRepeats = 1000;
constexpr uint64_t kMostParallel = 65536;
constexpr uint64_t kMostBudgetSeconds = 24 * 3600;

Message usage(const std::string &text) {
  return {kExitUsage, text};
}

// Sets `value` where the option was given.
template <typename T>
std::optional<Message> readCount(const std::optional<std::string> &text, const char *option,
                                 uint64_t least, uint64_t most, T &value) {
  if (!text)
    return std::nullopt;
  uint64_t number = 0;
  const char *end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < least || number > most)
    return usage(std::string(option) + " is '" + *text + "', expected a whole number from " +
                 std::to_string(least) + " to " + std::to_string(most));
  value = static_cast<T>(number);
  return std::nullopt;
}

std::vector<std::string> splitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos)
      return parts;
    text.remove_prefix(comma + 1);
  }
}

std::optional<Message> readPrecision(const CommandLine &line, Precision &precision) {
  if (line.kvType && !findKvType(*line.kvType))
    return usage("--kv-type is '" + *line.kvType + "', expected one of " + kvTypeNames());
  if (line.activations && !findActivations(*line.activations))
    return usage("--activations is '" + *line.activations + "', expected one of " +
                 activationsNames());
  precision = {line.kvType.value_or(""), line.activations.value_or("")};
  return std::nullopt;
}

std::optional<Message> readModelOptions(const CommandLine &line, ModelArguments &model) {
  if (line.device && !(model.device = host::parseDeviceName(*line.device)))
    return usage("--device is '" + *line.device +
                 "', expected auto, cpu, cuda or vulkan, or one of several such as cuda:1" +
                 nearestHint(line.device->substr(0, line.device->find(':')), host::deviceNames()));
  if (line.plan && line.plan->empty())
    return usage("--plan is empty, expected a file");
  model.plan = line.plan.value_or("");
  model.keepsWeights = !line.noWeightCache;
  if (line.overlap && *line.overlap != "on" && *line.overlap != "off")
    return usage("--overlap is '" + *line.overlap + "', expected on or off");
  if (line.overlap)
    model.overlap = *line.overlap == "on";
  if (auto bad = readPrecision(line, model.precision))
    return bad;
  if (auto bad = readCount(line.threads, "--threads", 1, kMostThreads, model.threads))
    return bad;
  return readCount(line.context, "--context", 1, kMostTokens, model.context);
}

std::optional<Message> readModel(const CommandLine &line, ModelArguments &model) {
  model.model = line.model;
  if (model.model.empty())
    return usage("MODEL is empty, expected a path or a name");
  return readModelOptions(line, model);
}

// NAME=JSON; the JSON is read with the template.
std::optional<Message> readTemplateArgument(const std::string &text, ChatArguments &chat) {
  const size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    return usage("--template-arg is '" + text + "', expected KEY=JSON");
  chat.others.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  return std::nullopt;
}

std::optional<Message> readChat(const CommandLine &line, ChatArguments &chat) {
  if (line.think && *line.think != "on" && *line.think != "off")
    return usage("--think is '" + *line.think + "', expected on or off");
  if (line.think)
    chat.think = *line.think == "on";
  const std::vector<std::string> efforts = {"low", "medium", "high"};
  if (line.reasoningEffort && std::ranges::find(efforts, *line.reasoningEffort) == efforts.end())
    return usage("--reasoning-effort is '" + *line.reasoningEffort +
                 "', expected low, medium or high");
  chat.reasoningEffort = line.reasoningEffort.value_or("");
  if (line.tools && line.tools->empty())
    return usage("--tools is empty, expected a file");
  chat.tools = line.tools.value_or("");
  if (line.chatTemplate && line.chatTemplate->empty())
    return usage("--chat-template is empty, expected a file or a name");
  chat.chatTemplate = line.chatTemplate.value_or("");
  for (const std::string &text : line.templateArguments)
    if (auto bad = readTemplateArgument(text, chat))
      return bad;
  return std::nullopt;
}

std::optional<Message> read(const CommandLine &line, ChatTemplateArguments &arguments) {
  arguments.model = line.model;
  if (arguments.model.empty())
    return usage("MODEL is empty, expected a path or a name");
  if (line.messages && line.messages->empty())
    return usage("--messages is empty, expected a file");
  arguments.messages = line.messages.value_or("");
  arguments.addGenerationPrompt = !line.noGenerationPrompt;
  return readChat(line, arguments.chat);
}

std::optional<Message> read(const CommandLine &line, RunArguments &run) {
  run.prompt = line.prompt;
  run.raw = line.raw;
  if (run.prompt && run.prompt->empty())
    return usage("--prompt is empty, expected some text");
  if (auto bad = readModel(line, run.model))
    return bad;
  if (line.system && line.system->empty())
    return usage("--system is empty, expected some text");
  if (line.system && run.raw)
    return usage("--system has no effect with --raw");
  run.system = line.system.value_or("");
  if (auto bad = readChat(line, run.chat))
    return bad;
  if (const std::string option = run.chat.firstOption(); run.raw && !option.empty())
    return usage(option + " has no effect with --raw");
  run.sampling = line.sampling;
  if (auto bad = checkSamplingValues(line.sampling))
    return bad;
  uint64_t tokens = 0;
  if (auto bad = readCount(line.tokens, "-n", 1, kMostTokens, tokens))
    return bad;
  run.tokens = line.tokens ? std::optional(tokens) : std::nullopt;
  return std::nullopt;
}

std::optional<Message> read(const CommandLine &line, BenchArguments &bench) {
  bench.json = line.json;
  if (auto bad = readModel(line, bench.model))
    return bad;
  if (auto bad = readCount(line.prompt, "--prompt", 1, kMostTokens / 2, bench.prompt))
    return bad;
  if (auto bad = readCount(line.generate, "--gen", 1, kMostTokens / 2, bench.generate))
    return bad;
  if (auto bad = readCount(line.parallel, "--parallel", 1, kMostParallel, bench.parallel))
    return bad;
  return readCount(line.repeat, "--repeat", 1, kMostRepeats, bench.repeat);
}

std::optional<Message> read(const CommandLine &line, LoadArguments &load) {
  auto read = readLoadOptions(line.load);
  if (!read)
    return usage(read.error().message);
  load = std::move(*read);
  return std::nullopt;
}

std::optional<Message> read(const CommandLine &line, ExplainArguments &explain) {
  explain.verbose = line.verbose;
  explain.json = line.json;
  if (line.svg && line.svg->empty())
    return usage("--svg is empty, expected a file");
  explain.svg = line.svg.value_or("");
  if (auto bad = readModel(line, explain.model))
    return bad;
  if (auto bad = readCount(line.depth, "--depth", 0, kMostTokens / 2, explain.depth))
    return bad;
  if (auto bad = readCount(line.parallel, "--parallel", 1, kMostParallel, explain.parallel))
    return bad;
  return readCount(line.prompt, "--prompt", 1, kMostTokens / 2, explain.prompt);
}

std::optional<Message> read(const CommandLine &line, TuneArguments &tune) {
  if (auto bad = readModel(line, tune.model))
    return bad;
  return readCount(line.budget, "--budget", 1, kMostBudgetSeconds, tune.budgetSeconds);
}

std::optional<Message> read(const CommandLine &line, PerplexityArguments &perplexity) {
  perplexity.file = line.file;
  perplexity.divergence = line.divergence;
  perplexity.decodes = line.decodes;
  if (auto bad = readModel(line, perplexity.model))
    return bad;
  return readCount(line.window, "--window", 4, kMostTokens, perplexity.window);
}

std::optional<Message> read(const CommandLine &line, ShowArguments &show) {
  show.json = line.json;
  return readModel(line, show.model);
}

std::optional<Message> readTokens(const std::string &text, std::vector<int32_t> &tokens) {
  for (const std::string &part : splitAtCommas(text)) {
    int32_t token = 0;
    const char *end = part.data() + part.size();
    const auto parsed = std::from_chars(part.data(), end, token);
    if (parsed.ec != std::errc() || parsed.ptr != end || token < 0)
      return usage("--tokens has '" + part.substr(0, 64) +
                   "', expected token numbers with commas between them, as in 1,5,9");
    tokens.push_back(token);
  }
  return std::nullopt;
}

std::optional<Message> read(const CommandLine &line, LogitsArguments &logits) {
  logits.json = line.json;
  logits.prompt = line.prompt;
  if (line.prompt && line.tokens)
    return usage("--tokens and --prompt are both given, expected one of them");
  if (!line.prompt && !line.tokens)
    return usage("neither --tokens nor --prompt is given, expected one of them");
  if (line.prompt && line.prompt->empty())
    return usage("--prompt is empty, expected some text");
  if (line.tokens)
    if (auto bad = readTokens(*line.tokens, logits.tokens.emplace()))
      return bad;
  if (auto bad = readModel(line, logits.model))
    return bad;
  if (auto bad = readCount(line.decode, "--decode", 0, kMostTokens, logits.decode))
    return bad;
  return readCount(line.top, "--top", 1, kMostTokens, logits.top);
}

std::optional<Message> readPooling(const CommandLine &line, std::optional<Pooling> &pooling) {
  if (line.pooling && !(pooling = findPooling(*line.pooling)))
    return usage("--pooling is '" + *line.pooling + "', expected one of " + poolingNames());
  return std::nullopt;
}

std::optional<Message> readChoices(const CommandLine &line, EmbedArguments &embed) {
  if (auto bad = readPooling(line, embed.pooling))
    return bad;
  if (line.normalize && *line.normalize != "on" && *line.normalize != "off")
    return usage("--normalize is '" + *line.normalize + "', expected on or off");
  embed.normalize = line.normalize.value_or("on") == "on";
  return std::nullopt;
}

std::optional<Message> read(const CommandLine &line, EmbedArguments &embed) {
  embed.json = line.json;
  embed.text = line.prompt;
  embed.lines = line.lines.value_or("");
  if (line.prompt.has_value() + line.lines.has_value() + line.tokens.has_value() > 1)
    return usage("-p, --lines and --tokens exclude one another");
  if (line.lines && line.lines->empty())
    return usage("--lines is empty, expected a file");
  if (line.tokens)
    if (auto bad = readTokens(*line.tokens, embed.tokens.emplace()))
      return bad;
  if (auto bad = readChoices(line, embed))
    return bad;
  return readModel(line, embed.model);
}

std::optional<Message> read(const CommandLine &line, RerankArguments &rerank) {
  rerank = {{}, line.query.value_or(""), line.documents.value_or(""), line.json};
  if (rerank.query.empty())
    return usage("--query is not given, expected some text");
  if (rerank.documents.empty())
    return usage("--documents is not given, expected a file with a document a line");
  return readModel(line, rerank.model);
}

std::optional<Message> read(const CommandLine &line, CompileArguments &compile) {
  compile = {line.model, splitAtCommas(line.targets), line.output, {}, line.keepGoing};
  if (auto bad = readPrecision(line, compile.precision))
    return bad;
  if (compile.model.empty())
    return usage("MODEL is empty, expected a path or a name");
  if (line.targets.empty() || compile.output.empty())
    return usage("--target and -o are expected to name targets and a file");
  if (std::find(compile.targets.begin(), compile.targets.end(), "") != compile.targets.end())
    return usage("--target is '" + line.targets + "', expected targets with commas between them");
  return std::nullopt;
}

std::optional<Message> readFormat(const std::optional<std::string> &text, const char *option,
                                  const BlockFormat *&format) {
  if (text && !(format = host::findFittedFormat(*text)))
    return usage(std::string(option) + " is '" + *text + "', expected one of " +
                 host::fittedFormatNames());
  return std::nullopt;
}

std::optional<Message> read(const CommandLine &line, QuantizeArguments &quantize) {
  quantize.model = line.model;
  quantize.output = line.output;
  if (quantize.model.empty())
    return usage("MODEL is empty, expected a path or a name");
  if (quantize.output.empty())
    return usage("-o is empty, expected the file to write");
  host::QuantizeTypes &types = quantize.types;
  if (!(types.scheme = host::findScheme(line.type)))
    return usage("--type is '" + line.type + "', expected one of " + host::schemeNames());
  if (auto bad = readFormat(line.outputType, "--output-type", types.output))
    return bad;
  if (auto bad = readFormat(line.embeddingType, "--embedding-type", types.embedding))
    return bad;
  return readCount(line.threads, "--threads", 1, kMostThreads, quantize.threads);
}

// Without --host or --port, a Unix socket is all that is listened on.
std::optional<Message> readAddress(const CommandLine &line, ServeArguments &serve) {
  constexpr uint64_t kMostPort = 65535;
  if (line.host && line.host->empty())
    return usage("--host is empty, expected an address or a name");
  if (line.unixPath && line.unixPath->empty())
    return usage("--unix is empty, expected the path of a socket");
  if (line.unixPath && !line.host && !line.port)
    serve.host.clear();
  serve.host = line.host.value_or(serve.host);
  serve.unixPath = line.unixPath.value_or("");
  if (line.tlsCertificate.has_value() != line.tlsKey.has_value())
    return usage("--tls-cert and --tls-key are expected together");
  if (line.tlsCertificate && (line.tlsCertificate->empty() || line.tlsKey->empty()))
    return usage("--tls-cert and --tls-key are expected to name files");
  if (line.tlsCertificate && serve.host.empty())
    return usage("--tls-cert has no effect on a Unix socket; give --host or --port too");
  serve.tlsCertificate = line.tlsCertificate.value_or("");
  serve.tlsKey = line.tlsKey.value_or("");
  return readCount(line.port, "--port", 0, kMostPort, serve.port);
}

std::optional<Message> readAccess(const CommandLine &line, ServeArguments &serve) {
  constexpr uint64_t kMostRate = 1'000'000'000;
  const auto hasEmpty = [](const std::vector<std::string> &list) {
    return std::ranges::find(list, "") != list.end();
  };
  if (hasEmpty(line.keys) || (line.keyFile && line.keyFile->empty()))
    return usage("--api-key and --api-key-file are expected to name a key and a file");
  if (hasEmpty(line.hosts) || hasEmpty(line.origins))
    return usage("--allow-host and --cors-origin are expected to name a host and an origin");
  serve.keys = line.keys;
  serve.keyFile = line.keyFile.value_or("");
  serve.hosts = line.hosts;
  serve.origins = line.origins;
  if (auto bad = readCount(line.rate, "--rate", 1, kMostRate, serve.requestsPerMinute))
    return bad;
  return readCount(line.tokensRate, "--tokens-rate", 1, kMostRate, serve.tokensPerMinute);
}

std::optional<Message> readModels(const CommandLine &line, ServeArguments &serve) {
  constexpr uint64_t kMostSeconds = 365 * 24 * 3600;
  constexpr uint64_t kMostMib = 1 << 30;
  constexpr uint64_t kMostWaiting = 1'000'000;
  serve.models = line.models;
  serve.fixedModels = line.fixedModels;
  if (std::ranges::find(serve.models, "") != serve.models.end())
    return usage("MODEL is empty, expected a path or a name");
  if (auto bad = readModelOptions(line, serve.model))
    return bad;
  if (auto bad = readPooling(line, serve.pooling))
    return bad;
  if (line.chatTemplate && line.chatTemplate->empty())
    return usage("--chat-template is empty, expected a file or a name");
  if (line.defaults && line.defaults->empty())
    return usage("--defaults is empty, expected JSON such as {\"temperature\": 0.2}");
  serve.chatTemplate = line.chatTemplate.value_or("");
  serve.defaults = line.defaults.value_or("");
  serve.prefixCache = !line.noPrefixCache;
  if (auto bad = readCount(line.parallel, "--parallel", 1, kMostParallel, serve.parallel))
    return bad;
  if (auto bad = readCount(line.maxRunning, "--max-running", 1, kMostParallel, serve.running))
    return bad;
  if (auto bad = readCount(line.maxWaiting, "--max-waiting", 1, kMostWaiting, serve.waiting))
    return bad;
  if (auto bad = readCount(line.maxWait, "--max-wait", 0, kMostSeconds, serve.waitSeconds))
    return bad;
  if (auto bad = readCount(line.memory, "--memory", 1, kMostMib, serve.memoryMib))
    return bad;
  return readCount(line.unloadAfter, "--unload-after", 0, kMostSeconds, serve.unloadSeconds);
}

std::optional<Message> read(const CommandLine &line, ServeArguments &serve) {
  constexpr uint64_t kMostSeconds = 7 * 24 * 3600;
  constexpr uint64_t kMostBodyMib = 4096;
  constexpr uint64_t kMostConnections = 1'000'000;
  constexpr uint64_t kMostHttpThreads = 64;
  if (auto bad = readModels(line, serve))
    return bad;
  if (auto bad = readAddress(line, serve))
    return bad;
  if (auto bad = readAccess(line, serve))
    return bad;
  if (line.accessLog && line.accessLog->empty())
    return usage("--access-log is empty, expected a file, - or off");
  serve.accessLog = line.accessLog.value_or("");
  if (auto bad = readCount(line.maxBody, "--max-body", 1, kMostBodyMib, serve.mostBodyMib))
    return bad;
  if (auto bad = readCount(line.timeout, "--timeout", 1, kMostSeconds, serve.timeoutSeconds))
    return bad;
  if (auto bad = readCount(line.keepAlive, "--keep-alive-timeout", 1, kMostSeconds,
                           serve.keepAliveSeconds))
    return bad;
  if (auto bad = readCount(line.drain, "--drain", 0, kMostSeconds, serve.drainSeconds))
    return bad;
  if (auto bad = readCount(line.httpThreads, "--threads-http", 1, kMostHttpThreads, serve.threads))
    return bad;
  return readCount(line.connections, "--max-connections", 1, kMostConnections, serve.connections);
}

std::optional<Message> readIds(const std::string &text, std::vector<int32_t> &ids) {
  for (const std::string &part : splitAtCommas(text)) {
    int32_t id = 0;
    const char *end = part.data() + part.size();
    const auto parsed = std::from_chars(part.data(), end, id);
    if (parsed.ec != std::errc() || parsed.ptr != end || id < 0)
      return usage("--ids has '" + part + "', expected numbers of tokens with commas between them");
    ids.push_back(id);
  }
  return std::nullopt;
}

std::optional<Message> read(const CommandLine &line, TokenizeArguments &tokenize) {
  tokenize = {line.model, line.prompt, line.lines.value_or(""), std::nullopt, line.special,
              line.bare,  line.json};
  if (tokenize.model.empty())
    return usage("FILE is empty, expected a path or a name");
  if (line.lines && line.lines->empty())
    return usage("--lines is empty, expected a file");
  if (line.prompt.has_value() + line.lines.has_value() + line.ids.has_value() > 1)
    return usage("-p, --lines and --ids exclude one another");
  if (!line.ids)
    return std::nullopt;
  return readIds(*line.ids, tokenize.ids.emplace());
}

std::optional<Message> readName(const std::string &text, const char *what) {
  return text.empty() ? std::optional(usage(std::string(what) + " is empty, expected a name"))
                      : std::nullopt;
}

std::optional<Message> read(const CommandLine &line, PullArguments &pull) {
  pull.model = line.model;
  return readName(pull.model, "NAME");
}

std::optional<Message> read(const CommandLine &line, ListArguments &list) {
  list.json = line.json;
  return std::nullopt;
}

std::optional<Message> read(const CommandLine &line, RemoveArguments &remove) {
  remove.models = line.models;
  for (const std::string &model : remove.models)
    if (auto bad = readName(model, "NAME"))
      return bad;
  return std::nullopt;
}

std::optional<Message> read(const CommandLine &line, CopyArguments &copy) {
  copy.from = line.model;
  copy.to = line.output;
  if (auto bad = readName(copy.from, "FROM"))
    return bad;
  return readName(copy.to, "TO");
}

template <typename T> tl::expected<Arguments, Message> readAs(const CommandLine &line) {
  T arguments;
  if (auto bad = read(line, arguments))
    return tl::unexpected(std::move(*bad));
  return arguments;
}

} // namespace

std::string ChatArguments::firstOption() const {
  return think                      ? "--think"
         : !reasoningEffort.empty() ? "--reasoning-effort"
         : !tools.empty()           ? "--tools"
         : !chatTemplate.empty()    ? "--chat-template"
         : !others.empty()          ? "--template-arg"
                                    : "";
}

tl::expected<Arguments, Message> parseArguments(std::span<const char *const> argv) {
  auto line = splitCommandLine(argv);
  if (!line)
    return tl::unexpected(std::move(line).error());
  if (line->command == "run")
    return readAs<RunArguments>(*line);
  if (line->command == "bench")
    return readAs<BenchArguments>(*line);
  if (line->command == "bench serve")
    return readAs<LoadArguments>(*line);
  if (line->command == "explain")
    return readAs<ExplainArguments>(*line);
  if (line->command == "tune")
    return readAs<TuneArguments>(*line);
  if (line->command == "perplexity")
    return readAs<PerplexityArguments>(*line);
  if (line->command == "logits")
    return readAs<LogitsArguments>(*line);
  if (line->command == "embed")
    return readAs<EmbedArguments>(*line);
  if (line->command == "rerank")
    return readAs<RerankArguments>(*line);
  if (line->command == "show")
    return readAs<ShowArguments>(*line);
  if (line->command == "pull")
    return readAs<PullArguments>(*line);
  if (line->command == "list")
    return readAs<ListArguments>(*line);
  if (line->command == "rm")
    return readAs<RemoveArguments>(*line);
  if (line->command == "cp")
    return readAs<CopyArguments>(*line);
  if (line->command == "compile")
    return readAs<CompileArguments>(*line);
  if (line->command == "quantize")
    return readAs<QuantizeArguments>(*line);
  if (line->command == "serve")
    return readAs<ServeArguments>(*line);
  if (line->command == "tokenize")
    return readAs<TokenizeArguments>(*line);
  if (line->command == "chat-template")
    return readAs<ChatTemplateArguments>(*line);
  if (line->command == "doctor")
    return DoctorArguments{line->json};
  return DevicesArguments{};
}

} // namespace sinter::cli
