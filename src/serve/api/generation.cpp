// A request under way. It lives in the callbacks that will come: of the model pool, of tasks, of
// the worker's sinks; each takes the lock for as long as it writes a piece.
#include "serve/api/generation.h"

#include "grammar/json_text.h"
#include "llm/chat/answer_grammar.h"
#include "serve/api/stored_extras.h"

#include <algorithm>
#include <mutex>

namespace sinter::serve {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

ApiError tooBusy() {
  return {Code::Exhausted, "too many requests wait to be read, try again"};
}

class Generation : public std::enable_shared_from_this<Generation> {
public:
  Generation(ApiContext &context, GenerationRequest request, std::shared_ptr<Responder> responder)
      : context_(context), request_(std::move(request)), responder_(std::move(responder)) {}

  void start() {
    context_.models.get(request_.model, request_.load,
                        [self = shared_from_this()](auto worker) { self->onModel(worker); });
  }

private:
  struct State {
    std::unique_ptr<AnswerParser> parser;
    ChoiceDelta waiting = {}; // tokens and likelihoods whose text is held back
    std::optional<JobId> job = {};
    bool hasEnded = false;
  };

  class ChoiceSink : public AnswerSink {
  public:
    ChoiceSink(std::shared_ptr<Generation> owner, size_t choice)
        : owner_(std::move(owner)), choice_(choice) {}
    bool onPiece(AnswerPiece piece) override { return owner_->onPiece(choice_, std::move(piece)); }
    void onEnd(Result<AnswerSummary> end) override { owner_->onEnd(choice_, std::move(end)); }

  private:
    const std::shared_ptr<Generation> owner_;
    const size_t choice_;
  };

  void onModel(Result<std::shared_ptr<ModelWorker>> worker) {
    if (!worker)
      return fail(worker.error());
    loadSeconds_ = secondsSince(begin_);
    worker_ = std::move(*worker);
    if (!context_.tasks.post([self = shared_from_this()] { self->prepare(); }))
      fail(tooBusy());
  }

  void prepare() {
    auto prompts = request_.prepare(worker_->file());
    if (!prompts)
      return fail(prompts.error());
    auto jobs = jobsOf(std::move(*prompts));
    if (!jobs)
      return fail(jobs.error());
    submit(std::move(*jobs));
  }

  // One for each choice of each prompt; fills states_.
  ApiResult<std::vector<GenerationJob>> jobsOf(std::vector<Prompt> prompts) {
    std::vector<GenerationJob> jobs;
    for (Prompt &prompt : prompts) {
      std::shared_ptr<GrammarForm> form; // all choices share it
      if (request_.wishes.form || prompt.rules.calls != CallWish::None) {
        SINTER_ASSIGN(form, grammarForm(prompt));
      }
      for (uint32_t i = 0; i < request_.wishes.choices; ++i) {
        SINTER_ASSIGN(const SamplerSettings sampler,
                      request_.wishes.samplerFor(worker_->file(), i));
        GenerationJob job;
        job.prompt = prompt.tokens;
        job.maxTokens = request_.wishes.mostTokens();
        job.sampler = sampler;
        if (form)
          job.constraint = form->constrain();
        job.shownTokens = prompt.shownTokens;
        job.stops = request_.wishes.stops;
        job.likelihoods = request_.wishes.likelihoods;
        job.ignoreEndTokens = request_.wishes.ignoreEndTokens;
        job.context = request_.load.context;
        job.queue = request_.queue;
        job.usesPrefixCache = request_.wishes.usesPrefixCache;
        job.cacheScope = request_.keyName + '\n' + request_.wishes.cacheSalt; // names are one line
        job.sink = std::make_shared<ChoiceSink>(shared_from_this(), jobs.size());
        choices_.push_back({.index = static_cast<uint32_t>(jobs.size()),
                            .isFirstOfPrompt = i == 0,
                            .promptText = prompt.text,
                            .sampler = sampler,
                            .maxTokens = job.maxTokens,
                            .summary = {.promptTokens = prompt.tokens.size()}});
        states_.push_back({.parser = makeAnswerParser(prompt.style)});
        jobs.push_back(std::move(job));
      }
    }
    return jobs;
  }

  // Made once, whichever requests ask for it.
  ApiResult<std::shared_ptr<GrammarForm>> grammarForm(const Prompt &prompt) const {
    const std::string path = request_.wishes.form ? request_.wishes.form->path : "tools";
    const ModelFile &file = worker_->file();
    SINTER_ASSIGN(const std::string name, formName(prompt));
    if (auto known = file.grammarForms().findNamed(name))
      return known;
    SINTER_ASSIGN(grammar::Grammar grammar, grammarOf(prompt, path));
    SINTER_ASSIGN(const Sha256Digest digest, grammar.digest());
    std::shared_ptr<GrammarForm> form = file.grammarForms().find(digest.hex());
    if (!form) {
      auto made = GrammarForm::create(std::move(grammar), file.tokenTrie(), file.tokenizer(),
                                      file.grammarForms().budget());
      if (!made)
        return tl::unexpected(at(path, made.error()));
      form = std::move(*made);
      file.grammarForms().add(digest.hex(), form);
    }
    file.grammarForms().name(name, digest.hex());
    return form;
  }

  // Of all that the grammar is made of.
  ApiResult<std::string> formName(const Prompt &prompt) const {
    std::string text = answerGrammarText(prompt.style.syntax.get(), prompt.rules);
    if (const auto &form = request_.wishes.form)
      text +=
          '|' + std::to_string(static_cast<int>(form->kind)) + grammar::jsonLiteral(form->value);
    SINTER_ASSIGN(const Sha256Digest digest,
                  sha256({{reinterpret_cast<const uint8_t *>(text.data()), text.size()}}));
    return digest.hex();
  }

  // The form, after thoughts where the model has them, and calls of tools.
  ApiResult<grammar::Grammar> grammarOf(const Prompt &prompt, const std::string &path) const {
    AnswerRules rules = prompt.rules;
    if (request_.wishes.form) {
      SINTER_ASSIGN(rules.form, request_.wishes.form->grammar());
    }
    if (!prompt.style.syntax)
      return std::move(*rules.form);
    auto made = answerGrammar(*prompt.style.syntax, std::move(rules), worker_->file().tokenizer());
    if (!made)
      return tl::unexpected(at(path, made.error()));
    return std::move(*made);
  }

  static ApiError at(const std::string &path, const Status &error) {
    return {error.code, "'" + path + "': " + error.toString(), path};
  }

  // Pieces may come before the last job is submitted; they wait for the lock.
  void submit(std::vector<GenerationJob> jobs) {
    std::unique_lock lock(mutex_);
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].maxTokens == 0) {
        choices_[i].summary = {.end = AnswerEnd::TokenLimit, .promptTokens = jobs[i].prompt.size()};
        states_[i].hasEnded = true;
        continue;
      }
      const ContextExcess sizes = {jobs[i].prompt.size(), contextOf(jobs[i])};
      auto id = worker_->submit(std::move(jobs[i]));
      if (!id) {
        ApiError error(id.error());
        if (error.code == Code::InvalidArgument && sizes.promptTokens > sizes.contextTokens)
          error.excess = sizes;
        error.retrySeconds = worker_->retrySeconds(request_.queue);
        return stop(lock, error);
      }
      states_[i].job = *id;
    }
    if (request_.streams)
      open();
    finishIfEnded(lock);
    if (lock.owns_lock())
      lock.unlock();
    // Never on the thread that calls, which may hold the lock.
    responder_->onGone([self = weak_from_this(), &tasks = context_.tasks] {
      tasks.postAlways([self] {
        if (const auto here = self.lock())
          here->leave();
      });
    });
  }

  uint64_t contextOf(const GenerationJob &job) const {
    const uint64_t most = worker_->contextTokens();
    return job.context ? std::min<uint64_t>(job.context, most) : most;
  }

  void open() {
    HttpResponse head;
    head.contentType = request_.format->streamType();
    responder_->begin(std::move(head));
    isOpen_ = true;
    write(request_.format->opened(choices_));
    for (size_t i = 0; i < states_.size(); ++i)
      if (states_[i].hasEnded)
        write(request_.format->ended(choices_[i]));
  }

  bool onPiece(size_t number, AnswerPiece piece) {
    std::unique_lock lock(mutex_);
    State &state = states_[number];
    if (isOver_)
      return false;
    append(state.waiting.tokens, piece.tokens);
    append(state.waiting.likelihoods, piece.likelihoods);
    const bool listens = add(number, state.parser->push(piece.text), false);
    if (!listens)
      close(lock);
    return listens;
  }

  void onEnd(size_t number, Result<AnswerSummary> end) {
    std::unique_lock lock(mutex_);
    State &state = states_[number];
    state.job.reset();
    charge(number, end);
    if (isOver_ || state.hasEnded)
      return;
    if (!end)
      return stop(lock, end.error());
    if (end->end == AnswerEnd::Cancelled)
      return stop(lock, {Code::Cancelled, "the answer was cancelled before its end"});
    state.hasEnded = true;
    bool listens = add(number, state.parser->finish(), true);
    Choice &choice = choices_[number];
    choice.summary = std::move(*end);
    choice.loadSeconds = loadSeconds_;
    choice.totalSeconds = secondsSince(begin_);
    if (request_.streams)
      listens = listens && write(request_.format->ended(choice));
    if (!listens)
      return close(lock);
    finishIfEnded(lock);
  }

  // What was computed counts, whoever still listens: not what the prefix cache had. The prompt of
  // several choices counts once.
  void charge(size_t number, const Result<AnswerSummary> &end) const {
    if (!end || !context_.charge)
      return;
    const uint64_t prompt =
        choices_[number].isFirstOfPrompt ? end->promptTokens - end->reusedTokens : 0;
    context_.charge(request_.queue, prompt + end->answerTokens);
  }

  // False: the client is gone.
  bool add(size_t number, AnswerDelta text, bool isLast) {
    Choice &choice = choices_[number];
    ChoiceDelta &waiting = states_[number].waiting;
    choice.whole.add(text);
    if (text.empty() && !isLast)
      return true;
    waiting.text = std::move(text);
    const ChoiceDelta now = std::exchange(waiting, {});
    append(choice.tokens, now.tokens);
    choice.summary.answerTokens = choice.tokens.size(); // so far
    if (!now.text.reasoning.empty() && now.text.content.empty())
      choice.reasoningTokens += now.tokens.size();
    append(choice.likelihoods, now.likelihoods);
    if (!request_.streams || (now.text.empty() && now.likelihoods.empty()))
      return true;
    return write(request_.format->delta(choice, now));
  }

  void finishIfEnded(std::unique_lock<std::mutex> &lock) {
    for (const State &state : states_)
      if (!state.hasEnded)
        return;
    if (!request_.streams) {
      responder_->respond({.body = request_.format->whole(choices_)});
    } else {
      write(request_.format->closed(choices_));
      responder_->end();
    }
    close(lock);
  }

  bool write(std::string bytes) { return bytes.empty() || responder_->write(std::move(bytes)); }

  void fail(const ApiError &error) {
    std::unique_lock lock(mutex_);
    stop(lock, error);
  }
  void stop(std::unique_lock<std::mutex> &lock, const ApiError &error) {
    if (!isOver_ && isOpen_) {
      write(request_.format->failed(error));
      responder_->end();
    } else if (!isOver_) {
      responder_->respond(request_.format->error(error));
    }
    close(lock);
  }

  void leave() {
    std::unique_lock lock(mutex_);
    close(lock);
  }

  // Nothing more is written; what still runs is cancelled. The last pointer to a worker must not go
  // on the worker's own thread.
  void close(std::unique_lock<std::mutex> &lock) {
    isOver_ = true;
    std::vector<JobId> running;
    for (State &state : states_)
      if (const auto job = std::exchange(state.job, std::nullopt); job && !state.hasEnded)
        running.push_back(*job);
    auto worker = std::exchange(worker_, nullptr);
    lock.unlock();
    for (const JobId job : running)
      worker->cancel(job);
    if (worker)
      context_.tasks.postAlways([worker = std::move(worker)]() mutable { worker.reset(); });
  }

  template <typename T> static void append(std::vector<T> &to, const std::vector<T> &from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  ApiContext &context_;
  GenerationRequest request_;
  const std::shared_ptr<Responder> responder_;
  const Clock::time_point begin_ = Clock::now();
  double loadSeconds_ = 0;
  std::shared_ptr<ModelWorker> worker_;

  std::mutex mutex_; // of all below
  std::vector<Choice> choices_;
  std::vector<State> states_; // of each choice
  bool isOpen_ = false, isOver_ = false;
};

} // namespace

void startGeneration(ApiContext &context, GenerationRequest request,
                     std::shared_ptr<Responder> responder) {
  request.wishes.defaults = context.defaults;
  if (auto added = addStoredSettings(context, request); !added)
    return responder->respond(request.format->error(added.error()));
  std::make_shared<Generation>(context, std::move(request), std::move(responder))->start();
}

} // namespace sinter::serve
