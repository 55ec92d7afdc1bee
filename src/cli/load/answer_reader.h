// A streamed answer of OpenAI's completions or chat, read as it comes: when its tokens came, how
// many, and what was wrong with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sinter::cli {

using LoadClock = std::chrono::steady_clock;

// Hears when events with a part of the answer come.
class TokenTimes {
public:
  virtual ~TokenTimes() = default;
  virtual void onToken(LoadClock::time_point when) = 0;
};

// Server-sent events. Holds one event at most.
class AnswerReader {
public:
  explicit AnswerReader(TokenTimes &times) : times_(times) {}

  // Bytes of the body. After a fault nothing else is read.
  void put(std::string_view bytes, LoadClock::time_point when);
  // The body ended in order. A fault, where the answer is not whole.
  void end();

  // What is wrong, as a kind that has no more forms than servers have mistakes, and an example.
  struct Fault {
    std::string kind, example;
  };
  const std::optional<Fault> &fault() const { return fault_; }
  // As the server says; where it does not, events with a part of the answer.
  uint64_t answerTokens() const { return usedTokens_.value_or(events_); }
  uint64_t promptTokens() const { return promptTokens_; }
  // All that will come has come.
  bool isDone() const { return isDone_; }

private:
  void putLine(std::string_view line, LoadClock::time_point when);
  void putEvent(std::string_view text, LoadClock::time_point when);

  TokenTimes &times_;
  std::string line_, data_; // begun
  std::optional<Fault> fault_;
  std::optional<uint64_t> usedTokens_;
  uint64_t promptTokens_ = 0, events_ = 0;
  bool isDone_ = false, isFinished_ = false;
};

} // namespace sinter::cli
