// Connections through Boost.Asio, TLS through OpenSSL, as coroutines of one thread.
#include "cli/load/load_client.h"

#include "cli/load/response_parser.h"
#include "serve/http/transport_adapter.h"

#include <array>
#include <bit>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <openssl/ssl.h>
#include <set>
#include <sys/resource.h>
#include <sys/un.h>
#include <xxhash.h>

namespace sinter::cli {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using serve::StreamSocket;
using serve::Transport;
using Unix = asio::local::stream_protocol;
constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr size_t kMostErrorBytes = 4096;
constexpr auto kTick = std::chrono::milliseconds(50);

class TlsClientTransport final : public Transport {
public:
  TlsClientTransport(StreamSocket socket, asio::ssl::context &context, const LoadTarget &target)
      : stream_(std::move(socket), context) {
    error_code ignored;
    const bool isAddress = !asio::ip::make_address(target.host, ignored).is_unspecified();
    if (ignored || !isAddress)
      SSL_set_tlsext_host_name(stream_.native_handle(), target.host.c_str());
    if (!target.isInsecure)
      stream_.set_verify_callback(asio::ssl::host_name_verification(target.host), ignored);
  }
  asio::awaitable<error_code> handshake() override {
    const auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::client, kToken);
    co_return error;
  }
  asio::awaitable<Moved> readSome(asio::mutable_buffer into) override {
    const auto [error, bytes] = co_await stream_.async_read_some(into, kToken);
    co_return Moved{error, bytes};
  }
  asio::awaitable<Moved> writeSome(asio::const_buffer from) override {
    const auto [error, bytes] = co_await stream_.async_write_some(from, kToken);
    co_return Moved{error, bytes};
  }
  asio::awaitable<void> finish() override { co_return; }
  void close() override {
    error_code ignored;
    stream_.next_layer().close(ignored);
  }

private:
  asio::ssl::stream<StreamSocket> stream_;
};

Result<std::unique_ptr<asio::ssl::context>> makeClientTls(const LoadTarget &target) {
  auto context = std::make_unique<asio::ssl::context>(asio::ssl::context::tls_client);
  error_code error;
  if (target.authorities.empty())
    context->set_default_verify_paths(error);
  else
    context->load_verify_file(target.authorities, error);
  if (error)
    return fail(Code::InvalidArgument, "the certificates of '" + target.authorities +
                                           "' cannot be used: " + error.message());
  context->set_verify_mode(target.isInsecure ? asio::ssl::verify_none : asio::ssl::verify_peer,
                           error);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  return context;
}

// As many descriptors as the system lets this process have.
void raiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

template <typename Socket> void closeSocket(Socket &socket) {
  error_code ignored;
  socket.close(ignored);
}

// An exchange that is under way, for those who end it early.
struct Live {
  std::function<void()> close; // what it waits for at the moment
  const char *endedBy = nullptr;

  void end(const char *why) {
    endedBy = endedBy ? endedBy : why;
    if (close)
      close();
  }
};

struct Waiting {
  uint64_t number;
  LoadClock::time_point due;
};

} // namespace

struct LoadClient::Impl {
  LoadTarget target;
  asio::io_context io{1};
  std::unique_ptr<asio::ssl::context> tls;
  std::vector<tcp::endpoint> endpoints;
  std::vector<std::unique_ptr<Transport>> idle; // connections without a request

  // Of the run.
  const LoadRun *plan = nullptr;
  const Workload *workload = nullptr;
  RunFigures figures;
  std::set<std::shared_ptr<Live>> live;
  std::deque<Waiting> waiting; // due, beyond the most that may be under way
  uint64_t begun = 0, ended = 0;
  bool allBegun = false, stopped = false;
  LoadClock::time_point start;

  using Answered = std::function<void(std::string_view body, LoadClock::time_point when)>;

  Result<void> resolve();
  asio::awaitable<std::unique_ptr<Transport>> connect(std::shared_ptr<Live> self, std::string &why);
  asio::awaitable<error_code> connectTo(std::shared_ptr<Live> self, StreamSocket &connected);
  std::string head(const char *method, const std::string &path, size_t bodyBytes) const;
  asio::awaitable<bool> send(Transport &link, const std::string &request);
  asio::awaitable<bool> ask(std::shared_ptr<Live> self, std::unique_ptr<Transport> link,
                            const std::string &request, Outcome &outcome, const Answered &onBody);
  asio::awaitable<void> exchange(std::shared_ptr<Live> self, const std::string &request,
                                 Outcome &outcome, const Answered &onBody);
  asio::awaitable<void> one(uint64_t number, LoadClock::time_point due);
  asio::awaitable<void> openLoop();
  asio::awaitable<void> client();
  asio::awaitable<void> watch(const std::atomic<bool> &stop,
                              const std::function<void(uint64_t)> &progress);
  void spawnOne(uint64_t number, LoadClock::time_point due);
  void note(const std::string &body, LoadClock::time_point due);
  bool isOver() const { return allBegun && begun == ended; }
};

Result<void> LoadClient::Impl::resolve() {
  if (target.unixPath.size() >= sizeof(sockaddr_un::sun_path))
    return fail(Code::InvalidArgument,
                "the path of the socket '" + target.unixPath + "' has more than " +
                    std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes");
  if (!target.unixPath.empty())
    return {};
  tcp::resolver resolver(io);
  error_code error;
  const auto found = resolver.resolve(target.host, std::to_string(target.port),
                                      tcp::resolver::numeric_service, error);
  if (error)
    return fail(Code::NotFound, "cannot find the host '" + target.host + "': " + error.message());
  for (const auto &entry : found)
    endpoints.push_back(entry.endpoint());
  return {};
}

asio::awaitable<error_code> LoadClient::Impl::connectTo(std::shared_ptr<Live> self,
                                                        StreamSocket &connected) {
  error_code error = asio::error::host_not_found;
  if (!target.unixPath.empty()) {
    Unix::socket socket(io);
    self->close = [&socket] { closeSocket(socket); };
    std::tie(error) = co_await socket.async_connect(Unix::endpoint(target.unixPath), kToken);
    if (!error)
      connected = StreamSocket(std::move(socket));
    self->close = nullptr;
    co_return error;
  }
  for (const tcp::endpoint &endpoint : endpoints) {
    tcp::socket socket(io);
    self->close = [&socket] { closeSocket(socket); };
    std::tie(error) = co_await socket.async_connect(endpoint, kToken);
    self->close = nullptr;
    if (!error) {
      error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      connected = StreamSocket(std::move(socket));
    }
    if (!error || self->endedBy)
      break;
  }
  co_return error;
}

// Null: `why` has the reason.
asio::awaitable<std::unique_ptr<Transport>> LoadClient::Impl::connect(std::shared_ptr<Live> self,
                                                                      std::string &why) {
  StreamSocket socket(io);
  const error_code error = co_await connectTo(self, socket);
  if (error) {
    why = error.message();
    co_return nullptr;
  }
  if (!tls)
    co_return serve::makePlainTransport(std::move(socket));
  auto link = std::make_unique<TlsClientTransport>(std::move(socket), *tls, target);
  self->close = [&link] { link->close(); };
  const error_code refused = co_await link->handshake();
  self->close = nullptr;
  if (refused) {
    why = "TLS: " + refused.message();
    co_return nullptr;
  }
  co_return std::move(link);
}

std::string LoadClient::Impl::head(const char *method, const std::string &path,
                                   size_t bodyBytes) const {
  const bool isV6 = target.host.find(':') != target.host.npos;
  std::string text = std::string(method) + " " + target.prefix + path +
                     " HTTP/1.1\r\nHost: " + (isV6 ? "[" + target.host + "]" : target.host);
  if (target.unixPath.empty())
    text += ":" + std::to_string(target.port);
  text += "\r\nUser-Agent: sinter-bench\r\nAccept: */*\r\n";
  if (!target.key.empty())
    text += "Authorization: Bearer " + target.key + "\r\n";
  if (bodyBytes > 0)
    text +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(bodyBytes) + "\r\n";
  return text + "\r\n";
}

asio::awaitable<bool> LoadClient::Impl::send(Transport &link, const std::string &request) {
  for (size_t at = 0; at < request.size();) {
    const Transport::Moved moved =
        co_await link.writeSome(asio::const_buffer(request.data() + at, request.size() - at));
    if (moved.error)
      co_return false;
    at += moved.bytes;
  }
  co_return true;
}

// One request over a connection. False: the connection ended before a byte of the answer.
asio::awaitable<bool> LoadClient::Impl::ask(std::shared_ptr<Live> self,
                                            std::unique_ptr<Transport> link,
                                            const std::string &request, Outcome &outcome,
                                            const Answered &onBody) {
  self->close = [&link] { link->close(); };
  ResponseParser parser;
  std::array<char, 16384> block;
  std::string body, refusal;
  outcome.onSent(LoadClock::now());
  error_code error;
  if (!co_await send(*link, request))
    error = asio::error::broken_pipe; // an answer may have come all the same
  while (!parser.done() && !outcome.fault) {
    const Transport::Moved moved = co_await link->readSome(asio::buffer(block));
    const auto now = LoadClock::now();
    if (moved.error) {
      if (!parser.end())
        error = moved.error;
      break;
    }
    if (!parser.put({block.data(), moved.bytes}, body))
      outcome.fault = {"an answer that is not HTTP/1.1", parser.why()};
    if (parser.headDone() && parser.status() == 200)
      onBody(body, now);
    else
      refusal.append(body, 0, kMostErrorBytes - std::min(refusal.size(), kMostErrorBytes));
    body.clear();
  }
  self->close = nullptr;
  outcome.onEnd(LoadClock::now());
  outcome.status = parser.headDone() ? parser.status() : 0;
  outcome.saysRetryAfter = parser.retryAfter().has_value();
  if (parser.headDone() && parser.status() != 200)
    outcome.fault = {"status " + std::to_string(parser.status()), refusal.substr(0, 200)};
  else if (error && !parser.begun())
    outcome.fault = {"a connection that was closed before the answer", error.message()};
  else if (error && !parser.done() && !outcome.fault)
    outcome.fault = {"a connection that was closed within the answer", error.message()};
  if (!outcome.fault && parser.keepsAlive())
    idle.push_back(std::move(link));
  co_return parser.begun();
}

asio::awaitable<void> LoadClient::Impl::exchange(std::shared_ptr<Live> self,
                                                 const std::string &request, Outcome &outcome,
                                                 const Answered &onBody) {
  asio::steady_timer limit(io, std::chrono::duration_cast<LoadClock::duration>(
                                   std::chrono::duration<double>(target.timeoutSeconds)));
  limit.async_wait([weak = std::weak_ptr(self)](const error_code &error) {
    if (const auto live = weak.lock(); live && !error)
      live->end("a timeout");
  });
  live.insert(self);
  // A connection that waited may have been closed meanwhile: one more try, with a new one.
  bool answers = false;
  if (!idle.empty()) {
    std::unique_ptr<Transport> link = std::move(idle.back());
    idle.pop_back();
    answers = co_await ask(self, std::move(link), request, outcome, onBody);
    if (!answers && !self->endedBy) {
      outcome.fault.reset();
      idle.clear();
    }
  }
  if (!answers && !self->endedBy) {
    std::string why;
    std::unique_ptr<Transport> link = co_await connect(self, why);
    if (link && !self->endedBy)
      co_await ask(self, std::move(link), request, outcome, onBody);
    else
      outcome.fault = {"no connection", why};
  }
  if (self->endedBy)
    outcome.fault = {self->endedBy, "after " + std::to_string(target.timeoutSeconds) + " s"};
  live.erase(self);
}

void LoadClient::Impl::note(const std::string &body, LoadClock::time_point due) {
  const double offset =
      plan->shape.rate > 0 ? std::chrono::duration<double>(due - start).count() : 0;
  figures.digest += XXH3_64bits_withSeed(body.data(), body.size(), std::bit_cast<uint64_t>(offset));
  ++figures.sent;
  figures.mostUnderWay = std::max<uint64_t>(figures.mostUnderWay, live.size() + 1);
}

asio::awaitable<void> LoadClient::Impl::one(uint64_t number, LoadClock::time_point due) {
  const std::string body = workload->body(plan->firstRequest + number);
  note(body, due);
  Outcome outcome(due);
  AnswerReader reader(outcome);
  const auto self = std::make_shared<Live>();
  const std::string request = head("POST", workload->path(), body.size()) + body;
  const Answered onBody = [&](std::string_view bytes, LoadClock::time_point when) {
    reader.put(bytes, when);
    if (reader.fault())
      outcome.fault = reader.fault();
  };
  co_await exchange(self, request, outcome, onBody);
  if (!outcome.fault) {
    reader.end();
    outcome.fault = reader.fault();
  }
  outcome.promptTokens = reader.promptTokens();
  outcome.answerTokens = reader.answerTokens();
  ++ended;
  if (stopped && self->endedBy) {
    figures.isCut = true;
    co_return;
  }
  figures.add(outcome, plan->goodput);
  figures.seconds = std::chrono::duration<double>(LoadClock::now() - start).count();
}

void LoadClient::Impl::spawnOne(uint64_t number, LoadClock::time_point due) {
  asio::co_spawn(io, one(number, due), [this](const std::exception_ptr &) {
    if (waiting.empty() || stopped)
      return;
    const Waiting next = waiting.front();
    waiting.pop_front();
    spawnOne(next.number, next.due);
  });
}

asio::awaitable<void> LoadClient::Impl::openLoop() {
  Arrivals arrivals(plan->shape.rate, plan->burstiness, plan->seed, plan->number);
  asio::steady_timer timer(io);
  for (uint64_t number = 0; number < plan->requests && !stopped; ++number) {
    const double at = arrivals.next();
    if (plan->seconds > 0 && at >= plan->seconds)
      break;
    const auto due =
        start + std::chrono::duration_cast<LoadClock::duration>(std::chrono::duration<double>(at));
    while (!stopped && LoadClock::now() < due) {
      timer.expires_at(std::min(due, LoadClock::now() + kTick));
      co_await timer.async_wait(kToken);
    }
    if (stopped)
      break;
    ++begun;
    if (begun - ended > plan->mostConcurrency)
      waiting.push_back({number, due});
    else
      spawnOne(number, due);
  }
  allBegun = true;
}

// One of a closed loop.
asio::awaitable<void> LoadClient::Impl::client() {
  const auto last = start + std::chrono::duration_cast<LoadClock::duration>(
                                std::chrono::duration<double>(plan->seconds));
  while (begun < plan->requests && !stopped && (plan->seconds == 0 || LoadClock::now() < last)) {
    const uint64_t number = begun++;
    co_await one(number, LoadClock::now());
  }
  allBegun = true; // or the others begin no more than this one
}

asio::awaitable<void> LoadClient::Impl::watch(const std::atomic<bool> &stop,
                                              const std::function<void(uint64_t)> &progress) {
  asio::steady_timer timer(io);
  while (!isOver()) {
    if (stop && !stopped) {
      stopped = true;
      figures.isCut = true;
      ended += waiting.size();
      waiting.clear();
    }
    if (stopped)
      for (const std::shared_ptr<Live> &each : std::vector(live.begin(), live.end()))
        each->end("an interrupt");
    progress(ended);
    timer.expires_after(kTick);
    co_await timer.async_wait(kToken);
  }
}

LoadClient::LoadClient() : impl_(std::make_unique<Impl>()) {}
LoadClient::~LoadClient() = default;

Result<std::unique_ptr<LoadClient>> LoadClient::open(const LoadTarget &target) {
  raiseDescriptorLimit();
  std::unique_ptr<LoadClient> made(new LoadClient());
  made->impl_->target = target;
  if (target.isTls) {
    SINTER_ASSIGN(made->impl_->tls, makeClientTls(target));
  }
  SINTER_TRY(made->impl_->resolve());
  return made;
}

Result<std::string> LoadClient::get(const std::string &path) {
  Outcome outcome(LoadClock::now());
  std::string body;
  const std::string request = impl_->head("GET", path, 0);
  const Impl::Answered onBody = [&](std::string_view bytes, LoadClock::time_point) {
    body += bytes.substr(0, (1 << 20) - std::min<size_t>(body.size(), 1 << 20));
  };
  asio::co_spawn(impl_->io, impl_->exchange(std::make_shared<Live>(), request, outcome, onBody),
                 asio::detached);
  impl_->io.restart();
  impl_->io.run();
  if (outcome.fault)
    return fail(outcome.status == 0 ? Code::NotFound : Code::Internal,
                impl_->target.url() + path + ": " + outcome.fault->kind +
                    (outcome.fault->example.empty() ? "" : ": " + outcome.fault->example));
  return body;
}

RunFigures LoadClient::run(const LoadRun &run, const Workload &workload,
                           const std::atomic<bool> &stop,
                           const std::function<void(uint64_t)> &progress) {
  Impl &it = *impl_;
  it.plan = &run;
  it.workload = &workload;
  it.figures = RunFigures();
  it.figures.shape = run.shape;
  it.begun = it.ended = 0;
  it.allBegun = it.stopped = false;
  it.start = LoadClock::now();
  if (run.shape.rate > 0)
    asio::co_spawn(it.io, it.openLoop(), asio::detached);
  for (uint32_t i = 0; run.shape.rate == 0 && i < run.shape.concurrency; ++i)
    asio::co_spawn(it.io, it.client(), asio::detached);
  asio::co_spawn(it.io, it.watch(stop, progress), asio::detached);
  it.io.restart();
  it.io.run();
  return std::move(it.figures);
}

} // namespace sinter::cli
