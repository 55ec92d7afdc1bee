// One connection: requests in, answers out, in their order. For the *_adapter.cpp files of this
// folder and for tests: it includes Boost.
#pragma once

#include "serve/http/request_parser.h"
#include "serve/http/transport_adapter.h"

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <condition_variable>
#include <list>

namespace sinter::serve {

using Strand = asio::strand<asio::io_context::executor_type>;
using SteadyClock = std::chrono::steady_clock;

class Connection;

// What all connections of a server share. Outlives each of them.
struct ServerCore {
  ServerCore(ServerOptions given, Routes table)
      : options(std::move(given)), routes(std::move(table)), io(static_cast<int>(options.threads)) {
  }

  const ServerOptions options;
  const Routes routes;
  AccessRules rules; // written before the first connection
  asio::io_context io;
  std::unique_ptr<asio::ssl::context> tls;
  std::atomic<bool> draining = false;
  std::atomic<uint64_t> bodyBytes = 0; // of bodies that are being read
  std::atomic<uint64_t> requests = 0, accepted = 0, evicted = 0;

  // Those that are open, in the order in which they came.
  std::mutex mutex;
  std::condition_variable changed;
  std::list<std::weak_ptr<Connection>> open;

  void trouble(const std::string &what) const {
    if (options.onTrouble)
      options.onTrouble(what);
  }
};

// Ends when it closed. Its coroutines run on one strand: run() reads requests and sends answers,
// readBytes() reads on meanwhile, so that a client that goes is noticed while its answer is made.
class Connection : public std::enable_shared_from_this<Connection> {
public:
  Connection(std::shared_ptr<ServerCore> core, Strand strand, std::unique_ptr<Transport> transport,
             std::string client, bool isUnix);
  ~Connection();

  // Once. It lives until it closed.
  void start();
  // From any thread. Closes where no request is under way; otherwise behind its answer.
  void drain();
  // From any thread. Closes now.
  void abort();
  // To make room: true, once, where no request is being answered. Whoever asked aborts it.
  bool markEvicted() { return idle_ && !evicted_.exchange(true); }

private:
  enum class Next : uint8_t {
    Request,
    Close, // once the client has read the last answer
    Leave, // nothing was asked
    Abort
  };
  // A request that a route answers, or the answer that it gets without one.
  using Verdict = std::variant<Routes::Found, HttpResponse>;

  asio::awaitable<void> run();
  asio::awaitable<void> readBytes();
  asio::awaitable<Next> serveOne();
  // False: the client went, or kept silent between two requests.
  asio::awaitable<tl::expected<bool, HttpFault>> readHead(RequestParser &parser);
  asio::awaitable<tl::expected<bool, HttpFault>> readBody(RequestParser &parser);
  asio::awaitable<Next> answer(HttpRequest request, const Route &route, ResponseStyle style);
  asio::awaitable<Next> refuse(const HttpRequest &request, HttpResponse response,
                               ResponseStyle style);
  asio::awaitable<bool> pump(PendingAnswer &answer);
  asio::awaitable<bool> write(std::string bytes);
  asio::awaitable<void> finish(bool lingers);
  // False: the deadline passed.
  asio::awaitable<bool> wait(SteadyClock::time_point deadline);

  Verdict judge(RequestParser &parser, ResponseStyle &style);
  Verdict admit(RequestParser &parser, Routes::Found found);
  HttpResponse preflight(const HttpRequest &request) const;
  HttpResponse faultResponse(std::string_view path, const HttpFault &fault) const;
  static HttpResponse routeError(const Route &route, const HttpFault &fault);
  std::optional<HttpFault> feed(RequestParser &parser);
  std::optional<HttpFault> countBody(size_t bytes);
  void onEnd(const error_code &error);
  void limitStall(std::chrono::milliseconds most);
  void wake();
  void wakeFromAnyThread();
  void closeNow();
  RequestRecord newRecord(const HttpRequest &request) const;
  void finishRecord(RequestRecord record, const AnswerFacts &facts) const;

  const std::shared_ptr<ServerCore> core_;
  const Strand strand_;
  const std::unique_ptr<Transport> transport_;
  const std::string client_;
  const bool isUnix_;
  std::list<std::weak_ptr<Connection>>::iterator place_; // in ServerCore::open
  asio::steady_timer wake_;                              // run() waits: expires at its deadline
  asio::steady_timer readWake_;                          // readBytes() waits: there is room again
  asio::steady_timer stall_;                             // of what makes no progress
  std::shared_ptr<PendingAnswer> answer_;                // that is under way
  std::string in_;                                       // came, and was not parsed
  bool ended_ = false;                                   // the client sends nothing more
  bool closed_ = false;
  std::atomic<bool> idle_ = true; // no request is being answered
  std::atomic<bool> evicted_ = false;
  SteadyClock::time_point headDone_;
  std::chrono::system_clock::time_point received_;
  size_t countedBody_ = 0; // of ServerCore::bodyBytes
  std::array<char, 8192> block_;
};

} // namespace sinter::serve
