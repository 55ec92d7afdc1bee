// sinter serve: answers requests over HTTP until it is told to end.
#include "cli/chat/template_options.h"
#include "cli/commands/commands.h"
#include "cli/memory_bandwidth.h"
#include "cli/terminal.h"
#include "host/model_changes.h"
#include "host/model_store.h"
#include "llm/chat/builtin_templates.h"
#include "llm/pooling.h"
#include "serve/api/api_routes.h"
#include "serve/api/generation_wishes.h"
#include "serve/api/native/text_routes.h"
#include "serve/http/access_log.h"
#include "serve/http/line_writer.h"
#include "serve/http/server.h"
#include "serve/page/page_routes.h"
#include "serve/status/process_metrics.h"
#include "serve/status/request_metrics.h"
#include "serve/status/status_routes.h"
#include "serve/worker/named_pool.h"

#include <atomic>
#include <filesystem>
#include <unistd.h>

namespace sinter::cli {
namespace {

Result<std::shared_ptr<serve::ApiKeys>> readKeys(const ServeArguments &arguments) {
  auto keys = std::make_shared<serve::ApiKeys>();
  if (!arguments.keyFile.empty())
    SINTER_TRY(keys->addFile(arguments.keyFile));
  for (size_t i = 0; i < arguments.keys.size(); ++i)
    SINTER_TRY(keys->add("key-" + std::to_string(i + 1), arguments.keys[i]));
  return keys;
}

// Nothing where the log is off.
Result<std::unique_ptr<serve::LineWriter>> openLog(const std::string &where) {
  if (where == "off")
    return nullptr;
  if (where == "-")
    return serve::LineWriter::to(STDOUT_FILENO);
  return where.empty() ? serve::LineWriter::to(STDERR_FILENO) : serve::LineWriter::open(where);
}

// Names for requests, and what is behind them: "tiny" for the file "models/tiny.gguf".
using ModelPaths = std::map<std::string, std::string>;

std::string requestName(const std::string &model) {
  if (const auto stored = host::storedName(model))
    return *stored;
  const std::filesystem::path path(model);
  return path.extension() == ".gguf" ? path.stem().string() : path.filename().string();
}

// Stored models by name, since they are more than a file; the known one is fetched when it loads.
Result<std::string> innerNameOf(const std::string &model) {
  const auto stored = host::storedName(model);
  if (!stored && model == host::kKnownModel)
    return model;
  SINTER_ASSIGN(const std::string path, host::modelPath(model));
  return stored.value_or(path);
}

Result<ModelPaths> findModels(const std::vector<std::string> &models) {
  ModelPaths paths;
  for (const std::string &model : models) {
    SINTER_ASSIGN(std::string inner, innerNameOf(model));
    const auto [at, isNew] = paths.emplace(requestName(model), std::move(inner));
    if (!isNew)
      return fail(Code::InvalidArgument, "'" + at->second + "' and '" + model +
                                             "' would both be named '" + at->first + "'");
  }
  return paths;
}

serve::PoolOptions poolOptionsOf(const ServeArguments &arguments) {
  serve::PoolOptions options;
  options.device = arguments.model.device;
  options.threads = arguments.model.threads;
  options.parallel = arguments.parallel;
  options.context = arguments.model.context;
  options.memoryBytes = uint64_t{arguments.memoryMib} << 20;
  options.keepAlive =
      std::chrono::seconds(arguments.unloadSeconds ? int64_t{arguments.unloadSeconds} : -1);
  options.precision = arguments.model.precision;
  options.keepsWeights = arguments.model.keepsWeights;
  options.overlap = arguments.model.overlap;
  const bool isFixed = arguments.running != UINT32_MAX;
  options.worker.running = arguments.running;
  options.worker.surelyRunning =
      isFixed ? arguments.running : std::max(options.worker.surelyRunning, arguments.parallel);
  options.worker.waiting = arguments.waiting;
  options.worker.waitSeconds = arguments.waitSeconds;
  options.worker.prefixCache = arguments.prefixCache;
  options.fetchesKnownModel = !arguments.fixedModels;
  options.note = [](const std::string &line) { sayOnStderr(line); };
  return options;
}

// The text of --chat-template; empty where it was not given.
Result<std::string> templateText(const std::string &name) {
  std::string source(builtinTemplate(name));
  const std::string option = "--chat-template " + name;
  if (source.empty() && !name.empty()) {
    auto text = readFileOf(option, name);
    if (!text && text.error().code == Code::NotFound)
      return fail(Code::NotFound, option + ": no such file, and none of " + builtinTemplateNames());
    SINTER_TRY(text);
    source = std::move(*text);
  }
  if (const auto made = ChatTemplate::parse(source); !source.empty() && !made)
    return fail(made.error().code, option + ": " + made.error().message, made.error().byteOffset);
  return source;
}

Result<std::shared_ptr<const serve::GenerationWishes>> defaultsOf(const std::string &json) {
  if (json.empty())
    return nullptr;
  auto read = serve::readDefaults(json);
  if (!read)
    return fail(read.error().code, "--defaults: " + read.error().message);
  return std::make_shared<const serve::GenerationWishes>(std::move(*read));
}

// Whether it gives vectors and no text. `inner` is a file's path or a stored model's name.
Result<bool> isEncoder(const std::string &inner) {
  if (inner == host::kKnownModel)
    return false;
  SINTER_ASSIGN(const std::string path, host::modelPath(inner));
  SINTER_ASSIGN(const GgufFile file, GgufFile::openModel(path));
  return seesBothWays(file);
}

// Waits until the model is there; it stays. One that gives no text is there for its vectors.
Result<void> load(serve::ModelPool &models, const std::string &name, const std::string &inner) {
  sayOnStderr("opening '" + name + "', whose plan is built where there is none");
  SINTER_ASSIGN(const bool encodes, isEncoder(inner));
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Result<void>> loaded;
  models.get(name, {.keepAlive = std::chrono::seconds(-1), .embeddings = encodes},
             [&](Result<std::shared_ptr<serve::ModelWorker>> worker) {
               const std::lock_guard lock(mutex);
               loaded = worker ? Result<void>() : Fail(worker.error());
               changed.notify_one();
             });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return loaded.has_value(); });
  return *loaded;
}

serve::HttpLimits limitsOf(const ServeArguments &arguments) {
  using std::chrono::seconds;
  serve::HttpLimits limits;
  limits.bodyBytes = size_t{arguments.mostBodyMib} << 20;
  limits.bodiesBytes = std::max(limits.bodiesBytes, 2 * limits.bodyBytes);
  limits.connections = arguments.connections;
  limits.transfer = seconds(arguments.timeoutSeconds);
  limits.head = std::min<std::chrono::milliseconds>(limits.head, limits.transfer);
  limits.idle = seconds(arguments.keepAliveSeconds);
  return limits;
}

serve::ServerOptions optionsOf(const ServeArguments &arguments,
                               std::shared_ptr<serve::ApiKeys> keys, serve::LineWriter *log,
                               serve::Metrics &metrics) {
  serve::ServerOptions options;
  options.host = arguments.host;
  options.port = arguments.port;
  options.unixPath = arguments.unixPath;
  if (!arguments.tlsCertificate.empty())
    options.tls = {arguments.tlsCertificate, arguments.tlsKey};
  options.threads = arguments.threads;
  options.limits = limitsOf(arguments);
  options.hosts = arguments.hosts;
  options.origins = arguments.origins;
  options.keys = std::move(keys);
  options.quotas =
      std::make_shared<serve::Quotas>(arguments.requestsPerMinute, arguments.tokensPerMinute);
  options.onRequest = [log, &metrics](const serve::RequestRecord &record) {
    serve::countRequest(metrics, record);
    if (log)
      log->write(serve::accessLogLine(record));
  };
  options.onTrouble = [](const std::string &what) { sayOnStderr(what); };
  return options;
}

void sayWhere(const serve::Server &server, bool hasKeys) {
  for (const std::string &address : server.addresses())
    sayOnStderr("listening on " + address);
  if (!server.isLoopback() && !hasKeys)
    sayOnStderr("warning: other machines can reach this server, and it asks for no key; see "
                "--api-key-file");
}

// The server of this process, once it listens.
using LiveServer = std::atomic<const serve::Server *>;

// Whoever reaches the server may fetch and remove models, unless anyone can and no key is asked
// for.
std::string whyModelsAreFixed(const ServeArguments &arguments, bool hasNoKeys) {
  if (arguments.fixedModels)
    return "the server was started with --fixed-models";
  const auto isLoopback = [](const std::string &host) {
    return host.empty() || host == "localhost" || host == "::1" || host.starts_with("127.");
  };
  return hasNoKeys && !isLoopback(arguments.host)
             ? "the server listens on '" + arguments.host + "' and asks for no key"
             : "";
}

// Until a signal comes and the drain is over.
Result<int> serveUntilTold(const ServeArguments &arguments, serve::ServerOptions options,
                           serve::Routes routes, LiveServer &live, Interrupts &interrupts) {
  const bool hasKeys = !options.keys->empty();
  const Interrupts::EndGuard guard(interrupts);
  SINTER_ASSIGN(const std::unique_ptr<serve::Server> server,
                serve::Server::start(std::move(options), std::move(routes)));
  live = server.get();
  sayWhere(*server, hasKeys);
  interrupts.wait();
  sayOnStderr("ending: " + std::to_string(arguments.drainSeconds) +
              " seconds at most for answers that are under way");
  if (!server->drain(std::chrono::seconds(arguments.drainSeconds)))
    sayOnStderr("some answers were cut");
  return kExitOk;
}

} // namespace

Result<int> serveCommand(const ServeArguments &arguments, Interrupts &interrupts) {
  constexpr uint32_t kTaskThreads = 2, kMostTasks = 1024;
  SINTER_ASSIGN(const std::shared_ptr<serve::ApiKeys> keys, readKeys(arguments));
  SINTER_ASSIGN(const std::unique_ptr<serve::LineWriter> log, openLog(arguments.accessLog));
  SINTER_ASSIGN(const ModelPaths paths, findModels(arguments.models));
  serve::Metrics metrics;
  serve::PoolOptions poolOptions = poolOptionsOf(arguments);
  SINTER_ASSIGN(poolOptions.chatTemplate, templateText(arguments.chatTemplate));
  SINTER_ASSIGN(const auto defaults, defaultsOf(arguments.defaults));
  SINTER_ASSIGN(const std::unique_ptr<serve::ModelPool> pool, serve::openModelPool(poolOptions));
  serve::NamedPool named(*pool, paths);
  const std::unique_ptr<serve::ModelPool> models = serve::makeMeasuredPool(named, metrics);
  LiveServer live = nullptr;
  metrics.onText([&](serve::MetricsText &text) {
    serve::writeModelMetrics(named, text);
    serve::writeProcessMetrics(text);
    if (const serve::Server *server = live)
      serve::writeServerMetrics(server->state(), text);
  });
  for (const std::string &model : arguments.models)
    SINTER_TRY(load(named, requestName(model), paths.at(requestName(model))));
  // Behind the pools, which its tasks use.
  serve::TaskPool tasks(kTaskThreads, kMostTasks);
  serve::ApiContext context{*models, tasks, SINTER_VERSION};
  context.defaults = defaults;
  context.parallel = arguments.parallel;
  context.chatTemplate = poolOptions.chatTemplate;
  context.pooling = arguments.pooling;
  if (!arguments.models.empty())
    context.defaultModel = requestName(arguments.models.front());
  context.pathOf = [&](const std::string &name) -> Result<std::string> {
    SINTER_ASSIGN(const std::string inner, named.innerName(name));
    return host::modelPath(inner);
  };
  context.measureBandwidth = [&]() -> Result<double> {
    SINTER_ASSIGN(const host::DeviceChoice choice,
                  host::openDevice(poolOptions.device, poolOptions.threads));
    SINTER_ASSIGN(const Bandwidth bandwidth, measureBandwidth(*choice.device));
    return bandwidth.bytesPerSecond;
  };
  serve::Pulls pulls(host::pullModel);
  context.pulls = &pulls;
  context.whyModelsAreFixed = [why = whyModelsAreFixed(arguments, keys->empty())] { return why; };
  serve::ServerOptions options = optionsOf(arguments, keys, log.get(), metrics);
  context.charge = [quotas = options.quotas](const std::string &account, uint64_t tokens) {
    quotas->chargeTokens(account, tokens);
  };
  serve::Routes routes;
  serve::addStatusRoutes(routes, SINTER_VERSION, metrics);
  serve::addModelStatusRoutes(routes, context);
  serve::addTextRoutes(routes, context);
  serve::addApiRoutes(routes, context);
  serve::addPage(routes);
  Result<int> ended =
      serveUntilTold(arguments, std::move(options), std::move(routes), live, interrupts);
  tasks.drain(); // before what tasks use goes
  return ended;
}

} // namespace sinter::cli
