// The answer to who waits for a model to be fetched or made.
#pragma once

#include "serve/api/ollama/common.h"
#include "serve/worker/pulls.h"

namespace sinter::serve::ollama {

// Lines of a stream, or the last of them alone. The client that goes ends its part of the work.
class PullAnswer final : public PullListener {
public:
  PullAnswer(ApiContext &context, std::string name, std::shared_ptr<Responder> responder,
             bool streams);

  bool onProgress(const PullProgress &progress) override;
  void onEnd(const Result<void> &end) override;

private:
  ApiContext &context_;
  const std::string name_;
  const std::shared_ptr<Responder> responder_;
  const bool streams_;
};

// Whoever has gone waits for nothing.
void leaveWhenGone(ApiContext &context, Responder &responder,
                   const std::shared_ptr<PullListener> &listener);

} // namespace sinter::serve::ollama
