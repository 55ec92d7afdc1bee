// The options of `sinter bench serve`: one table, and what was given as checked values.
#pragma once

#include "base/status.h"
#include "cli/load/lengths.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace sinter::cli {

struct LoadOption {
  const char *names; // as CLI11 takes them: "--url,--base-url"
  const char *type;  // what help says of the value; empty: a flag
  const char *group;
  const char *help;

  std::string key() const; // the first name, without dashes
};
std::span<const LoadOption> loadOptions();

// Values by key, in the order in which they were given; flags have one empty value.
using LoadTexts = std::map<std::string, std::vector<std::string>>;

// What the tokens of an answer may take at most, in seconds; 0: not asked.
struct GoodputLimits {
  double firstToken = 0;    // "ttft"
  double betweenTokens = 0; // "itl": the longest time between two
  double perToken = 0;      // "tpot": the mean behind the first
  double whole = 0;         // "e2el"

  bool any() const { return firstToken > 0 || betweenTokens > 0 || perToken > 0 || whole > 0; }
};

// Where requests go.
struct LoadTarget {
  bool isTls = false, isInsecure = false; // insecure: any certificate will do
  std::string host;                       // of TCP
  uint16_t port = 0;
  std::string unixPath;        // instead of TCP
  std::string prefix;          // of each path; "/openai" for http://host/openai
  std::string key;             // API key; empty: none
  std::string authorities;     // a PEM file; empty: the system's
  double timeoutSeconds = 600; // of one answer

  std::string url() const; // without the key
};

// Of one run: an open loop has a rate, a closed one a number of clients.
struct LoadShape {
  double rate = 0;          // requests a second
  uint32_t concurrency = 0; // clients, each with one request at a time
};

struct LoadArguments {
  LoadTarget target;
  std::string keyFile; // has the target's key; empty: none
  std::string model;   // empty: the first of /v1/models
  bool isChat = false; // /v1/chat/completions instead of /v1/completions
  std::vector<LoadShape> runs;
  double burstiness = 1;           // shape of gamma arrivals; 1: Poisson
  uint64_t requests = 100;         // of each run at most
  double seconds = 0;              // no request begins later; 0: no limit
  uint32_t mostConcurrency = 4096; // of an open loop; more requests wait here
  uint32_t warmUp = 1;             // requests before the first run, not measured
  uint64_t seed = 1;
  Lengths input, output;
  bool outputGiven = false;        // rather than what a data set says
  uint32_t sharedPrefix = 0;       // tokens that all prompts begin with
  int32_t firstId = 0, lastId = 0; // prompts of token numbers in [first, last); both 0: of words
  std::string dataset;             // a file; empty: made-up prompts
  bool ignoresEnd = false;
  std::string extraBody; // a JSON object, merged into each request
  GoodputLimits goodput;
  std::string json, svg; // files; empty: none
};

// InvalidArgument: which option is at fault, and what is expected.
Result<LoadArguments> readLoadOptions(const LoadTexts &texts);

} // namespace sinter::cli
