// Each step is a line, with what is known of its size.
#include "serve/api/ollama/pull_answer.h"

#include "serve/api/ollama/changes.h"

namespace sinter::serve::ollama {

PullAnswer::PullAnswer(ApiContext &context, std::string name, std::shared_ptr<Responder> responder,
                       bool streams)
    : context_(context), name_(std::move(name)), responder_(std::move(responder)),
      streams_(streams) {
  if (!streams_)
    return;
  HttpResponse head;
  head.contentType = "application/x-ndjson";
  responder_->begin(std::move(head));
}

bool PullAnswer::onProgress(const PullProgress &progress) {
  if (!streams_ || progress.step == "success")
    return true; // which onEnd() says
  Json line = {{"status", progress.step}};
  if (!progress.digest.empty())
    line["digest"] = progress.digest;
  if (progress.total > 0)
    line["total"] = progress.total;
  if (progress.done > 0)
    line["completed"] = progress.done;
  return responder_->write(jsonLine(line));
}

void PullAnswer::onEnd(const Result<void> &end) {
  const Json success = {{"status", "success"}};
  if (end)
    forgetModel(context_, name_);
  if (!streams_) {
    HttpResponse response;
    response.body = jsonText(success);
    return responder_->respond(end ? std::move(response) : ollamaError(end.error()));
  }
  responder_->write(end ? jsonLine(success) : ollamaErrorBody(end.error()) + "\n");
  responder_->end();
}

void leaveWhenGone(ApiContext &context, Responder &responder,
                   const std::shared_ptr<PullListener> &listener) {
  // Never on the thread that calls: it may hold what a pull's listeners wait for.
  responder.onGone([&context, listener = std::weak_ptr(listener)] {
    context.tasks.postAlways([&context, listener] {
      if (const auto here = listener.lock())
        context.pulls->leave(here);
    });
  });
}

} // namespace sinter::serve::ollama
