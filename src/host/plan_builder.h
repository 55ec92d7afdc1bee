// One plan, built by the compiler in a child process.
#pragma once

#include "host/observer.h"
#include "llm/model.h"
#include "numeric/precision.h"
#include "plan/plan.h"

namespace sinter::host {

// What a plan is built for.
struct PlanRequest {
  std::string target; // as the compiler is asked for it: "host", "cuda:sm_90a"
  Precision precision;
};

// Borrows all that it is made from. For one thread.
class PlanBuilder {
public:
  // Errors: findCompiler's and compilerLimits'.
  static Result<PlanBuilder> create(const ModelFile &model, PlanRequest request,
                                    Observer &observer);

  const std::string &compiler() const { return compiler_; } // the program's path
  const CompilerLimits &limits() const { return limits_; }
  const PlanRequest &request() const { return request_; }
  void setTarget(std::string target) { request_.target = std::move(target); }
  // Arguments of the compiler beside the request's.
  std::vector<std::string> &more() { return more_; }
  // Builds without a word to the observer.
  void setQuiet() { quiet_ = true; }

  // Errors: runCompiler's, and Corrupt where what the compiler wrote is no plan or the model file
  // changed meanwhile. Messages name the model file.
  Result<plan::Plan> build();
  // The same as the bytes of a plan file, not looked at.
  Result<std::vector<uint8_t>> buildBytes();
  double seconds() const { return seconds_; } // of the last build; 0: there was none

private:
  PlanBuilder(const ModelFile &model, PlanRequest request, Observer &observer)
      : model_(&model), request_(std::move(request)), observer_(&observer) {}
  std::vector<std::string> arguments() const;
  Result<void> compile(int output);

  const ModelFile *model_;
  PlanRequest request_;
  Observer *observer_;
  std::string compiler_;
  CompilerLimits limits_;
  std::vector<std::string> more_;
  bool quiet_ = false;
  double seconds_ = 0;
};

} // namespace sinter::host
