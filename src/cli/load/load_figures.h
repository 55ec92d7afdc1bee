// What a run showed. Little memory, however many requests it has.
#pragma once

#include "cli/load/answer_reader.h"
#include "cli/load/latency_histogram.h"
#include "cli/load/load_options.h"

namespace sinter::cli {

// One request from the time at which it was due. Latencies count from there and not from when it
// was sent: a client that waits for a slow server must not hide that (coordinated omission).
class Outcome final : public TokenTimes {
public:
  explicit Outcome(LoadClock::time_point due) : due_(due), last_(due) {}

  void onToken(LoadClock::time_point when) override;
  void onSent(LoadClock::time_point when) { lateSeconds = secondsSince(due_, when); }
  void onEnd(LoadClock::time_point when) { wholeSeconds = secondsSince(due_, when); }

  double lateSeconds = 0;
  double firstSeconds = 0, wholeSeconds = 0;
  std::vector<float> gaps; // seconds between events with tokens
  uint64_t promptTokens = 0, answerTokens = 0;
  unsigned status = 0; // 0: no head came
  bool saysRetryAfter = false;
  std::optional<AnswerReader::Fault> fault;

  // The mean behind the first token.
  double perTokenSeconds() const;
  bool isWithin(const GoodputLimits &limits) const;

private:
  static double secondsSince(LoadClock::time_point from, LoadClock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
  }
  LoadClock::time_point due_, last_;
  bool hasToken_ = false;
};

struct ErrorFigures {
  uint64_t count = 0;
  std::string example; // the first one
};

struct RunFigures {
  LoadShape shape;
  double seconds = 0; // from the start to the last end
  uint64_t sent = 0, answered = 0, good = 0;
  uint64_t promptTokens = 0, answerTokens = 0; // of answered requests
  LatencyHistogram firstToken, betweenTokens, perToken, whole;
  LatencyHistogram late;    // from when a request was due to when it was sent
  LatencyHistogram refusal; // of 429 and 503
  uint64_t refused = 0, refusedWithRetryAfter = 0;
  std::map<std::string, ErrorFigures> errors; // by kind, refusals among them
  uint64_t mostUnderWay = 0;
  uint64_t digest = 0; // of all requests and the times at which they were due
  bool isCut = false;  // by Ctrl-C

  void add(const Outcome &outcome, const GoodputLimits &limits);
  double perSecond(uint64_t count) const {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
  }
};

// What is measured in seconds, by name.
struct LatencyMeasure {
  const char *key, *title;
  LatencyHistogram RunFigures::*values;
};
std::span<const LatencyMeasure> latencyMeasures();

} // namespace sinter::cli
