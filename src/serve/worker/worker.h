// A loaded model that answers many at once: the thread that runs its steps, and a second one that
// makes text of tokens, so that a step waits for no client.
#pragma once

#include "host/open_model.h"
#include "llm/scheduler.h"
#include "serve/worker/job.h"

#include <memory>

namespace sinter::serve {

struct JobId {
  uint64_t number = 0;
};

struct WorkerOptions {
  // Jobs that run at once at most, within what the model takes.
  uint32_t running = UINT32_MAX;
  // That run in any case; beyond them more run while they make decode faster. At least `running`:
  // that many run.
  uint32_t surelyRunning = 16;
  uint32_t waiting = 1024; // jobs that wait at most
  double waitSeconds = 2;  // that one may have to wait, about (serve/worker/admission.h); 0: any
  uint32_t promptTokens = 512; // prefill tokens between two decode steps, at most
  double prefillRatio = 1.5;   // time of such a prefill step in decode steps' time, at most
  bool prefixCache = true;     // prompts reuse what others computed, where the model allows it
};

// Of one KV cache group.
struct PageFigures {
  uint64_t pages = 0, freePages = 0; // the prefix cache's pages without a sequence are free ones
};

// Of now, and totals since the worker began.
struct WorkerState {
  uint64_t running = 0, waiting = 0;
  uint64_t mostRunning = 0; // that run at once, as far as pages allow
  double waitSeconds = 0;   // of a job that comes now, about
  std::vector<PageFigures> kvGroups = {};
  uint64_t stateSlots = 0, freeStates = 0; // of recurrent layers
  uint64_t cachedPages = 0;                // in the prefix cache
  uint64_t prefixHits = 0, evictedPages = 0;
  uint64_t grammarBytes = 0, evictedGrammars = 0; // kept for requests that ask for them again
  uint64_t accepted = 0, refused = 0, finished = 0, failed = 0, cancelled = 0;
  uint64_t promptTokens = 0, reusedTokens = 0, answerTokens = 0;
  uint64_t prefillSteps = 0, decodeSteps = 0, preemptions = 0;
  uint64_t stepRows = 0, recomputedRows = 0;
};

// What the pool holds, for states that workers publish.
void writePoolFigures(const PagePool &pool, WorkerState &state);

// All calls are safe from any thread and none waits for a step, but for the destructor, which ends
// what is left with AnswerEnd::Cancelled.
class ModelWorker {
public:
  static Result<std::unique_ptr<ModelWorker>> create(host::OpenedModel opened,
                                                     const WorkerOptions &options = {});
  virtual ~ModelWorker() = default;

  // The file, its tokenizer and templates: const, so that any thread may use them.
  virtual const ModelFile &file() const = 0;
  virtual uint32_t contextTokens() const = 0;

  // InvalidArgument: the prompt or a setting makes no sense, or prompt and answer can never fit,
  // with the numbers; Exhausted: too many wait; DeviceLost: no step works any more; Unsupported:
  // the worker gives vectors. The sink is not called then.
  virtual Result<JobId> submit(GenerationJob job) = 0;
  // Whole seconds after which a job of that queue is worth submitting again, where too many wait.
  virtual uint32_t retrySeconds(const std::string &queue) const;
  // The job ends at the next step with AnswerEnd::Cancelled, if it has not ended.
  virtual void cancel(JobId id) = 0;

  // The same of texts whose vectors or scores are wanted. Unsupported: the worker generates text.
  virtual Result<JobId> submitVectors(VectorJob job);

  virtual WorkerState state() const = 0;
  // Whether its device is lost, so that it answers nothing any more.
  virtual bool isLost() const { return false; }
  // InvalidArgument, with the numbers: the model was made for less context.
  virtual Result<void> checkContext(uint32_t asked) const;
  // Ends what is left with AnswerEnd::Cancelled, waits for that, and refuses what comes later. At
  // most one thread calls it.
  virtual void stop() {}
};

} // namespace sinter::serve
