// The requests of a load test: which, and when. A function of the options alone; a request is made
// when it is due, so that memory holds those alone that are under way.
#pragma once

#include "cli/load/load_options.h"

#include <nlohmann/json.hpp>

namespace sinter::cli {

// A prompt of a data set.
struct DatasetEntry {
  nlohmann::ordered_json prompt; // a text, or a list of messages
  uint32_t outputTokens = 0;     // 0: not said
};

// At most `most` of them. NotFound, Permission; InvalidArgument, with the line: it is no JSON, or
// has none of prompt, messages and conversations.
Result<std::vector<DatasetEntry>> readDataset(const std::string &path, uint64_t most);

class Workload {
public:
  // `model`: by its name at the server. InvalidArgument: --extra-body is no object, or the data set
  // does not fit the endpoint.
  static Result<Workload> create(const LoadArguments &arguments, std::string model);

  // The body of a request; `number` counts over all runs, warm-up first.
  std::string body(uint64_t number) const;
  const char *path() const { return isChat_ ? "/v1/chat/completions" : "/v1/completions"; }

private:
  nlohmann::ordered_json madeUp(uint64_t number, uint32_t tokens) const;

  bool isChat_ = false, outputGiven_ = false;
  uint64_t seed_ = 1;
  Lengths input_, output_;
  uint32_t sharedPrefix_ = 0;
  int32_t firstId_ = 0, lastId_ = 0;
  std::vector<DatasetEntry> dataset_;
  nlohmann::ordered_json base_; // members that all requests have
};

// Seconds after a run's start at which its requests are due, in ascending order.
class Arrivals {
public:
  // `run`: its number, so that runs differ.
  Arrivals(double rate, double burstiness, uint64_t seed, uint64_t run)
      : random_(seed, LoadPurpose::Arrivals, run), rate_(rate), shape_(burstiness) {}
  double next() { return at_ += random_.gamma(shape_) / (shape_ * rate_); }

private:
  LoadRandom random_;
  double rate_, shape_, at_ = 0;
};

} // namespace sinter::cli
