// A connection without a socket: bytes come in pieces, what is answered is kept. Includes Boost.
#pragma once

#include "serve/http/connection_adapter.h"
#include "serve/http_check.h"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sinter::serve {

// What came of a client's bytes, up to the end of the connection.
struct Conversation {
  std::vector<std::string> handled; // by a route, in order
  std::vector<uint16_t> statuses;   // of all answers
  std::string sent;                 // to the client
  bool ended = false;               // false: it waits for something that cannot come

  bool closes() const { return sent.find("\r\nConnection: close\r\n") != std::string::npos; }
};

// Gives the client's bytes in pieces, then their end. What it refers to outlives it.
class PiecesTransport : public Transport {
public:
  PiecesTransport(std::string_view bytes, std::function<size_t()> next, std::string &sent)
      : bytes_(bytes), next_(std::move(next)), sent_(sent) {}

  asio::awaitable<error_code> handshake() override { co_return error_code(); }
  asio::awaitable<Moved> readSome(asio::mutable_buffer into) override {
    co_await asio::post(asio::use_awaitable); // so that what came is looked at between the pieces
    if (closed_)
      co_return Moved{asio::error::operation_aborted};
    if (bytes_.empty())
      co_return Moved{asio::error::eof};
    const size_t count = std::min({next_(), bytes_.size(), into.size()});
    bytes_.copy(static_cast<char *>(into.data()), count);
    bytes_.remove_prefix(count);
    co_return Moved{{}, count};
  }
  asio::awaitable<Moved> writeSome(asio::const_buffer from) override {
    sent_.append(static_cast<const char *>(from.data()), from.size());
    co_return Moved{{}, from.size()};
  }
  asio::awaitable<void> finish() override { co_return; }
  void close() override { closed_ = true; }

private:
  std::string_view bytes_;
  const std::function<size_t()> next_;
  std::string &sent_;
  bool closed_ = false;
};

// Routes for every path but those with an empty part; bodies come back.
inline Routes echoRoutes(Conversation &conversation) {
  Routes routes;
  for (const char *method : {"GET", "POST"})
    for (const char *pattern : {"/", "/{rest...}"})
      routes.add(
          {method, pattern,
           [&conversation](HttpRequest request, const std::shared_ptr<Responder> &responder) {
             conversation.handled.push_back(textOf(request));
             responder->respond({200, "text/plain", std::move(request.body)});
           }});
  return routes;
}

inline Conversation converse(std::string_view bytes, std::function<size_t()> next) {
  Conversation conversation;
  ServerOptions options;
  options.threads = 1;
  options.limits = limitsOfCases();
  options.onRequest = [&](const RequestRecord &record) {
    conversation.statuses.push_back(record.answer.status);
  };
  const auto core = std::make_shared<ServerCore>(std::move(options), echoRoutes(conversation));
  core->rules.hosts = {"*"};
  auto connection = std::make_shared<Connection>(
      core, asio::make_strand(core->io),
      std::make_unique<PiecesTransport>(bytes, std::move(next), conversation.sent), "127.0.0.1",
      false);
  connection->start();
  const std::weak_ptr<Connection> open = connection;
  connection.reset();
  while (core->io.poll() > 0)
    core->io.restart();
  conversation.ended = open.expired();
  if (const auto left = open.lock())
    left->abort();
  core->io.restart();
  core->io.poll();
  return conversation;
}

// Empty: the connection ends, and the same requests reach routes however the bytes arrive. Whether
// a connection goes on behind a refusal depends on whether the refused body has come already.
inline std::string conversationInconsistencyOf(std::string_view bytes) {
  const Conversation whole = converse(bytes, [] { return size_t{8192}; });
  std::minstd_rand random(static_cast<uint32_t>(std::hash<std::string_view>()(bytes)));
  const Conversation parts = converse(bytes, [&] { return size_t{1 + random() % 64}; });
  for (const Conversation *each : {&whole, &parts}) {
    if (!each->ended)
      return "the connection hangs";
    if (!each->sent.empty() && !each->sent.starts_with("HTTP/1.1 "))
      return "the answer is no HTTP: " + each->sent;
  }
  const size_t common = std::min(whole.handled.size(), parts.handled.size());
  if (!std::equal(whole.handled.begin(), whole.handled.begin() + static_cast<ptrdiff_t>(common),
                  parts.handled.begin()))
    return "pieces give other requests than the whole";
  const bool isRefused = std::ranges::any_of(whole.statuses, [](auto each) { return each >= 400; });
  if (!isRefused && (whole.handled != parts.handled || whole.statuses != parts.statuses))
    return "pieces give more or fewer requests than the whole";
  return "";
}

} // namespace sinter::serve
