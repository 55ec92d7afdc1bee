// The queue between whoever makes an answer and its connection.
#include "serve/http/pending_answer.h"

#include "base/check.h"

namespace sinter::serve {
namespace {

class AnswerResponder final : public Responder {
public:
  AnswerResponder(std::shared_ptr<PendingAnswer> answer, std::function<HttpResponse()> abandoned)
      : answer_(std::move(answer)), abandoned_(std::move(abandoned)) {}
  ~AnswerResponder() override { answer_->abandon(abandoned_); }

  void respond(HttpResponse response) override { answer_->respond(std::move(response)); }
  void begin(HttpResponse head) override { answer_->begin(std::move(head)); }
  bool write(std::string bytes) override { return answer_->write(std::move(bytes)); }
  void end() override { answer_->end(); }
  void onGone(std::function<void()> callback) override { answer_->onGone(std::move(callback)); }

private:
  std::shared_ptr<PendingAnswer> answer_;
  std::function<HttpResponse()> abandoned_;
};

bool isFinal(uint16_t status) {
  return status >= 200 && status <= 599;
}

} // namespace

PendingAnswer::PendingAnswer(ResponseStyle style, size_t mostUnread, std::function<void()> wake)
    : style_(std::move(style)), mostUnread_(mostUnread), wake_(std::move(wake)) {}

// Takes the lock's ownership: whoever is told may call back.
void PendingAnswer::wakeUp(std::unique_lock<std::mutex> &lock) {
  if (awake_ || !wake_)
    return lock.unlock();
  awake_ = true;
  const std::function<void()> wake = isOver() ? std::move(wake_) : wake_;
  if (isOver())
    wake_ = nullptr;
  lock.unlock();
  wake();
}

void PendingAnswer::respond(HttpResponse response) {
  std::unique_lock lock(mutex_);
  if (state_ == State::Lost)
    return;
  SINTER_CHECK(state_ == State::Waiting && isFinal(response.status));
  state_ = State::Whole;
  onGone_.clear();
  facts_.status = response.status;
  queued_ = responseHead(response, style_, response.body.size());
  if (hasBody(response.status) && !style_.isHead) {
    facts_.bodyBytes = response.body.size();
    queued_ += response.body;
  }
  wakeUp(lock);
}

void PendingAnswer::begin(HttpResponse head) {
  std::unique_lock lock(mutex_);
  if (state_ == State::Lost)
    return;
  SINTER_CHECK(state_ == State::Waiting && isFinal(head.status));
  state_ = State::Parts;
  facts_.status = head.status;
  style_.closes = style_.closes || style_.isHttp10;
  queued_ = responseHead(head, style_, std::nullopt);
  wakeUp(lock);
}

void PendingAnswer::append(std::string_view body) {
  facts_.bodyBytes += body.size();
  if (style_.isHttp10)
    queued_ += body;
  else
    queued_ += chunk(body);
}

bool PendingAnswer::write(std::string bytes) {
  std::unique_lock lock(mutex_);
  if (state_ == State::Lost)
    return false;
  SINTER_CHECK(state_ == State::Parts);
  // An empty chunk would end the answer.
  if (bytes.empty() || style_.isHead || !hasBody(facts_.status))
    return true;
  append(bytes);
  if (queued_.size() + inFlight_ <= mostUnread_) {
    wakeUp(lock);
    return true;
  }
  giveUp(lock);
  return false;
}

// The connection, once woken, closes and calls lose(), which tells those who asked.
void PendingAnswer::giveUp(std::unique_lock<std::mutex> &lock) {
  gaveUp_ = true;
  queued_.clear();
  queued_.shrink_to_fit();
  awake_ = false;
  const std::function<void()> wake = wake_;
  state_ = State::Lost;
  facts_.gone = !facts_.broken;
  lock.unlock();
  if (wake)
    wake();
}

void PendingAnswer::end() {
  std::unique_lock lock(mutex_);
  if (state_ == State::Lost)
    return;
  SINTER_CHECK(state_ == State::Parts);
  state_ = State::Whole;
  onGone_.clear();
  if (!style_.isHttp10 && !style_.isHead && hasBody(facts_.status))
    queued_ += kLastChunk;
  wakeUp(lock);
}

void PendingAnswer::onGone(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::Whole)
      return;
    if (state_ != State::Lost || wake_)
      return onGone_.push_back(std::move(callback));
  }
  callback();
}

void PendingAnswer::abandon(const std::function<HttpResponse()> &response) {
  std::unique_lock lock(mutex_);
  if (isOver())
    return;
  if (state_ == State::Waiting) {
    lock.unlock();
    return respond(response());
  }
  facts_.broken = true;
  giveUp(lock);
}

PendingAnswer::Taken PendingAnswer::take() {
  const std::lock_guard lock(mutex_);
  awake_ = false;
  Taken taken{std::move(queued_), state_ == State::Whole, gaveUp_};
  queued_.clear();
  inFlight_ = taken.bytes.size();
  return taken;
}

void PendingAnswer::sent() {
  const std::lock_guard lock(mutex_);
  inFlight_ = 0;
}

void PendingAnswer::lose() {
  std::vector<std::function<void()>> callbacks;
  std::function<void()> wake; // may hold the connection, so it ends without the lock
  {
    const std::lock_guard lock(mutex_);
    wake = std::move(wake_);
    wake_ = nullptr;
    if (state_ == State::Whole)
      return;
    state_ = State::Lost;
    facts_.gone = !facts_.broken;
    callbacks = std::move(onGone_);
    onGone_.clear();
    queued_.clear();
  }
  for (const auto &callback : callbacks)
    callback();
}

bool PendingAnswer::isWhole() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::Whole;
}

bool PendingAnswer::closes() const {
  const std::lock_guard lock(mutex_);
  return style_.closes;
}

bool PendingAnswer::gaveUp() const {
  const std::lock_guard lock(mutex_);
  return gaveUp_;
}

AnswerFacts PendingAnswer::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

std::shared_ptr<Responder> makeResponder(std::shared_ptr<PendingAnswer> answer,
                                         std::function<HttpResponse()> abandoned) {
  return std::make_shared<AnswerResponder>(std::move(answer), std::move(abandoned));
}

} // namespace sinter::serve
