// Listening, accepting, threads, draining.
#include "serve/http/connection_adapter.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>

namespace sinter::serve {
namespace {

using asio::ip::tcp;
using Unix = asio::local::stream_protocol;
constexpr auto kToken = asio::as_tuple(asio::use_awaitable);

// Where descriptors or memory ran out, others must end first.
bool isExhausted(const error_code &error) {
  return error == boost::system::errc::too_many_files_open ||
         error == boost::system::errc::too_many_files_open_in_system ||
         error == boost::system::errc::no_buffer_space ||
         error == boost::system::errc::not_enough_memory;
}

// Closes the one that has been without a request for longest, if there is one.
bool evictIdle(ServerCore &core) {
  std::vector<std::shared_ptr<Connection>> looked; // the last holder of one must not hold the mutex
  bool found = false;
  {
    const std::lock_guard lock(core.mutex);
    for (auto each = core.open.begin(); each != core.open.end() && !found; ++each)
      if (auto connection = each->lock()) {
        found = connection->markEvicted();
        looked.push_back(std::move(connection));
      }
  }
  if (!found)
    return false;
  ++core.evicted;
  looked.back()->abort();
  return true;
}

size_t openConnections(ServerCore &core) {
  const std::lock_guard lock(core.mutex);
  return core.open.size();
}

std::string clientOf(const tcp::socket &socket) {
  error_code error;
  const tcp::endpoint from = socket.remote_endpoint(error);
  return error ? "" : from.address().to_string();
}
std::string clientOf(const Unix::socket &) {
  return "unix";
}

// A client whose machine lost its power says nothing: the system asks it after a minute.
void prepare(tcp::socket &socket) {
  constexpr int kIdleSeconds = 60, kBetweenSeconds = 15, kMostQuestions = 4;
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  for (const auto &[name, value] : {std::pair(TCP_KEEPIDLE, kIdleSeconds),
                                    {TCP_KEEPINTVL, kBetweenSeconds},
                                    {TCP_KEEPCNT, kMostQuestions}})
    setsockopt(socket.native_handle(), IPPROTO_TCP, name, &value, sizeof value);
}
void prepare(Unix::socket &) {}

template <typename Socket>
void takeIn(const std::shared_ptr<ServerCore> &core, const Strand &strand, Socket socket) {
  constexpr bool kIsUnix = std::is_same_v<Socket, Unix::socket>;
  ++core->accepted;
  if (openConnections(*core) >= core->options.limits.connections && !evictIdle(*core))
    return; // all are being answered: closing is the shortest refusal
  prepare(socket);
  std::string client = clientOf(socket);
  StreamSocket stream(std::move(socket));
  std::unique_ptr<Transport> transport = core->tls && !kIsUnix
                                             ? makeTlsTransport(std::move(stream), *core->tls)
                                             : makePlainTransport(std::move(stream));
  std::make_shared<Connection>(core, strand, std::move(transport), std::move(client), kIsUnix)
      ->start();
}

template <typename Acceptor>
asio::awaitable<void> acceptAll(std::shared_ptr<ServerCore> core,
                                std::shared_ptr<Acceptor> acceptor) {
  constexpr std::chrono::milliseconds kPause{100};
  constexpr std::chrono::seconds kBetweenWarnings{10};
  asio::steady_timer pause(acceptor->get_executor());
  SteadyClock::time_point warned{};
  while (!core->draining && acceptor->is_open()) {
    const Strand strand = asio::make_strand(core->io);
    typename Acceptor::protocol_type::socket socket(strand);
    const auto [error] = co_await acceptor->async_accept(socket, kToken);
    if (!error) {
      takeIn(core, strand, std::move(socket));
      continue;
    }
    if (!isExhausted(error))
      continue; // the client went before it was accepted, or the acceptor was closed
    if (SteadyClock::now() - warned > kBetweenWarnings) {
      warned = SteadyClock::now();
      core->trouble("cannot accept connections: " + error.message() +
                    "; trying again until some end");
    }
    evictIdle(*core);
    pause.expires_after(kPause);
    co_await pause.async_wait(kToken);
  }
}

// More descriptors than the usual 1,024 are there for the asking.
void raiseDescriptorLimit(size_t wanted) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
    return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

Code codeOf(const error_code &error) {
  if (error == boost::system::errc::permission_denied)
    return Code::Permission;
  return isExhausted(error) ? Code::Exhausted : Code::InvalidArgument;
}

std::string textOf(const tcp::endpoint &endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" +
         std::to_string(endpoint.port());
}

} // namespace

struct Server::Impl {
  std::shared_ptr<ServerCore> core;
  std::vector<std::shared_ptr<tcp::acceptor>> tcpAcceptors;
  std::shared_ptr<Unix::acceptor> unixAcceptor;
  std::vector<std::string> addresses;
  uint16_t port = 0;
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::vector<std::thread> threads;
  bool stopped = false;

  Result<void> listenTcp();
  Result<void> listenAt(tcp::endpoint endpoint);
  Result<void> listenUnix();
  Result<void> run();
  void stopAccepting();
  template <typename F> void forEachConnection(F call);
  bool waitForEnd(SteadyClock::time_point deadline);
  void stop();
};

Result<void> Server::Impl::listenTcp() {
  const ServerOptions &options = core->options;
  tcp::resolver resolver(core->io);
  error_code error;
  const auto found =
      resolver.resolve(options.host, std::to_string(options.port),
                       tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error)
    return fail(Code::NotFound,
                "cannot find the host '" + options.host + "' to listen on: " + error.message());
  std::optional<Status> first;
  for (const auto &entry : found)
    if (auto listening = listenAt(entry.endpoint()); !listening && !first)
      first = listening.error();
  // A name may have an address of a family that this machine does not speak.
  if (tcpAcceptors.empty())
    return Fail(first.value_or(Status{Code::NotFound, "the host has no address"}));
  return {};
}

Result<void> Server::Impl::listenAt(tcp::endpoint endpoint) {
  constexpr int kWaiting =
      4096; // connections that wait to be accepted; the system has its own most
  if (port != 0)
    endpoint.port(port);
  auto acceptor = std::make_shared<tcp::acceptor>(asio::make_strand(core->io));
  error_code error;
  acceptor->open(endpoint.protocol(), error);
  if (!error)
    acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6())
    acceptor->set_option(asio::ip::v6_only(!endpoint.address().is_unspecified()), error);
  if (!error)
    acceptor->bind(endpoint, error);
  if (!error)
    acceptor->listen(kWaiting, error);
  if (error)
    return fail(codeOf(error), "cannot listen on " + textOf(endpoint) + ": " + error.message() +
                                   (error == boost::system::errc::address_in_use
                                        ? "; another server runs there: stop it, or choose another "
                                          "--port"
                                        : ""));
  const tcp::endpoint local = acceptor->local_endpoint(error);
  port = local.port();
  addresses.push_back((core->tls ? "https://" : "http://") + textOf(local));
  const auto &address = local.address();
  const bool isMapped = address.is_v6() && address.to_v6().is_v4_mapped();
  core->rules.isLoopback = core->rules.isLoopback && address.is_loopback() && !isMapped;
  tcpAcceptors.push_back(std::move(acceptor));
  return {};
}

Result<void> Server::Impl::listenUnix() {
  const std::string &path = core->options.unixPath;
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return fail(Code::InvalidArgument, "the path of the socket '" + path + "' has more than " +
                                           std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                                           " bytes");
  const Unix::endpoint endpoint(path);
  struct stat info;
  if (lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode))
      return fail(Code::InvalidArgument, "'" + path + "' is there and is no socket");
    // One that nobody answers was left behind by a server that was killed.
    Unix::socket probe(core->io);
    error_code error;
    probe.connect(endpoint, error);
    if (error != boost::system::errc::connection_refused)
      return fail(Code::InvalidArgument, "another server listens on '" + path + "'");
    unlink(path.c_str());
  }
  unixAcceptor = std::make_shared<Unix::acceptor>(asio::make_strand(core->io));
  error_code error;
  unixAcceptor->open(endpoint.protocol(), error);
  if (!error)
    unixAcceptor->bind(endpoint, error);
  // Before it listens: nobody connects to it with other rights.
  if (!error && chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0)
    error.assign(errno, boost::system::system_category());
  if (!error)
    unixAcceptor->listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return fail(codeOf(error), "cannot listen on '" + path + "': " + error.message());
  addresses.push_back("unix:" + path);
  return {};
}

Result<void> Server::Impl::run() {
  for (const auto &acceptor : tcpAcceptors)
    asio::co_spawn(acceptor->get_executor(), acceptAll(core, acceptor), asio::detached);
  if (unixAcceptor)
    asio::co_spawn(unixAcceptor->get_executor(), acceptAll(core, unixAcceptor), asio::detached);
  work.emplace(core->io.get_executor());
  try {
    for (uint32_t i = 0; i < core->options.threads; ++i)
      threads.emplace_back([core = core] { core->io.run(); });
  } catch (const std::system_error &error) {
    return fail(Code::Exhausted,
                std::string("cannot start a thread of the server: ") + error.what());
  }
  return {};
}

void Server::Impl::stopAccepting() {
  core->draining = true;
  const auto close = [](const auto &acceptor) {
    asio::post(acceptor->get_executor(), [acceptor] {
      error_code ignored;
      acceptor->close(ignored);
    });
  };
  for (const auto &acceptor : tcpAcceptors)
    close(acceptor);
  tcpAcceptors.clear();
  if (unixAcceptor) {
    unlink(core->options.unixPath.c_str());
    close(unixAcceptor);
  }
  unixAcceptor.reset();
}

template <typename F> void Server::Impl::forEachConnection(F call) {
  std::vector<std::shared_ptr<Connection>> all;
  {
    const std::lock_guard lock(core->mutex);
    for (const auto &each : core->open)
      if (auto connection = each.lock())
        all.push_back(std::move(connection));
  }
  for (const auto &connection : all)
    call(*connection);
}

bool Server::Impl::waitForEnd(SteadyClock::time_point deadline) {
  std::unique_lock lock(core->mutex);
  return core->changed.wait_until(lock, deadline, [&] { return core->open.empty(); });
}

void Server::Impl::stop() {
  if (stopped)
    return;
  stopped = true;
  constexpr std::chrono::seconds kMost{10};
  stopAccepting();
  forEachConnection([](Connection &connection) { connection.abort(); });
  work.reset();
  // Coroutines hold the core, and with it what runs them: each must come to its end.
  if (threads.empty())
    core->io.run();
  else if (!waitForEnd(SteadyClock::now() + kMost))
    core->io.stop(); // a handler that never returns
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
}

Server::Server() : impl_(std::make_unique<Impl>()) {}

Server::~Server() {
  impl_->stop();
}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options, Routes routes) {
  constexpr size_t kOtherDescriptors = 256;
  raiseDescriptorLimit(options.limits.connections + kOtherDescriptors);
  std::unique_ptr<Server> server(new Server());
  Impl &impl = *server->impl_;
  impl.core = std::make_shared<ServerCore>(std::move(options), std::move(routes));
  const ServerOptions &kept = impl.core->options;
  impl.core->rules = {kept.hosts, kept.origins, true, kept.keys && !kept.keys->empty()};
  if (kept.tls) {
    SINTER_ASSIGN(impl.core->tls, makeTlsContext(*kept.tls));
  }
  if (!kept.host.empty())
    SINTER_TRY(impl.listenTcp());
  if (!kept.unixPath.empty())
    SINTER_TRY(impl.listenUnix());
  SINTER_TRY(impl.run());
  return server;
}

const std::vector<std::string> &Server::addresses() const {
  return impl_->addresses;
}

uint16_t Server::port() const {
  return impl_->port;
}

bool Server::isLoopback() const {
  return impl_->core->rules.isLoopback;
}

ServerState Server::state() const {
  ServerCore &core = *impl_->core;
  return {openConnections(core), core.requests, core.accepted, core.evicted};
}

bool Server::drain(std::chrono::milliseconds most) {
  impl_->stopAccepting();
  impl_->forEachConnection([](Connection &connection) { connection.drain(); });
  const bool allEnded = impl_->waitForEnd(SteadyClock::now() + most);
  impl_->stop();
  return allEnded;
}

} // namespace sinter::serve
