// A job of a worker from its submission to its end. Threads have it in turn: who submits it, then
// the step thread, and what a hand-over to the delivery thread carries is that thread's.
#pragma once

#include "llm/scheduler.h"
#include "llm/tokenizer/detokenizer.h"
#include "serve/worker/admission.h"
#include "serve/worker/job.h"
#include "serve/worker/stop_texts.h"

namespace sinter::serve {

struct LiveJob {
  LiveJob(uint64_t jobNumber, const Tokenizer &tokenizer) : number(jobNumber), text(tokenizer) {}

  uint64_t number;
  Ticket ticket;
  std::optional<uint32_t> likelihoods; // that were asked for with each token
  JobClock::time_point submitted = JobClock::now();

  // The step thread's, fixed before the first token is handed over.
  RequestId request;
  bool hasBegun = false;
  JobClock::time_point began{}, firstToken{};
  uint64_t reusedTokens = 0;

  // The delivery thread's.
  std::shared_ptr<AnswerSink> sink; // null: it has ended
  Detokenizer text;
  StopTexts stops;
  AnswerPiece piece; // not said yet
  AnswerSummary summary;
};

} // namespace sinter::serve
