// The coroutines of a connection.
#include "serve/http/connection_adapter.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sinter::serve {
namespace {

constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
constexpr auto kNever = SteadyClock::time_point::max();
// Bytes that may wait behind a request that is being answered.
constexpr size_t kReadAhead = 64 << 10;
constexpr size_t kWriteAtOnce = 256 << 10;
// A body comes at this rate or faster, beside the time that every client has.
constexpr size_t kSlowestBytesPerSecond = 16 << 10;
// How long what a client still sends is read behind a last answer: closing earlier would reset the
// connection, and the client might lose the answer.
constexpr std::chrono::seconds kLinger{2};
// Of what remains of a request that came while the server drains.
constexpr std::chrono::seconds kLastRequest{2};

HttpFault tooSlow(const char *what, std::chrono::milliseconds most) {
  return {408, std::string("the ") + what + " did not come within " +
                   std::to_string(std::chrono::ceil<std::chrono::seconds>(most).count()) +
                   " seconds"};
}

} // namespace

Connection::Connection(std::shared_ptr<ServerCore> core, Strand strand,
                       std::unique_ptr<Transport> transport, std::string client, bool isUnix)
    : core_(std::move(core)), strand_(std::move(strand)), transport_(std::move(transport)),
      client_(std::move(client)), isUnix_(isUnix), wake_(strand_), readWake_(strand_),
      stall_(strand_) {}

Connection::~Connection() {
  core_->bodyBytes -= countedBody_;
  const std::lock_guard lock(core_->mutex);
  core_->open.erase(place_);
  core_->changed.notify_all();
}

void Connection::start() {
  {
    const std::lock_guard lock(core_->mutex);
    place_ = core_->open.insert(core_->open.end(), weak_from_this());
  }
  // What a coroutine throws ends it, and with it the connection.
  asio::co_spawn(strand_, run(), [self = shared_from_this()](const std::exception_ptr &) {});
}

void Connection::drain() {
  wakeFromAnyThread();
}

void Connection::abort() {
  asio::post(strand_, [self = shared_from_this()] {
    if (self->answer_)
      self->answer_->lose();
    self->closeNow();
  });
}

void Connection::wake() {
  wake_.cancel();
}

void Connection::wakeFromAnyThread() {
  asio::post(strand_, [self = shared_from_this()] {
    if (self->answer_ && self->answer_->gaveUp())
      self->closeNow();
    self->wake();
  });
}

void Connection::closeNow() {
  closed_ = true;
  transport_->close();
  wake_.cancel();
  readWake_.cancel();
  stall_.cancel();
}

void Connection::limitStall(std::chrono::milliseconds most) {
  stall_.expires_after(most);
  stall_.async_wait([weak = weak_from_this()](const error_code &error) {
    const auto self = weak.lock();
    if (!error && self && self->stall_.expiry() <= SteadyClock::now())
      self->closeNow();
  });
}

asio::awaitable<bool> Connection::wait(SteadyClock::time_point deadline) {
  wake_.expires_at(deadline);
  const auto [error] = co_await wake_.async_wait(kToken);
  co_return error == asio::error::operation_aborted;
}

asio::awaitable<void> Connection::run() {
  limitStall(core_->options.limits.handshake);
  const error_code failed = co_await transport_->handshake();
  stall_.cancel();
  if (failed)
    co_return closeNow();
  asio::co_spawn(strand_, readBytes(), [self = shared_from_this()](const std::exception_ptr &) {});
  Next next = Next::Request;
  while (next == Next::Request)
    next = co_await serveOne();
  if (next != Next::Abort && !closed_)
    co_await finish(next == Next::Close);
  closeNow();
}

asio::awaitable<void> Connection::readBytes() {
  const size_t most = std::max(kReadAhead, core_->options.limits.headBytes + block_.size());
  while (!closed_) {
    if (in_.size() >= most) {
      readWake_.expires_at(kNever);
      co_await readWake_.async_wait(kToken);
      continue;
    }
    const Transport::Moved moved = co_await transport_->readSome(asio::buffer(block_));
    if (moved.error)
      co_return onEnd(moved.error);
    in_.append(block_.data(), moved.bytes);
    wake();
  }
}

// A client that only ends its own side may still wait for an answer that is whole, and for no
// other.
void Connection::onEnd(const error_code &error) {
  ended_ = true;
  const bool waits = answer_ && answer_->isWhole();
  if (answer_)
    answer_->lose();
  if (error != asio::error::eof || (answer_ && !waits))
    closeNow();
  wake();
}

std::optional<HttpFault> Connection::feed(RequestParser &parser) {
  const bool hadHead = parser.headDone();
  size_t at = 0; // bytes are moved once, however small the chunks are
  while (at < in_.size() && parser.headDone() == hadHead && !parser.done()) {
    auto taken = parser.put(std::string_view(in_).substr(at));
    if (!taken)
      return std::move(taken).error();
    if (*taken == 0)
      break;
    at += *taken;
  }
  in_.erase(0, at);
  readWake_.cancel();
  return std::nullopt;
}

asio::awaitable<tl::expected<bool, HttpFault>> Connection::readHead(RequestParser &parser) {
  const HttpLimits &limits = core_->options.limits;
  SteadyClock::time_point deadline = SteadyClock::now() + limits.idle;
  bool begun = false;
  while (true) {
    const auto fault = feed(parser);
    if (parser.begun() && !begun) {
      begun = true;
      received_ = std::chrono::system_clock::now();
      deadline = SteadyClock::now() + limits.head;
    }
    if (fault)
      co_return tl::unexpected(*fault);
    if (parser.headDone())
      co_return true;
    if (ended_ || closed_ || (core_->draining && !begun))
      co_return false;
    const auto most = core_->draining ? SteadyClock::now() + kLastRequest : kNever;
    if (co_await wait(std::min(deadline, most)))
      continue;
    if (begun)
      co_return tl::unexpected(tooSlow("head of the request", limits.head));
    co_return false;
  }
}

std::optional<HttpFault> Connection::countBody(size_t bytes) {
  core_->bodyBytes += bytes - countedBody_;
  countedBody_ = bytes;
  if (core_->bodyBytes <= core_->options.limits.bodiesBytes || bytes == 0)
    return std::nullopt;
  return HttpFault{503, "the bodies of all requests have too many bytes", {{"Retry-After", "1"}}};
}

asio::awaitable<tl::expected<bool, HttpFault>> Connection::readBody(RequestParser &parser) {
  const HttpLimits &limits = core_->options.limits;
  const SteadyClock::time_point start = SteadyClock::now();
  if (parser.expectsContinue() && !parser.done() && in_.empty())
    if (!co_await write("HTTP/1.1 100 Continue\r\n\r\n"))
      co_return false;
  while (true) {
    if (auto fault = feed(parser))
      co_return tl::unexpected(std::move(*fault));
    const size_t bytes = parser.request().body.size();
    auto fault = countBody(parser.done() ? 0 : bytes);
    if (fault)
      co_return tl::unexpected(std::move(*fault));
    if (parser.done())
      co_return true;
    if (ended_ || closed_)
      co_return false;
    const auto most = limits.transfer + std::chrono::seconds(bytes / kSlowestBytesPerSecond);
    const auto last = core_->draining ? SteadyClock::now() + kLastRequest : kNever;
    if (!co_await wait(std::min(start + most, last)))
      co_return tl::unexpected(tooSlow("body of the request", most));
  }
}

asio::awaitable<Connection::Next> Connection::serveOne() {
  RequestParser parser(core_->options.limits);
  auto head = co_await readHead(parser);
  if (head && !*head)
    co_return Next::Leave;
  headDone_ = SteadyClock::now();
  HttpRequest &request = parser.request();
  request.client = client_;
  ResponseStyle style;
  if (!head) {
    style.closes = true;
    co_return co_await refuse(request, faultResponse(request.path, head.error()), style);
  }
  style = {
      request.method == "HEAD", parser.isHttp10(), !parser.keepsAlive() || core_->draining, {}};
  Verdict verdict = judge(parser, style);
  if (auto *response = std::get_if<HttpResponse>(&verdict)) {
    feed(parser); // a body that came already needs no other connection
    style.closes = style.closes || !parser.done() || response->status == 413;
    co_return co_await refuse(request, std::move(*response), style);
  }
  Routes::Found &found = std::get<Routes::Found>(verdict);
  const auto body = co_await readBody(parser);
  countBody(0);
  if (body && !*body)
    co_return Next::Leave;
  if (!body) {
    style.closes = true;
    co_return co_await refuse(request, routeError(*found.route, body.error()), style);
  }
  request.parameters = std::move(found.parameters);
  co_return co_await answer(std::move(request), *found.route, std::move(style));
}

asio::awaitable<Connection::Next> Connection::refuse(const HttpRequest &request,
                                                     HttpResponse response, ResponseStyle style) {
  std::string bytes = responseHead(response, style, response.body.size());
  if (hasBody(response.status) && !style.isHead)
    bytes += response.body;
  const bool sent = co_await write(std::move(bytes));
  finishRecord(newRecord(request), {response.status, response.body.size(), !sent, false});
  co_return !sent ? Next::Abort : style.closes ? Next::Close : Next::Request;
}

asio::awaitable<Connection::Next> Connection::answer(HttpRequest request, const Route &route,
                                                     ResponseStyle style) {
  answer_ = std::make_shared<PendingAnswer>(std::move(style), core_->options.limits.unreadBytes,
                                            [weak = weak_from_this()] {
                                              if (const auto self = weak.lock())
                                                self->wakeFromAnyThread();
                                            });
  RequestRecord record = newRecord(request);
  idle_ = false;
  ++core_->requests;
  route.handler(std::move(request), makeResponder(answer_, [body = route.errorBody] {
                  return HttpResponse{500, "application/json",
                                      body(500, "the request was dropped without an answer")};
                }));
  const bool sent = co_await pump(*answer_);
  answer_->lose();
  finishRecord(std::move(record), answer_->facts());
  const bool closes = answer_->closes();
  answer_.reset();
  idle_ = true;
  co_return !sent ? Next::Abort : closes || core_->draining ? Next::Close : Next::Request;
}

asio::awaitable<bool> Connection::pump(PendingAnswer &answer) {
  while (true) {
    PendingAnswer::Taken taken = answer.take();
    if (taken.gaveUp)
      co_return false;
    const bool hadBytes = !taken.bytes.empty();
    if (hadBytes) {
      if (!co_await write(std::move(taken.bytes)))
        co_return false;
      answer.sent();
    }
    if (taken.last)
      co_return true;
    // What came meanwhile woke nobody.
    if (hadBytes)
      continue;
    if (closed_ || ended_)
      co_return false;
    co_await wait(kNever);
  }
}

asio::awaitable<bool> Connection::write(std::string bytes) {
  for (size_t at = 0; at < bytes.size();) {
    if (closed_)
      co_return false;
    limitStall(core_->options.limits.transfer);
    const size_t count = std::min(bytes.size() - at, kWriteAtOnce);
    const Transport::Moved moved =
        co_await transport_->writeSome(asio::const_buffer(bytes.data() + at, count));
    stall_.cancel();
    if (moved.error) {
      closeNow();
      co_return false;
    }
    at += moved.bytes;
  }
  co_return true;
}

asio::awaitable<void> Connection::finish(bool lingers) {
  limitStall(kLinger);
  co_await transport_->finish();
  stall_.cancel();
  const auto deadline = SteadyClock::now() + kLinger;
  while (lingers && !ended_ && !closed_) {
    in_.clear();
    readWake_.cancel();
    if (!co_await wait(deadline))
      break;
  }
}

RequestRecord Connection::newRecord(const HttpRequest &request) const {
  return {received_,
          request.client,
          request.keyName,
          request.method,
          request.path,
          request.route,
          std::string(request.header("user-agent")),
          request.body.size(),
          {},
          0};
}

void Connection::finishRecord(RequestRecord record, const AnswerFacts &facts) const {
  if (!core_->options.onRequest)
    return;
  record.answer = facts;
  record.seconds = std::chrono::duration<double>(SteadyClock::now() - headDone_).count();
  core_->options.onRequest(record);
}

} // namespace sinter::serve
