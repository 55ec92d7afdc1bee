// sinter serve: answers requests over HTTP until it is told to end.
#include "cli/commands/commands.h"
#include "cli/terminal.h"
#include "serve/api/api_routes.h"
#include "serve/http/access_log.h"
#include "serve/http/line_writer.h"
#include "serve/http/server.h"
#include "serve/page/page_routes.h"
#include "serve/status/status_routes.h"

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
                               std::shared_ptr<serve::ApiKeys> keys, serve::LineWriter *log) {
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
  if (log)
    options.onRequest = [log](const serve::RequestRecord &record) {
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

} // namespace

Result<int> serveCommand(const ServeArguments &arguments, Interrupts &interrupts) {
  SINTER_ASSIGN(const std::shared_ptr<serve::ApiKeys> keys, readKeys(arguments));
  SINTER_ASSIGN(const std::unique_ptr<serve::LineWriter> log, openLog(arguments.accessLog));
  serve::Routes routes;
  serve::addStatusRoutes(routes, SINTER_VERSION);
  serve::TaskPool tasks(2, 256);
  serve::PoolOptions poolOptions;
  poolOptions.note = [](const std::string &what) { sayOnStderr(what); };
  SINTER_ASSIGN(const std::unique_ptr<serve::ModelPool> models, serve::openModelPool(poolOptions));
  serve::ApiContext context{*models, tasks, SINTER_VERSION};
  serve::addApiRoutes(routes, context);
  serve::addPage(routes);
  const Interrupts::EndGuard guard(interrupts);
  serve::ServerOptions options = optionsOf(arguments, keys, log.get());
  context.charge = [quotas = options.quotas](const std::string &account, uint64_t tokens) {
    quotas->chargeTokens(account, tokens);
  };
  SINTER_ASSIGN(const std::unique_ptr<serve::Server> server,
                serve::Server::start(std::move(options), std::move(routes)));
  sayWhere(*server, !keys->empty());
  interrupts.wait();
  sayOnStderr("ending: " + std::to_string(arguments.drainSeconds) +
              " seconds at most for answers that are under way");
  if (!server->drain(std::chrono::seconds(arguments.drainSeconds)))
    sayOnStderr("some answers were cut");
  tasks.drain();
  return kExitOk;
}

} // namespace sinter::cli
