// The thread between a worker's steps and its clients: makes text of tokens, finds stop texts and
// calls sinks.
#pragma once

#include "base/joining_thread.h"
#include "serve/worker/live_job.h"

#include <condition_variable>
#include <mutex>

namespace sinter::serve {

// How answers ended, and tokens of all that were said.
struct EndCounters {
  uint64_t finished = 0, failed = 0, cancelled = 0;
  uint64_t answerTokens = 0;
};

class Delivery {
public:
  // `cancel` is called on the delivery thread with the number of a job that nobody listens to any
  // more; the tokenizer must outlive the delivery.
  static Result<std::unique_ptr<Delivery>> start(const Tokenizer &tokenizer,
                                                 std::function<void(uint64_t number)> cancel);
  ~Delivery() { close(); }

  // For the step thread: what a step gave. It is handed over by flush(), all at once. `logits` are
  // the token's row where the job asks for likelihoods, else empty.
  void addToken(LiveJob &job, TokenId token, std::span<const float> logits);
  void addEnd(std::unique_ptr<LiveJob> job, Result<Generation> end);
  void flush();
  // Says all that was handed over, then ends the thread.
  void close();

  EndCounters counters() const;

private:
  // A row of logits whose likelihoods are computed here, or the likelihoods.
  struct Row {
    std::vector<float> logits;
    std::vector<TokenLikelihood> likelihoods;
  };
  struct Token {
    LiveJob *job;
    TokenId token;
    int64_t row = -1; // -1: none was asked for
  };
  struct End {
    std::unique_ptr<LiveJob> job;
    Result<Generation> result;
  };
  struct Batch {
    std::vector<Token> tokens;
    std::vector<Row> rows;
    std::vector<End> ends; // after all tokens of their jobs
    bool empty() const { return tokens.empty() && ends.empty(); }
    void clear();
    void append(Batch &&later);
  };

  Delivery(const Tokenizer &tokenizer, std::function<void(uint64_t)> cancel)
      : tokenizer_(tokenizer), cancel_(std::move(cancel)) {}
  void run();
  bool takeBatch();
  void say(Token &token);
  void addLikelihoods(LiveJob &job, Token &token);
  void sayPiece(LiveJob &job);
  void sayEnd(End &end);
  void finish(LiveJob &job, Result<AnswerSummary> end);
  void finishWith(LiveJob &job, AnswerEnd end);

  const Tokenizer &tokenizer_;
  std::function<void(uint64_t)> cancel_;
  Batch out_;                           // the step thread's
  std::atomic<uint64_t> rowFloats_ = 0; // of all rows that wait here
  std::atomic<uint64_t> answerTokens_ = 0;
  Batch work_;                          // the delivery thread's
  std::vector<LiveJob *> touched_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Batch inbox_;
  bool closing_ = false;
  EndCounters counters_;
  JoiningThread thread_;
};

} // namespace sinter::serve
