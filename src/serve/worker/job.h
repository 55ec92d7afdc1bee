// What a model worker is asked to generate, and what it says while it does.
#pragma once

#include "llm/embedder.h"
#include "llm/generation.h"
#include "llm/sampler/constraint.h"
#include "llm/sampler/settings.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sinter::serve {

// A token that could have been chosen, by the model's own distribution: before biases, penalties
// and temperature.
struct TokenLikelihood {
  TokenId token;
  std::string bytes; // of the token; not always UTF-8
  float logprob;     // natural logarithm
};

// A part of an answer. `text` is whole UTF-8 and holds back what may become a stop text; several
// tokens may come in one piece, and a token may come without text.
struct AnswerPiece {
  std::string text;
  std::vector<TokenId> tokens;
  // For each token, where likelihoods are asked for: the chosen one first, then the likeliest.
  std::vector<std::vector<TokenLikelihood>> likelihoods = {};
};

enum class AnswerEnd : uint8_t {
  EndToken,
  StopText, // one of GenerationJob::stops
  TokenLimit,
  ContextFull,
  Cancelled,
};

struct AnswerSummary {
  AnswerEnd end = AnswerEnd::EndToken;
  std::string stopText = {}; // that ended it
  uint64_t promptTokens = 0;
  uint64_t reusedTokens = 0; // of the prompt, from the cache
  uint64_t answerTokens = 0;
  double queueSeconds = 0;   // from submit() to the first step
  double prefillSeconds = 0; // from there to the first token
  double decodeSeconds = 0;  // from there to the end
};

// Hears of one job. Called on the worker's delivery thread, one call at a time; must not wait.
class AnswerSink {
public:
  virtual ~AnswerSink() = default;
  // False: nobody listens any more; the job is cancelled.
  virtual bool onPiece(AnswerPiece piece) = 0;
  // The last call, once.
  virtual void onEnd(Result<AnswerSummary> end) = 0;
};

using JobClock = std::chrono::steady_clock;

struct GenerationJob {
  std::vector<TokenId> prompt;
  uint64_t maxTokens = UINT64_MAX;
  SamplerSettings sampler = {};
  std::vector<std::string> stops = {};
  // What the answer is held to; of this job alone.
  std::shared_ptr<TokenConstraint> constraint = {};
  // For each token of the answer: its own logprob and those of this many likeliest; none: not.
  std::optional<uint32_t> likelihoods = {};
  bool ignoreEndTokens = false;
  // Control tokens that the answer's text has; others are left out of it. Ascending.
  std::vector<TokenId> shownTokens = {};
  uint32_t context = 0; // tokens of prompt and answer together at most; 0: the model's
  // Who waits, for fairness: jobs of one name share one turn.
  std::string queue = {};
  bool usesPrefixCache = true;
  std::string cacheScope = {}; // jobs of other scopes share no part of a prompt with it
  int32_t priority = 0;        // higher first
  std::optional<JobClock::time_point> deadline = {};
  std::shared_ptr<AnswerSink> sink;
};

// Rows of a model that gives embeddings.
struct VectorAnswer {
  size_t width = 0; // numbers of a row
  // Of each text, in order: one row, or one for each of its tokens where nothing pools.
  std::vector<std::vector<float>> rows;
  uint64_t promptTokens = 0;
  double queueSeconds = 0; // from submitVectors() to the first step
  double runSeconds = 0;   // from there to the end
};

struct VectorJob {
  std::vector<TextTokens> texts;
  bool ranks = false; // one score a text, by the model's ranking head, in place of its vector
  // Of vectors; none: as the model's file says.
  std::optional<Pooling> pooling = {};
  bool normalize = true;
  std::string queue = {};
  int32_t priority = 0;
  std::optional<JobClock::time_point> deadline = {}; // of the first step
  // Called once, on a thread of the worker; must not wait. Cancelled where cancel() ended it.
  std::function<void(Result<VectorAnswer>)> onEnd;
};

} // namespace sinter::serve
