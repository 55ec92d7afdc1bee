// One answer between the threads that make it and the connection that sends it.
#pragma once

#include "serve/http/response_text.h"

#include <mutex>

namespace sinter::serve {

// How far an answer came; for logs and metrics.
struct AnswerFacts {
  uint16_t status = 0; // 0: nothing was said before the client went
  uint64_t bodyBytes = 0;
  bool gone = false;   // the client went before the answer was whole
  bool broken = false; // begun, but whoever made it gave up
};

// Shared by a Responder and a connection. Thread-safe. Queued bytes are bounded: an answer whose
// client does not read is given up.
class PendingAnswer {
public:
  // `wake` tells the connection that there is something to take; called without a lock, from any
  // thread, and kept until the answer is finished or lost.
  PendingAnswer(ResponseStyle style, size_t mostUnread, std::function<void()> wake);

  // The maker's side, as Responder says.
  void respond(HttpResponse response);
  void begin(HttpResponse head);
  bool write(std::string bytes);
  void end();
  void onGone(std::function<void()> callback);
  // Nobody makes the answer any more. What was not answered is, with what `response` makes.
  void abandon(const std::function<HttpResponse()> &response);

  // The connection's side.
  struct Taken {
    std::string bytes;   // to be sent
    bool last = false;   // nothing comes behind them
    bool gaveUp = false; // the answer cannot become whole: close the connection
  };
  // What was taken counts as unread until sent().
  Taken take();
  // The bytes of take() are with the system.
  void sent();
  // The client is gone.
  void lose();
  bool isWhole() const;
  bool gaveUp() const;
  AnswerFacts facts() const;
  // Its end is the connection's.
  bool closes() const;

private:
  enum class State : uint8_t { Waiting, Parts, Whole, Lost };

  bool isOver() const { return state_ == State::Whole || state_ == State::Lost; }
  void append(std::string_view body);
  void wakeUp(std::unique_lock<std::mutex> &lock);
  void giveUp(std::unique_lock<std::mutex> &lock);

  ResponseStyle style_;
  const size_t mostUnread_;
  mutable std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<std::function<void()>> onGone_;
  State state_ = State::Waiting;
  std::string queued_;
  size_t inFlight_ = 0; // taken, and not yet sent
  bool awake_ = false;  // wake_ was called since the last take()
  bool gaveUp_ = false;
  AnswerFacts facts_;
};

// The Responder of an answer.
std::shared_ptr<Responder> makeResponder(std::shared_ptr<PendingAnswer> answer,
                                         std::function<HttpResponse()> abandoned);

} // namespace sinter::serve
