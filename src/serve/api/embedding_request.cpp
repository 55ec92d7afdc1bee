// A request for vectors under way, and vectors as text: without a tree of JSON, whose nodes would
// take ten times their bytes.
#include "serve/api/embedding_request.h"

#include "serve/api/stored_extras.h"

#include <charconv>
#include <openssl/evp.h>

namespace sinter::serve {
namespace {

using Clock = std::chrono::steady_clock;

// It lives in the callbacks that will come.
class VectorTask : public std::enable_shared_from_this<VectorTask> {
public:
  VectorTask(ApiContext &context, VectorRequest request, std::shared_ptr<Responder> responder)
      : context_(context), request_(std::move(request)), responder_(std::move(responder)) {}

  void start() {
    request_.load.embeddings = true;
    request_.load = withStoredContext(context_, request_.model, request_.load);
    context_.models.get(request_.model, request_.load,
                        [self = shared_from_this()](auto worker) { self->onModel(worker); });
  }

private:
  void onModel(Result<std::shared_ptr<ModelWorker>> worker) {
    if (!worker)
      return finish(Fail(worker.error()));
    loaded_ = Clock::now();
    worker_ = std::move(*worker);
    if (!context_.tasks.post([self = shared_from_this()] { self->submit(); }))
      finish(fail(Code::Exhausted, "too many requests wait to be read, try again"));
  }

  void submit() {
    auto job = makeJob();
    if (!job)
      return finish(Fail(job.error()));
    const std::shared_ptr<ModelWorker> worker = worker_; // the end may come first
    const auto id = worker->submitVectors(std::move(*job));
    if (!id) // a head that the model lacks is no model that is not there
      return finish(fail(id.error().code == Code::NotFound ? Code::Unsupported : id.error().code,
                         id.error().message));
    responder_->onGone([worker = std::weak_ptr(worker), id = *id, &tasks = context_.tasks] {
      tasks.postAlways([worker, id] {
        if (const auto here = worker.lock())
          here->cancel(id);
      });
    });
  }

  Result<VectorJob> makeJob() {
    VectorJob job;
    const ModelFile &file = worker_->file();
    SINTER_ASSIGN(job.texts, request_.encode(file));
    if (request_.truncates)
      for (TextTokens &text : job.texts)
        truncate(text, file);
    job.ranks = request_.ranks;
    job.pooling = context_.pooling;
    job.queue = request_.queue;
    job.onEnd = [self = shared_from_this()](Result<VectorAnswer> answer) {
      // Vectors are written off the worker's thread.
      auto shared = std::make_shared<Result<VectorAnswer>>(std::move(answer));
      self->context_.tasks.postAlways([self, shared] { self->finish(std::move(*shared)); });
    };
    return job;
  }

  // What ends every text stays.
  void truncate(TextTokens &text, const ModelFile &file) const {
    const size_t most = worker_->contextTokens();
    if (text.size() <= most)
      return;
    text.resize(most);
    if (file.hasTokenizer() && !file.tokenizer().suffix().empty())
      text.back() = file.tokenizer().suffix().back();
  }

  Result<void> shape(VectorAnswer &answer) const {
    for (std::vector<float> &row : answer.rows) {
      if (row.size() != answer.width)
        return fail(Code::Unsupported, "the model pools no tokens, so a text has no one vector");
      if (request_.dimensions > row.size())
        return fail(Code::InvalidArgument,
                    "'dimensions' is " + std::to_string(request_.dimensions) +
                        ", the model's vectors have " + std::to_string(row.size()));
      if (request_.dimensions == 0)
        continue;
      row.resize(request_.dimensions);
      normalize(row, request_.dimensions);
    }
    return {};
  }

  void finish(Result<VectorAnswer> answer) {
    if (answer && context_.charge)
      context_.charge(request_.queue, answer->promptTokens);
    if (answer)
      if (const auto done = shape(*answer); !done)
        answer = Fail(done.error());
    const auto seconds = [&](Clock::time_point end) {
      return std::chrono::duration<double>(end - begin_).count();
    };
    HttpResponse response;
    if (answer)
      response.body = request_.write(*answer, {seconds(loaded_), seconds(Clock::now())});
    else
      response = request_.error(answer.error());
    responder_->respond(std::move(response));
    if (worker_)
      context_.tasks.postAlways([worker = std::move(worker_)]() mutable { worker.reset(); });
  }

  ApiContext &context_;
  VectorRequest request_;
  const std::shared_ptr<Responder> responder_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point loaded_ = begin_;
  std::shared_ptr<ModelWorker> worker_;
};

} // namespace

void startVectors(ApiContext &context, VectorRequest request,
                  std::shared_ptr<Responder> responder) {
  std::make_shared<VectorTask>(context, std::move(request), std::move(responder))->start();
}

std::function<Result<std::vector<TextTokens>>(const ModelFile &)>
plainTextsOf(std::vector<PromptSource> texts) {
  return [texts = std::move(texts)](const ModelFile &file) -> Result<std::vector<TextTokens>> {
    std::vector<TextTokens> tokens;
    for (const PromptSource &text : texts) {
      SINTER_ASSIGN(TextTokens ids, plainTokens(file, text));
      tokens.push_back(std::move(ids));
    }
    return tokens;
  };
}

std::string vectorText(std::span<const float> values) {
  std::string text = "[";
  for (const float value : values) {
    char number[32];
    const char *end = std::to_chars(number, number + sizeof number, value).ptr;
    text += text.size() > 1 ? "," : "";
    text.append(number, static_cast<size_t>(end - number));
  }
  return text + "]";
}

std::string vectorBase64(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0'); // it writes a zero behind
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char *>(text.data()),
                                   reinterpret_cast<const unsigned char *>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(size));
  return text;
}

} // namespace sinter::serve
